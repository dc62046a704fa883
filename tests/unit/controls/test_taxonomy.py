"""A taxonomy is a yes/no question per path, or one question; its paths may come from the annotators."""

from __future__ import annotations

from typing import Any

import pytest

from ls_crowd_plugin.controls import Question
from tests.support.label_configs import OPEN_TREE, TREE, TREE_PATHS, YES, config_of, item, paths


class TestPathsOfTheConfig:
    def test_are_a_yes_no_question_each(self) -> None:
        names = [question.name for question in config_of(TREE.format("")).questions]
        assert names == [f"kind: {path}" for path in TREE_PATHS]

    def test_that_were_not_chosen_are_a_no(self) -> None:
        answers = config_of(TREE.format("")).read(paths(["animal", "cat"], ["plant"]))
        assert {name for name, label in answers.items() if label == YES} == {"kind: animal / cat", "kind: plant"}

    def test_with_a_slash_differ_from_two_parts(self) -> None:
        config = config_of(
            '<Taxonomy name="k" toName="text"><Choice value="a"><Choice value="b"/></Choice><Choice value="a / b"/>'
            "</Taxonomy>"
        )
        assert len({question.name for question in config.questions}) == 3

    def test_are_not_extended_by_annotators(self) -> None:
        config = config_of(TREE.format(""))
        assert config.with_observed_labels(by_people(paths(["mineral"]))).questions == config.questions


class TestOnePath:
    def test_is_one_question(self) -> None:
        assert config_of(TREE.format('maxUsages="1"')).questions == (Question("kind", TREE_PATHS),)

    def test_is_read(self) -> None:
        config = config_of(TREE.format('maxUsages="1"'))
        assert config.read(paths(["animal", "canine"])) == {"kind": "animal / canine"}

    def test_is_written_as_a_list_of_one_path(self) -> None:
        written = config_of(TREE.format('maxUsages="1"')).write({"kind": "animal / cat"})
        assert [entry["value"] for entry in written] == [{"taxonomy": [["animal", "cat"]]}]

    @pytest.mark.parametrize("value", [5, "plant", [5], ["plant"], [[]], [None]])
    def test_that_is_unreadable_is_no_answer(self, value: Any) -> None:
        config = config_of(TREE.format('maxUsages="1" required="true"'))
        assert config.read([item("kind", {"taxonomy": value})]) == {}


class TestPathsOfAnnotators:
    def test_become_questions(self) -> None:
        config = config_of(OPEN_TREE).with_observed_labels(by_people(paths(["b"]), paths(["a", "a1"], ["b"]), []))
        assert [question.name for question in config.questions] == ["kind: a / a1", "kind: b"]

    def test_are_none_before_anybody_answered(self) -> None:
        assert config_of(OPEN_TREE).with_observed_labels([]).questions == ()

    def test_are_written(self) -> None:
        config = config_of(OPEN_TREE).with_observed_labels(by_people(paths(["a", "a1"])))
        assert config.write({"kind: a / a1": YES})[0]["value"] == {"taxonomy": [["a", "a1"]]}

    def test_that_are_unreadable_are_ignored(self) -> None:
        unreadable = [item("kind", {"taxonomy": 5})]
        assert config_of(OPEN_TREE).with_observed_labels(by_people(unreadable)).questions == ()
