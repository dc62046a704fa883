"""Spans overlap by the characters they share, and are merged at the boundaries that most of the weight agrees on."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.errors import UnusableInput
from ls_crowd_plugin.regions import Span
from ls_crowd_plugin.regions.spans import iou_matrix, merge

numbers = st.integers(0, 12)
some_spans = st.builds(
    lambda start, length, within: Span(start, start + length, within), numbers, numbers, st.sampled_from(["", "2"])
)
weights = st.floats(-1, 10, allow_nan=False)


@given(spans=st.lists(some_spans, max_size=8))
def test_iou_is_the_share_of_characters_that_both_have(spans: list[Span]) -> None:
    matrix = iou_matrix(spans)
    characters = [{(span.within, place) for place in range(span.start, span.end)} for span in spans]
    for row, one in enumerate(characters):
        for column, other in enumerate(characters):
            share = len(one & other) / len(one | other) if one | other else float(spans[row] == spans[column])
            assert matrix[row, column] == share


def test_empty_spans_overlap_only_if_identical() -> None:
    matrix = iou_matrix([Span(3, 3), Span(3, 3), Span(4, 4), Span(2, 5), Span(3, 3, "another paragraph")])
    expected = np.eye(5)
    expected[0, 1] = expected[1, 0] = 1
    assert (matrix == expected).all()


def test_a_boundary_with_more_than_half_of_the_weight_wins() -> None:
    spans = [Span(0, 10), Span(2, 10), Span(2, 14), Span(2, 17), Span(5, 14)]
    assert merge(spans, [1, 1, 1, 1, 1]) == Span(2, 14)
    assert merge(spans, [5, 1, 1, 1, 1]) == Span(0, 10)
    assert merge(spans, [0.1, 0.1, 0.1, 0.5, 0.1]) == Span(2, 17)


def test_of_two_boundaries_with_half_of_the_weight_the_lower_wins() -> None:
    assert merge([Span(1, 9), Span(3, 7)], [1, 1]) == Span(1, 7)
    # In floating point 0.1 + 0.2 is more than 0.3, but half of the weight must be exactly half.
    assert merge([Span(1, 9), Span(1, 9), Span(3, 7)], [0.1, 0.2, 0.3]) == Span(1, 7)


def test_without_positive_weights_all_count_equally() -> None:
    spans = [Span(0, 4), Span(1, 5), Span(2, 6)]
    assert merge(spans, [0, 0, 0]) == merge(spans, [-3, -1, 0]) == Span(1, 5)


@given(numbers=st.lists(st.tuples(numbers, numbers, weights), min_size=1, max_size=8), order=st.randoms())
def test_a_merged_span_has_boundaries_that_were_drawn_and_does_not_depend_on_order(
    numbers: list[tuple[int, int, float]], order: Random
) -> None:
    rows = [(Span(start, start + length, "page"), weight) for start, length, weight in numbers]
    merged = merge(*zip(*rows, strict=True))
    assert merged.start <= merged.end
    assert merged.within == "page"
    with_weight = [span for span, weight in rows if weight > 0] or [span for span, _ in rows]
    assert merged.start in {span.start for span in with_weight}
    assert merged.end in {span.end for span in with_weight}
    order.shuffle(rows)
    assert merge(*zip(*rows, strict=True)) == merged


def test_a_span_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(UnusableInput, match="before it starts"):
        Span(5, 4)
