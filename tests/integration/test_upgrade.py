"""A service of the previous release is replaced in place: the new one goes on with its database and its queue."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest
import requests
from sqlalchemy import create_engine

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.settings import SECRET_HEADER
from tests.support.previous_rows import Rows, fill
from tests.support.previous_schema import data_3, work_1
from tests.support.service import Service
from tests.support.studio import MOOD, Project, make_project, people
from tests.support.waiting import eventually

OLD_SECRET = "generated-by-the-previous-release"


@pytest.fixture
def project(owner: Http) -> Project:
    """Two of three people answer "bad" to every task."""
    ann, ben, cleo = people(owner, 3)
    answers = [{ann: {"mood": "good"}, ben: {"mood": "bad"}, cleo: {"mood": "bad"}} for _ in range(12)]
    return make_project(owner, MOOD, answers)


def leave_behind(folder: Path, project: Project, created_at: str) -> str:
    """What a killed service of the previous release leaves: gold, its secret, and a pass that was never finished."""
    url = f"sqlite:///{folder / 'crowd.db'}"
    gold = [{"project": project.id, "task": task, "question": "mood", "label": "good"} for task in project.tasks[:10]]
    mirrored = {"id": project.id, "title": "Moods", "label_config": MOOD, "created_at": created_at, "revision": 3}
    data_rows: Rows = {
        "crowd_schema": [{"version": 3}],
        "crowd_project": [mirrored],
        "crowd_gold": gold,
        "crowd_secret": [{"name": "webhook secret", "value": OLD_SECRET}],
    }
    work_rows: Rows = {"crowd_work": [_held(project.id)]}
    for name, tables, rows in (("crowd.db", data_3, data_rows), ("crowd-work.db", work_1, work_rows)):
        engine = create_engine(f"sqlite:///{folder / name}")
        with engine.begin() as connection:
            fill(connection, tables, rows)
        engine.dispose()
    return url


def _held(project: int) -> dict[str, object]:
    """A row of the queue whose worker was killed long ago."""
    ago = time.time() - 500
    return {
        "project": project,
        "wanted": 2,
        "done": 1,
        "first_wanted": ago,
        "not_before": ago,
        "lease_until": ago,
        "owner": "vanished-1-abc",
        "attempts": 1,
    }


def test_the_new_service_finishes_what_the_old_one_left(
    label_studio: Server, owner: Http, project: Project, tmp_path: Path
) -> None:
    created_at = LabelStudio(owner).project(project.id).created_at
    url = leave_behind(tmp_path, project, created_at)
    settings = {"LS_CROWD_WEBHOOK_SECRET": "", "LS_CROWD_POLL_SECONDS": "3600"}
    with Service(label_studio.url, label_studio.key, url, tmp_path, **settings) as service:
        eventually(lambda: len(project.predictions()) == len(project.tasks))
        headers = {SECRET_HEADER: OLD_SECRET}
        answer = requests.post(f"{service.url}/webhook/{project.id}", json={"action": "X"}, headers=headers, timeout=5)
    assert answer.status_code == 202
    with sqlite3.connect(tmp_path / "crowd.db") as connection:
        (gold,) = connection.execute("SELECT count(*) FROM crowd_gold").fetchone()
    assert gold == 10
    # The gold of the previous release says that the one who differs is right, and decides about the other tasks.
    assert {labels["mood"] for labels in project.labels().values()} == {"good"}
