"""Whose annotation counts as an answer, who may say what is right, and what is said about the others."""

from __future__ import annotations

from typing import Any

import pytest

from ls_crowd_plugin.pipeline.trust import Trust, forgery_warnings, gold_warnings
from ls_crowd_plugin.store import Annotation
from ls_crowd_plugin.store.trail import ErasedMark
from tests.support.annotations import EIGHT_ANSWERS, answers, mood_annotation, mood_crowd

OWNER, EXPERT, AUTHOR, STRANGER = 1, 2, 5, 9
NOON = "2026-01-01T12:00:00.000000Z"
TRUST = Trust(experts=frozenset({EXPERT}), owner=OWNER, task_created_at={1: NOON}, names={STRANGER: "Mallory"})


def answer(**changes: Any) -> Annotation:
    return mood_annotation(10, 1, AUTHOR, "bad", **changes)


def marked(**changes: Any) -> Annotation:
    return answer(ground_truth=True, **changes)


class TestAnswers:
    @pytest.mark.parametrize("writer", [AUTHOR, OWNER, EXPERT])
    def test_count_if_their_author_or_somebody_trusted_wrote_them(self, writer: int) -> None:
        assert TRUST.problem_with(answer(updated_by=writer)) is None

    def test_do_not_count_if_somebody_else_wrote_them(self) -> None:
        problem = TRUST.problem_with(answer(updated_by=STRANGER))
        assert problem == "last written by Mallory (user 9), not by its author"

    def test_count_if_they_were_imported_with_their_task(self) -> None:
        assert TRUST.problem_with(answer(updated_by=None)) is None

    @pytest.mark.parametrize(
        "times", [{"created_at": "2026-01-01T12:00:00Z", "updated_at": "2026-01-01T12:00:09Z"}, {"at": "14:00:00"}]
    )
    def test_do_not_count_if_they_were_written_later_by_nobody_known(self, times: dict[str, str]) -> None:
        """As after a forger's account was deleted."""
        assert TRUST.problem_with(answer(updated_by=None, **times)) == "Label Studio does not know who wrote it"

    def test_written_in_somebodys_name_do_not_replace_their_own(self) -> None:
        own = mood_annotation(10, 1, AUTHOR, "good")
        forged = mood_annotation(11, 1, AUTHOR, "bad", at="13:00:00.000000", updated_by=STRANGER)
        crowd = mood_crowd(own, forged)
        assert [label for *_, label in answers(crowd)] == ["good"]
        assert crowd.left_out_annotations == [(11, "last written by user 9, not by its author")]

    def test_of_others_are_the_same_as_if_the_forged_ones_were_not_there(self) -> None:
        forged = [mood_annotation(20 + task, task, 9, "bad", updated_by=STRANGER + 1) for task in range(1, 9)]
        assert answers(mood_crowd(*EIGHT_ANSWERS, *forged)) == answers(mood_crowd(*EIGHT_ANSWERS))


class TestWarnings:
    def test_name_who_wrote_for_others(self) -> None:
        (warning,) = forgery_warnings(TRUST, [answer(updated_by=STRANGER), answer(updated_by=STRANGER), answer()])
        assert "somebody other than their author wrote them last: 2, by" in warning
        assert "Mallory (user 9) (2)" in warning

    def test_are_none_if_everybody_wrote_their_own(self) -> None:
        assert forgery_warnings(TRUST, EIGHT_ANSWERS) == []

    def test_name_who_set_marks_that_are_not_believed_and_how_to_allow_them(self) -> None:
        (warning,) = gold_warnings(Trust(owner=OWNER), [marked(updated_by=STRANGER)], [], False)
        assert all(part in warning for part in ("user 9 (1)", "LS_CROWD_GOLD_SOURCES", "LS_CROWD_EXPERTS", "gold add"))

    def test_say_that_an_import_set_marks(self) -> None:
        (warning,) = gold_warnings(Trust(owner=OWNER), [marked(updated_by=None)], [], False)
        assert "an import or a deleted user (1)" in warning

    def test_are_none_about_marks_that_are_believed(self) -> None:
        trust = Trust(frozenset({"ground_truth"}), owner=OWNER)
        assert gold_warnings(trust, [marked(updated_by=OWNER)], [], False) == []

    def test_name_settings_that_have_no_effect(self) -> None:
        field, experts = (
            gold_warnings(Trust(), [], [], True),
            gold_warnings(Trust(experts=frozenset({EXPERT})), [], [], False),
        )
        assert ("LS_CROWD_GOLD_FIELD is set" in field[0], "LS_CROWD_EXPERTS is set" in experts[0]) == (True, True)

    def test_tell_of_trusted_marks_that_were_erased(self) -> None:
        (warning,) = gold_warnings(TRUST, [], [ErasedMark(7, 10, OWNER, STRANGER)], False)[1:]
        assert "somebody took away: 1, of" in warning
        assert "task 7 by Mallory (user 9)" in warning

    @pytest.mark.parametrize(
        "mark", [ErasedMark(7, 10, OWNER, EXPERT), ErasedMark(7, 10, STRANGER, None), ErasedMark(7, 10, None, None)]
    )
    def test_are_none_about_other_marks_and_those_that_somebody_trusted_took_back(self, mark: ErasedMark) -> None:
        assert gold_warnings(Trust(owner=OWNER, experts=frozenset({EXPERT})), [], [mark], False)[1:] == []

    def test_are_none_about_marks_that_are_set_again(self) -> None:
        trust = Trust(frozenset({"ground_truth"}), owner=OWNER)
        again = [marked(updated_by=OWNER)]
        assert gold_warnings(trust, again, [ErasedMark(1, 10, OWNER, STRANGER)], False) == []
