"""What `doctor` and `connect` say where nothing keeps connected projects up to date."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.pipeline.checks import BAD, NOTE, OK, Check, Checked, check_service
from ls_crowd_plugin.settings import read_settings
from ls_crowd_plugin.store import Store, heartbeats, queue
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.transactions import run

SETTINGS = read_settings(
    {
        "LABEL_STUDIO_URL": "http://studio.example",
        "LABEL_STUDIO_API_KEY": "key",
        "LS_CROWD_PUBLIC_URL": "http://user:password@crowd.example:9090",
    }
)


def checks(store: Store, *, answers: bool) -> list[Check]:
    return list(check_service(Checked(SETTINGS, MemoryStudio(), store, lambda _: answers)))


def test_without_connected_projects_nothing_is_missing(memory_store: Store) -> None:
    assert [check.kind for check in checks(memory_store, answers=False)] == [NOTE]


@pytest.mark.parametrize("answers", [True, False])
def test_a_connected_project_needs_a_worker_and_a_service(memory_store: Store, answers: bool) -> None:
    run(memory_store.work, queue.enqueue, PROJECT)
    worker, *service = checks(memory_store, answers=answers)
    sentence = "No worker is running, and 1 connected project waits for one; 'ls-crowd serve' starts one."
    assert (worker.kind, worker.sentence) == (BAD, sentence)
    assert [check.kind for check in service] == ([] if answers else [BAD])
    for check in service:
        assert "No service answers at http://crowd.example:9090" in check.sentence
        assert "ls-crowd connect" in check.sentence
        assert "password" not in check.sentence


def test_all_is_well_where_both_are_running(memory_store: Store) -> None:
    run(memory_store.work, queue.enqueue, PROJECT)
    run(memory_store.work, heartbeats.beat, "a")
    assert checks(memory_store, answers=True) == [Check(OK, "Worker a is running.")]
