"""A policy steers the queue of a real Label Studio, and what people submit meanwhile is counted."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.errors import NotFound
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline import asking
from ls_crowd_plugin.pipeline.counters import COUNTERS, corrected_counters
from ls_crowd_plugin.policy import Policy
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.policies import forget_policy, save_policy
from tests.support.sign_up import sign_up
from tests.support.studio import MOOD, Project, make_project, people, sync_once

POLICY = Policy(min_answers=2, max_answers=4, confidence=0.75)


@pytest.fixture(autouse=True)
def little_gold_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MIN_CHECKED", 0)


@pytest.fixture
def project(owner: Http, sqlite_store: Store) -> Project:
    """Three tasks with two answers each, of which those to the first and the third differ."""
    one, two = people(owner, 2)
    good, bad = {"mood": "good"}, {"mood": "bad"}
    tasks = [{one: good, two: bad}, {one: good, two: good}, {one: bad, two: good}, {}]
    made = make_project(owner, MOOD, tasks, required_annotators=3)
    with sqlite_store.data.begin() as connection:
        save_policy(connection, made.id, POLICY)
    return made


def rows(owner: Http, project: Project) -> list[Json]:
    found = {int(row["id"]): row for row in LabelStudio(owner).tasks(project.id, project.tasks, COUNTERS)}
    return [found[task] for task in project.tasks]


def served(http: Http, project: Project) -> int | None:
    """The task that Label Studio's queue gives somebody next."""
    try:
        return int(http.get(f"/api/projects/{project.id}/next/")["id"])
    except NotFound:
        return None


def required(owner: Http, project: Project) -> list[tuple[int, bool]]:
    return [(row["overlap"], row["is_labeled"]) for row in rows(owner, project)]


def test_unsettled_tasks_are_served_and_settled_ones_are_not(
    project: Project, owner: Http, label_studio: Server, sqlite_store: Store
) -> None:
    report = sync_once(owner, sqlite_store, project, method="plu")
    assert (report.steered.opened, report.steered.repaired) == (2, 0)
    assert required(owner, project) == [(3, False), (2, True), (3, False), (2, False)]
    facts = LabelStudio(owner).project(project.id)
    assert (facts.maximum_annotations, facts.sampling) == (2, "Sequential sampling")
    user, newcomer = sign_up(label_studio.url, f"newcomer{project.id}")
    order: list[int] = []
    while (task := served(newcomer, project)) is not None:
        order.append(task)
        newcomer.post(f"/api/tasks/{task}/annotations/", {"result": project.items({"mood": "good"})})
    assert sorted(order) == sorted(project.tasks[number] for number in (0, 2, 3))
    assert order[-1] == project.tasks[3]  # the others have answers already
    assert user
    sync_once(owner, sqlite_store, project, method="plu")
    assert required(owner, project) == [(4, False), (2, True), (4, False), (2, False)]


def test_what_every_task_required_is_restored(project: Project, owner: Http, sqlite_store: Store) -> None:
    before = required(owner, project)
    sync_once(owner, sqlite_store, project, method="plu")
    with sqlite_store.data.begin() as connection:
        forget_policy(connection, project.id)
    sync_once(owner, sqlite_store, project, method="plu")
    assert required(owner, project) == before == [(3, False)] * 4
    facts = LabelStudio(owner).project(project.id)
    assert (facts.maximum_annotations, facts.sampling) == (3, "Sequential sampling")


def test_nothing_is_written_twice(project: Project, owner: Http, sqlite_store: Store) -> None:
    sync_once(owner, sqlite_store, project, method="plu")
    report = sync_once(owner, sqlite_store, project, method="plu")
    assert (report.steered.opened, report.steered.closed, report.plan.is_empty) == (0, 0, True)


def test_forty_submits_that_race_the_changes_leave_no_wrong_counter(owner: Http, sqlite_store: Store) -> None:
    """Label Studio saves a task as it was read, and so loses what a submit counts meanwhile."""
    crowd = people(owner, 4)
    good, bad = {"mood": "good"}, {"mood": "bad"}
    answers = [{crowd[0]: good, crowd[1]: bad} for _ in range(40)]
    project = make_project(owner, MOOD, answers, required_annotators=2)
    with sqlite_store.data.begin() as connection:
        save_policy(connection, project.id, POLICY)

    def submit(tasks: Sequence[int]) -> None:
        for task in tasks:
            project.annotate(task, crowd[2], good)

    people_at_work = threading.Thread(target=submit, args=(project.tasks,))
    people_at_work.start()
    for _ in range(4):
        sync_once(owner, sqlite_store, project, method="plu")
    people_at_work.join()
    sync_once(owner, sqlite_store, project, method="plu")
    found = rows(owner, project)
    assert [len(row["annotations"]) for row in found] == [3] * 40
    assert [corrected_counters(row, False, is_closed=False) for row in found] == [{}] * 40


@pytest.mark.parametrize("skip_queue", ["REQUEUE_FOR_ME", "REQUEUE_FOR_OTHERS", "IGNORE_SKIPPED"])
def test_a_task_that_others_skipped_or_forged_is_served(
    owner: Http, label_studio: Server, sqlite_store: Store, skip_queue: str
) -> None:
    """Annotations take places in the queue in different ways; a forger writes in others' names."""
    one, two, three = people(owner, 3)
    project = make_project(owner, MOOD, [{one: {"mood": "good"}, two: {"mood": "bad"}}, {}], required_annotators=2)
    owner.patch(f"/api/projects/{project.id}/", {"skip_queue": skip_queue})
    _, forger = sign_up(label_studio.url, f"forger{project.id}")
    for who in (one, two, three):
        project.annotate(project.tasks[1], who, None)
        body = {"result": project.items({"mood": "bad"}), "completed_by": who}
        forger.post(f"/api/tasks/{project.tasks[0]}/annotations/", body)
    with sqlite_store.data.begin() as connection:
        save_policy(connection, project.id, POLICY)
    sync_once(owner, sqlite_store, project, method="plu")
    _, newcomer = sign_up(label_studio.url, f"newcomer{project.id}")
    order = []
    while (task := served(newcomer, project)) is not None:
        order.append(task)
        newcomer.post(f"/api/tasks/{task}/annotations/", {"result": project.items({"mood": "good"})})
    assert sorted(order) == project.tasks
