"""How the confidence of a label came about, as a table: rounded parts must still add up to what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from ..records import TaskLabel, percent
from .words import part_words, tenths_of_percent


@dataclass(frozen=True)
class Breakdown:
    """Columns: the published label and the strongest other one, if there is one. Numbers are as shown."""

    labels: list[str]
    rows: list[tuple[str, list[str]]]  # what a part is about, and what it adds to each label
    sums: list[str]


def break_down(label: TaskLabel) -> Breakdown | None:
    """None for gold, which is not a sum, and for results that do not say it."""
    explanation = label.explanation
    if explanation is None or label.gold is not None:
        return None
    points: dict[str, tuple[float, float]] = {}  # forms of one family are one row
    for part in explanation.parts:
        own, other = points.get(part_words(part.name), (0.0, 0.0))
        points[part_words(part.name)] = own + part.label, other + part.other
    columns = [(label.label, label.confidence)]
    if explanation.other is not None:
        columns.append((explanation.other, label.posterior[explanation.other]))
    shown = [
        round_to_sum([1000 * point[number] for point in points.values()], tenths_of_percent(p))
        for number, (_, p) in enumerate(columns)
    ]
    rows = [(words, [percent(column[row] / 1000) for column in shown]) for row, words in enumerate(points)]
    return Breakdown([name for name, _ in columns], rows, [percent(p) for _, p in columns])


def round_to_sum(values: Sequence[float], total: int) -> list[int]:
    """Round values to whole numbers that sum to `total`, by the method of the largest remainder.

    All values are rounded down, and those with the largest remainders get one more, until the sum is right. The total
    must be less than 1 away from the sum of the n values. Then at least 0 and at most n of them get one more, and none
    that is whole already if the total is the nearest whole number.
    """
    rounded = [floor(value) for value in values]
    by_remainder = sorted(range(len(values)), key=lambda position: rounded[position] - values[position])
    for position in by_remainder[: total - sum(rounded)]:
        rounded[position] += 1
    return rounded
