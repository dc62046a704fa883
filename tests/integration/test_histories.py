"""After histories that no time tells of, a live database agrees with a fresh one, in a real Label Studio."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.pipeline.outcome import Kind
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import Annotation, Store, mirror, open_store
from ls_crowd_plugin.store.gold import add_gold
from ls_crowd_plugin.store.users import read_names
from tests.conftest import STUDIO_HOME
from tests.support.sign_up import sign_up
from tests.support.studio import MOOD, Project, is_settled, make_project, people, run_once, sync_once

GOOD, BAD = {"mood": "good"}, {"mood": "bad"}


def mirrored(store: Store, project: int) -> list[Annotation]:
    with store.data.connect() as connection:
        return mirror.read_annotations(connection, project)


def check_equal_to_fresh(http: Http, store: Store, project: Project) -> None:
    """Sync, and compare the mirror and what stands in Label Studio with what a fresh database gives."""
    sync_once(http, store, project)
    with open_store("sqlite:///:memory:") as fresh:
        sync_once(http, fresh, project, dry_run=True)
        assert mirrored(store, project.id) == mirrored(fresh, project.id)
    assert is_settled(http, project)


class TestQuietChanges:
    def test_duplicates_that_were_removed(self, owner: Http, sqlite_store: Store) -> None:
        first, second, third = people(owner, 3)
        same: list[Json] = [{"text": "the same"}, {"text": "the same"}, {"text": "another"}]
        project = make_project(owner, MOOD, [{first: GOOD}, {second: BAD, third: BAD}, {first: GOOD}], data=same)
        sync_once(owner, sqlite_store, project)
        body = {"selectedItems": {"all": True, "excluded": []}}
        owner.post(f"/api/dm/actions?id=remove_duplicates&project={project.id}", body)
        check_equal_to_fresh(owner, sqlite_store, project)
        assert project.labels() == {project.tasks[0]: BAD, project.tasks[2]: GOOD}

    def test_a_user_who_was_renamed_and_deleted(self, owner: Http, label_studio: Server, sqlite_store: Store) -> None:
        leaver, _ = sign_up(label_studio.url, "leaver")
        first = people(owner, 1)[0]
        project = make_project(owner, MOOD, [{first: GOOD, leaver: BAD}] * 3)
        sync_once(owner, sqlite_store, project)
        owner.patch(f"/api/users/{leaver}/", {"first_name": "Renamed", "last_name": "Person"})
        sync_once(owner, sqlite_store, project)
        with sqlite_store.data.connect() as connection:
            assert read_names(connection, [leaver]) == {leaver: "Renamed Person"}
        owner.delete(f"/api/users/{leaver}/")
        check_equal_to_fresh(owner, sqlite_store, project)
        assert all(labels == GOOD for labels in project.labels().values())

    def test_annotations_that_were_propagated_in_bulk(self, owner: Http, sqlite_store: Store) -> None:
        first = people(owner, 1)[0]
        project = make_project(owner, MOOD, [{first: GOOD}] * 3)
        sync_once(owner, sqlite_store, project)
        source = project.annotations(project.tasks[0])[0]["id"]
        body = {"selectedItems": {"all": True, "excluded": []}, "source_annotation_id": source}
        owner.post(f"/api/dm/actions?id=propagate_annotations&project={project.id}", body)
        check_equal_to_fresh(owner, sqlite_store, project)

    def test_metadata_that_somebody_forged(self, owner: Http, label_studio: Server, sqlite_store: Store) -> None:
        first, second, third = people(owner, 3)
        project = make_project(owner, MOOD, [{first: GOOD, second: GOOD, third: BAD}] * 4)
        sync_once(owner, sqlite_store, project)
        forger, http = sign_up(label_studio.url, "metaforger")
        before = {task: prediction["result"] for task, (prediction,) in project.predictions().items()}
        (prediction,) = project.predictions()[project.tasks[0]]
        result = prediction["result"]
        result[0]["meta"]["crowd"]["annotators"][str(third)]["verdict"] = "trusted"
        result[0]["meta"]["crowd"]["annotators"][str(third)]["skill"] = 9.9
        http.patch(f"/api/predictions/{prediction['id']}/", {"result": result})
        warnings = sync_once(owner, sqlite_store, project).warnings
        assert {task: prediction["result"] for task, (prediction,) in project.predictions().items()} == before
        assert any("Somebody changed 1 prediction" in one and f"(user {forger})" in one for one in warnings)

    def test_a_version_of_others_whose_name_begins_like_ours(self, owner: Http, sqlite_store: Store) -> None:
        project = make_project(owner, MOOD, [{people(owner, 1)[0]: GOOD}])
        theirs = {"result": project.items(BAD), "score": 0.3, "model_version": "crowd-consensus-baseline-2023"}
        number = owner.post("/api/predictions/", {"task": project.tasks[0], **theirs})["id"]
        sync_once(owner, sqlite_store, project)
        predictions = {one["id"]: one for one in project.predictions()[project.tasks[0]]}
        assert len(predictions) == 2
        assert predictions[number]["result"] == project.items(BAD)


@pytest.fixture
def restorable(label_studio: Server, tmp_path: Path) -> Iterator[Server]:
    """A Label Studio of its own, which can be stopped and restored."""
    assert label_studio.url  # which means that Label Studio is installed
    with Server(STUDIO_HOME, tmp_path / "data") as server:
        yield server


def restore(server: Server, backup: Path) -> None:
    server.stop()
    shutil.rmtree(server.data)
    shutil.copytree(backup, server.data)
    server.start()


def back_up(server: Server, backup: Path) -> None:
    server.stop()
    shutil.copytree(server.data, backup)
    server.start()


def test_backups_that_are_restored_and_ids_that_are_given_out_again(
    restorable: Server, sqlite_store: Store, tmp_path: Path
) -> None:
    owner = Http(restorable.url, restorable.key)
    first, second, third = people(owner, 3)
    project = make_project(owner, MOOD, [{first: GOOD}, {first: GOOD}])
    back_up(restorable, tmp_path / "backup")
    for task in project.tasks:
        for who in (second, third):
            project.annotate(task, who, BAD)
    later = make_project(owner, MOOD, [{first: BAD}] * 2)
    for one in (project, later):
        sync_once(owner, sqlite_store, one)
    with sqlite_store.data.begin() as connection:
        add_gold(connection, later.id, {(later.tasks[0], "mood"): "bad"})

    restore(restorable, tmp_path / "backup")
    check_equal_to_fresh(owner, sqlite_store, project)
    assert len(mirrored(sqlite_store, project.id)) == 2
    successor = make_project(owner, MOOD, [{first: GOOD, second: GOOD, third: GOOD}] * 2)
    assert (successor.id, successor.tasks) == (later.id, later.tasks)  # the ids are given out again
    report = sync_once(owner, sqlite_store, successor)
    assert (report.summary.gold, set(map(str, successor.labels().values()))) == (0, {str(GOOD)})
    check_equal_to_fresh(owner, sqlite_store, project)

    for one in (project, successor):
        owner.delete(f"/api/projects/{one.id}/")
    assert run_once(owner, sqlite_store, project.id).kind is Kind.PROJECT_GONE  # although no project is left
