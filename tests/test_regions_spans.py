"""Spans are alike by the characters they share, and several make one whose boundaries most of the weight holds."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.errors import UnusableInput
from ls_crowd_plugin.regions import Span
from ls_crowd_plugin.regions.medians import medians, middle, whole_weights
from ls_crowd_plugin.regions.spans import merged, pairs, similarities
from ls_crowd_plugin.regions.sweep import FEW

numbers = st.integers(0, 12)
some_spans = st.builds(
    lambda start, length, within: Span(start, start + length, within), numbers, numbers, st.sampled_from(["", "2"])
)
weights = st.floats(-1, 10, allow_nan=False)


@given(spans=st.lists(some_spans, max_size=8))
def test_similarity_is_the_share_of_characters_that_both_have(spans: list[Span]) -> None:
    found = similarities(spans)
    characters = [{(span.within, place) for place in range(span.start, span.end)} for span in spans]
    for row, one in enumerate(characters):
        for column, other in enumerate(characters):
            share = len(one & other) / len(one | other) if one | other else float(spans[row] == spans[column])
            assert found[row, column] == share


def test_spans_without_length_are_alike_only_if_identical() -> None:
    found = similarities([Span(3, 3), Span(3, 3), Span(4, 4), Span(2, 5), Span(3, 3, "another paragraph")])
    expected = np.eye(5)
    expected[0, 1] = expected[1, 0] = 1
    assert (found == expected).all()


def test_among_many_spans_the_same_pairs_are_found_as_among_few() -> None:
    generator = np.random.default_rng(0)
    start, length = generator.integers(0, 500, 3 * FEW), generator.integers(0, 20, 3 * FEW)
    spans = [
        Span(int(first), int(first + long), str(place % 2))
        for place, (first, long) in enumerate(zip(start, length, strict=True))
    ]
    whole = similarities(spans)
    parts = [slice(0, 64), slice(FEW, FEW + 64)]
    for rows in parts:
        for columns in parts:
            few = similarities(spans[rows] + spans[columns])
            assert (whole[rows, columns] == few[:64, 64:]).all()


@given(spans=st.lists(some_spans, max_size=6), others=st.lists(some_spans, max_size=6))
def test_pairs_with_others_are_those_across(spans: list[Span], others: list[Span]) -> None:
    across = np.zeros((len(spans), len(others)))
    first, second, similarity = pairs(spans, others)
    across[first, second] = similarity
    assert (across == similarities(spans + others)[: len(spans), len(spans) :]).all()


def test_pairs_of_many_with_many_others_are_those_across() -> None:
    spans = [Span(place, place + 3) for place in range(2 * FEW)]
    others = [Span(place, place + 4) for place in range(2 * FEW)]
    first, second, similarity = pairs(spans, others)
    across = np.zeros((len(spans), len(others)))
    across[first, second] = similarity
    assert (across == similarities(spans + others)[: len(spans), len(spans) :]).all()


def test_a_boundary_that_more_than_half_of_the_weight_holds_wins() -> None:
    spans = [Span(0, 10), Span(2, 10), Span(2, 14), Span(2, 17), Span(5, 14)]
    assert merged(spans, [1, 1, 1, 1, 1]) == Span(2, 14)
    assert merged(spans, [5, 1, 1, 1, 1]) == Span(0, 10)
    assert merged(spans, [0.1, 0.1, 0.1, 0.5, 0.1]) == Span(2, 17)


def test_of_two_boundaries_with_half_of_the_weight_the_lower_is_taken() -> None:
    assert merged([Span(1, 9), Span(3, 7)], [1, 1]) == Span(1, 7)
    # 0.1 + 0.2 is more than 0.3 for a computer; half of the weight must be half all the same.
    assert merged([Span(1, 9), Span(1, 9), Span(3, 7)], [0.1, 0.2, 0.3]) == Span(1, 7)


def test_without_positive_weights_all_count_alike() -> None:
    spans = [Span(0, 4), Span(1, 5), Span(2, 6)]
    assert merged(spans, [0, 0, 0]) == merged(spans, [-3, -1, 0]) == Span(1, 5)


@given(drawn=st.lists(st.tuples(numbers, numbers, weights), min_size=1, max_size=8), order=st.randoms())
def test_a_merged_span_is_well_formed_and_drawn_and_the_same_in_any_order(
    drawn: list[tuple[int, int, float]], order: Random
) -> None:
    rows = [(Span(start, start + length, "page"), weight) for start, length, weight in drawn]
    found = merged(*zip(*rows, strict=True))
    assert found.start <= found.end
    assert found.within == "page"
    counting = [span for span, weight in rows if weight > 0] or [span for span, _ in rows]
    assert found.start in {span.start for span in counting}
    assert found.end in {span.end for span in counting}
    order.shuffle(rows)
    assert merged(*zip(*rows, strict=True)) == found


@given(rows=st.lists(st.tuples(numbers, st.integers(0, 5)), min_size=1).filter(lambda rows: any(w for _, w in rows)))
def test_no_more_than_half_of_the_weight_lies_beyond_a_median(rows: list[tuple[int, int]]) -> None:
    values, whole = zip(*rows, strict=True)
    total = sum(whole)
    lower, upper = medians(values, whole)
    for median in (lower, upper, middle(values, whole)):
        assert 2 * sum(weight for value, weight in rows if value < median) <= total
        assert 2 * sum(weight for value, weight in rows if value > median) <= total
    assert lower <= upper
    weighty = sorted({value for value, weight in rows if weight})
    assert lower == upper or (lower, upper) in set(pairwise(weighty))


def test_weights_keep_their_proportions() -> None:
    whole = whole_weights([0.3, -1, 0.1, 0.6])
    assert whole[1] == 0
    assert whole[0] * 2 == pytest.approx(whole[3], rel=1e-9)


def test_a_span_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(UnusableInput, match="before it starts"):
        Span(5, 4)
