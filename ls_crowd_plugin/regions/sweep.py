"""Which pairs of many extents overlap, without looking at all pairs where there are many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FEW = 128  # of so many extents all pairs are looked at: sorting them first would take longer
MOST_AT_ONCE = 100_000  # pairs looked at together


class Pairs(NamedTuple):
    """Positions [p] and [p] of extents that overlap, and how similar they are [p]; all similarities are above 0."""

    first: Integers
    second: Integers
    similarity: Floats

    def matrix(self, count: int) -> Floats:
        """[n, n] the similarities of n extents, of which these are all pairs that overlap."""
        dense = np.eye(count)
        dense[self.first, self.second] = dense[self.second, self.first] = self.similarity
        return dense


def overlapping(
    low: Floats, high: Floats, within: Integers, split: int | None, similar: Callable[[Integers, Integers], Floats]
) -> Pairs:
    """The pairs whose similarity is above 0; `similar` gives that of the pairs of two columns of positions [p], [p].

    `low` and `high` [n, axes] are bounds of the extents along one or two axes. `similar` is only asked about pairs
    whose bounds meet on all of them and which are `within` [n] the same: others do not overlap. The first of a pair is
    the one that comes first. With a `split` the extents before it are only paired with those from there on, which are
    then counted from 0.
    """
    found = [Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for first, second in _candidates(low, high, within, split):
        meet = within[first] == within[second]
        for axis in range(low.shape[1]):
            meet &= low[first, axis] <= high[second, axis]
            meet &= low[second, axis] <= high[first, axis]
        first, second = first[meet], second[meet]
        similarity = similar(first, second)
        some = similarity > 0
        found.append(Pairs(first[some], second[some] - (split or 0), similarity[some]))
    return Pairs(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _candidates(low: Floats, high: Floats, within: Integers, split: int | None) -> Iterator[tuple[Integers, Integers]]:
    """Pairs whose bounds may meet, the lower position first; of many extents only those that meet on one axis."""
    count = len(low)
    if split is None and count <= FEW:
        yield np.triu_indices(count, 1)
        return
    if split is not None and split * (count - split) <= FEW**2:
        yield np.repeat(np.arange(split), count - split), np.tile(np.arange(split, count), split)
        return
    # What lies within different things is moved so far apart that it cannot meet. Rounding keeps the order of sums with
    # the same number, so nothing that meets is lost.
    shift = within[:, None] * (high.max(axis=0) - low.min(axis=0) + 1.0)
    sweeps = [_meeting(low[:, axis] + shift[:, axis], high[:, axis] + shift[:, axis]) for axis in range(low.shape[1])]
    order, after = min(sweeps, key=lambda sweep: int((sweep[1] - np.arange(count)).sum()))
    partners = after - np.arange(count) - 1  # [n] how many of those that begin later an extent meets
    batch = np.cumsum(partners) // MOST_AT_ONCE
    starts = np.flatnonzero(np.diff(batch, prepend=-1))
    for start, end in zip(starts, [*starts[1:], count], strict=True):
        number = partners[start:end]
        one = np.repeat(np.arange(start, end), number)
        other = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(number) - number, number)
        first, second = np.minimum(order[one], order[other]), np.maximum(order[one], order[other])
        if split is not None:
            across = (first < split) & (second >= split)
            first, second = first[across], second[across]
        yield first, second


def _meeting(low: Floats, high: Floats) -> tuple[Integers, Integers]:
    """[n], [n] the intervals by their low ends, and for each place in that order the first that begins too late."""
    order = np.argsort(low, kind="stable")
    return order, np.searchsorted(low[order], high[order], side="right")


def codes(names: Iterable[str]) -> list[int]:
    """A number for each name, the same for the same."""
    known: dict[str, int] = {}
    return [known.setdefault(name, len(known)) for name in names]
