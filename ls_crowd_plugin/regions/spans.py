"""Spans of text: how far they overlap, and how several are merged into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import UnusableInput
from .overlaps import Bounds, Floats, Integers, OverlappingPairs, find_overlaps, integer_codes
from .weighted_median import integer_weights, lower_and_upper_median


@dataclass(frozen=True, order=True)
class Span:
    """Characters from `start` up to, but not including, `end`.

    Spans within different things, for example paragraphs, never overlap.
    """

    start: int
    end: int
    within: str = ""

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise UnusableInput(f"A span ends at {self.end}, before it starts at {self.start}; swap its ends.")


def iou_matrix(spans: Sequence[Span]) -> Floats:
    """Return length of the intersection / length of the union [n, n]; for empty spans 1 if identical, else 0."""
    return overlapping_pairs(spans).matrix(len(spans))


def overlapping_pairs(
    spans: Sequence[Span], others: Sequence[Span] | None = None, owners: Sequence[int] | None = None
) -> OverlappingPairs:
    """Return all pairs of spans that overlap or, with `others`, the pairs of a span and one of the others.

    With `owners`, of the spans and then of the others, no pairs of one owner are returned.
    """
    everything = [*spans, *(others or ())]
    where = bounds(everything)
    table = np.concatenate([where.low, where.high], axis=1)

    def iou(first: Integers, second: Integers) -> Floats:
        return _iou(table[first], table[second])

    return find_overlaps(where, owners, None if others is None else len(spans), iou)


def bounds(spans: Sequence[Span]) -> Bounds:
    table = np.array([(span.start, span.end) for span in spans], float).reshape(-1, 2)
    within = np.array(integer_codes(span.within for span in spans), np.int64)
    return Bounds(table[:, :1], table[:, 1:], within, is_costly=np.zeros(len(spans), bool))


def merge(spans: Sequence[Span], weights: Sequence[float]) -> Span:
    """Return the span from the lower weighted median of the starts to that of the ends.

    Both are boundaries that somebody drew, and a boundary with more than half of the weight wins. No start exceeds its
    end, so the median of the starts does not exceed that of the ends.
    """
    exact = integer_weights(weights)
    start, _ = lower_and_upper_median((span.start for span in spans), exact)
    end, _ = lower_and_upper_median((span.end for span in spans), exact)
    return Span(start, end, spans[0].within)


def _iou(one: Floats, other: Floats) -> Floats:
    """Return intersection over union [p] of the rows [p, 2] (start, end) of two tables."""
    shared = np.maximum(np.minimum(one[:, 1], other[:, 1]) - np.maximum(one[:, 0], other[:, 0]), 0.0)
    union = one[:, 1] - one[:, 0] + other[:, 1] - other[:, 0] - shared
    iou: Floats = shared / np.maximum(union, 1.0)
    iou[(one == other).all(axis=1)] = 1.0
    return iou
