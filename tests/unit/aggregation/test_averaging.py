"""Averages of forms."""

from __future__ import annotations

import numpy as np
import pytest

from ls_crowd_plugin.aggregation.averaging import Average
from ls_crowd_plugin.aggregation.fit import Posterior
from tests.support.crowds import encode_rows

TABLE = encode_rows([(1, "ann", "a"), (1, "bob", "b"), (2, "ann", "a")], label_set=["a", "b", "c"])
ONE = Posterior(np.array([0.81, 0.16, 0.64]), np.array([0.03, 0.18]))  # the first task has a, b, and one more
OTHER = Posterior(np.array([0.2, 0.7, 0.9]), np.array([0.1, 0.05]))


def test_posteriors_are_averaged_by_their_weights() -> None:
    mean = Average({"one": 0.25, "other": 0.75}).of(TABLE, {"one": ONE, "other": OTHER})
    assert mean.options.tolist() == pytest.approx([0.3525, 0.565, 0.835])
    assert mean.unchosen.tolist() == pytest.approx([0.0825, 0.0825])


def test_a_power_is_taken_first_and_every_item_still_sums_to_one() -> None:
    mean = Average({"one": 1.0}, {"one": 0.5}).of(TABLE, {"one": ONE})
    first = 0.9 + 0.4 + 0.03**0.5
    second = 0.8 + 2 * 0.18**0.5
    assert mean.options.tolist() == pytest.approx([0.9 / first, 0.4 / first, 0.8 / second])
    assert mean.unchosen.tolist() == pytest.approx([0.03**0.5 / first, 0.18**0.5 / second])


def test_items_without_a_posterior_stay_without_one() -> None:
    nothing = Posterior(np.array([0.0, 0.0, 0.64]), np.array([0.0, 0.18]))
    mean = Average({"one": 1.0}, {"one": 0.5}).of(TABLE, {"one": nothing})
    assert mean.options[:2].tolist() == [0.0, 0.0]
    assert mean.unchosen[0] == 0.0
    assert mean.options[2] + 2 * mean.unchosen[1] == pytest.approx(1.0)
