"""Array operations agree with plain Python."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.aggregation import arrays
from ls_crowd_plugin.aggregation.arrays import first_of_each, group_sums, log_sum_exp, order_by


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=40), st.booleans())
def test_the_order_is_the_stable_order_by_both_keys(pairs: list[tuple[int, int]], is_ascending: bool) -> None:
    if is_ascending:
        pairs.sort(key=lambda pair: pair[0])
    major = np.array([major for major, _ in pairs], np.int32)
    minor = np.array([minor for _, minor in pairs], np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "PIECE", 5)  # so that there are several pieces
        assert order_by(major, minor, 4).tolist() == sorted(range(len(pairs)), key=pairs.__getitem__)


def test_values_are_summed_by_group() -> None:
    assert group_sums(np.array([1, 0, 1]), np.array([0.5, 2.0, 1.0]), 3).tolist() == [2.0, 1.5, 0.0]


def test_the_first_of_each_value_is_found() -> None:
    assert first_of_each(np.array([0, 0, 1, 2, 2, 2], np.int32)).tolist() == [0, 2, 3]
    assert first_of_each(np.empty(0, np.int32)).tolist() == []


def test_sums_of_exponentials_do_not_overflow() -> None:
    rows = np.array([[0.0, 1.0], [1000.0, 1000.0]])
    assert log_sum_exp(rows).tolist() == pytest.approx([log(1 + exp(1)), 1000 + log(2)])
