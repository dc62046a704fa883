"""Finds the pairs of extents that overlap; a sweep along one axis saves comparing all pairs of many extents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MAX_ALL_PAIRS = 128  # extents; up to this number, comparing all pairs is faster than sorting first
BATCH_SIZE = 100_000  # pairs compared at once


class OverlappingPairs(NamedTuple):
    """Positions [p] and [p] of extents that overlap, and their intersection over union [p], which is above 0."""

    first: Integers
    second: Integers
    iou: Floats

    def matrix(self, count: int) -> Floats:
        """Return the intersections over unions [n, n] of n extents whose overlapping pairs these are."""
        dense = np.eye(count)
        dense[self.first, self.second] = dense[self.second, self.first] = self.iou
        return dense


def find_overlaps(
    low: Floats,
    high: Floats,
    within: Integers,
    split: int | None,
    iou: Callable[[Integers, Integers], Floats],
) -> OverlappingPairs:
    """Return the pairs whose intersection over union is above 0; the lower position comes first.

    `low` and `high` [n, axes] are bounds of the extents along one or two axes; `within` [n] is a number of the thing
    that each extent is in, and only extents in the same thing overlap. `iou` returns the values [p] of the pairs at two
    arrays of positions [p], [p]; it is called only for pairs whose bounds meet on all axes. With a `split`, the extents
    before it are paired only with those from it on, which are then counted from 0.
    """
    batches = [OverlappingPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for first, second in _candidates(low, high, within, split):
        meet = within[first] == within[second]
        for axis in range(low.shape[1]):
            meet &= low[first, axis] <= high[second, axis]
            meet &= low[second, axis] <= high[first, axis]
        first, second = first[meet], second[meet]
        values = iou(first, second)
        overlap = values > 0
        batches.append(OverlappingPairs(first[overlap], second[overlap] - (split or 0), values[overlap]))
    return OverlappingPairs(*(np.concatenate(columns) for columns in zip(*batches, strict=True)))


def _candidates(low: Floats, high: Floats, within: Integers, split: int | None) -> Iterator[tuple[Integers, Integers]]:
    """Yield batches of pairs that may overlap, the lower position first."""
    count = len(low)
    if split is None and count <= MAX_ALL_PAIRS:
        yield np.triu_indices(count, 1)
    elif split is not None and split * (count - split) <= MAX_ALL_PAIRS**2:
        yield np.repeat(np.arange(split), count - split), np.tile(np.arange(split, count), split)
    else:
        for first, second in _sweep(low, high, within):
            if split is None:
                yield first, second
            else:
                across = (first < split) & (second >= split)
                yield first[across], second[across]


def _sweep(low: Floats, high: Floats, within: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield batches of pairs that meet on one axis, the one with fewer such pairs."""
    count = len(low)
    # Extents within different things are moved so far apart that they cannot meet. Adding the same number keeps their
    # order in spite of rounding, so no pair that meets is lost.
    shift = within[:, None] * (high.max(axis=0) - low.min(axis=0) + 1.0)
    sweeps = [
        _sweep_axis(low[:, axis] + shift[:, axis], high[:, axis] + shift[:, axis]) for axis in range(low.shape[1])
    ]
    order, after = min(sweeps, key=lambda sweep: int((sweep[1] - np.arange(count)).sum()))
    partners = after - np.arange(count) - 1  # [n] how many of the extents that begin later each one meets
    batch = np.cumsum(partners) // BATCH_SIZE
    starts = np.flatnonzero(np.diff(batch, prepend=-1))
    for start, end in zip(starts, [*starts[1:], count], strict=True):
        number = partners[start:end]
        one = np.repeat(np.arange(start, end), number)
        other = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(number) - number, number)
        yield np.minimum(order[one], order[other]), np.maximum(order[one], order[other])


def _sweep_axis(low: Floats, high: Floats) -> tuple[Integers, Integers]:
    """Return the order [n] of intervals by their low ends, and for each place in it the first one that begins later."""
    order = np.argsort(low, kind="stable")
    return order, np.searchsorted(low[order], high[order], side="right")


def integer_codes(names: Iterable[str]) -> list[int]:
    """Return a number for each name, equal for equal names."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]
