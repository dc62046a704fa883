"""Weighted medians, which half of the weight decides, however far off the rest is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

Number = TypeVar("Number", int, float)

LARGEST_WEIGHT = 2**40


def integer_weights(weights: Sequence[float]) -> list[int]:
    """Scale weights to whole numbers, so that half of their sum is exact.

    Negative weights become 0; if no weight is positive, all become equal. With rounded sums, the median of starts and
    the median of ends could fall on different sides of a tie.
    """
    largest = max(weights)
    if largest <= 0:
        return [1] * len(weights)
    return [round(max(weight, 0.0) / largest * LARGEST_WEIGHT) for weight in weights]


def lower_and_upper_median(values: Iterable[Number], weights: Iterable[int]) -> tuple[Number, Number]:
    """Return the values at which the cumulative weight reaches half of the total, and exceeds it.

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


def median(values: Iterable[float], weights: Iterable[int]) -> float:
    """Return the mean of the lower and the upper median, which favours neither side."""
    lower, upper = lower_and_upper_median(values, weights)
    return lower if lower == upper else (lower + upper) / 2
