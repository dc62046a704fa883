"""Array operations that several modules need and numpy does not have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy import sparse

from .types import Flags, Floats, Integers, Positions

PIECE = 50_000  # entries that are worked on at once: what is made of them stays in the processor's cache
LARGEST_KEY = 2**62
KEPT_BYTES = 31 * 2**20  # freed arrays up to this size are used again; the C library of Linux allows at most 32 MB
SAFE = 300.0  # exp of log scores up to this size, and sums, products and quotients of two such numbers, are in range


def keep_freed_memory() -> None:
    """Let the next arrays use the memory of freed ones, instead of new pages of the system, which take a third of the
    time of a fit. The C library of Linux does so for arrays as large as any that was freed; others ignore this."""
    np.empty(KEPT_BYTES, np.uint8)


def first_of_each(values: Integers) -> Positions:
    """Where each distinct value begins, in an array whose equal values are next to each other."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])


def group_sums(group: Integers | Positions, values: Floats | Flags, groups: int) -> Floats:
    """Sum the values of each group; returns [groups]."""
    return np.bincount(group, values, minlength=groups).astype(float)


def log_sum_exp(rows: Floats) -> Floats:
    """Log of the sum of exp along each row; faster than scipy's for many short rows."""
    top = rows.max(1)
    return np.asarray(top + np.log(np.exp(rows - top[:, None]).sum(1)))


def pieces(count: int) -> Iterator[slice]:
    """Slices of PIECE entries that cover `count` entries."""
    for first in range(0, count, PIECE):
        yield slice(first, min(first + PIECE, count))


def order_by(major: Integers, minor: Integers, minors: int) -> Positions:
    """The stable order by (major, minor) of non-negative integers, where minors are below `minors`: linear in their
    number.

    Majors that ascend already, as they often do, are sorted in pieces that stay in the processor's cache.
    """
    if not (major[1:] >= major[:-1]).all():
        by_minor = _counting_order(minor, minors)
        return by_minor[_counting_order(major[by_minor], int(major.max()) + 1)]
    order: Positions = np.empty(len(major), np.int64)
    starts = np.unique(np.searchsorted(major, major[::PIECE]))  # where a major begins
    for first, last in pairwise([*starts.tolist(), len(major)]):
        order[first:last] = first + _order_piece(major[first:last] - major[first], minor[first:last], minors)
    return order


def _order_piece(major: Integers, minor: Integers, minors: int) -> Positions:
    """The same for few entries: sorts the numbers major · minors + minor, each followed by its position in binary."""
    bits = len(major).bit_length()
    if (int(major.max()) + 1) * minors << bits > LARGEST_KEY:
        return np.asarray(np.lexsort((minor, major)))
    key = major.astype(np.int64) * minors
    key += minor
    key <<= bits
    key |= np.arange(len(key))
    key.sort()
    return np.asarray(key & ((1 << bits) - 1))


def _counting_order(values: Integers, bound: int) -> Positions:
    """The stable order of non-negative integers below `bound`; scipy's column compression is a counting sort."""
    n = len(values)
    matrix = sparse.csc_array(
        (np.arange(n, dtype=np.int32), values, np.arange(n + 1, dtype=np.int32)), shape=(bound, n), copy=False
    )
    return np.asarray(matrix.tocsr().data, np.int64)
