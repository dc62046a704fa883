"""The sweep that is used for many extents finds the same pairs as a comparison of all pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.regions import Box, Kind, Span, boxes, spans
from ls_crowd_plugin.regions.overlaps import MAX_ALL_PAIRS, Floats
from ls_crowd_plugin.regions.types import Extent

# Areas below a million have rounding errors below 1e-9, and clipping makes a dozen of them.
ROUNDING = 1e-8
numbers = st.integers(0, 12)
some_spans = st.builds(
    lambda start, length, within: Span(start, start + length, within), numbers, numbers, st.sampled_from(["", "2"])
)


def iou_with_others(kind: Kind[Extent], extents: list[Extent], others: list[Extent]) -> Floats:
    first, second, iou = kind.overlapping_pairs(extents, others)
    matrix = np.zeros((len(extents), len(others)))
    matrix[first, second] = iou
    return matrix


def test_among_many_spans_the_same_pairs_are_found_as_among_few() -> None:
    generator = np.random.default_rng(0)
    starts = generator.integers(0, 500, 3 * MAX_ALL_PAIRS)
    lengths = generator.integers(0, 20, 3 * MAX_ALL_PAIRS)
    extents = [
        Span(int(start), int(start + length), str(place % 2))
        for place, (start, length) in enumerate(zip(starts, lengths, strict=True))
    ]
    many = spans.iou_matrix(extents)
    parts = [slice(0, 64), slice(MAX_ALL_PAIRS, MAX_ALL_PAIRS + 64)]
    for rows in parts:
        for columns in parts:
            few = spans.iou_matrix(extents[rows] + extents[columns])
            assert (many[rows, columns] == few[:64, 64:]).all()


@pytest.mark.parametrize("rotated", [False, True])
def test_among_many_boxes_the_same_pairs_are_found_as_among_few(rotated: bool) -> None:
    generator = np.random.default_rng(1)
    numbers = generator.uniform([0, 0, 1, 1, 0], [90, 900, 20, 20, 90 * rotated], (3 * MAX_ALL_PAIRS, 5)).tolist()
    extents = [replace(Box(*row), within=str(place % 2)) for place, row in enumerate(numbers)]
    many = boxes.iou_matrix(extents)
    parts = [slice(0, 64), slice(MAX_ALL_PAIRS, MAX_ALL_PAIRS + 64)]
    for rows in parts:
        for columns in parts:
            few = boxes.iou_matrix(extents[rows] + extents[columns])
            np.testing.assert_allclose(many[rows, columns], few[:64, 64:], rtol=0, atol=ROUNDING)
    others = iou_with_others(boxes, extents[:200], extents[200:])
    np.testing.assert_allclose(others, many[:200, 200:], rtol=0, atol=ROUNDING)


@given(extents=st.lists(some_spans, max_size=6), others=st.lists(some_spans, max_size=6))
def test_with_others_only_pairs_across_are_found(extents: list[Span], others: list[Span]) -> None:
    everything = spans.iou_matrix(extents + others)
    assert (iou_with_others(spans, extents, others) == everything[: len(extents), len(extents) :]).all()


def test_with_many_others_only_pairs_across_are_found() -> None:
    extents = [Span(place, place + 3) for place in range(2 * MAX_ALL_PAIRS)]
    others = [Span(place, place + 4) for place in range(2 * MAX_ALL_PAIRS)]
    everything = spans.iou_matrix(extents + others)
    assert (iou_with_others(spans, extents, others) == everything[: len(extents), len(extents) :]).all()
