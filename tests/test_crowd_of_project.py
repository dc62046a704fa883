"""Which annotations of a project are answers, which are gold, and what is said about the odd ones."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.controls import NONE, read_config
from ls_crowd_plugin.pipeline.crowd import Crowd, crowd_of
from ls_crowd_plugin.store import Annotation

CHOICES = '<Choices name="mood" toName="text" {}><Choice value="good"/><Choice value="bad"/></Choices>'
TEXT = '<Text name="text" value="$t"/>'
REQUIRED = 'required="true"'
MOOD = read_config(f"<View>{TEXT}{CHOICES.format(REQUIRED)}</View>")
OPTIONAL = read_config(f'<View>{TEXT}{CHOICES.format("")}<Rating name="stars" toName="text"/></View>')


def said(number: int, task: int, by: int | None, *labels: str, at: str = "12:00:00.000000", **more: Any) -> Annotation:
    """An annotation of the mood of a task; without labels it is empty."""
    items = [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": list(labels)}}]
    when = f"2026-01-01T{at}Z"
    plain = Annotation(
        id=number,
        task=task,
        annotator=by,
        result=json.dumps(items if labels else []),
        skipped=False,
        ground_truth=False,
        copied=False,
        created_at=when,
        updated_at=when,
        updated_by=by,
        lead_time=None,
    )
    return replace(plain, **more)


def crowd(
    *annotations: Annotation, gold: dict[tuple[int, str], str] | None = None, experts: tuple[int, ...] = ()
) -> Crowd:
    return crowd_of(MOOD, annotations, gold or {}, experts)


def answers(found: Crowd) -> list[tuple[Any, int, str, str]]:
    return list(zip(found.tasks, found.annotators, found.questions, found.labels, strict=True))


CROWD = tuple(
    said(100 + number, number, 9, "good") for number in range(1, 9)
)  # eight tasks that somebody else answered


class TestAnswers:
    def test_are_what_annotators_said(self) -> None:
        found = crowd(said(10, 1, 5, "good"), said(11, 1, 6, "bad"), said(20, 2, 5, "bad"))
        assert answers(found) == [(1, 5, "mood", "good"), (1, 6, "mood", "bad"), (2, 5, "mood", "bad")]

    @pytest.mark.parametrize(
        "ignored",
        [
            said(11, 1, 6, "bad", skipped=True),
            said(11, 1, 6),
            said(11, 1, 6, "bad", copied=True),
            said(11, 1, None, "bad"),
        ],
        ids=["skipped", "empty", "copied", "without author"],
    )
    def test_are_not_what_does_not_count(self, ignored: Annotation) -> None:
        assert answers(crowd(said(10, 1, 5, "good"), ignored)) == [(1, 5, "mood", "good")]

    def test_of_one_person_on_one_task_are_the_newest(self) -> None:
        found = crowd(said(10, 1, 5, "good", at="12:00:02.000000"), said(11, 1, 5, "bad", at="12:00:01.000000"))
        assert answers(found) == [(1, 5, "mood", "good")]

    def test_of_one_person_at_one_time_are_those_with_the_higher_id(self) -> None:
        assert answers(crowd(said(11, 1, 5, "bad"), said(10, 1, 5, "good"))) == [(1, 5, "mood", "bad")]

    def test_are_the_newest_also_if_one_was_given_on_a_full_second(self) -> None:
        # Label Studio leaves the fraction out where it is zero.
        found = crowd(said(10, 1, 5, "good", at="12:00:00"), said(11, 1, 5, "bad", at="12:00:00.500000"))
        assert answers(found) == [(1, 5, "mood", "bad")]

    def test_a_newer_skip_does_not_take_an_older_answer_away(self) -> None:
        found = crowd(said(10, 1, 5, "good"), said(11, 1, 5, "bad", at="13:00:00.000000", skipped=True))
        assert answers(found) == [(1, 5, "mood", "good")]

    def test_are_counted_by_task(self) -> None:
        found = crowd(said(10, 1, 5, "good"), said(11, 1, 6, "bad"), said(12, 1, 6, "good"), said(20, 2, 5, "bad"))
        assert found.answered == {1: 2, 2: 1}

    def test_are_not_counted_where_nothing_can_be_read(self) -> None:
        found = crowd(said(10, 1, 5, "good"), said(11, 1, 6, "left the config"))
        assert found.answered == {1: 1}

    def test_that_somebody_else_edited_are_reported(self) -> None:
        found = crowd(said(10, 1, 5, "good", updated_by=6), said(20, 2, 5, "good"))
        assert [warning for warning in found.warnings if "edited" in warning] == [
            "1 annotation(s) were last edited by somebody else than their author."
        ]

    @pytest.mark.parametrize("by", [5, None])
    def test_that_nobody_else_edited_are_not_reported(self, by: int | None) -> None:
        assert crowd(said(10, 1, 5, "good", updated_by=by)).warnings == []

    def test_of_several_controls_go_to_several_questions(self) -> None:
        both = said(10, 1, 5, "good")
        items = [*both.items, {"from_name": "stars", "type": "rating", "value": {"rating": 3}}]
        found = crowd_of(OPTIONAL, [replace(both, result=json.dumps(items))], {})
        assert answers(found) == [(1, 5, "mood", "good"), (1, 5, "stars", "3")]

    def test_of_no_annotations_are_none(self) -> None:
        found = crowd()
        assert (answers(found), found.label_set) == ([], {"mood": ["good", "bad"]})


class TestGroundTruth:
    def test_is_believed_where_a_task_has_one(self) -> None:
        assert crowd(*CROWD, said(10, 1, 5, "bad", ground_truth=True)).gold == {(1, "mood"): "bad"}

    def test_is_no_crowd_answer(self) -> None:
        assert 5 not in crowd(*CROWD, said(10, 1, 5, "bad", ground_truth=True)).annotators

    def test_does_not_count_as_answered(self) -> None:
        assert crowd(*CROWD, said(10, 1, 5, "bad", ground_truth=True)).answered[1] == 1

    def test_is_not_believed_where_a_task_has_two(self) -> None:
        marked = [said(10 + by, 1, by, "bad", ground_truth=True) for by in (5, 6)]
        assert crowd(*CROWD, *marked).gold == {}

    def test_that_is_not_believed_is_a_crowd_answer(self) -> None:
        marked = [said(10 + by, 1, by, "bad", ground_truth=True) for by in (5, 6)]
        assert {5, 6} <= set(crowd(*CROWD, *marked).annotators)

    def test_on_everything_is_what_an_import_does_and_not_believed(self) -> None:
        assert crowd(*(replace(each, ground_truth=True) for each in CROWD)).gold == {}

    def test_on_everything_is_reported(self) -> None:
        found = crowd(*(replace(each, ground_truth=True) for each in CROWD))
        assert [("import" in warning, "gold add" in warning) for warning in found.warnings] == [(True, True)]

    def test_on_everything_leaves_the_answers(self) -> None:
        assert len(crowd(*(replace(each, ground_truth=True) for each in CROWD)).tasks) == len(CROWD)

    def test_on_a_skipped_annotation_says_nothing(self) -> None:
        assert crowd(*CROWD, said(10, 1, 5, "bad", ground_truth=True, skipped=True)).gold == {}


class TestExperts:
    def test_give_gold(self) -> None:
        assert crowd(*CROWD, said(10, 1, 5, "bad"), experts=(5,)).gold == {(1, "mood"): "bad"}

    def test_give_no_crowd_answers(self) -> None:
        assert 5 not in crowd(*CROWD, said(10, 1, 5, "bad"), experts=(5,)).annotators

    def test_who_agree_are_believed(self) -> None:
        found = crowd(*CROWD, said(10, 1, 5, "bad"), said(11, 1, 6, "bad"), experts=(5, 6))
        assert (found.gold, found.warnings) == ({(1, "mood"): "bad"}, [])

    def test_who_contradict_each_other_are_not_believed(self) -> None:
        assert crowd(*CROWD, said(10, 1, 5, "bad"), said(11, 1, 6, "good"), experts=(5, 6)).gold == {}

    def test_who_contradict_each_other_are_reported(self) -> None:
        found = crowd(*CROWD, said(10, 1, 5, "bad"), said(11, 1, 6, "good"), experts=(5, 6))
        assert found.warnings == ["Gold for 'mood' of task 1 is contradictory (bad, good) and not used."]

    def test_who_changed_their_mind_are_believed_in_the_newest(self) -> None:
        found = crowd(*CROWD, said(10, 1, 5, "bad"), said(11, 1, 5, "good", at="13:00:00.000000"), experts=(5,))
        assert found.gold == {(1, "mood"): "good"}


class TestStoredGold:
    def test_is_used(self) -> None:
        assert crowd(*CROWD, gold={(1, "mood"): "bad"}).gold == {(1, "mood"): "bad"}

    def test_leaves_the_tasks_answers(self) -> None:
        assert crowd(*CROWD, gold={(1, "mood"): "bad"}).tasks == crowd(*CROWD).tasks

    def test_that_contradicts_a_mark_is_reported(self) -> None:
        found = crowd(*CROWD, said(10, 1, 5, "bad", ground_truth=True), gold={(1, "mood"): "good"})
        assert (found.gold, len(found.warnings)) == ({}, 1)

    @pytest.mark.parametrize(("question", "label"), [("mood", "gone"), ("gone", "good")])
    def test_outside_the_config_is_not_used(self, question: str, label: str) -> None:
        assert crowd(*CROWD, gold={(1, question): label}).gold == {}

    @pytest.mark.parametrize(("question", "label"), [("mood", "gone"), ("gone", "good")])
    def test_outside_the_config_is_reported(self, question: str, label: str) -> None:
        (warning,) = crowd(*CROWD, gold={(1, question): label}).warnings
        assert all(part in warning for part in (repr(question), repr(label), "task 1"))


class TestLabelSet:
    def test_has_the_labels_of_the_config_also_if_nobody_chose_them(self) -> None:
        assert crowd(said(10, 1, 5, "good")).label_set == {"mood": ["good", "bad"]}

    def test_has_the_label_for_empty_only_where_somebody_left_a_control_empty(self) -> None:
        found = crowd_of(OPTIONAL, [said(10, 1, 5, "good")], {})
        assert {question for question, labels in found.label_set.items() if NONE in labels} == {"stars"}

    def test_has_the_label_for_empty_where_gold_says_so(self) -> None:
        found = crowd_of(OPTIONAL, [said(10, 1, 5, "good")], {(1, "mood"): NONE})
        assert NONE in found.label_set["mood"]

    def test_has_the_paths_that_only_annotators_know(self) -> None:
        config = read_config(f'<View>{TEXT}<Taxonomy name="mood" toName="text" apiUrl="u"/></View>')
        items = [{"from_name": "mood", "value": {"taxonomy": [["a", "b"]]}}]
        found = crowd_of(config, [replace(said(10, 1, 5, "x"), result=json.dumps(items))], {})
        assert (found.label_set, found.config.questions[0].name) == ({"mood: a / b": ["no", "yes"]}, "mood: a / b")


@st.composite
def any_annotations(draw: st.DrawFn) -> list[Annotation]:
    """Up to a dozen annotations of all sorts on three tasks by three people."""
    return [
        said(
            number,
            draw(st.integers(1, 3)),
            draw(st.sampled_from([5, 6, 7, None])),
            *draw(st.sampled_from([("good",), ("bad",), (), ("gone",)])),
            at=f"12:00:0{draw(st.integers(0, 2))}.000000",
            skipped=draw(st.sampled_from([False, False, True])),
            copied=draw(st.sampled_from([False, False, True])),
            ground_truth=draw(st.sampled_from([False, False, True])),
        )
        for number in range(draw(st.integers(0, 12)))
    ]


@given(annotations=any_annotations(), data=st.data())
def test_the_order_of_annotations_does_not_matter(annotations: list[Annotation], data: st.DataObject) -> None:
    stored = {(2, "mood"): "good"}
    first = crowd_of(MOOD, annotations, stored, (7,))
    second = crowd_of(MOOD, data.draw(st.permutations(annotations)), stored, (7,))
    assert replace(first, warnings=sorted(first.warnings)) == replace(second, warnings=sorted(second.warnings))


@given(any_annotations())
def test_nobody_answers_a_question_of_a_task_twice(annotations: list[Annotation]) -> None:
    found = crowd_of(MOOD, annotations, {}, (7,))
    keys = list(zip(found.tasks, found.annotators, found.questions, strict=True))
    assert len(keys) == len(set(keys))
