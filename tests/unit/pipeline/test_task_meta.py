"""What is copied into `task.meta` and when, and what a task's counters should be afterwards."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from ls_crowd_plugin.errors import Unreachable
from ls_crowd_plugin.pipeline import task_meta
from ls_crowd_plugin.pipeline.context import RunFlags
from ls_crowd_plugin.pipeline.counters import corrected_counters, is_quiet
from ls_crowd_plugin.pipeline.outcome import Kind
from ls_crowd_plugin.pipeline.plan import VERSION, content_digest
from ls_crowd_plugin.pipeline.task_meta import (
    Copied,
    has_prediction,
    remove_task_meta,
    updated_meta,
)
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.predictions import read_task_meta
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import agreed_studio, change_minds, pass_over, report_of_pass

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
RESULT = [{"value": {}, "meta": {"crowd": {"answers": 1}}}]


def annotation(annotator: int, *, skipped: bool = False, at: str = "2026-01-01T11:00:00Z") -> Json:
    return {"updated_at": at, "was_cancelled": skipped, "completed_by": annotator}


def task(**changes: Any) -> Json:
    """A task with one answer and our prediction, as Label Studio sends it."""
    plain: Json = {
        "id": 1,
        "meta": {"theirs": 1},
        "annotations": [annotation(5)],
        "predictions": [{"id": 9, "model_version": VERSION, "result": RESULT}],
        "total_annotations": 1,
        "cancelled_annotations": 0,
        "is_labeled": True,
        "overlap": 1,
    }
    return {**plain, **changes}


class TestUpdatedMeta:
    def test_is_added_beside_what_is_there(self) -> None:
        assert updated_meta(task(), {VERSION}) == {"theirs": 1, "crowd": {"answers": 1}}

    def test_is_nothing_if_it_is_right_already(self) -> None:
        assert updated_meta(task(meta={"theirs": 1, "crowd": {"answers": 1}}), {VERSION}) is None

    @pytest.mark.parametrize("before", [None, [], "text"])
    def test_replaces_what_is_not_an_object(self, before: object) -> None:
        assert updated_meta(task(meta=before), {VERSION}) == {"crowd": {"answers": 1}}

    def test_is_removed_where_there_is_no_prediction(self) -> None:
        assert updated_meta(task(meta={"theirs": 1, "crowd": {}}, predictions=[]), {VERSION}) == {"theirs": 1}

    def test_does_not_come_from_predictions_of_others(self) -> None:
        theirs = {"id": 9, "model_version": "theirs", "result": [{"value": {}, "meta": {"crowd": {"answers": 9}}}]}
        assert updated_meta(task(predictions=[theirs]), {VERSION}) is None

    def test_of_an_empty_consensus_is_nothing(self) -> None:
        assert updated_meta(task(predictions=[{"id": 9, "model_version": VERSION, "result": []}]), {VERSION}) is None


class TestHasPrediction:
    """A task is only finished with if our one prediction on it is the expected one."""

    def test_the_expected_one(self) -> None:
        assert has_prediction(task(), {VERSION}, content_digest(RESULT, None))

    def test_another(self) -> None:
        assert not has_prediction(task(), {VERSION}, content_digest(RESULT, 0.5))

    def test_two(self) -> None:
        assert not has_prediction(task(predictions=task()["predictions"] * 2), {VERSION}, content_digest(RESULT, None))

    def test_none(self) -> None:
        assert not has_prediction(task(predictions=[]), {VERSION}, content_digest(RESULT, None))

    def test_none_where_none_is_expected(self) -> None:
        assert has_prediction(task(predictions=[]), {VERSION}, None)
        assert not has_prediction(task(), {VERSION}, None)

    @pytest.mark.parametrize("result", [None, {}, "x", [None], [["x"]]])
    def test_something_else_under_our_version(self, result: object) -> None:
        strange = [{"id": 9, "model_version": VERSION, "result": result}]
        assert not has_prediction(task(predictions=strange), {VERSION}, content_digest(RESULT, None))


class TestQuiet:
    @pytest.mark.parametrize(("at", "quiet"), [("2026-01-01T11:59:59Z", True), ("2026-01-01T12:00:01.1Z", False)])
    def test_is_a_task_that_nobody_has_annotated_since(self, at: str, quiet: bool) -> None:
        assert is_quiet(task(annotations=[annotation(1), annotation(2, at=at)]), NOON) is quiet

    def test_is_a_task_without_annotations(self) -> None:
        assert is_quiet(task(annotations=[]), NOON)


class TestCounters:
    def test_that_are_right_are_left(self) -> None:
        assert corrected_counters(task(), skips_count=False) == {}

    def test_that_are_right_leave_it_to_label_studio_whether_the_task_is_finished(self) -> None:
        assert corrected_counters(task(is_labeled=False), skips_count=False) == {}

    def test_that_miss_an_annotation_are_corrected(self) -> None:
        stale = task(annotations=[annotation(1), annotation(2)], overlap=2, is_labeled=False)
        assert corrected_counters(stale, skips_count=False) == {
            "total_annotations": 2,
            "cancelled_annotations": 0,
            "is_labeled": True,
        }

    @pytest.mark.parametrize("skips_count", [True, False])
    def test_count_skips_as_the_project_does(self, skips_count: bool) -> None:
        stale = task(annotations=[annotation(1), annotation(2, skipped=True)], overlap=2, is_labeled=False)
        corrected = corrected_counters(stale, skips_count)
        assert (corrected["cancelled_annotations"], corrected["is_labeled"]) == (1, skips_count)

    def test_do_not_count_one_person_twice(self) -> None:
        stale = task(annotations=[annotation(1), annotation(1)], overlap=2)
        assert corrected_counters(stale, skips_count=False)["is_labeled"] is False


def copied_by_pass(studio: MemoryStudio, store: Store, setting: str = "auto", *, quiet: float = 30.0) -> Copied:
    """Run a pass, which begins a minute after whatever happened before, and return what it copied."""
    recipe, flags = Recipe(method="plu", task_meta=setting), RunFlags(quiet_seconds=quiet)
    return report_of_pass(studio, store, recipe=recipe, flags=flags).copied


def methods(studio: MemoryStudio) -> dict[int, str]:
    """Task → the method that its `meta` names."""
    metas = {key: row["meta"].get("crowd") for key, row in studio.task_rows.items()}
    return {key: meta["method"] for key, meta in metas.items() if meta}


class TestCopying:
    def test_says_what_the_prediction_says(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2, 3])
        studio.task_rows[1]["meta"] = {"theirs": 1}
        assert copied_by_pass(studio, memory_store) == Copied(written=3)
        for row in studio.prediction_rows.values():
            assert studio.task_rows[row["task"]]["meta"]["crowd"] == row["result"][0]["meta"]["crowd"]
        assert studio.task_rows[1]["meta"]["theirs"] == 1

    def test_is_done_once(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2, 3])
        copied_by_pass(studio, memory_store)
        assert copied_by_pass(studio, memory_store) == Copied()
        assert studio.writes == []

    def test_follows_the_prediction(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2, 3])
        copied_by_pass(studio, memory_store)
        change_minds(studio, 1)
        studio.wait()
        copied_by_pass(studio, memory_store)
        (prediction,) = (row for row in studio.prediction_rows.values() if row["task"] == 1)
        assert studio.task_rows[1]["meta"]["crowd"] == prediction["result"][0]["meta"]["crowd"]

    def test_waits_until_a_task_is_quiet(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2])
        assert copied_by_pass(studio, memory_store, quiet=90) == Copied(waiting=2, soon=2)
        assert copied_by_pass(studio, memory_store, quiet=90) == Copied(written=2)

    def test_waits_until_a_task_is_finished(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2])
        studio.task_rows[1]["is_labeled"] = False
        assert copied_by_pass(studio, memory_store) == Copied(written=1, waiting=1)
        assert list(methods(studio)) == [2]

    def test_includes_unfinished_tasks_if_so_configured(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2])
        studio.task_rows[1]["is_labeled"] = False
        assert copied_by_pass(studio, memory_store, "on") == Copied(written=2)

    def test_can_be_switched_off(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2])
        assert copied_by_pass(studio, memory_store, "off") == Copied()
        assert methods(studio) == {}

    def test_is_not_begun_by_itself_in_a_large_project(
        self, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(task_meta, "MAX_PROJECT_SIZE", 1)
        studio = agreed_studio([1, 2])
        assert copied_by_pass(studio, memory_store) == Copied()
        assert copied_by_pass(studio, memory_store, "on").written == 2

    def test_leaves_a_task_that_was_annotated_meanwhile(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2])
        copied_by_pass(studio, memory_store, "off")

        def annotate() -> None:
            studio.annotate(1, 3, "bad")

        studio.after_page = [annotate]  # after the pull has read what changed
        copied_by_pass(studio, memory_store)
        assert list(methods(studio)) == [2]

    def test_that_failed_is_completed_by_the_next_pass(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2, 3])
        copied_by_pass(studio, memory_store, "off")
        studio.break_write(2, Unreachable("Label Studio did not answer."), carried_out=False)
        recipe = Recipe(method="plu", task_meta="on")
        assert pass_over(studio, memory_store, recipe=recipe).kind is Kind.FAILED
        studio.repair()
        copied_by_pass(studio, memory_store, "on")
        assert list(methods(studio)) == [1, 2, 3]

    def test_goes_on_when_a_task_is_deleted_meanwhile(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2, 3])
        copied_by_pass(studio, memory_store, "off")
        studio.after_write[1] = lambda: studio.delete_task(2)
        assert copied_by_pass(studio, memory_store, "on").written == 2

    def test_repairs_counters_that_a_simultaneous_submit_left_wrong(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2])
        copied_by_pass(studio, memory_store, "off")
        studio.after_write[1] = lambda: studio.task_rows[1].update(total_annotations=2, is_labeled=False)
        assert copied_by_pass(studio, memory_store).repaired == 1
        assert (studio.task_rows[1]["total_annotations"], studio.task_rows[1]["is_labeled"]) == (3, True)

    def test_is_undone_with_the_last_answer(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2])
        copied_by_pass(studio, memory_store, "on")
        studio.delete_annotations(1)
        copied_by_pass(studio, memory_store, "on")
        assert list(methods(studio)) == [2]


class TestRemoving:
    def test_removes_our_key_and_nothing_else(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2])
        studio.task_rows[1]["meta"] = {"theirs": 1}
        copied_by_pass(studio, memory_store)
        studio.task_rows[2]["meta"] = {}  # somebody else has removed it already
        assert remove_task_meta(studio, memory_store, PROJECT) == 1
        assert [row["meta"] for row in studio.task_rows.values()] == [{"theirs": 1}, {}]
        with memory_store.data.connect() as connection:
            assert read_task_meta(connection, PROJECT) == {}
