"""Cross-validation on gold: what fits say about gold items whose labels they did not see, and how much each counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .answers import Answers
from .calibration import Calibration, calibrate, calibrate_fit
from .fit import SAME, Fit, Posterior, Resume
from .forms import Form, common_table
from .types import Flags, Floats, Id, Positions, Progress

FOLDS, FEW_FOLDS = 4, 3
FEW_GOLD = 75  # with fewer gold items, what one part of them changes in a fit is little
MIN_WEIGHT = 0.05  # forms with less weight are left out of an average
PRIOR_TASKS = 3.0  # the weights by evidence count as much as this many gold items
WEIGHT_ITERATIONS = 100


@dataclass(frozen=True)
class HeldOut:
    """Posteriors of gold items by fits that did not see their gold labels."""

    table: Answers  # the whole crowd, or a sample if it is large
    posterior: Posterior  # on `table`; zero for all other items
    members: Mapping[str, Posterior]  # form → weight · its posterior; sum to `posterior`
    is_held_out: Flags  # [I]
    vote: Callable[[Answers], HeldOut]  # the same on another table of the same annotators, labels and gold


@dataclass(frozen=True)
class GoldWeights:
    """How much each form counts by the gold labels that it did not see."""

    weights: Mapping[str, float]  # form → weight, in the order of the prior; those of little weight are left out
    fits: Mapping[str, Fit]  # form → its fit to all answers and gold, calibrated
    accuracy: float  # share of right labels of the average, on gold items whose label it did not see
    items: int  # how many gold items were judged
    held_out: HeldOut  # by the average


def cross_validate(
    answers: Answers, forms: Mapping[str, Form], weights: Mapping[str, float], seed: int, progress: Progress
) -> HeldOut | None:
    """Held-out posteriors of the weighted average of some forms; None without gold. A large crowd is sampled."""
    if not answers.has_gold.any():
        return None
    sample = answers.sample(seed)
    return fit_without_gold(sample, forms, seed, progress).average(sample, weights)


def weigh_by_gold(
    answers: Answers,
    forms: Mapping[str, Form],
    prior: Mapping[str, float],
    default: Calibration,
    seed: int,
    progress: Progress,
    starts: Mapping[str, Fit] | None = None,
) -> GoldWeights:
    """Weigh forms by the probability that they give to gold labels which they did not see.

    Each form is calibrated first, so that one which is sure and wrong does not outvote the others; `default` is what
    each would be calibrated by without gold. The weights w maximise

        Π_i Σ_f w_f P_f(gold label of i) · Π_f w_f^(PRIOR_TASKS · prior_f)

    over gold items i and forms f: the most probable ones if the prior weights count as much as PRIOR_TASKS gold items.
    So every gold item moves them, and the first by at most 1 / (PRIOR_TASKS + 1). `starts` as for `fit_without_gold`.
    """
    sample = answers.sample(seed)
    table = common_table(sample, forms.values())
    fits = fit_without_gold(sample, forms, seed, progress, starts)
    calibrations = {name: fits.calibration(table, name, default) for name in forms}
    fits = fits.calibrated(calibrations)
    items = np.flatnonzero(sample.has_gold & sample.is_informative)
    likelihood = np.stack(
        [fits.average(table, {name: 1.0}).posterior.options[table.gold_option[items]] for name in forms], axis=1
    )
    weight = most_probable_weights(likelihood, np.array([prior[name] for name in forms]))
    kept = {name: float(value) for name, value in zip(forms, weight, strict=True) if value >= MIN_WEIGHT}
    weights = {name: value / sum(kept.values()) for name, value in kept.items()}
    held_out = fits.average(table, weights)
    accuracy = float(correctness(table, held_out.posterior, items).mean())
    members = {name: fits.go_on(name)(answers, partial(progress, name)) for name in weights}
    calibrated = {name: calibrate_fit(fit, calibrations[name]) for name, fit in members.items()}
    return GoldWeights(weights, calibrated, accuracy, len(items), held_out)


def most_probable_weights(likelihood: Floats, prior: Floats) -> Floats:
    """[F] the weights of F forms, by expectation maximization; `likelihood` [n, F], `prior` [F] sums to one."""
    weight = prior
    for _ in range(WEIGHT_ITERATIONS):
        share = likelihood * weight
        share /= share.sum(1, keepdims=True)
        weight = (share.sum(0) + PRIOR_TASKS * prior) / (len(likelihood) + PRIOR_TASKS)
    return weight


@dataclass(frozen=True)
class HeldOutFits:
    """Fits of some forms, each of which did not see a part of the gold labels."""

    forms: Mapping[str, Form]
    fits: Mapping[str, Mapping[int, Fit]]  # form → fold → the fit that did not see the gold labels in it
    fold: Mapping[Id, int]  # gold item → the fold in which it is hidden

    def go_on(self, name: str) -> Resume:
        """Fits a form to all gold, which is near to one of these fits."""
        return next(iter(self.fits[name].values())).resume or self.forms[name]

    def calibration(self, table: Answers, name: str, default: Calibration) -> Calibration:
        """How to calibrate one of the forms, by the gold labels that its fits did not see."""
        posterior = self.average(table, {name: 1.0}).posterior
        weight = next(iter(self.fits[name].values())).weight
        return calibrate(table, posterior, weight, table.gold_option, default)

    def calibrated(self, calibrations: Mapping[str, Calibration]) -> HeldOutFits:
        """The same fits, each form calibrated."""
        fits = {
            name: {part: calibrate_fit(fit, calibrations[name]) for part, fit in parts.items()}
            for name, parts in self.fits.items()
        }
        return replace(self, fits=fits)

    def average(self, table: Answers, weights: Mapping[str, float]) -> HeldOut:
        """The weighted average of the forms' posteriors; `table` has the fitted items, and at least their options."""
        fold = np.array([self.fold.get(item, -1) for item in table.items])
        members = {
            name: _posterior_by_fold(self.fits[name], fold, table).times(weight) for name, weight in weights.items()
        }

        def vote(other: Answers) -> HeldOut:
            other = common_table(other, [self.forms[name] for name in weights])
            fits = {name: {part: fit.vote(other) for part, fit in self.fits[name].items()} for name in weights}
            return replace(self, fits=fits).average(other, weights)

        return HeldOut(table, Posterior.total(members.values()), members, fold >= 0, vote)


