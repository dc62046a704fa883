"""Array operations that several modules need and numpy does not have."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse

from .types import Flags, Floats, Integers, Positions

PIECE = 50_000  # entries that are sorted at once
SAFE = 300.0  # exp of log scores up to this size, and sums, products and quotients of two such numbers, are in range


def group_sums(group: Integers | Positions, values: Floats | Flags, groups: int) -> Floats:
    """Sum the values of each group; returns [groups]."""
    return np.bincount(group, values, minlength=groups).astype(float)


def log_sum_exp(rows: Floats) -> Floats:
    """Log of the sum of exp along each row; faster than scipy's for many short rows."""
    top = rows.max(1)
    return np.asarray(top + np.log(np.exp(rows - top[:, None]).sum(1)))


def order_by(major: Integers, minor: Integers, minors: int) -> Positions:
    """The stable order by (major, minor) of non-negative integers, by two counting sorts: linear in their number.

    Majors that ascend already, as they often do, are sorted in pieces that stay in the processor's cache.
    """
    order: Positions = np.empty(len(major), np.int64)
    starts: Positions = np.zeros(1, np.int64)
    if (major[1:] >= major[:-1]).all():
        size = max(PIECE, minors)  # so that counting the minors of all pieces stays linear
        starts = np.unique(np.searchsorted(major, major[::size]))  # where a major begins
    for first, last in pairwise([*starts.tolist(), len(major)]):
        by_minor = _counting_order(minor[first:last], minors)
        part = major[first:last][by_minor]
        part -= part.min()
        order[first:last] = first + by_minor[_counting_order(part, int(part.max()) + 1)]
    return order


def _counting_order(values: Integers, bound: int) -> Positions:
    """The stable order of non-negative integers below `bound`; scipy's column compression is a counting sort."""
    n = len(values)
    matrix = sparse.csc_array(
        (np.arange(n, dtype=np.int32), values, np.arange(n + 1, dtype=np.int32)), shape=(bound, n), copy=False
    )
    return np.asarray(matrix.tocsr().data, np.int64)
