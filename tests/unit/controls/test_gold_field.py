"""A field of `task.data` may state gold labels in several forms."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.label_configs import MOOD, NO, RATING, TOPICS, TREE, TREE_PATHS, YES, config_of, single

CONFIG = config_of(MOOD.format(""), TOPICS, RATING.format(""), TREE.format(""))


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        ({"mood": "good"}, {"mood": "good"}),
        ({"stars": 3}, {"stars": "3"}),
        ({"topics": ["sport"]}, {"topics: sport": YES, "topics: money": NO}),
        ({"topics": "sport"}, {"topics: sport": YES, "topics: money": NO}),
        ({"topics": []}, {"topics: sport": NO, "topics: money": NO}),
        ({"topics: sport": "yes"}, {"topics: sport": YES}),
        ({"mood": "good", "stars": "2"}, {"mood": "good", "stars": "2"}),
    ],
)
def test_labels_are_read(value: Any, labels: dict[str, str]) -> None:
    assert CONFIG.read_gold_field(value) == labels


@pytest.mark.parametrize(
    "value",
    [
        {"mood": "awful"},
        {"topics": ["politics"]},
        {"nobody": "good"},
        "good",  # of which of the controls?
        None,
        {"mood": ["good", "bad"]},
        {"mood": {"a": 1}},
        {"mood": "good", "stars": "many"},
    ],
)
def test_anything_unknown_makes_the_field_unusable(value: Any) -> None:
    assert CONFIG.read_gold_field(value) is None


@pytest.mark.parametrize(("paths", "right"), [([], None), ([["animal", "cat"]], "animal / cat")])
def test_labels_may_be_paths(paths: list[list[str]], right: str | None) -> None:
    expected = {f"kind: {path}": YES if path == right else NO for path in TREE_PATHS}
    assert CONFIG.read_gold_field({"kind": paths}) == expected


def test_the_field_of_a_single_control_may_be_the_label_itself() -> None:
    assert single().read_gold_field("bad") == {"mood": "bad"}
