"""Digests of the predictions and of the `task.meta` that Label Studio should hold."""

from __future__ import annotations

from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.predictions import (
    forget_tasks,
    read_predictions,
    read_task_meta,
    save_predictions,
    save_task_meta,
)
from tests.support.transactions import run


def test_predictions_are_replaced_as_a_whole(store: Store) -> None:
    run(store.data, save_predictions, 7, {1: "a", 2: "b"})
    run(store.data, save_predictions, 8, {1: "of another project"})
    run(store.data, save_predictions, 7, {2: "c", 3: "d"})
    assert run(store.data, read_predictions, 7) == {2: "c", 3: "d"}
    run(store.data, save_predictions, 7, {})
    assert run(store.data, read_predictions, 7) == {}
    assert run(store.data, read_predictions, 8) == {1: "of another project"}


def test_task_meta_is_changed_task_by_task(store: Store) -> None:
    for task, digest in ((1, "a"), (2, "b"), (1, "c")):
        run(store.data, save_task_meta, 7, task, digest)
    assert run(store.data, read_task_meta, 7) == {1: "c", 2: "b"}
    run(store.data, save_task_meta, 7, 1, None)
    assert run(store.data, read_task_meta, 7) == {2: "b"}


def test_tasks_that_are_gone_are_forgotten(store: Store) -> None:
    run(store.data, save_predictions, 7, {1: "a", 2: "b"})
    run(store.data, save_predictions, 8, {1: "of another project"})
    run(store.data, save_task_meta, 7, 1, "a")
    run(store.data, forget_tasks, 7, [1, 99])
    assert run(store.data, read_predictions, 7) == {2: "b"}
    assert run(store.data, read_task_meta, 7) == {}
    assert run(store.data, read_predictions, 8) == {1: "of another project"}
