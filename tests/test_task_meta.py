"""What goes into `task.meta`, when, and what a task's counters should be afterwards. Pure decisions."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from ls_crowd_plugin.pipeline.meta import is_about, is_quiet, right_counters, with_crowd
from ls_crowd_plugin.pipeline.plan import VERSION, digest

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def task(**changes: Any) -> dict[str, Any]:
    said = {"updated_at": "2026-01-01T11:00:00.5Z", "was_cancelled": False, "completed_by": 5}
    prediction = {"model_version": VERSION, "result": [{"value": {}, "meta": {"crowd": {"answers": 1}}}]}
    given: dict[str, Any] = {
        "meta": {"theirs": 1},
        "annotations": [said],
        "predictions": [prediction],
        "total_annotations": 1,
        "cancelled_annotations": 0,
        "is_labeled": True,
        "overlap": 1,
    }
    return {**given, **changes}


def annotation(by: int, skipped: bool = False, at: str = "2026-01-01T11:00:00Z") -> dict[str, Any]:
    return {"updated_at": at, "was_cancelled": skipped, "completed_by": by}


class TestMeta:
    def test_is_added_beside_what_is_there(self) -> None:
        assert with_crowd(task()) == {"theirs": 1, "crowd": {"answers": 1}}

    def test_is_left_if_it_is_right_already(self) -> None:
        assert with_crowd(task(meta={"theirs": 1, "crowd": {"answers": 1}})) is None

    @pytest.mark.parametrize("before", [None, [], "text"])
    def test_takes_the_place_of_what_is_no_mapping(self, before: Any) -> None:
        assert with_crowd(task(meta=before)) == {"crowd": {"answers": 1}}

    def test_goes_where_there_is_no_prediction(self) -> None:
        assert with_crowd(task(meta={"theirs": 1, "crowd": {}}, predictions=[])) == {"theirs": 1}

    def test_is_not_somebody_elses_predictions(self) -> None:
        theirs = {"model_version": "theirs", "result": [{"value": {}, "meta": {"crowd": {"answers": 9}}}]}
        assert with_crowd(task(predictions=[theirs])) is None

    def test_of_an_empty_consensus_is_nothing(self) -> None:
        assert with_crowd(task(predictions=[{"model_version": VERSION, "result": []}])) is None


class TestIsAbout:
    """A task is done with only if our one prediction on it is the one that was meant."""

    def wanted(self, score: float | None = None) -> str:
        return digest([{"value": {}, "meta": {"crowd": {"answers": 1}}}], score)

    def test_the_one_prediction_that_was_meant(self) -> None:
        assert is_about(task(), self.wanted())

    def test_not_another(self) -> None:
        assert not is_about(task(), self.wanted(0.5))

    def test_not_two(self) -> None:
        assert not is_about(task(predictions=task()["predictions"] * 2), self.wanted())

    def test_not_none(self) -> None:
        assert not is_about(task(predictions=[]), self.wanted())

    def test_none_where_none_was_meant(self) -> None:
        assert is_about(task(predictions=[]), None)
        assert not is_about(task(), None)

    @pytest.mark.parametrize("result", [None, {}, "x", [None], [["x"]]])
    def test_not_what_somebody_else_wrote_under_our_name(self, result: Any) -> None:
        assert not is_about(task(predictions=[{"model_version": VERSION, "result": result}]), self.wanted())


class TestQuiet:
    @pytest.mark.parametrize(("at", "quiet"), [("2026-01-01T11:59:59Z", True), ("2026-01-01T12:00:01.1Z", False)])
    def test_is_a_task_nobody_annotated_since(self, at: str, quiet: bool) -> None:
        assert is_quiet(task(annotations=[annotation(1), annotation(2, at=at)]), NOON) is quiet

    def test_is_a_task_without_annotations(self) -> None:
        assert is_quiet(task(annotations=[]), NOON)


class TestCounters:
    def test_that_are_right_are_left(self) -> None:
        assert right_counters(task(), skips_finish=False) == {}

    def test_that_are_right_leave_being_finished_to_label_studio(self) -> None:
        assert right_counters(task(is_labeled=False), skips_finish=False) == {}

    def test_that_miss_an_annotation_are_put_right(self) -> None:
        stale = task(annotations=[annotation(1), annotation(2)], overlap=2, is_labeled=False)
        assert right_counters(stale, skips_finish=False) == {
            "total_annotations": 2,
            "cancelled_annotations": 0,
            "is_labeled": True,
        }

    @pytest.mark.parametrize("skips_finish", [True, False])
    def test_count_skips_as_the_project_does(self, skips_finish: bool) -> None:
        stale = task(annotations=[annotation(1), annotation(2, skipped=True)], overlap=2, is_labeled=False)
        found = right_counters(stale, skips_finish)
        assert (found["cancelled_annotations"], found["is_labeled"]) == (1, skips_finish)

    def test_do_not_count_one_person_twice_as_finishing(self) -> None:
        stale = task(annotations=[annotation(1), annotation(1)], overlap=2)
        assert right_counters(stale, skips_finish=False)["is_labeled"] is False
