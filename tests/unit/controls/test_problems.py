"""Whatever a result holds, a config says in a few words why it cannot be used, or reads it; it never fails."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.controls import Config, Unreadable, parse_result, read_config
from ls_crowd_plugin.controls.bounds import MAX_REGIONS, MAX_RESULT_CHARACTERS
from ls_crowd_plugin.records import Json
from tests.support.hostile import EVERYTHING, hostile_results
from tests.support.label_configs import MOOD, PAIR, RATING, config_of, item
from tests.support.region_configs import BOXES, SPANS, SURE, box_item, span_item

HUGE = 10**400
SPAN_CONFIG = read_config(SPANS.format(SURE.format("text", "")))
BOX_CONFIG = read_config(BOXES.format(""))


class TestProblems:
    @pytest.mark.parametrize(
        ("rating", "problem"),
        [
            (HUGE, "a rating with an absurd number of stars"),
            (-HUGE, "a rating with an absurd number of stars"),
            (float("inf"), "a rating with an absurd number of stars"),
            (float("nan"), "a rating with an absurd number of stars"),
            ("4", "a rating that is no number"),
            (False, "a rating that is no number"),
            ([4], "a rating that is no number"),
        ],
    )
    def test_with_ratings(self, rating: Any, problem: str) -> None:
        config = config_of(RATING.format(""))
        assert config.problem_with([item("stars", {"rating": rating})]) == problem
        assert config.read([item("stars", {"rating": rating})]) == {}

    @pytest.mark.parametrize("rating", [3, 3.0, 0, None, 7, 2.5])
    def test_are_no_ratings_that_the_config_does_not_have(self, rating: Any) -> None:
        assert config_of(RATING.format("")).problem_with([item("stars", {"rating": rating})]) is None

    @pytest.mark.parametrize(
        ("config", "entry", "problem"),
        [
            (config_of(MOOD.format("")), item("mood", {"choices": "good"}), "a choice that is no list of texts"),
            (config_of(MOOD.format("")), item("mood", {"choices": [1]}), "a choice that is no list of texts"),
            (config_of(PAIR.format("")), item("better", {"selected": 1}), "a side that is no list of texts"),
            (config_of(MOOD.format("")), item("mood", None), "an entry without a value"),
            (config_of(MOOD.format("")), "good", "an entry that is no object"),
            (SPAN_CONFIG, None, "an entry that is no object"),
            (SPAN_CONFIG, {**span_item(0, 1, "PER"), "value": []}, "an entry without a value"),
            (SPAN_CONFIG, {**span_item(0, 1), "from_name": "sure", "value": None}, "an entry without a value"),
        ],
    )
    def test_with_the_form_of_entries(self, config: Config, entry: Any, problem: str) -> None:
        assert config.problem_with([entry]) == problem

    @pytest.mark.parametrize("number", [HUGE, float("inf"), float("nan"), 1e308, "x", None, [1], {}])
    @pytest.mark.parametrize("name", ["x", "y", "width", "height"])
    def test_with_coordinates_of_boxes(self, name: str, number: Any) -> None:
        entry = box_item(1, 1, 5, 5)
        entry["value"][name] = number
        assert BOX_CONFIG.problem_with([entry]) == "a box whose place cannot be read"

    @pytest.mark.parametrize("number", [HUGE, float("nan"), "x", [1]])
    def test_with_rotations_of_boxes(self, number: Any) -> None:
        assert BOX_CONFIG.problem_with([box_item(1, 1, 5, 5, rotation=number)]) == "a box whose place cannot be read"

    @pytest.mark.parametrize("name", ["image_rotation", "item_index"])
    @pytest.mark.parametrize("number", [HUGE, float("nan"), "x", [1], {"a": 1}, True])
    def test_with_which_image_a_box_is_on(self, name: str, number: Any) -> None:
        entry = {**box_item(1, 1, 5, 5), name: number}
        assert BOX_CONFIG.problem_with([entry]) == "a box whose place cannot be read"

    @pytest.mark.parametrize("number", [HUGE, "x", [1], -5, 0])
    def test_are_no_odd_sizes_of_images_which_are_ignored(self, number: Any) -> None:
        entry = {**box_item(1, 1, 5, 5), "original_width": number}
        assert BOX_CONFIG.problem_with([entry]) is None
        (region,) = BOX_CONFIG.regions[0].read([entry]) or []
        (written,) = BOX_CONFIG.regions[0].write("a", region.extent, "PER", {}, [region], None)
        assert "original_width" not in written

    @pytest.mark.parametrize("number", [HUGE, -1, 1.5, "9" * 5000, None])
    def test_with_ends_of_spans(self, number: Any) -> None:
        assert SPAN_CONFIG.problem_with([span_item(0, number, "PER")]) == "a span whose place cannot be read"

    @pytest.mark.parametrize(
        ("labels", "problem"),
        [
            ((), "a region without a label"),
            (("PER", "gone"), "a region with a label that the label config does not have"),
        ],
    )
    def test_with_labels_of_regions(self, labels: tuple[str, ...], problem: str) -> None:
        assert SPAN_CONFIG.problem_with([span_item(0, 1, *labels)]) == problem

    def test_with_too_many_regions(self) -> None:
        many = [span_item(at, at + 1, "PER") for at in range(MAX_REGIONS + 1)]
        assert SPAN_CONFIG.problem_with(many[:-1]) is None
        assert SPAN_CONFIG.problem_with(many) == "more than 5,000 regions"

    def test_with_too_many_regions_of_several_controls_together(self) -> None:
        second = '<Labels name="more" toName="text"><Label value="PER"/></Labels>'
        config = read_config(SPANS.format(second))
        half = [span_item(at, at + 1, "PER") for at in range(MAX_REGIONS // 2 + 1)]
        assert config.problem_with(half) is None
        assert (
            config.problem_with([*half, *({**one, "from_name": "more"} for one in half)]) == "more than 5,000 regions"
        )

    def test_are_none_in_a_label_that_is_repeated(self) -> None:
        (region,) = SPAN_CONFIG.regions[0].read([span_item(0, 1, *["PER"] * 9000)]) or []
        assert region.label == "PER"

    def test_are_none_in_relations_between_regions(self) -> None:
        """These have neither a value nor the name of a control."""
        relation = {"from_id": "a", "to_id": "b", "type": "relation", "direction": "right"}
        result = [span_item(0, 2, "PER"), span_item(3, 5, "ORG", region_id="b"), relation]
        assert SPAN_CONFIG.problem_with(result) is None
        assert len(SPAN_CONFIG.regions[0].read(result) or []) == 2

    def test_are_none_in_what_the_config_does_not_aggregate(self) -> None:
        odd = item("note", {"text": HUGE, "deep": [[[]]]})
        assert config_of(MOOD.format("")).problem_with([odd, {"from_name": None, "value": 3}, {}]) is None


class TestParsing:
    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("", "a result that is no JSON, or has a number that is too long"),
            ("[" + "9" * 5000 + "]", "a result that is no JSON, or has a number that is too long"),
            ("[" * 100_000 + "]" * 100_000, "a result that is nested too deeply"),
            ("null", "a result that is no list, or that Label Studio cannot show"),
            ('{"a": 1}', "a result that is no list, or that Label Studio cannot show"),
            ("[" + " " * MAX_RESULT_CHARACTERS, "more than 20,000,000 characters"),
        ],
        ids=["empty", "long number", "deep", "null", "object", "large"],
    )
    def test_refuses_what_has_no_form(self, text: str, problem: str) -> None:
        with pytest.raises(Unreadable) as refused:
            parse_result(text)
        assert str(refused.value) == problem

    def test_takes_the_last_of_two_equal_names(self) -> None:
        assert parse_result('[{"a": 1, "a": 2}]') == [{"a": 2}]


@given(result=hostile_results)
def test_no_result_raises_an_error(result: list[Json]) -> None:
    """And what has no problem is read in the same way by every reader."""
    items = parse_result(json.dumps(result))
    problem = EVERYTHING.problem_with(items)
    assert problem is None or len(problem) < 100
    EVERYTHING.read(items)
    EVERYTHING.with_observed_labels([(1, items), (2, items)]).read(items)
    regions = [control.read(items) for control in EVERYTHING.regions]
    if problem is None:
        assert None not in regions


@given(value=st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_no_gold_field_raises_an_error(value: object) -> None:
    EVERYTHING.read_gold_field(value)
    EVERYTHING.read_gold_field({"mood": value, "kind": value, "stars": value, "nowhere": value})


def test_a_gold_field_of_lists_in_lists_names_nothing() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    assert EVERYTHING.read_gold_field({"mood": deep}) is None
