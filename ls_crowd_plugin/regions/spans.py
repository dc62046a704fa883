"""Spans of text: how alike two are, and one for several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import UnusableInput
from .medians import medians, whole_weights
from .sweep import Floats, Integers, Pairs, codes, overlapping


@dataclass(frozen=True, order=True)
class Span:
    """Characters from `start` up to and without `end`; spans within different things, say paragraphs, never overlap."""

    start: int
    end: int
    within: str = ""

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise UnusableInput(f"A span ends at {self.end}, before it starts at {self.start}; it must not.")


def similarities(spans: Sequence[Span]) -> Floats:
    """[n, n] length of the intersection / length of the union; spans without length are alike only if identical."""
    return pairs(spans).matrix(len(spans))


def pairs(spans: Sequence[Span], others: Sequence[Span] | None = None) -> Pairs:
    """All pairs of spans with a similarity above 0; with `others`, the pairs of a span and one of the others."""
    everything = [*spans, *(others or ())]
    table = np.array([(span.start, span.end) for span in everything], float).reshape(-1, 2)
    within = np.array(codes(span.within for span in everything), np.int64)

    def similar(first: Integers, second: Integers) -> Floats:
        return _similar(table[first], table[second])

    split = None if others is None else len(spans)
    return overlapping(table[:, :1], table[:, 1:], within, split, similar)


def merged(spans: Sequence[Span], weights: Sequence[float]) -> Span:
    """The lower weighted medians of the starts and of the ends, each of which is one that somebody drew.

    A boundary that more than half of the weight holds wins. No start passes its end, so their medians do not either.
    """
    whole = whole_weights(weights)
    start, _ = medians((span.start for span in spans), whole)
    end, _ = medians((span.end for span in spans), whole)
    return Span(start, end, spans[0].within)


def _similar(one: Floats, other: Floats) -> Floats:
    """[p] the similarities of the rows [p, 2] (start, end) of two tables."""
    shared = np.maximum(np.minimum(one[:, 1], other[:, 1]) - np.maximum(one[:, 0], other[:, 0]), 0.0)
    union = one[:, 1] - one[:, 0] + other[:, 1] - other[:, 0] - shared
    similarity: Floats = shared / np.maximum(union, 1.0)
    similarity[(one == other).all(axis=1)] = 1.0
    return similarity
