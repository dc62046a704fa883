"""Choices are one question, or a yes/no question per label."""

from __future__ import annotations

from typing import Any

import pytest

from ls_crowd_plugin.controls import NONE, Question
from tests.support.label_configs import MOOD, NO, YES, chosen, config_of, item, multiple, single


class TestSingleChoice:
    @pytest.mark.parametrize("attributes", ["", 'choice="single"', 'choice="single-radio"'])
    def test_is_one_question(self, attributes: str) -> None:
        assert single(attributes).questions == (Question("mood", ("good", "bad")),)

    def test_is_read(self) -> None:
        assert single().read(chosen("bad")) == {"mood": "bad"}

    def test_is_written_as_a_list_of_one(self) -> None:
        assert single().write({"mood": "bad"}) == [
            {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["bad"]}}
        ]

    def test_with_two_labels_is_no_answer(self) -> None:
        assert single().read(chosen("good", "bad")) == {}

    def test_with_a_label_that_left_the_config_is_no_answer(self) -> None:
        assert single().read(chosen("gone")) == {}

    @pytest.mark.parametrize("value", [5, True, "good", [5], [None], [["good"]], None, []])
    def test_that_is_unreadable_is_no_answer(self, value: Any) -> None:
        assert single('required="true"').read([item("mood", {"choices": value})]) == {}

    def test_writes_nothing_for_the_empty_label(self) -> None:
        assert single().write({"mood": NONE}) == []

    def test_writes_a_choice_that_is_named_like_the_empty_label(self) -> None:
        config = config_of(
            f'<Choices name="c" toName="text" required="true"><Choice value="{NONE}"/><Choice value="b"/></Choices>'
        )
        assert config.write({"c": NONE}) != []


class TestMultipleChoice:
    def test_is_a_yes_no_question_per_label(self) -> None:
        assert multiple().questions == (Question("mood: good", (NO, YES)), Question("mood: bad", (NO, YES)))

    def test_is_a_no_to_labels_that_were_not_chosen(self) -> None:
        assert multiple().read(chosen("bad")) == {"mood: good": NO, "mood: bad": YES}

    def test_is_written_as_one_item(self) -> None:
        written = multiple().write({"mood: good": YES, "mood: bad": YES})
        assert [entry["value"] for entry in written] == [{"choices": ["good", "bad"]}]

    def test_writes_nothing_if_all_answers_are_no(self) -> None:
        assert multiple().write({"mood: good": NO, "mood: bad": NO}) == []

    @pytest.mark.parametrize("value", [5, "good"])
    def test_that_is_unreadable_is_no_answer(self, value: Any) -> None:
        assert multiple('required="true"').read([item("mood", {"choices": value})]) == {}


class TestLabels:
    def test_are_the_aliases_where_there_are_some(self) -> None:
        config = config_of('<Choices name="c" toName="text"><Choice value="a" alias="x"/><Choice value="b"/></Choices>')
        assert config.questions == (Question("c", ("x", "b")),)

    def test_do_not_depend_on_hotkeys(self) -> None:
        config = config_of(
            '<Choices name="c" toName="text"><Choice value="a" hotkey="1"/><Choice value="b"/></Choices>'
        )
        assert config.questions == (Question("c", ("a", "b")),)

    def test_do_not_depend_on_views_around_the_control(self) -> None:
        config = config_of(f'<View><Header value="h"/>{MOOD.format("")}</View>')
        assert config.questions == (Question("mood", ("good", "bad")),)

    def test_are_found_inside_views(self) -> None:
        config = config_of(
            '<Choices name="c" toName="text"><View><Choice value="a"/></View><View><Choice value="b"/></View></Choices>'
        )
        assert config.questions == (Question("c", ("a", "b")),)

    def test_include_nested_choices(self) -> None:
        config = config_of(
            '<Choices name="c" toName="text"><Choice value="a"><Choice value="a1"/></Choice><Choice value="b"/>'
            "</Choices>"
        )
        assert config.questions == (Question("c", ("a", "a1", "b")),)

    def test_do_not_include_choices_without_value(self) -> None:
        config = config_of('<Choices name="c" toName="text"><Choice/><Choice value="b"/></Choices>')
        assert config.questions == (Question("c", ("b",)),)
