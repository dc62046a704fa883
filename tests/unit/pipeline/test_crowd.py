"""Which annotations of a project are answers, and which labels are possible."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.controls import NO_REGION, NONE, Config
from ls_crowd_plugin.pipeline.crowd import Crowd, build_crowd
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import Annotation
from tests.support.annotations import MOOD_AND_STARS, MOOD_REQUIRED, answers, mood_annotation, mood_crowd
from tests.support.label_configs import MOOD, config_of
from tests.support.span_crowds import span_annotation, span_crowd


def crowd_with(config: Config, *annotations: Annotation, gold: dict[tuple[int, str], str] | None = None) -> Crowd:
    return build_crowd(config, annotations, gold or {}, {}, Recipe())


class TestAnswers:
    def test_are_what_annotators_said(self) -> None:
        crowd = mood_crowd(
            mood_annotation(10, 1, 5, "good"), mood_annotation(11, 1, 6, "bad"), mood_annotation(20, 2, 5, "bad")
        )
        assert answers(crowd) == [(1, 5, "mood", "good"), (1, 6, "mood", "bad"), (2, 5, "mood", "bad")]

    @pytest.mark.parametrize(
        "ignored",
        [
            mood_annotation(11, 1, 6, "bad", skipped=True),
            mood_annotation(11, 1, 6),
            mood_annotation(11, 1, 6, "bad", copied=True),
            mood_annotation(11, 1, None, "bad"),
        ],
        ids=["skipped", "empty", "copied", "without author"],
    )
    def test_do_not_include_annotations_that_do_not_count(self, ignored: Annotation) -> None:
        assert answers(mood_crowd(mood_annotation(10, 1, 5, "good"), ignored)) == [(1, 5, "mood", "good")]

    def test_of_one_person_on_one_task_are_the_newest(self) -> None:
        crowd = mood_crowd(
            mood_annotation(10, 1, 5, "good", at="12:00:02.000000"),
            mood_annotation(11, 1, 5, "bad", at="12:00:01.000000"),
        )
        assert answers(crowd) == [(1, 5, "mood", "good")]

    def test_of_one_person_at_one_time_are_those_with_the_higher_id(self) -> None:
        crowd = mood_crowd(mood_annotation(11, 1, 5, "bad"), mood_annotation(10, 1, 5, "good"))
        assert answers(crowd) == [(1, 5, "mood", "bad")]

    def test_are_the_newest_also_if_one_was_given_on_a_full_second(self) -> None:
        # Label Studio leaves out the fraction if it is zero.
        crowd = mood_crowd(
            mood_annotation(10, 1, 5, "good", at="12:00:00"), mood_annotation(11, 1, 5, "bad", at="12:00:00.500000")
        )
        assert answers(crowd) == [(1, 5, "mood", "bad")]

    def test_are_not_removed_by_a_newer_skip(self) -> None:
        skip = mood_annotation(11, 1, 5, "bad", at="13:00:00.000000", skipped=True)
        assert answers(mood_crowd(mood_annotation(10, 1, 5, "good"), skip)) == [(1, 5, "mood", "good")]

    def test_are_counted_by_task(self) -> None:
        crowd = mood_crowd(
            mood_annotation(10, 1, 5, "good"),
            mood_annotation(11, 1, 6, "bad"),
            mood_annotation(12, 1, 6, "good"),
            mood_annotation(20, 2, 5, "bad"),
        )
        assert crowd.answer_counts == {1: 2, 2: 1}

    def test_are_not_counted_if_nothing_can_be_read(self) -> None:
        crowd = mood_crowd(mood_annotation(10, 1, 5, "good"), mood_annotation(11, 1, 6, "removed from the config"))
        assert crowd.answer_counts == {1: 1}

    def test_edited_by_somebody_else_are_left_out_and_reported(self) -> None:
        crowd = mood_crowd(mood_annotation(10, 1, 5, "good", updated_by=6), mood_annotation(20, 2, 5, "good"))
        (warning,) = crowd.warnings
        assert "somebody other than their author wrote them last: 1, by user 6 (1)" in warning

    @pytest.mark.parametrize("editor", [5, None])
    def test_edited_by_nobody_else_are_not_reported(self, editor: int | None) -> None:
        assert mood_crowd(mood_annotation(10, 1, 5, "good", updated_by=editor)).warnings == []

    def test_to_several_controls_belong_to_several_questions(self) -> None:
        both = mood_annotation(10, 1, 5, "good")
        items = [*both.items, {"from_name": "stars", "type": "rating", "value": {"rating": 3}}]
        crowd = crowd_with(MOOD_AND_STARS, replace(both, result=json.dumps(items)))
        assert answers(crowd) == [(1, 5, "mood", "good"), (1, 5, "stars", "3")]

    def test_of_no_annotations_are_none(self) -> None:
        crowd = mood_crowd()
        assert (answers(crowd), crowd.label_set) == ([], {"mood": ["good", "bad"]})

    def test_keep_the_annotation_they_were_read_from(self) -> None:
        old, new = (mood_annotation(number, 1, 5, "good", at=f"1{number}:00:00") for number in (1, 2))
        assert mood_crowd(old, new).annotations == {(1, 5): new}


class TestPeopleCounts:
    """How many people annotated a task decides whether it is complete."""

    def test_include_gold(self) -> None:
        crowd = mood_crowd(mood_annotation(10, 1, 5, "good"), mood_annotation(11, 1, 6, "bad"), experts=(6,))
        assert (crowd.people_counts, crowd.answer_counts) == ({1: 2}, {1: 1})

    def test_count_one_person_once(self) -> None:
        crowd = mood_crowd(mood_annotation(10, 1, 5, "good"), mood_annotation(11, 1, 5, "bad"))
        assert crowd.people_counts == {1: 1}


class TestLabelSet:
    def test_has_the_labels_of_the_config_also_if_nobody_chose_them(self) -> None:
        assert mood_crowd(mood_annotation(10, 1, 5, "good")).label_set == {"mood": ["good", "bad"]}

    def test_has_the_label_for_empty_only_where_somebody_left_a_control_empty(self) -> None:
        better = config_of(MOOD.format(""), MOOD.format("").replace("mood", "tone"))
        crowd = crowd_with(better, mood_annotation(10, 1, 5, "good"))
        assert {question for question, labels in crowd.label_set.items() if NONE in labels} == {"tone"}

    def test_has_the_label_for_empty_where_gold_says_so(self) -> None:
        crowd = crowd_with(MOOD_AND_STARS, mood_annotation(10, 1, 5, "good"), gold={(1, "mood"): NONE})
        assert NONE in crowd.label_set["mood"]

    def test_has_the_paths_that_only_annotations_name(self) -> None:
        config = config_of('<Taxonomy name="mood" toName="text" apiUrl="u"/>')
        items = [{"from_name": "mood", "value": {"taxonomy": [["a", "b"]]}}]
        crowd = crowd_with(config, replace(mood_annotation(10, 1, 5, "x"), result=json.dumps(items)))
        assert (crowd.label_set, crowd.config.questions[0].name) == ({"mood: a / b": ["no", "yes"]}, "mood: a / b")


class TestParts:
    """The parts of a crowd that are fitted separately."""

    def test_of_some_questions_have_their_answers_gold_and_labels(self) -> None:
        gold = {(1, "mood"): "good", (1, "stars"): "2"}
        crowd = crowd_with(MOOD_AND_STARS, mood_annotation(10, 1, 5, "good"), gold=gold)
        part = crowd.of_questions({"mood"})
        assert answers(part) == [(1, 5, "mood", "good")]
        assert (part.gold, list(part.label_set)) == ({(1, "mood"): "good"}, ["mood"])

    def test_of_drawn_regions_leave_out_those_who_did_not_draw(self) -> None:
        crowd = span_crowd([(0, 5, "PER")], [(0, 5, "PER")], [])
        assert set(crowd.annotators) == {1, 2, 3}
        assert set(crowd.of_drawn_regions().annotators) == {1, 2}

    def test_of_drawn_regions_leave_out_questions_without_a_choice(self) -> None:
        crowd = span_crowd([(0, 5, "PER")], [(0, 5, "PER")])
        one_label = replace(crowd, label_set={"entity": ["PER", NO_REGION]})
        assert "entity" in crowd.of_drawn_regions().label_set
        assert (one_label.of_drawn_regions().label_set, one_label.of_drawn_regions().units) == ({}, [])

    def test_an_empty_annotation_says_that_there_are_no_regions(self) -> None:
        assert span_annotation(1, 1, 1, []).result == "[]"
        assert span_crowd([], []).answer_counts[0] == 2


@st.composite
def any_annotations(draw: st.DrawFn) -> list[Annotation]:
    """Up to a dozen annotations of all kinds on three tasks by three people."""
    return [
        mood_annotation(
            number,
            draw(st.integers(1, 3)),
            draw(st.sampled_from([5, 6, 7, None])),
            *draw(st.sampled_from([("good",), ("bad",), (), ("removed",)])),
            at=f"12:00:0{draw(st.integers(0, 2))}.000000",
            skipped=draw(st.sampled_from([False, False, True])),
            copied=draw(st.sampled_from([False, False, True])),
            ground_truth=draw(st.sampled_from([False, False, True])),
        )
        for number in range(draw(st.integers(0, 12)))
    ]


@given(annotations=any_annotations(), data=st.data())
def test_the_order_of_annotations_does_not_matter(annotations: list[Annotation], data: st.DataObject) -> None:
    stored, recipe = {(2, "mood"): "good"}, Recipe(experts=frozenset({7}))
    first = build_crowd(MOOD_REQUIRED, annotations, stored, {}, recipe)
    second = build_crowd(MOOD_REQUIRED, data.draw(st.permutations(annotations)), stored, {}, recipe)
    assert replace(first, warnings=sorted(first.warnings)) == replace(second, warnings=sorted(second.warnings))


@given(any_annotations())
def test_nobody_answers_a_question_of_a_task_twice(annotations: list[Annotation]) -> None:
    crowd = build_crowd(MOOD_REQUIRED, annotations, {}, {}, Recipe(experts=frozenset({7})))
    keys = list(zip(crowd.units, crowd.annotators, crowd.questions, strict=True))
    assert len(keys) == len(set(keys))
