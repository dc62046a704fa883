"""Polling finds what no webhook reported, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ls_crowd_plugin.errors import LabelStudioError, Rejected, Unreachable
from ls_crowd_plugin.pipeline import poll as poll_module
from ls_crowd_plugin.pipeline.poll import poll
from ls_crowd_plugin.setting_values import NO_PROJECTS, Projects
from ls_crowd_plugin.store import Store, queue
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import agreed_studio, change_minds, pass_over
from tests.support.predictions import FEW

ALL = Projects(True, frozenset())
ONLY = Projects(False, frozenset({PROJECT}))


@pytest.fixture
def studio(memory_store: Store) -> MemoryStudio:
    """A project that is monitored, was passed over and polled since, and has not changed."""
    studio = agreed_studio(FEW)
    pass_over(studio, memory_store)
    poll(studio, memory_store, ONLY)
    pass_over(studio, memory_store)
    complete_all(memory_store)
    studio.reads.clear()
    return studio


def complete_all(store: Store) -> None:
    """Cover all requests, as passes would."""
    with store.work.begin() as connection:
        while (claim := queue.claim(connection, "test")) is not None:
            queue.complete(connection, claim)


def due(store: Store) -> list[int]:
    with store.work.connect() as connection:
        return [entry.project for entry in queue.list_entries(connection) if entry.waiting is not None]


class TestMonitoredProjects:
    def test_are_none_by_default(self, memory_store: Store) -> None:
        assert (poll(agreed_studio(FEW), memory_store, NO_PROJECTS), due(memory_store)) == ([], [])

    def test_are_those_that_are_named(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        studio.add_project(8)
        assert (poll(studio, memory_store, ONLY), due(memory_store)) == ([PROJECT], [PROJECT])

    def test_are_all_if_so_configured(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        studio.add_project(8)
        assert (poll(studio, memory_store, ALL), due(memory_store)) == ([PROJECT, 8], [PROJECT, 8])

    def test_include_those_in_the_queue(self, memory_store: Store) -> None:
        with memory_store.work.begin() as connection:
            queue.enqueue(connection, PROJECT)
        assert poll(agreed_studio(FEW), memory_store, NO_PROJECTS) == [PROJECT]

    def test_do_not_include_named_ones_that_do_not_exist(self, memory_store: Store) -> None:
        named = Projects(False, frozenset({99}))
        assert (poll(agreed_studio(FEW), memory_store, named), due(memory_store)) == ([], [])


class TestChanges:
    def test_are_none_if_nothing_happened(self, studio: MemoryStudio, memory_store: Store) -> None:
        assert (poll(studio, memory_store, ONLY), due(memory_store)) == ([], [])

    def test_cost_one_request_for_all_projects_and_one_for_each(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        poll(studio, memory_store, ONLY)
        assert studio.reads[0] == "projects"
        assert [read.split(" since ")[0] for read in studio.reads] == ["projects", "task ids"]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "change",
        [
            lambda studio: studio.annotate(1, 4, "bad"),
            lambda studio: studio.delete_annotations(1, 2),
            lambda studio: studio.add_task(99),
            lambda studio: studio.delete_task(1),
            lambda studio: studio.predict(1),
            lambda studio: studio.project_rows[PROJECT].update(model_version=""),
            lambda studio: studio.project_rows[PROJECT].update(show_collab_predictions=True),
            lambda studio: studio.project_rows[PROJECT].update(maximum_annotations=3),
            lambda studio: studio.project_rows[PROJECT].update(title="New"),
            lambda studio: studio.project_rows[PROJECT].update(label_config="<View/>"),
        ],
        ids=[
            "new annotation",
            "deleted annotation",
            "new task",
            "deleted task",
            "prediction",
            "version",
            "prelabelling",
            "required annotators",
            "title",
            "config",
        ],
    )
    def test_in_the_list_of_projects_are_found(
        self, change: Callable[[MemoryStudio], object], studio: MemoryStudio, memory_store: Store
    ) -> None:
        change(studio)
        assert (poll(studio, memory_store, ONLY), due(memory_store)) == ([PROJECT], [PROJECT])

    def test_are_found_once(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.project_rows[PROJECT]["title"] = "New"
        poll(studio, memory_store, ONLY)
        complete_all(memory_store)
        assert poll(studio, memory_store, ONLY) == []

    def test_of_answers_are_found_though_the_list_does_not_show_them(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        change_minds(studio, 1)
        assert poll(studio, memory_store, ONLY) == [PROJECT]

    def test_inside_predictions_are_looked_for_from_time_to_time(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(poll_module, "VERIFY_SECONDS", 0.0)
        assert poll(studio, memory_store, ONLY) == [PROJECT]

    def test_in_a_project_that_was_never_pulled_are_assumed(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        poll(studio, memory_store, ONLY)
        complete_all(memory_store)
        assert poll(studio, memory_store, ONLY) == [PROJECT]


class TestDeletedProjects:
    def test_are_left_to_a_pass(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.delete_project()
        assert (poll(studio, memory_store, ONLY), due(memory_store)) == ([PROJECT], [PROJECT])

    def test_are_found_once(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.delete_project()
        poll(studio, memory_store, ONLY)
        complete_all(memory_store)
        assert poll(studio, memory_store, ONLY) == []


class TestFailures:
    def test_of_the_list_are_errors(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.failing["projects"] = Unreachable("Label Studio did not answer.")
        with pytest.raises(Unreachable):
            poll(studio, memory_store, ONLY)

    @pytest.mark.parametrize("error", [LabelStudioError("?"), Rejected("list")])
    def test_of_one_project_do_not_stop_the_others(
        self, error: Exception, studio: MemoryStudio, memory_store: Store
    ) -> None:
        studio.failing["task ids", PROJECT] = error
        studio.add_project(8)
        assert poll(studio, memory_store, ALL) == [PROJECT, 8]
