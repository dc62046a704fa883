"""`task.meta["crowd"]` in a real Label Studio: on quiet tasks only, beside what others keep there."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.pipeline.outcome import Kind
from ls_crowd_plugin.store import Store
from tests.support.proxy import ProxiedRequest, Proxy
from tests.support.studio import MOOD, Project, impatient, make_project, people, run_once, sync_once

ONE_TASK = re.compile(r"/api/tasks/\d+/")  # not a list of tasks
AT_ONCE = -60.0  # a quiet time that is always over, although the server's clock is only known to a second


@pytest.fixture
def project(many_tasks: Project) -> Project:
    return many_tasks


def meta_of(project: Project) -> dict[int, Any]:
    return {task: row["meta"] for task, row in project.rows().items()}


def test_it_equals_that_of_the_prediction(project: Project, owner: Http, sqlite_store: Store) -> None:
    owner.patch(f"/api/tasks/{project.tasks[0]}/", {"meta": {"theirs": [1, 2]}})
    report = sync_once(owner, sqlite_store, project, task_meta="auto", quiet_seconds=AT_ONCE)
    assert (report.copied.written, report.copied.repaired) == (24, 0)
    predicted = {
        task: prediction["result"][0]["meta"]["crowd"] for task, (prediction,) in project.predictions().items()
    }
    assert {task: meta["crowd"] for task, meta in meta_of(project).items()} == predicted
    assert meta_of(project)[project.tasks[0]]["theirs"] == [1, 2]


def test_it_waits_until_a_task_is_quiet(project: Project, owner: Http, sqlite_store: Store) -> None:
    report = sync_once(owner, sqlite_store, project, task_meta="on", quiet_seconds=3600)
    assert (report.copied.written, report.copied.waiting) == (0, 24)


def test_it_waits_until_a_task_is_finished(owner: Http, sqlite_store: Store) -> None:
    one, two = people(owner, 2)
    good = {"mood": "good"}
    unfinished = make_project(owner, MOOD, [{one: good, two: good}, {one: good}], required_annotators=2)
    assert sync_once(owner, sqlite_store, unfinished, task_meta="auto", quiet_seconds=AT_ONCE).copied.written == 1
    assert sync_once(owner, sqlite_store, unfinished, task_meta="on", quiet_seconds=AT_ONCE).copied.written == 1


def test_it_is_written_once(project: Project, owner: Http, proxy: Proxy, sqlite_store: Store) -> None:
    sync_once(owner, sqlite_store, project, task_meta="auto", quiet_seconds=AT_ONCE)
    sync_once(Http(proxy.url, owner._key), sqlite_store, project, task_meta="auto", quiet_seconds=AT_ONCE)
    assert proxy.writes == []


def test_what_broke_off_is_completed(project: Project, owner: Http, proxy: Proxy, sqlite_store: Store) -> None:
    changes = iter(range(100))
    proxy.fault = lambda request: "500" if ONE_TASK.match(request.path) and next(changes) >= 11 else ""
    http = impatient(proxy.url, owner._key)
    options: dict[str, Any] = {"method": "plu", "task_meta": "auto", "quiet_seconds": AT_ONCE}
    assert run_once(http, sqlite_store, project.id, **options).kind is Kind.FAILED
    proxy.fault = lambda _: ""
    report = sync_once(http, sqlite_store, project, **options)
    assert (report.copied.written, all("crowd" in meta for meta in meta_of(project).values())) == (13, True)


def test_counters_that_a_race_left_wrong_are_repaired(
    project: Project, owner: Http, proxy: Proxy, sqlite_store: Store
) -> None:
    """Label Studio writes wrong counters if a task is changed during a submit; here this is done on purpose."""
    task = project.tasks[5]

    def race(request: ProxiedRequest) -> None:
        if request.path == f"/api/tasks/{task}/":
            proxy.after = lambda _: None
            owner.patch(f"/api/tasks/{task}/", {"total_annotations": 2, "is_labeled": False})

    proxy.after = race
    http = Http(proxy.url, owner._key)
    report = sync_once(http, sqlite_store, project, task_meta="auto", quiet_seconds=AT_ONCE)
    row = project.rows()[task]
    assert (report.copied.repaired, row["total_annotations"], row["is_labeled"]) == (1, 3, True)


def test_it_is_removed_with_the_last_answer_of_a_task(project: Project, owner: Http, sqlite_store: Store) -> None:
    sync_once(owner, sqlite_store, project, task_meta="on", quiet_seconds=AT_ONCE)
    task = project.tasks[0]
    for annotation in project.annotations(task):
        project.delete_annotation(annotation["id"])
    sync_once(owner, sqlite_store, project, task_meta="on", quiet_seconds=AT_ONCE)
    assert "crowd" not in meta_of(project)[task]
    assert "crowd" in meta_of(project)[project.tasks[1]]
