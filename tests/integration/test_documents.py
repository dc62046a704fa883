"""Every command in the documents is run, in their order, as somebody would who reads them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from ls_crowd_plugin.demo import projects
from ls_crowd_plugin.demo.live_project import ensure_project
from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http
from tests.conftest import ANSWERS, RunCommand, WriteCsv
from tests.support.documents import commands
from tests.support.service import Service
from tests.support.waiting import eventually

ELSEWHERE = ("make ", "pip ", "export ", "ls-crowd demo")  # tested by themselves, or no command of this project


def test_all_of_them_work(
    owner: Http,
    label_studio: Server,
    tmp_path: Path,
    run_command: RunCommand,
    write_csv: WriteCsv,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = [line for line in commands() if not line.startswith(ELSEWHERE)]
    assert len(shown) > 12
    assert [line for line in shown if not line.startswith("ls-crowd ")] == []
    live = ensure_project(owner, projects.texts())
    write_csv("ANSWERS.csv", ANSWERS)
    write_csv("GOLD.csv", [("task", "label"), *((f"t{number}", ("cat", "dog")[number % 2]) for number in range(7))])
    write_csv("gold.csv", [("task", live.project.control), (str(live.tasks[18]), live.project.labels[0])])
    monkeypatch.chdir(tmp_path)
    database = f"sqlite:///{tmp_path / 'crowd.db'}"
    service = Service(label_studio.url, label_studio.key, database, tmp_path, LS_CROWD_METHOD="auto")
    with service:  # `ls-crowd serve`
        for line in shown:
            words = ["3", "17"], [str(live.id), str(live.tasks[17])]
            arguments = [dict(zip(*words, strict=True)).get(word, word) for word in shlex.split(line)[1:]]
            if arguments[0] == "doctor":
                eventually(service.idle)
            if arguments[0] != "serve":
                done = run_command(*arguments, **service.environment)
                assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert sorted(path.name for path in (tmp_path / "crowd-labels").iterdir()) == [
        *("annotators.csv", "annotators.json", "annotators.jsonl", "labels.csv", "labels.json", "labels.jsonl"),
        "tasks.json",
    ]


def test_what_is_exported_for_label_studio_can_be_imported_there(
    owner: Http, label_studio: Server, tmp_path: Path, run_command: RunCommand
) -> None:
    live = ensure_project(owner, projects.texts())
    environment = {
        "LABEL_STUDIO_URL": label_studio.url,
        "LABEL_STUDIO_API_KEY": label_studio.key,
        "LS_CROWD_DATABASE_URL": f"sqlite:///{tmp_path / 'crowd.db'}",
        "LS_CROWD_METHOD": "plu",
        "LS_CROWD_TASK_META": "off",
    }
    number = str(live.id)
    assert run_command("sync", number, **environment).returncode == 0
    done = run_command("export", number, "--format", "label-studio", **environment)
    body = {"title": "Imported", "label_config": live.project.label_config}
    other = owner.post("/api/projects/", body)["id"]

    tasks = json.loads(done.stdout)
    answer = owner.post(f"/api/projects/{other}/import", tasks)
    assert (answer["task_count"], answer["prediction_count"]) == (len(tasks), len(tasks))
    assert len(tasks) == len(live.tasks)
