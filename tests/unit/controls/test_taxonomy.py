"""A taxonomy is a yes/no question per path, or one question; its paths may come from the annotators."""

from __future__ import annotations

from typing import Any

import pytest

from ls_crowd_plugin.controls import Question
from ls_crowd_plugin.controls.bounds import MAX_CHOICES, MAX_OBSERVED_PATHS, MAX_RARE_ANSWERS
from ls_crowd_plugin.records import Json
from tests.support.label_configs import OPEN_TREE, TREE, TREE_PATHS, YES, config_of, item, paths


def by_people(*results: list[Json]) -> list[tuple[object, list[Json]]]:
    """Results by the people 1, 2 and so on."""
    return list(enumerate(results, 1))


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

    def test_that_most_people_chose_are_kept_where_there_are_too_many(self) -> None:
        mine = [[f"path {number:03}"] for number in reversed(range(MAX_OBSERVED_PATHS + 5))]
        results = [(1, paths(["common"])), (2, paths(["common"]))]
        results += [(3, paths(*mine[start : start + 100])) for start in range(0, len(mine), 100)]
        config = config_of(OPEN_TREE).with_observed_labels(results)
        names = [question.name for question in config.questions]
        assert len(names) == MAX_OBSERVED_PATHS
        assert names[:2] == ["kind: common", "kind: path 000"]
        assert [one.reason for one in config.left_out] == [
            "6 of its paths, for example 'path 499': they are not among the 500 that most people chose"
        ]

    def test_do_not_count_more_if_one_person_chooses_them_often(self) -> None:
        rare = [[f"path {number:03}"] for number in range(MAX_OBSERVED_PATHS)]
        results = [(1, paths(["mine"]))] * 50 + [(who, paths(path)) for path in rare for who in (2, 3)]
        config = config_of(OPEN_TREE).with_observed_labels(results)
        assert "kind: mine" not in {question.name for question in config.questions}

    @pytest.mark.slow
    def test_that_only_one_person_chose_are_no_more_than_the_others_in_a_large_project(self) -> None:
        common = [["usual"], ["other"]]
        results = [(who, paths(*common)) for who in (1, 2)] * (MAX_RARE_ANSWERS // 2)
        junk = [[f"junk {number:03}"] for number in range(200)]
        config = config_of(OPEN_TREE).with_observed_labels([*results, (3, paths(*junk))])
        names = [question.name for question in config.questions]
        assert names == ["kind: junk 000", "kind: junk 001", "kind: other", "kind: usual"]
        assert config.left_out[0].reason.startswith("198 of its paths, for example 'junk 002'")

    def test_all_count_where_only_one_person_annotates(self) -> None:
        results = [(1, paths([f"path {number % 300}"])) for number in range(MAX_RARE_ANSWERS // 100)]
        assert len(config_of(OPEN_TREE).with_observed_labels(results).questions) == 300

    def test_never_become_a_question_that_there_is_already(self) -> None:
        other = '<Choices name="kind: a" toName="text"><Choice value="x"/><Choice value="y"/></Choices>'
        config = config_of(OPEN_TREE, other).with_observed_labels(by_people(paths(["a"], ["b"])))
        assert [question.name for question in config.questions] == ["kind: b", "kind: a"]
        assert [one.reason for one in config.left_out] == [
            "1 of its paths, for example 'a': other questions have their names"
        ]

    @pytest.mark.parametrize(
        ("chosen", "problem"),
        [
            ([["a"]] * 201, "more than 200 chosen paths"),
            ([["a" * 1000]], "a path of more than 1,000 characters"),
            ([["a\0"]], "a path with a character that databases refuse"),
            ([[]], "an empty path"),
        ],
    )
    def test_that_are_absurd_are_a_problem(self, chosen: list[list[str]], problem: str) -> None:
        config = config_of(OPEN_TREE)
        assert config.problem_with(paths(*chosen)) == problem
        assert config.with_observed_labels(by_people(paths(*chosen))).questions == ()


class TestHugeTrees:
    """With so many paths in the config, only those that annotators choose are questions."""

    CHOICES = "".join(f'<Choice value="c{number}"/>' for number in range(MAX_CHOICES + 1))
    TREE = f'<Taxonomy name="kind" toName="text" {{}}>{CHOICES}</Taxonomy>'

    def test_have_questions_for_the_paths_that_were_chosen(self) -> None:
        config = config_of(self.TREE.format(""))
        assert config.questions == ()
        config = config.with_observed_labels(by_people(paths(["c7"], ["unknown"]), paths(["c3"])))
        assert [question.name for question in config.questions] == ["kind: c3", "kind: c7"]
        assert config.read(paths(["c7"])) == {"kind: c3": "no", "kind: c7": "yes"}

    def test_with_one_answer_are_one_question(self) -> None:
        (question,) = config_of(self.TREE.format('maxUsages="1"')).questions
        assert len(question.labels) == MAX_CHOICES + 1

    def test_of_other_controls_are_left_out(self) -> None:
        config = config_of(f'<Choices name="c" toName="text" choice="multiple">{self.CHOICES}</Choices>')
        assert [one.reason for one in config.left_out] == [
            "it has more than 2,000 choices, each of which would be a question"
        ]
