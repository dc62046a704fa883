"""Gold from every source, and other people's predictions, in a real Label Studio."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.pipeline.plan import VERSION
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import Store, open_store
from tests.conftest import RunCommand
from tests.support.studio import MOOD, Project, flip_label, make_project, people, sync_once

MARKS = frozenset({"plugin", "ground_truth"})


@pytest.fixture
def project(many_tasks: Project) -> Project:
    return many_tasks


class TestGold:
    def test_from_a_mark_as_ground_truth(self, project: Project, owner: Http, sqlite_store: Store) -> None:
        first = project.annotations(project.tasks[0])[0]["id"]
        owner.patch(f"/api/annotations/{first}/", {"ground_truth": True})
        assert sync_once(owner, sqlite_store, project).summary.gold == 0
        assert sync_once(owner, sqlite_store, project, gold_sources=MARKS).summary.gold == 1

    def test_not_from_an_import_that_marks_everything(self, owner: Http, sqlite_store: Store) -> None:
        empty = make_project(owner, MOOD, [])
        annotations = [{"completed_by": who, "result": empty.items({"mood": "good"})} for who in people(owner, 3)]
        tasks = [{"data": {"text": "x"}, "annotations": annotations} for _ in range(5)]
        owner.post(f"/api/projects/{empty.id}/import", tasks)
        report = sync_once(owner, sqlite_store, empty, gold_sources=MARKS)
        assert (report.summary.gold, report.summary.answers) == (0, 15)
        assert any("Marks as ground truth" in one and "an import" in one for one in report.warnings)

    def test_from_the_command(
        self, project: Project, owner: Http, label_studio: Server, run_command: RunCommand, tmp_path: Path
    ) -> None:
        url = f"sqlite:///{tmp_path / 'gold.db'}"
        environment = {
            "LABEL_STUDIO_URL": label_studio.url,
            "LABEL_STUDIO_API_KEY": label_studio.key,
            "LS_CROWD_DATABASE_URL": url,
        }

        def gold(*arguments: Any) -> subprocess.CompletedProcess[str]:
            return run_command("gold", *map(str, arguments), **environment)

        first, second = project.tasks[:2]
        assert gold("add", project.id, first, "bad").returncode == 0
        assert gold("add", project.id, second, "good").returncode == 0
        refused = gold("add", project.id, second, "awful")
        assert (refused.returncode, "its labels are good, bad" in refused.stderr) == (2, True)
        assert gold("list", project.id).stdout == f"task,question,label\n{first},mood,bad\n{second},mood,good\n"
        with open_store(url) as store:
            assert sync_once(owner, store, project).summary.gold == 2
            annotation = project.annotations(first)[0]["id"]
            owner.patch(f"/api/annotations/{annotation}/", {"ground_truth": True})
            report = sync_once(owner, store, project, gold_sources=MARKS)
        assert report.summary.gold == 1
        assert any(f"of task {first} is contradictory (bad, good)" in warning for warning in report.warnings)
        assert gold("remove", project.id, first, second).stdout.startswith("2 gold labels removed")
        assert gold("list", project.id).stdout == "task,question,label\n"

    def test_from_experts(self, project: Project, owner: Http, sqlite_store: Store) -> None:
        expert = people(owner, 3)[2]
        for task in project.tasks[:4]:  # of an import, Label Studio does not say who wrote it
            annotation = next(one for one in project.annotations(task) if one["completed_by"] == expert)
            project.edit(annotation["id"], {"mood": "good"})
        sources = frozenset({"plugin", "experts"})
        report = sync_once(owner, sqlite_store, project, experts=frozenset({expert}), gold_sources=sources)
        assert (report.summary.gold, report.summary.answers) == (4, 68)

    def test_from_a_field_of_the_data(self, owner: Http, sqlite_store: Store) -> None:
        answers = [{who: {"mood": "good"} for who in people(owner, 3)}] * 4
        data: list[Json] = [{"text": "a", "right": "good"}, {"text": "b", "right": {"mood": "bad"}}, {"text": "c"}]
        data.append({"text": "d", "right": "neither"})
        project = make_project(owner, MOOD, answers, data=data)
        report = sync_once(owner, sqlite_store, project, gold_field="right", gold_sources=frozenset({"task_data"}))
        assert report.summary.gold == 2
        assert any(f"task {project.tasks[3]}" in warning for warning in report.warnings)
        unused = sync_once(owner, sqlite_store, project, gold_field="right")
        assert unused.summary.gold == 0
        assert any(one.startswith("LS_CROWD_GOLD_FIELD is set") for one in unused.warnings)


class TestOtherModels:
    def test_their_predictions_are_left_as_they_are(self, project: Project, owner: Http, sqlite_store: Store) -> None:
        result = project.items({"mood": "bad"})
        theirs = [
            {"task": task, "result": result, "score": 0.3, "model_version": "their-model"} for task in project.tasks
        ]
        owner.post(f"/api/projects/{project.id}/import/predictions", theirs)
        before = [prediction for predictions in project.predictions().values() for prediction in predictions]
        sync_once(owner, sqlite_store, project)
        for task in project.tasks[:22]:
            flip_label(project, task)
        sync_once(owner, sqlite_store, project)
        after = [prediction for predictions in project.predictions().values() for prediction in predictions]
        assert [prediction for prediction in after if prediction["model_version"] == "their-model"] == before

    def test_their_model_version_stays_shown_unless_it_is_taken_over(
        self, project: Project, owner: Http, sqlite_store: Store
    ) -> None:
        body = {"task": project.tasks[0], "result": project.items({"mood": "bad"}), "model_version": "their-model"}
        owner.post("/api/predictions/", body)
        owner.patch(f"/api/projects/{project.id}/", {"model_version": "their-model"})
        report = sync_once(owner, sqlite_store, project)
        assert owner.get(f"/api/projects/{project.id}/")["model_version"] == "their-model"
        assert any("--take-over" in warning for warning in report.warnings)
        sync_once(owner, sqlite_store, project, take_over=True)
        assert owner.get(f"/api/projects/{project.id}/")["model_version"] == VERSION
