"""Warnings about a crowd and its fit: what the user should know although it does not stop the work."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .answers import Answers
from .fit import Fit
from .types import Flags

MIRROR_SHARE = 1 / 3  # with more contrary answers than this, a crowd of two labels may be its own mirror image


def crowd_warnings(answers: Answers) -> Iterator[str]:
    """Warn about tasks, labels and annotators that leave little to compare."""
    chosen = np.zeros(len(answers.choices), bool)  # [C] whether any annotator chose the label
    chosen[answers.option_choice[answers.votes > 0]] = True
    yield from _gold_warnings(answers, chosen)
    if len(answers.annotators) == 1:
        yield "There is a single annotator, so nothing can be compared: the labels are that person's answers."
    elif answers.is_decidable.any() and not answers.is_comparable.any():
        yield (
            "No two people answered the same task, and there is no gold, so nothing can be compared: nobody is judged,"
            " and every confidence is that of an answer by somebody unknown."
        )
    single = int((answers.answers_per_item == 1).sum())
    if single:
        yield f"Tasks with only one answer: {single:,}. Their labels rest on one person each."
    yield from _question_warnings(answers, chosen)


def _gold_warnings(answers: Answers, chosen: Flags) -> Iterator[str]:
    unanswered = np.flatnonzero(answers.answers_per_item == 0)
    if len(unanswered):
        example = answers.items[int(unanswered[0])]
        yield f"Gold labels of tasks that nobody answered: {len(unanswered):,}, for example of {example!r}."
    chosen_labels = {label for label, is_chosen in zip(answers.choices, chosen.tolist(), strict=True) if is_chosen}
    gold_labels = {answers.option_label(option) for option in answers.gold_option[answers.has_gold].tolist()}
    strange = gold_labels - chosen_labels
    if strange:
        yield f"Gold labels that nobody chose: {len(strange):,}, for example {min(map(repr, strange))}."


def _question_warnings(answers: Answers, chosen: Flags) -> Iterator[str]:
    """Warn about every question to which all answers are the same."""
    for question, name in enumerate(answers.questions):
        first, after = answers.choice_start[question], answers.choice_start[question + 1]
        only = np.flatnonzero(chosen[first:after])
        if len(only) == 1:
            place = "" if name is None else f" to question {name!r}"
            label = answers.choices[first + int(only[0])]
            yield f"Every answer{place} is {label!r}, so there is nothing to decide."


def fit_warnings(fit: Fit) -> Iterator[str]:
    """Warn about a fit that did not converge, and about a crowd that may be its own mirror image."""
    if not fit.convergence.converged:
        iterations = len(fit.convergence.history)
        yield f"The fit did not converge in {iterations} iterations; more of them might change a few labels."
    answers = fit.answers
    if fit.adversary is None or answers.has_gold.any():
        return
    share = float(fit.adversary @ answers.answers_per_annotator) / len(answers.answer_item)
    if share > MIRROR_SHARE and np.diff(answers.choice_start).max() <= 2:
        yield (
            f"{share:.0%} of the answers look contrary. With two labels and without gold, such a crowd looks the same"
            " as its mirror image, in which all labels are swapped; add a few gold labels to tell which one is right."
        )
