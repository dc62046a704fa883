"""Where gold comes from, and when it is not believed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.annotations import EIGHT_ANSWERS, mood_annotation, mood_crowd

OWNER = 1
MARKED = mood_annotation(10, 1, 5, "bad", ground_truth=True, updated_by=OWNER)


class TestGroundTruth:
    def test_is_believed_if_the_owner_marked_it(self) -> None:
        assert mood_crowd(*EIGHT_ANSWERS, MARKED, owner=OWNER).gold == {(1, "mood"): "bad"}

    def test_is_believed_if_an_expert_marked_it(self) -> None:
        assert mood_crowd(*EIGHT_ANSWERS, MARKED, experts=(OWNER,)).gold == {(1, "mood"): "bad"}

    @pytest.mark.parametrize("writer", [5, 9, None], ids=["its author", "somebody else", "an import"])
    def test_is_not_believed_if_anybody_else_wrote_it_last(self, writer: int | None) -> None:
        assert mood_crowd(*EIGHT_ANSWERS, replace(MARKED, updated_by=writer), owner=OWNER).gold == {}

    def test_is_not_believed_if_marks_are_no_source(self) -> None:
        assert mood_crowd(*EIGHT_ANSWERS, MARKED, owner=OWNER, sources=["plugin"]).gold == {}

    def test_is_not_an_answer(self) -> None:
        crowd = mood_crowd(*EIGHT_ANSWERS, MARKED, owner=OWNER)
        assert (5 in crowd.annotators, crowd.answer_counts[1]) == (False, 1)

    def test_that_is_not_believed_is_its_authors_answer(self) -> None:
        crowd = mood_crowd(*EIGHT_ANSWERS, replace(MARKED, updated_by=5), owner=OWNER)
        assert (5 in crowd.annotators, crowd.answer_counts[1]) == (True, 2)

    def test_on_two_annotations_that_contradict_each_other_is_not_used_and_reported(self) -> None:
        other = mood_annotation(11, 1, 6, "good", ground_truth=True, updated_by=OWNER)
        crowd = mood_crowd(*EIGHT_ANSWERS, MARKED, other, owner=OWNER)
        assert crowd.gold == {}
        assert crowd.warnings == ["Gold for 'mood' of task 1 is contradictory (bad, good) and not used."]

    def test_on_a_skipped_annotation_says_nothing(self) -> None:
        assert mood_crowd(*EIGHT_ANSWERS, replace(MARKED, skipped=True), owner=OWNER).gold == {}


class TestExperts:
    def test_are_not_believed_if_somebody_else_wrote_in_their_name(self) -> None:
        forged = mood_annotation(10, 1, 5, "bad", updated_by=9)
        crowd = mood_crowd(*EIGHT_ANSWERS, forged, experts=(5,))
        assert (crowd.gold, 5 in crowd.annotators) == ({}, False)

    def test_give_gold(self) -> None:
        crowd = mood_crowd(*EIGHT_ANSWERS, mood_annotation(10, 1, 5, "bad"), experts=(5,))
        assert crowd.gold == {(1, "mood"): "bad"}

    def test_give_no_answers(self) -> None:
        assert 5 not in mood_crowd(*EIGHT_ANSWERS, mood_annotation(10, 1, 5, "bad"), experts=(5,)).annotators

    def test_who_agree_are_believed(self) -> None:
        both = (mood_annotation(10, 1, 5, "bad"), mood_annotation(11, 1, 6, "bad"))
        crowd = mood_crowd(*EIGHT_ANSWERS, *both, experts=(5, 6))
        assert (crowd.gold, crowd.warnings) == ({(1, "mood"): "bad"}, [])

    def test_who_contradict_each_other_are_not_believed_and_reported(self) -> None:
        both = (mood_annotation(10, 1, 5, "bad"), mood_annotation(11, 1, 6, "good"))
        crowd = mood_crowd(*EIGHT_ANSWERS, *both, experts=(5, 6))
        assert crowd.gold == {}
        assert crowd.warnings == ["Gold for 'mood' of task 1 is contradictory (bad, good) and not used."]

    def test_who_changed_their_mind_are_believed_in_the_newest(self) -> None:
        both = (mood_annotation(10, 1, 5, "bad"), mood_annotation(11, 1, 5, "good", at="13:00:00.000000"))
        assert mood_crowd(*EIGHT_ANSWERS, *both, experts=(5,)).gold == {(1, "mood"): "good"}


class TestStoredGold:
    def test_is_used(self) -> None:
        assert mood_crowd(*EIGHT_ANSWERS, gold={(1, "mood"): "bad"}).gold == {(1, "mood"): "bad"}

    def test_leaves_the_answers_to_its_task(self) -> None:
        assert mood_crowd(*EIGHT_ANSWERS, gold={(1, "mood"): "bad"}).units == mood_crowd(*EIGHT_ANSWERS).units

    def test_that_contradicts_a_mark_is_not_used_and_reported(self) -> None:
        crowd = mood_crowd(*EIGHT_ANSWERS, MARKED, owner=OWNER, gold={(1, "mood"): "good"})
        assert (crowd.gold, len(crowd.warnings)) == ({}, 1)

    @pytest.mark.parametrize(("question", "label"), [("mood", "removed"), ("removed", "good")])
    def test_outside_the_config_is_not_used_and_reported(self, question: str, label: str) -> None:
        crowd = mood_crowd(*EIGHT_ANSWERS, gold={(1, question): label})
        (warning,) = crowd.warnings
        assert crowd.gold == {}
        assert all(part in warning for part in (repr(question), repr(label), "task 1"))


class TestGoldField:
    def test_names_the_label(self) -> None:
        crowd = mood_crowd(*EIGHT_ANSWERS, gold_fields={1: json.dumps("bad"), 2: json.dumps({"mood": "good"})})
        assert (crowd.gold, crowd.warnings) == ({(1, "mood"): "bad", (2, "mood"): "good"}, [])

    def test_that_names_no_label_is_reported(self) -> None:
        crowd = mood_crowd(*EIGHT_ANSWERS, gold_fields={3: json.dumps("removed"), 2: json.dumps(5)})
        (warning,) = crowd.warnings
        assert crowd.gold == {}
        assert warning.startswith("The gold field of 2 task(s), for example task 2, names no label")

    def test_that_contradicts_stored_gold_is_not_used(self) -> None:
        crowd = mood_crowd(*EIGHT_ANSWERS, gold={(1, "mood"): "good"}, gold_fields={1: json.dumps("bad")})
        assert crowd.gold == {}
