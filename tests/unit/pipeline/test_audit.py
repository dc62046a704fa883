"""After any history the mirror holds what Label Studio holds, and nothing else, also where no time tells."""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from typing import Any

import pytest

from ls_crowd_plugin.pipeline import pull as pull_module
from ls_crowd_plugin.pipeline.audit import SHORT_BATCH
from ls_crowd_plugin.pipeline.context import Pace, RunFlags
from ls_crowd_plugin.pipeline.pull import Pulled, pull
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import Annotation, Store, mirror
from ls_crowd_plugin.store.users import read_names
from tests.support.memory_studio import PROJECT, MemoryStudio, mood
from tests.support.passes import make_context


@pytest.fixture
def studio() -> MemoryStudio:
    """Two tasks, each with one answer."""
    studio = MemoryStudio([1, 2])
    studio.annotate(1, 5, "good")
    studio.annotate(2, 5, "bad")
    return studio


def pull_now(studio: MemoryStudio, store: Store, *, token: int = 1, from_scratch: bool = False) -> Pulled:
    """Pull, and let a minute pass before and after it."""
    studio.wait()
    pulled = pull(make_context(studio, store, token=token, flags=RunFlags(from_scratch=from_scratch)))
    studio.wait()
    return pulled


def mirrored(store: Store) -> list[Annotation]:
    with store.data.connect() as connection:
        return mirror.read_annotations(connection, PROJECT)


def labels(store: Store) -> dict[int, str]:
    """Task → the label of the annotation on it."""
    return {annotation.task: annotation.items[0]["value"]["choices"][0] for annotation in mirrored(store)}


