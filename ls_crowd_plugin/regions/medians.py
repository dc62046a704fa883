"""Weighted medians: what half of the weight agrees on, however far off the rest is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

Number = TypeVar("Number", int, float)

FINENESS = 2**40


def whole_weights(weights: Sequence[float]) -> list[int]:
    """Weights as whole numbers, so that half of them is exactly half; below 0 they are 0, and if none is more, equal.

    With rounded sums, the median of starts and the median of ends could fall on different sides of a tie.
    """
    most = max(weights)
    if most <= 0:
        return [1] * len(weights)
    return [round(max(weight, 0.0) / most * FINENESS) for weight in weights]


def medians(values: Iterable[Number], weights: Iterable[int]) -> tuple[Number, Number]:
    """The lower and the upper weighted median: where the weight of all values so far reaches half, and passes it.

    They differ only where exactly half of the weight lies on either side. The weights' sum must be above 0.
    """
    ordered = sorted(zip(values, weights, strict=True))
    total = sum(weight for _, weight in ordered)
    twice = 0
    lower = None
    for value, weight in ordered:
        twice += 2 * weight
        if lower is None and twice >= total:
            lower = value
        if lower is not None and twice > total:
            return lower, value
    raise ValueError("there is no weight")


def middle(values: Iterable[float], weights: Iterable[int]) -> float:
    """The mean of both medians, which is biased to neither side."""
    lower, upper = medians(values, weights)
    return lower if lower == upper else (lower + upper) / 2
