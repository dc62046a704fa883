"""What Label Studio should hold of ours: predictions, versions, tabs and `task.meta`."""

from __future__ import annotations

from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.predictions import (
    forget_predictions,
    forget_tab,
    forget_tasks,
    read_predictions,
    read_tabs,
    read_task_meta,
    read_versions,
    remember_tab,
    remember_version,
    save_predictions,
    save_task_meta,
)
from tests.support.mirrored import stored_prediction
from tests.support.transactions import run

ONE, TWO, THREE = (stored_prediction(task) for task in (1, 2, 3))


def test_predictions_are_added_and_changed(store: Store) -> None:
    run(store.data, save_predictions, 7, [ONE, TWO])
    run(store.data, save_predictions, 8, [THREE])
    changed = stored_prediction(2, "other")
    run(store.data, save_predictions, 7, [changed, THREE])
    assert run(store.data, read_predictions, 7) == {1: ONE, 2: changed, 3: THREE}
    assert run(store.data, read_predictions, 8) == {3: THREE}


def test_predictions_of_some_tasks_or_all_are_forgotten(store: Store) -> None:
    for project in (7, 8):
        run(store.data, save_predictions, project, [ONE, TWO, THREE])
    run(store.data, forget_predictions, 7, [1, 3])
    assert run(store.data, read_predictions, 7) == {2: TWO}
    run(store.data, forget_predictions, 7)
    assert run(store.data, read_predictions, 7) == {}
    assert len(run(store.data, read_predictions, 8)) == 3


def test_versions_are_remembered_once(store: Store) -> None:
    for version in ("a", "b", "a"):
        run(store.data, remember_version, 7, version)
    assert run(store.data, read_versions, 7) == {"a", "b"}
    assert run(store.data, read_versions, 8) == frozenset()


def test_tabs_are_remembered_until_they_are_forgotten(store: Store) -> None:
    for tab in (3, 4, 3):
        run(store.data, remember_tab, 7, tab)
    run(store.data, forget_tab, 7, 4)
    assert run(store.data, read_tabs, 7) == {3}


def test_task_meta_is_changed_task_by_task(store: Store) -> None:
    for task, digest in ((1, "a"), (2, "b"), (1, "c")):
        run(store.data, save_task_meta, 7, task, digest)
    assert run(store.data, read_task_meta, 7) == {1: "c", 2: "b"}
    run(store.data, save_task_meta, 7, 1, None)
    assert run(store.data, read_task_meta, 7) == {2: "b"}


def test_tasks_that_are_gone_are_forgotten(store: Store) -> None:
    run(store.data, save_predictions, 7, [ONE, TWO])
    run(store.data, save_predictions, 8, [ONE])
    run(store.data, save_task_meta, 7, 1, "a")
    run(store.data, forget_tasks, 7, [1, 99])
    assert run(store.data, read_predictions, 7) == {2: TWO}
    assert run(store.data, read_task_meta, 7) == {}
    assert run(store.data, read_predictions, 8) == {1: ONE}
