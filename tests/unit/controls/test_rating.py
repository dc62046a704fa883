"""A rating is one question with a label per star."""

from __future__ import annotations

from typing import Any

import pytest

from ls_crowd_plugin.controls import Question
from tests.support.label_configs import RATING, config_of, item


def test_there_is_one_label_per_star() -> None:
    assert config_of(RATING.format('maxRating="3"')).questions == (Question("stars", ("1", "2", "3")),)


def test_the_default_is_five_stars() -> None:
    assert config_of(RATING.format("")).questions[0].labels == ("1", "2", "3", "4", "5")


@pytest.mark.parametrize("rating", [4, 4.0])
def test_a_whole_number_is_read(rating: float) -> None:
    assert config_of(RATING.format("")).read([item("stars", {"rating": rating})]) == {"stars": "4"}


def test_a_label_is_written_as_a_number() -> None:
    assert config_of(RATING.format("")).write({"stars": "4"})[0]["value"] == {"rating": 4}


def test_more_stars_than_the_config_allows_are_no_answer() -> None:
    assert config_of(RATING.format('maxRating="3"')).read([item("stars", {"rating": 4})]) == {}


@pytest.mark.parametrize("value", ["many", [4], {"rating": 4}, -1, 2.5, True])
def test_an_unreadable_item_is_no_answer(value: Any) -> None:
    assert config_of(RATING.format('required="true"')).read([item("stars", {"rating": value})]) == {}


@pytest.mark.parametrize("stars", ["many", "0", "-1", "2.5", "1001", "9" * 5000])
def test_a_control_with_an_absurd_number_of_stars_is_left_out(stars: str) -> None:
    config = config_of(RATING.format(f'maxRating="{stars}"'))
    assert (config.controls, [one.reason for one in config.left_out]) == (
        (),
        ["its maxRating is no whole number from 1 to 1,000"],
    )
