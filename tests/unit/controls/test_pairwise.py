"""A pairwise comparison is one question with two sides."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.controls import Question
from tests.support.label_configs import PAIR, config_of, item


def test_the_labels_are_the_sides() -> None:
    assert config_of(PAIR.format("")).questions == (Question("better", ("left", "right")),)


@pytest.mark.parametrize("to_name", ["better", "a"])
def test_an_item_is_read_whatever_it_points_to(to_name: str) -> None:
    assert config_of(PAIR.format("")).read([item("better", {"selected": "left"}, to_name)]) == {"better": "left"}


def test_a_label_is_written_with_the_name_of_the_first_object() -> None:
    assert config_of(PAIR.format("")).write({"better": "right"}) == [
        {"from_name": "better", "to_name": "a", "type": "pairwise", "value": {"selected": "right"}}
    ]
