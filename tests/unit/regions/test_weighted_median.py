"""No more than half of the weight lies on either side of a weighted median."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.regions.weighted_median import integer_weights, lower_and_upper_median, median

rows = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), min_size=1)


@given(rows=rows.filter(lambda rows: any(weight for _, weight in rows)))
def test_no_more_than_half_of_the_weight_lies_beyond_a_median(rows: list[tuple[int, int]]) -> None:
    values, weights = zip(*rows, strict=True)
    lower, upper = lower_and_upper_median(values, weights)
    for middle in (lower, upper, median(values, weights)):
        assert 2 * sum(weight for value, weight in rows if value < middle) <= sum(weights)
        assert 2 * sum(weight for value, weight in rows if value > middle) <= sum(weights)
    assert lower <= upper
    values_with_weight = sorted({value for value, weight in rows if weight})
    assert lower == upper or (lower, upper) in set(pairwise(values_with_weight))


def test_without_weight_there_is_no_median() -> None:
    with pytest.raises(ValueError, match="no weight"):
        lower_and_upper_median([1, 2], [0, 0])


def test_integer_weights_keep_their_proportions() -> None:
    weights = integer_weights([0.3, -1, 0.1, 0.6])
    assert weights[1] == 0
    assert weights[0] * 2 == pytest.approx(weights[3], rel=1e-9)


def test_integer_weights_are_equal_if_none_is_positive() -> None:
    assert integer_weights([-3, 0, -1]) == [1, 1, 1]
