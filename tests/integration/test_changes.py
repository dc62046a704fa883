"""Changes in a real Label Studio after the first pass: the next one notices each, and does little more than needed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from ls_crowd_plugin.controls import read_config
from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.pipeline.context import Pace
from ls_crowd_plugin.pipeline.outcome import Kind, PassReport
from ls_crowd_plugin.pipeline.plan import VERSION
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import Store
from tests.support.proxy import ProxiedRequest, Proxy
from tests.support.sign_up import sign_up
from tests.support.studio import MOOD, Project, make_project, people, run_once, sync_once


def sync_until_quiet(http: Http, store: Store, project: Project) -> None:
    """Run passes until one reads nothing: changes of the last seconds are read twice so that none is missed."""
    until = time.monotonic() + 60
    while sync_once(http, store, project).pulled.tasks_read:
        assert time.monotonic() < until


@dataclass
class QuietProject:
    """A project of 30 tasks on which three people agree, with its consensus written and nothing to do."""

    project: Project
    people: list[int]
    store: Store
    http: Http  # through the proxy
    proxy: Proxy
    before: dict[int, Json] = field(default_factory=dict)  # task → its prediction before the last pass

    def sync(self, pace: Pace = Pace.AT_ONCE) -> PassReport:
        self.before = self._predictions()
        self.proxy.requests.clear()
        return sync_once(self.http, self.store, self.project, pace=pace)

    def touched(self) -> set[int]:
        """The tasks whose prediction was created, changed or deleted by the last pass."""
        now, kept = self._predictions(), ("id", "updated_at", "result", "score")
        return {
            task
            for task in now.keys() | self.before.keys()
            if [now.get(task, {}).get(name) for name in kept] != [self.before.get(task, {}).get(name) for name in kept]
        }

    def _predictions(self) -> dict[int, Json]:
        return {task: prediction for task, (prediction,) in self.project.predictions().items()}


@pytest.fixture
def quiet(owner: Http, proxy: Proxy, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> QuietProject:
    # Otherwise each test would wait until five seconds have passed.
    monkeypatch.setattr("ls_crowd_plugin.pipeline.pull.IN_FLIGHT", timedelta(0))
    annotators = people(owner, 5)
    answers = {annotator: {"mood": "good"} for annotator in annotators[:3]}
    project = make_project(owner, MOOD, [answers] * 30, required_annotators=3)
    http = Http(proxy.url, owner._key)
    sync_until_quiet(http, sqlite_store, project)
    return QuietProject(project, annotators, sqlite_store, http, proxy)


class TestNextPass:
    """It notices each change, and reads and writes in proportion to it."""

    def test_one_more_annotation(self, quiet: QuietProject) -> None:
        task = quiet.project.tasks[3]
        quiet.project.annotate(task, quiet.people[3], {"mood": "bad"})
        report = quiet.sync(Pace.LIVE)
        assert (report.pulled.tasks_read, report.pulled.annotations_changed) == (1, 1)
        assert quiet.touched() == {task}

    def test_an_edit(self, quiet: QuietProject) -> None:
        task = quiet.project.tasks[4]
        for annotation in quiet.project.annotations(task)[:2]:
            quiet.project.edit(annotation["id"], {"mood": "bad"})
        report = quiet.sync(Pace.LIVE)
        assert (report.pulled.tasks_read, report.pulled.annotations_changed) == (1, 2)
        assert (quiet.touched(), quiet.project.labels()[task]) == ({task}, {"mood": "bad"})

    def test_an_edit_by_somebody_else_is_a_warning(self, quiet: QuietProject, label_studio: Server) -> None:
        stranger, http = sign_up(label_studio.url, "stranger")
        annotation = quiet.project.annotations(quiet.project.tasks[4])[0]["id"]
        http.patch(f"/api/annotations/{annotation}/", {"result": quiet.project.items({"mood": "bad"})})
        report = quiet.sync()
        assert (report.summary.answers, quiet.project.labels()[quiet.project.tasks[4]]) == (89, {"mood": "good"})
        assert any("wrote them last: 1, by" in one and f"(user {stranger})" in one for one in report.warnings)

    def test_another_author_is_a_warning(self, quiet: QuietProject, owner: Http) -> None:
        annotation = quiet.project.annotations(quiet.project.tasks[4])[0]["id"]
        owner.patch(f"/api/annotations/{annotation}/", {"completed_by": quiet.people[4]})
        assert any("author has changed" in warning for warning in quiet.sync().warnings)

    def test_a_deleted_annotation(self, quiet: QuietProject) -> None:
        task = quiet.project.tasks[5]
        quiet.project.annotate(task, quiet.people[3], {"mood": "bad"})
        sync_until_quiet(quiet.http, quiet.store, quiet.project)
        quiet.project.delete_annotation(max(annotation["id"] for annotation in quiet.project.annotations(task)))
        report = quiet.sync(Pace.LIVE)
        assert (report.pulled.tasks_read, report.pulled.annotations_changed) == (1, 1)
        assert quiet.touched() == {task}

    def test_a_deleted_task(self, quiet: QuietProject, owner: Http) -> None:
        owner.delete(f"/api/tasks/{quiet.project.tasks[6]}/")
        report = quiet.sync()
        assert (report.pulled.tasks_gone, report.pulled.tasks_read, quiet.proxy.writes) == (1, 0, [])
        assert report.summary.tasks == 29

    def test_a_skip(self, quiet: QuietProject) -> None:
        quiet.project.annotate(quiet.project.tasks[7], quiet.people[3], None)
        report = quiet.sync()
        assert (report.pulled.tasks_read, report.pulled.annotations_changed, report.summary.answers) == (1, 1, 90)
        assert quiet.touched() == set()

    def test_a_choice_added_to_the_config(self, quiet: QuietProject, owner: Http) -> None:
        more = MOOD.replace('<Choice value="bad"/>', '<Choice value="bad"/><Choice value="mixed"/>')
        owner.patch(f"/api/projects/{quiet.project.id}/", {"label_config": more})
        task = quiet.project.tasks[8]
        quiet.project.config = read_config(more)
        for annotation in quiet.project.annotations(task):
            quiet.project.edit(annotation["id"], {"mood": "mixed"})
        quiet.sync()
        assert quiet.project.labels()[task] == {"mood": "mixed"}

    def test_a_prediction_of_ours_deleted_by_hand(self, quiet: QuietProject, owner: Http) -> None:
        task = quiet.project.tasks[9]
        owner.delete(f"/api/predictions/{quiet.project.predictions()[task][0]['id']}/")
        report = quiet.sync()
        assert (report.written.created, quiet.touched(), len(quiet.proxy.writes)) == (1, {task}, 1)

    def test_a_new_task(self, quiet: QuietProject, owner: Http) -> None:
        owner.post(f"/api/projects/{quiet.project.id}/import", [{"data": {"text": "One more."}}])
        report = quiet.sync()
        assert (report.pulled.tasks_read, quiet.touched()) == (1, set())

    def test_settings_that_the_settings_page_changed(self, quiet: QuietProject, owner: Http) -> None:
        owner.patch(f"/api/projects/{quiet.project.id}/", {"show_collab_predictions": True})
        assert owner.get(f"/api/projects/{quiet.project.id}/")["show_collab_predictions"]
        quiet.sync()
        facts = owner.get(f"/api/projects/{quiet.project.id}/")
        assert (facts["show_collab_predictions"], facts["model_version"]) == (False, VERSION)
        assert quiet.touched() == set()

    def test_most_tasks_changed_at_once_are_one_import_under_a_new_version(self, quiet: QuietProject) -> None:
        for task in quiet.project.tasks[:28]:
            quiet.project.annotate(task, quiet.people[3], {"mood": "bad"})
        quiet.sync()
        assert len(quiet.proxy.writes) == 3
        assert {row["predictions_model_versions"] for row in quiet.project.rows().values()} == {f"{VERSION}-2"}
        assert all(len(predictions) == 1 for predictions in quiet.project.predictions().values())
        assert all(row["predictions_score"] for row in quiet.project.rows().values())

    def test_a_deleted_project_ends_cleanly(self, quiet: QuietProject, owner: Http) -> None:
        owner.delete(f"/api/projects/{quiet.project.id}/")
        outcome = run_once(quiet.http, quiet.store, quiet.project.id)
        assert (outcome.kind, "no longer in Label Studio" in outcome.reason) == (Kind.PROJECT_GONE, True)
        outcome = run_once(quiet.http, quiet.store, quiet.project.id)
        assert outcome.kind is Kind.NO_SUCH_PROJECT, "its mirror is forgotten"

    def test_a_task_deleted_between_reading_and_writing(self, quiet: QuietProject, owner: Http) -> None:
        for task in quiet.project.tasks[:25]:
            quiet.project.annotate(task, quiet.people[3], {"mood": "bad"})
        deleted = quiet.project.tasks[0]

        def delete(request: ProxiedRequest) -> None:
            if request.path.endswith("/model-versions/"):
                quiet.proxy.after = lambda _: None
                owner.delete(f"/api/tasks/{deleted}/")

        quiet.proxy.after = delete
        report = quiet.sync()
        assert report.written.refused == {deleted}
        assert sorted(quiet.project.predictions()) == quiet.project.tasks[1:]
        assert sync_once(quiet.http, quiet.store, quiet.project).plan.is_empty