def fit_without_gold(
    sample: Answers,
    forms: Mapping[str, Form],
    seed: int,
    progress: Progress,
    starts: Mapping[str, Fit] | None = None,
) -> HeldOutFits:
    """Fit every form several times, each time without the gold labels of one fold.

    Where a form can, these fits start from one that saw no gold at all: they need few iterations, and nothing of what
    is hidden from them reaches them. `starts` has such fits, as far as they exist already.
    """
    fold = _folds(sample, seed)
    folds = int(fold.max()) + 1
    no_gold = np.full(len(sample.items), -1, np.int32)
    fits: dict[str, dict[int, Fit]] = {name: {} for name in forms}
    for done, (name, form) in enumerate(forms.items()):
        go_on: Resume = form
        if form.resumes:
            blind = sample.with_gold(no_gold)
            start = (starts or {}).get(name) or form(blind, _ignore)
            if start.resume and not start.convergence.converged:  # given up; this would be made up for in every fold
                start = start.resume(blind, _ignore)
            go_on = start.resume or form
        for part in range(folds):
            progress("checking against gold", (done + part / folds) / len(forms))
            hidden = fold == part
            if hidden.any():
                shown_gold = np.where(hidden, -1, sample.gold_option).astype(np.int32)
                fits[name][part] = go_on(sample.with_gold(shown_gold), _ignore)
    gold_items = np.flatnonzero(sample.has_gold).tolist()
    return HeldOutFits(forms, fits, {sample.items[item]: int(fold[item]) for item in gold_items})


def _posterior_by_fold(fits: Mapping[int, Fit], fold: Positions, table: Answers) -> Posterior:
    """The posterior of every gold item, by the fit that did not see its gold label; zero for other items."""
    options, unchosen = np.zeros(len(table.option_item)), np.zeros(len(table.items))
    for part, fit in fits.items():
        hidden = fold == part
        posterior = fit.posterior_on(table)
        hidden_option = hidden[table.option_item]
        options[hidden_option] = posterior.options[hidden_option]
        unchosen[hidden] = posterior.unchosen[hidden]
    return Posterior(options, unchosen)


def _folds(answers: Answers, seed: int) -> Positions:
    """[I] the fold in which each gold item is hidden, at random; -1 for other items."""
    gold_items = np.flatnonzero(answers.has_gold)
    fold = np.full(len(answers.items), -1)
    folds = FOLDS if len(gold_items) >= FEW_GOLD else FEW_FOLDS
    fold[gold_items] = np.random.default_rng(seed).permutation(len(gold_items)) % folds
    return fold


def correctness(table: Answers, posterior: Posterior, items: Positions) -> Floats:
    """One for each of the gold `items` whose most probable label is the gold label; a tie counts as its share."""
    options, unchosen = posterior
    top = np.maximum.reduceat(options, table.option_start)
    top = np.maximum(top, np.where(table.unchosen_count > 0, unchosen, 0.0))
    best = (options >= top[table.option_item] - SAME).astype(float)
    tied = np.add.reduceat(best, table.option_start) + np.where(unchosen >= top - SAME, table.unchosen_count, 0.0)
    best /= np.maximum(tied, 1.0)[table.option_item]
    return np.asarray(best[table.gold_option[items]])


def _ignore(fraction: float) -> None:
    """The progress of the single fits is not shown."""
