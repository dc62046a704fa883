"""Settings of a project are remembered as they were before our first change."""

from __future__ import annotations

from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.project_settings import forget_settings, read_settings_before, remember_settings
from tests.support.transactions import run


def test_are_remembered_from_before_the_first_change(store: Store) -> None:
    run(store.data, remember_settings, 7, {"model_version": "", "show_collab_predictions": False})
    run(store.data, remember_settings, 7, {"model_version": "ours", "maximum_annotations": 3})
    before = {"model_version": "", "show_collab_predictions": False, "maximum_annotations": 3}
    assert run(store.data, read_settings_before, 7) == before


def test_are_forgotten_by_project(store: Store) -> None:
    for project in (7, 8):
        run(store.data, remember_settings, project, {"model_version": None})
    run(store.data, forget_settings, 7)
    assert run(store.data, read_settings_before, 7) == {}
    assert run(store.data, read_settings_before, 8) == {"model_version": None}
