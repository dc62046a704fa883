"""Forgetting a project: what was derived from it goes; gold and trail stay."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.records import ProjectSummary
from ls_crowd_plugin.store import Store, mirror
from ls_crowd_plugin.store.forget import forget_project, forget_written
from ls_crowd_plugin.store.gold import add_gold, list_gold
from ls_crowd_plugin.store.mirror_facts import count_tasks
from ls_crowd_plugin.store.passes import LastPass, get_last_pass, save_last_pass
from ls_crowd_plugin.store.predictions import (
    read_predictions,
    read_task_meta,
    read_versions,
    remember_version,
    save_predictions,
    save_task_meta,
)
from ls_crowd_plugin.store.project_settings import read_settings_before, remember_settings
from ls_crowd_plugin.store.results import load_results, save_results
from tests.support.mirrored import (
    PROJECT,
    make_annotation,
    make_task,
    read_annotations,
    read_trail,
    replace_tasks,
    stored_prediction,
)
from tests.support.result_records import FIGURES
from tests.support.transactions import run


@pytest.fixture
def full_store(mirror_store: Store) -> Store:
    """A store in which everything is known of a project."""
    replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
    with mirror_store.data.begin() as connection:
        save_results(connection, PROJECT, ProjectSummary(), FIGURES, [], [])
        save_predictions(connection, PROJECT, [stored_prediction(1)])
        remember_version(connection, PROJECT, "version")
        save_task_meta(connection, PROJECT, 1, "a")
        save_last_pass(connection, PROJECT, LastPass("fingerprint", "version", ProjectSummary(), 1.0))
        add_gold(connection, PROJECT, {(1, "mood"): "good"})
        remember_settings(connection, PROJECT, {"model_version": ""})
    return mirror_store


def test_a_forgotten_project_leaves_only_what_cannot_be_had_again(full_store: Store) -> None:
    with full_store.data.begin() as connection:
        forget_project(connection, PROJECT)
        assert mirror.get_project(connection, PROJECT) is None
        assert count_tasks(connection, PROJECT) == 0
        assert load_results(connection, PROJECT) is None
        assert get_last_pass(connection, PROJECT) is None
        assert (read_predictions(connection, PROJECT), read_task_meta(connection, PROJECT)) == ({}, {})
        assert list_gold(connection, PROJECT) == {(1, "mood"): "good"}
        assert (read_settings_before(connection, PROJECT), read_versions(connection, PROJECT)) == ({}, frozenset())
    assert len(read_trail(full_store)) == 1


def test_another_project_is_left_alone(full_store: Store) -> None:
    run(full_store.data, forget_project, 8)
    assert len(read_annotations(full_store)) == 1
    assert run(full_store.data, read_predictions, PROJECT).keys() == {1}


def test_what_was_written_is_forgotten_before_it_changes(full_store: Store) -> None:
    with full_store.data.begin() as connection:
        forget_written(connection, PROJECT)
        assert (get_last_pass(connection, PROJECT), read_predictions(connection, PROJECT)) == (None, {})
        assert read_task_meta(connection, PROJECT) == {1: "a"}
        assert load_results(connection, PROJECT) is not None
