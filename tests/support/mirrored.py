"""Tasks and annotations for the tests of the mirror and the trail, and short ways to write and read them."""

from __future__ import annotations

import json

from sqlalchemy import RowMapping, select

from ls_crowd_plugin.store import Annotation, Store, Task, mirror
from ls_crowd_plugin.store.predictions import StoredPrediction
from ls_crowd_plugin.store.trail import trail
from tests.support.transactions import run

PROJECT = 7
NOON = "2026-01-01T12:00:00.000000Z"
LATER = "2026-01-01T13:00:00.000000Z"


def save_project(store: Store, project: int = PROJECT, title: str = "Moods", pull_rule: str = "") -> None:
    run(
        store.data,
        mirror.save_project,
        project,
        title=title,
        label_config="<View/>",
        created_at=NOON,
        pull_rule=pull_rule,
    )


def make_task(number: int) -> Task:
    return Task(number, NOON, NOON, f"stamp {number}", 1, False)


def make_annotation(number: int, task: int = 1, by: int | None = 5, label: str = "good") -> Annotation:
    return Annotation(
        id=number,
        task=task,
        annotator=by,
        result=json.dumps([{"from_name": "mood", "value": {"choices": [label]}}]),
        skipped=False,
        ground_truth=False,
        copied=False,
        created_at=NOON,
        updated_at=NOON,
        updated_by=by,
        lead_time=1.5,
    )


def replace_tasks(store: Store, *tasks: tuple[Task, list[Annotation]], project: int = PROJECT) -> int:
    """Mirror tasks as a pull at LATER would; return how many annotations changed."""
    return run(store.data, mirror.replace_tasks, project, tasks, LATER)


def drop_tasks(store: Store, *task_ids: int) -> None:
    run(store.data, mirror.drop_tasks, PROJECT, task_ids, LATER)


def read_annotations(store: Store, project: int = PROJECT) -> list[Annotation]:
    return run(store.data, mirror.read_annotations, project)


def read_trail(store: Store) -> list[RowMapping]:
    with store.data.connect() as connection:
        return list(connection.execute(select(trail).order_by(trail.c.id)).mappings())


def stored_prediction(task: int, digest: str = "a") -> StoredPrediction:
    return StoredPrediction(task, 100 + task, digest, "labels", 0.9, "basis")
