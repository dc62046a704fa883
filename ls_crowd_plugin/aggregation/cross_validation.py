"""Cross-validation on gold: what fits say about gold items whose labels they did not see, and which fit is best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from .answers import Answers
from .fit import SAME, Fit, Posterior
from .forms import Form, common_table
from .types import Flags, Floats, Id, Positions, Progress

FOLDS = 4


@dataclass(frozen=True)
class HeldOut:
    """Posteriors of gold items by fits that did not see their gold labels."""

    table: Answers  # the whole crowd, or a sample if it is large
    posterior: Posterior  # on `table`; zero for all other items
    members: Mapping[str, Posterior]  # form → weight · its posterior; sum to `posterior`
    is_held_out: Flags  # [I]
    vote: Callable[[Answers], HeldOut]  # the same on another table of the same annotators, labels and gold


@dataclass(frozen=True)
class GoldJudgement:
    """How often candidates are right on gold items whose label they did not see."""

    best: str  # the candidate to use
    accuracy: Mapping[str, float]  # candidate → share of right labels
    items: int  # how many gold items were judged
    held_out: HeldOut  # by the best candidate


def cross_validate(
    answers: Answers, forms: Mapping[str, Form], weights: Mapping[str, float], seed: int, progress: Progress
) -> HeldOut | None:
    """Held-out posteriors of the weighted average of some forms; None without gold. A large crowd is sampled."""
    if not answers.has_gold.any():
        return None
    sample = answers.sample(seed)
    return fit_without_gold(sample, forms, seed, progress).average(sample, weights)


def judge_by_gold(
    answers: Answers,
    forms: Mapping[str, Form],
    current: str,
    weights: Mapping[str, float],
    seed: int,
    progress: Progress,
) -> GoldJudgement:
    """Choose between `current`, which is the weighted average of some of the forms, and each single form.

    `current` is replaced only by a form that is right more often by more than one paired standard error.
    """
    sample = answers.sample(seed)
    table = common_table(sample, forms.values())
    fits = fit_without_gold(sample, forms, seed, progress)
    held_out = {name: fits.average(table, {name: 1.0}) for name in forms}
    held_out[current] = fits.average(table, weights)
    items = np.flatnonzero(sample.has_gold & sample.is_informative)
    right = {name: correctness(table, one.posterior, items) for name, one in held_out.items()}
    best, best_lead = current, 0.0
    for name in sorted(held_out):
        difference = right[name] - right[current]
        error = float(difference.std(ddof=1) / np.sqrt(len(items)))
        lead = float(difference.mean())
        if lead > max(error, best_lead) + 1e-12:
            best, best_lead = name, lead
    accuracy = {name: float(values.mean()) for name, values in right.items()}
    return GoldJudgement(best, accuracy, len(items), held_out[best])


@dataclass(frozen=True)
class HeldOutFits:
    """Fits of some forms, each of which did not see a part of the gold labels."""

    forms: Mapping[str, Form]
    fits: Mapping[str, Mapping[int, Fit]]  # form → fold → the fit that did not see the gold labels in it
    fold: Mapping[Id, int]  # gold item → the fold in which it is hidden

    def average(self, table: Answers, weights: Mapping[str, float]) -> HeldOut:
        """The weighted average of the forms' posteriors; `table` has the fitted items, and at least their options."""
        fold = np.array([self.fold.get(item, -1) for item in table.items])
        members = {
            name: _posterior_by_fold(self.fits[name], fold, table).times(weight) for name, weight in weights.items()
        }

        def vote(other: Answers) -> HeldOut:
            other = common_table(other, [self.forms[name] for name in weights])
            fits = {name: {part: fit.vote(other) for part, fit in self.fits[name].items()} for name in weights}
            return HeldOutFits(self.forms, fits, self.fold).average(other, weights)

        return HeldOut(table, Posterior.total(members.values()), members, fold >= 0, vote)


def fit_without_gold(sample: Answers, forms: Mapping[str, Form], seed: int, progress: Progress) -> HeldOutFits:
    """Fit every form several times, each time without the gold labels of one fold.

    Where a form can, these fits start from one that saw no gold at all: they need few iterations, and nothing of what
    is hidden from them reaches them.
    """
    fold = _folds(sample, seed)
    no_gold = np.full(len(sample.items), -1, np.int32)
    fits: dict[str, dict[int, Fit]] = {name: {} for name in forms}
    for done, (name, form) in enumerate(forms.items()):
        fit_part = form(sample.with_gold(no_gold), _ignore).resume or form if form.resumes else form
        for part in range(FOLDS):
            progress("checking against gold", (done + part / FOLDS) / len(forms))
            hidden = fold == part
            if hidden.any():
                shown_gold = np.where(hidden, -1, sample.gold_option).astype(np.int32)
                fits[name][part] = fit_part(sample.with_gold(shown_gold), _ignore)
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
    fold[gold_items] = np.random.default_rng(seed).permutation(len(gold_items)) % FOLDS
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
