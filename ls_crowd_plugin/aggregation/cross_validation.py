"""Cross-validation on gold: what fits say about gold items whose labels they did not see, and which fit is best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .answers import Answers
from .fit import SAME, Posterior
from .forms import Form, common_table
from .types import Floats, Positions, Progress

FOLDS = 4


@dataclass(frozen=True)
class HeldOut:
    """Posteriors of gold items by fits that did not see their gold labels."""

    table: Answers  # the whole crowd, or a sample if it is large
    posterior: Posterior  # on `table`; zero for items without gold


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
    posteriors = held_out_posteriors(sample, sample, forms, seed, progress)
    return HeldOut(sample, Posterior.mean(posteriors, weights))


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
    posteriors = held_out_posteriors(sample, table, forms, seed, progress)
    posteriors[current] = Posterior.mean(posteriors, weights)
    items = np.flatnonzero(sample.has_gold & sample.is_informative)
    right = {name: correctness(table, posterior, items) for name, posterior in posteriors.items()}
    best, best_lead = current, 0.0
    for name in sorted(posteriors):
        difference = right[name] - right[current]
        error = float(difference.std(ddof=1) / np.sqrt(len(items)))
        lead = float(difference.mean())
        if lead > max(error, best_lead) + 1e-12:
            best, best_lead = name, lead
    accuracy = {name: float(values.mean()) for name, values in right.items()}
    return GoldJudgement(best, accuracy, len(items), HeldOut(table, posteriors[best]))


def held_out_posteriors(
    sample: Answers, table: Answers, forms: Mapping[str, Form], seed: int, progress: Progress
) -> dict[str, Posterior]:
    """Form → posterior on `table` of every gold item, by a fit of `sample` that did not see its gold label.

    `table` has the same items as `sample`, and at least its options.
    """
    fold = _folds(sample, seed)
    posteriors: dict[str, Posterior] = {}
    for done, (name, form) in enumerate(forms.items()):
        options, unchosen = np.zeros(len(table.option_item)), np.zeros(len(table.items))
        for part in range(FOLDS):
            progress("checking against gold", (done + part / FOLDS) / len(forms))
            hidden = fold == part
            if not hidden.any():
                continue
            shown_gold = np.where(hidden, -1, sample.gold_option).astype(np.int32)
            posterior = form(sample.with_gold(shown_gold), _ignore).posterior_on(table)
            hidden_option = hidden[table.option_item]
            options[hidden_option] = posterior.options[hidden_option]
            unchosen[hidden] = posterior.unchosen[hidden]
        posteriors[name] = Posterior(options, unchosen)
    return posteriors


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
