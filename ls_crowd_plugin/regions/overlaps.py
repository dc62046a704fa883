"""Finds the pairs of extents that overlap. Only pairs of different owners are ever made, and of many extents only those
that meet along one axis, so that neither many regions of one annotator nor many regions far apart cost much."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

MAX_ALL_PAIRS = 128  # extents; up to this number, comparing all pairs is faster than sorting first
BATCH_SIZE = 100_000  # pairs compared at once


class OverlappingPairs(NamedTuple):
    """Positions [p] and [p] of extents that overlap, and their intersection over union [p], which is above 0."""

    first: Integers
    second: Integers
    iou: Floats

    def select(self, chosen: Integers | Booleans) -> OverlappingPairs:
        return OverlappingPairs(self.first[chosen], self.second[chosen], self.iou[chosen])

    def to_dict(self) -> dict[tuple[int, int], float]:
        first, second, iou = self.first.tolist(), self.second.tolist(), self.iou.tolist()
        return dict(zip(zip(first, second, strict=True), iou, strict=True))

    def matrix(self, count: int) -> Floats:
        """Return the intersections over unions [n, n] of n extents whose overlapping pairs these are."""
        dense = np.eye(count)
        dense[self.first, self.second] = dense[self.second, self.first] = self.iou
        return dense


class Bounds(NamedTuple):
    """Where extents are: from `low` to `high` [n, axes], both inclusive, in the thing with the number `within` [n].

    Only extents in the same thing can overlap. Comparing one that `is_costly` [n] takes much longer than others.
    """

    low: Floats
    high: Floats
    within: Integers
    is_costly: Booleans

    def meet(self, first: Integers, second: Integers) -> Booleans:
        """Return for pairs of positions [p], [p] whether they meet on all axes."""
        meet = self.within[first] == self.within[second]
        for axis in range(self.low.shape[1]):
            meet &= self.low[first, axis] <= self.high[second, axis]
            meet &= self.low[second, axis] <= self.high[first, axis]
        return np.asarray(meet)


def find_overlaps(
    bounds: Bounds,
    owners: Sequence[int] | None,
    split: int | None,
    iou: Callable[[Integers, Integers], Floats],
) -> OverlappingPairs:
    """Return the pairs of different owners with an intersection over union above 0; the lower position comes first.

    Without `owners`, everything has another owner. `iou` returns the values [p] of the pairs at two arrays of positions
    [p], [p]; it is called only for pairs that meet. With a `split`, the extents before it are paired only with those
    from it on, which are then counted from 0.
    """
    count = len(bounds.within)
    owner = np.arange(count) if split is None else (np.arange(count) >= split).astype(np.int64)
    if owners is not None:
        owner = np.unique(np.array(owners, np.int64), return_inverse=True)[1]
    batches = [OverlappingPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for first, second in _candidates(bounds, owner, split):
        meet = bounds.meet(first, second) & (owner[first] != owner[second])
        first, second = first[meet], second[meet]
        values = iou(first, second)
        overlap = values > 0
        batches.append(OverlappingPairs(first[overlap], second[overlap] - (split or 0), values[overlap]))
    return OverlappingPairs(*(np.concatenate(columns) for columns in zip(*batches, strict=True)))


def _candidates(bounds: Bounds, owner: Integers, split: int | None) -> Iterator[tuple[Integers, Integers]]:
    """Yield batches of pairs that may overlap, the lower position first; each pair of different owners once at most.

    The numbers of two owners differ in a highest bit, and are equal above it. So a sweep for each bit, between those
    that have it and those that do not, finds every such pair once, and no pair of one owner.
    """
    count = len(owner)
    if split is None and count <= MAX_ALL_PAIRS:
        yield np.triu_indices(count, 1)
        return
    if split is not None and split * (count - split) <= MAX_ALL_PAIRS**2:
        yield np.repeat(np.arange(split), count - split), np.tile(np.arange(split, count), split)
        return
    everything: Integers = np.arange(count)
    sides = [(everything, everything)]
    if split is not None:
        sides = [(everything[:split], everything[split:]), (everything[split:], everything[:split])]
    for bit in range(int(owner.max(initial=0)).bit_length()):
        has_bit, above = (owner >> bit) & 1 == 1, owner >> (bit + 1)
        ranked = rank(bounds._replace(within=bounds.within * (above.max() + 1) + above))
        for one, other in sides:
            for first, second in Sweep(ranked, one[~has_bit[one]], other[has_bit[other]]).batches():
                yield np.minimum(first, second), np.maximum(first, second)


class Ranked(NamedTuple):
    """Bounds as whole numbers [n, axes] in the order of things and coordinates: extents in different things never meet,
    and no difference is lost to rounding, however large a coordinate is."""

    low: Integers
    high: Integers


def rank(bounds: Bounds) -> Ranked:
    count, axes = bounds.low.shape
    ranks = np.empty((2 * count, axes), np.int64)
    within = np.concatenate([bounds.within, bounds.within])
    for axis in range(axes):
        values = np.concatenate([bounds.low[:, axis], bounds.high[:, axis]])
        order = np.lexsort((values, within))
        is_new = (np.diff(values[order]) != 0) | (np.diff(within[order]) != 0)
        ranks[order, axis] = np.concatenate([[0], np.cumsum(is_new)])
    return Ranked(ranks[:count], ranks[count:])


class Sweep:
    """The pairs of one of some extents and one of some others that meet on one axis, the one with fewer such pairs."""

    def __init__(self, ranked: Ranked, one: Integers, other: Integers) -> None:
        axes = range(ranked.low.shape[1])
        self._runs = min((_runs(ranked, axis, one, other) for axis in axes), key=_count)
        self.count = _count(self._runs)

    def batches(self) -> Iterator[tuple[Integers, Integers]]:
        for run in self._runs:
            yield from run.batches()


class _Run(NamedTuple):
    """Positions [n], each with those of the `others` [m] from `start` [n] up to `end` [n]."""

    positions: Integers
    others: Integers
    start: Integers
    end: Integers

    def batches(self) -> Iterator[tuple[Integers, Integers]]:
        number = self.end - self.start
        batch = np.cumsum(number) // BATCH_SIZE
        firsts = np.flatnonzero(np.diff(batch, prepend=-1))
        for first, last in pairwise([*firsts.tolist(), len(batch)]):
            partners = number[first:last]
            skipped = np.cumsum(partners) - partners
            place = np.arange(int(partners.sum())) + np.repeat(self.start[first:last] - skipped, partners)
            yield np.repeat(self.positions[first:last], partners), self.others[place]


def _runs(ranked: Ranked, axis: int, one: Integers, other: Integers) -> tuple[_Run, _Run]:
    """Those of the others that begin inside an extent, or where it begins, and the extents that begin inside them."""
    low, high = ranked.low[:, axis], ranked.high[:, axis]
    one, other = one[np.argsort(low[one], kind="stable")], other[np.argsort(low[other], kind="stable")]
    inside = np.searchsorted(low[other], low[one], "left"), np.searchsorted(low[other], high[one], "right")
    around = np.searchsorted(low[one], low[other], "right"), np.searchsorted(low[one], high[other], "right")
    return _Run(one, other, *inside), _Run(other, one, *around)


def _count(runs: Iterable[_Run]) -> int:
    return sum(int((run.end - run.start).sum()) for run in runs)


def integer_codes(names: Iterable[str]) -> list[int]:
    """Return a number for each name, equal for equal names."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]