class TestWhatNoTimeTells:
    def test_annotations_that_moved_to_another_task(self, studio: MemoryStudio, memory_store: Store) -> None:
        """As when duplicates are removed: no time changes."""
        pull_now(studio, memory_store)
        moved = studio.task_rows[2]["annotations"].pop()
        studio.task_rows[1]["annotations"].append(moved)
        studio.delete_task(2)
        studio.task_rows[1]["total_annotations"] = 2
        pull_now(studio, memory_store)
        assert [(one.id, one.task) for one in mirrored(memory_store)] == [(1001, 1), (1002, 1)]

    def test_a_restored_backup(self, studio: MemoryStudio, memory_store: Store) -> None:
        backup = copy.deepcopy(studio.task_rows)
        studio.wait(3600)
        studio.annotate(1, 5, "bad")  # an edit: counts stay
        pull_now(studio, memory_store)
        studio.task_rows = backup
        pull_now(studio, memory_store)
        assert labels(memory_store) == {1: "good", 2: "bad"}

    def test_a_deleted_user(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.names[5] = "Eve"
        pull_now(studio, memory_store)
        del studio.names[5]
        for row in studio.task_rows.values():
            row["annotations"][0]["completed_by"] = None
        pull_now(studio, memory_store)
        assert {one.annotator for one in mirrored(memory_store)} == {None}

    def test_somebody_who_left_the_organization_is_still_the_author(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        for _ in range(2):
            again = pull_now(studio, memory_store)
        assert {one.annotator for one in mirrored(memory_store)} == {5}
        assert again.annotations_changed == 0

    def test_a_new_name(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.names[5] = "Eve"
        pull_now(studio, memory_store)
        studio.names[5] = "Eva"
        pull_now(studio, memory_store)
        with memory_store.data.connect() as connection:
            assert read_names(connection, [5]) == {5: "Eva"}

    def test_annotations_that_were_created_in_bulk(self, studio: MemoryStudio, memory_store: Store) -> None:
        pull_now(studio, memory_store)
        updated_at = studio.task_rows[1]["updated_at"]
        studio.annotate(1, 6, "bad")
        studio.task_rows[1]["updated_at"] = updated_at
        studio.wait(3600)
        studio.annotate(2, 5, "bad")
        pull_now(studio, memory_store)
        assert {(one.task, one.annotator) for one in mirrored(memory_store)} == {(1, 5), (2, 5), (1, 6)}

    def test_a_clock_that_was_set_back(self, studio: MemoryStudio, memory_store: Store) -> None:
        pull_now(studio, memory_store)
        studio.wait(-86400)
        studio.annotate(1, 5, "bad")
        pull_now(studio, memory_store)
        assert labels(memory_store)[1] == "bad"

    def test_a_commit_that_became_visible_minutes_late(self, studio: MemoryStudio, memory_store: Store) -> None:
        """An edit that carries an old time is found by the next audit."""
        studio.wait(3600)
        studio.annotate(2, 5, "bad")
        pull_now(studio, memory_store)
        studio.wait(-1800)
        studio.annotate(1, 5, "bad")
        studio.wait(1800)
        pull_now(studio, memory_store)
        assert labels(memory_store)[1] == "good"
        studio.wait()
        pull(make_context(studio, memory_store, flags=RunFlags(audit_seconds=0)))
        assert labels(memory_store)[1] == "bad"

    @pytest.mark.parametrize(("age", "is_audited"), [(900, False), (1300, True)])
    def test_waits_for_an_audit_while_people_wait_for_answered_tasks(
        self, age: float, is_audited: bool, studio: MemoryStudio, memory_store: Store
    ) -> None:
        """For at most as long again as audits may be apart."""
        studio.wait(3600)
        studio.annotate(2, 5, "bad")
        pull_now(studio, memory_store)
        studio.task_rows[1]["annotations"][0]["result"] = mood("bad")  # without a trace
        studio.task_rows[1]["overlap"] = 7
        with memory_store.data.begin() as connection:
            mirror.set_audited(connection, PROJECT, time.time() - age)
        studio.annotate(2, 5, "good")
        pull(make_context(studio, memory_store, flags=RunFlags(pace=Pace.LIVE)))
        assert labels(memory_store) == {1: "bad" if is_audited else "good", 2: "good"}
        pull(make_context(studio, memory_store, flags=RunFlags(pace=Pace.LIVE)))
        assert labels(memory_store) == {1: "bad", 2: "good"}

    def test_task_data_that_changed_silently(self, studio: MemoryStudio, memory_store: Store) -> None:
        recipe = Recipe(gold_field="right", gold_sources=frozenset({"task_data"}))
        pull(make_context(studio, memory_store, recipe=recipe))
        studio.task_rows[1]["data"]["right"] = "bad"
        pull(make_context(studio, memory_store, recipe=recipe))
        with memory_store.data.connect() as connection:
            assert mirror.read_tasks(connection, PROJECT)[1].gold_field == '"bad"'

    def test_a_copy_whose_original_was_deleted(self, studio: MemoryStudio, memory_store: Store) -> None:
        """Label Studio then no longer says that it is one; of our own predictions the metadata tell."""
        studio.annotate(1, 5, "good", parent_prediction=3)
        marked = [{**mood("bad")[0], "meta": {"crowd": {"answers": 3}}}]
        studio.annotate(2, 5, "bad", parent_prediction=4, result=marked)
        pull_now(studio, memory_store)
        for task in (1, 2):
            studio.task_rows[task]["annotations"][0]["parent_prediction"] = None
        pull(make_context(studio, memory_store, flags=RunFlags(audit_seconds=0)))
        assert {one.task: one.copied for one in mirrored(memory_store)} == {1: False, 2: True}

    def test_ids_that_another_project_uses_too(self, studio: MemoryStudio, memory_store: Store) -> None:
        """As after a restored backup, when ids are given out again."""
        pull_now(studio, memory_store)
        with memory_store.data.begin() as connection:
            mirror.save_project(connection, 8, title="", label_config="", created_at="")
            rows = [(replace(task, updated_at="")) for task in mirror.read_tasks(connection, PROJECT).values()]
            mirror.replace_tasks(connection, 8, [(row, []) for row in rows], "")
        pull_now(studio, memory_store, from_scratch=True)
        assert len(mirrored(memory_store)) == 2


class TestShortRequests:
    def test_are_all_that_is_made_while_people_work(self, memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """In a large project, tasks that changed are read a few at a time, those too that are in the mirror already."""
        monkeypatch.setattr(pull_module, "LARGE_PROJECT", SHORT_BATCH)
        tasks = range(1, 2 * SHORT_BATCH + 2)
        studio = MemoryStudio(list(tasks))
        for task in tasks:
            studio.annotate(task, 5, "good")
        pull_now(studio, memory_store)
        for task in tasks:
            studio.annotate(task, 5, "bad")
        sizes: list[int] = []
        read_page = studio._task_page

        def count(*arguments: Any, **keywords: Any) -> tuple[int, list[Json]]:
            total, rows = read_page(*arguments, **keywords)
            sizes.extend([len(rows)] if "annotations" in rows[0] else [])
            return total, rows

        monkeypatch.setattr(studio, "_task_page", count)
        pulled = pull(make_context(studio, memory_store, flags=RunFlags(pace=Pace.LIVE)))
        assert sizes == [SHORT_BATCH, SHORT_BATCH, SHORT_BATCH, 1]  # the first tells how many there are
        assert pulled.tasks == frozenset(tasks)
        assert set(labels(memory_store).values()) == {"bad"}
