"""Scales: where each label of an ordered question stands, by its label set or because its labels are numbers.

Labels that look like numbers prove nothing (they may be names of classes), so a question is ordered only if the caller
says so, or if the answers show it (`found_scales`). With fewer than three labels, an order makes no difference, and the
question counts as one without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set

import numpy as np

from ..errors import UnusableInput
from ..records import MIN_ORDERED
from .types import Id, Integers, Label, LabelSet, Ordered


def find_places(
    questions: Sequence[Id],
    choices: Sequence[Label],
    choice_start: Integers,
    label_set: LabelSet | None,
    ordered: Ordered | None,
) -> Integers:
    """[C] the place of each choice on the scale of its question: 0, 1, …; -1 where the question is not ordered.

    The order is that of the question's label set, or numeric if it has none. `questions` [Q], `choices` [C] and
    `choice_start` [Q + 1] are those of the answer table.
    """
    place = np.full(len(choices), -1, np.int32)
    for question in _ordered_questions(questions, ordered):
        start, stop = choice_start[question], choice_start[question + 1]
        labels = choices[start:stop]
        if len(labels) >= MIN_ORDERED:
            name = questions[question]
            place[start:stop] = _ranks(labels, _given_order(name, label_set), name)
    return place


def _ordered_questions(questions: Sequence[Id], ordered: Ordered | None) -> list[int]:
    """The positions of the ordered questions."""
    if ordered is None or isinstance(ordered, bool):
        return list(range(len(questions))) if ordered else []
    position = {question: number for number, question in enumerate(questions)}
    for question in ordered:
        if question not in position:
            known = ", ".join(repr(name) for name in questions if name is not None)
            remedy = f"choose among {known}" if known else "the answers have no questions, so say that all are ordered"
            raise UnusableInput(f"There is no question {question!r} that could be ordered; {remedy}.")
    return sorted({position[question] for question in ordered})


def _given_order(question: Id, label_set: LabelSet | None) -> list[Label]:
    """The labels in the order in which the caller gave them; empty if there is no such order."""
    labels = label_set.get(question) if isinstance(label_set, Mapping) else label_set
    return [] if labels is None or isinstance(labels, Set) else list(dict.fromkeys(labels))


def _ranks(labels: Sequence[Label], given: list[Label], question: Id) -> list[int]:
    """[K] the rank of each label in the given order, or else in the order of the numbers that the labels are."""
    if given:
        rank = {label: number for number, label in enumerate(given)}
        return [rank[label] for label in labels]
    numbers = [label_number(label) for label in labels]
    if len(set(numbers)) < len(numbers) or not all(map(math.isfinite, numbers)):
        place = "" if question is None else f" of question {question!r}"
        raise UnusableInput(f"The order of the labels{place} is not known; give the label set in order.")
    return [sorted(numbers).index(number) for number in numbers]


def label_number(label: Label) -> float:
    """The number that a label reads as; not a number if it is none."""
    if isinstance(label, bool) or "_" in str(label):  # in Python, "1_2" is 12
        return math.nan
    try:
        return float(label)
    except (TypeError, ValueError, OverflowError):
        return math.nan
