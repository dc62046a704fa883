"""What a real Label Studio accepts from anybody with a token stops no project."""

from __future__ import annotations

import pytest
import requests

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.errors import BrokenAnswer
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline.plan import VERSION
from ls_crowd_plugin.store import Store
from tests.support.studio import THREE_CONTROLS, Project, impatient, is_settled, make_project, people, sync_once

GOOD = {"mood": "glad", "stars": "3", "topics: sport": "yes", "topics: money": "no", "topics: weather": "no"}
CHOICE = '{{"from_name": "mood", "to_name": "text", "type": "choices", "value": {{"choices": ["sad"], "odd": {}}}}}'
STARS = '{{"from_name": "stars", "to_name": "text", "type": "rating", "value": {{"rating": {}}}}}'

HALF = r'"\ud800"'  # of a character

HOSTILE = {  # name → entry, time of work, and whether the annotation is left out
    "a rating of a number with 400 digits": (STARS.format("1" + "0" * 400), "1.5", True),
    "a rating of a number with 4,000 digits": (STARS.format("9" * 4000), "1.5", True),
    "a null character": (CHOICE.format(r'"a\u0000b"'), "1.5", False),
    "half of a character": (CHOICE.format(HALF), "1.5", True),
    "an infinite time of work": (CHOICE.format("1"), "1e999", False),
    "a negative time of work": (CHOICE.format("1"), "-5", False),
    "lists in lists": (CHOICE.format("[" * 800 + "]" * 800), "1.5", False),
}


@pytest.fixture
def project(owner: Http) -> Project:
    """Two tasks about which three people agree."""
    return make_project(owner, THREE_CONTROLS, [dict.fromkeys(people(owner, 3), GOOD)] * 2)


def post(server: Server, path: str, body: str) -> None:
    """Send a body as it is; some are stored although the answer is 500."""
    headers = {"Authorization": f"Token {server.key}", "Content-Type": "application/json"}
    requests.post(f"{server.url}{path}", data=body.encode(), headers=headers, timeout=60)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_annotation_stops_nothing(
    name: str, project: Project, owner: Http, label_studio: Server, sqlite_store: Store
) -> None:
    entry, seconds, is_left_out = HOSTILE[name]
    body = f'{{"result": [{entry}], "lead_time": {seconds}, "completed_by": {people(owner, 4)[3]}}}'
    post(label_studio, f"/api/tasks/{project.tasks[0]}/annotations/", body)
    http = impatient(label_studio.url, label_studio.key)
    report = sync_once(http, sqlite_store, project)
    assert any("left out" in warning for warning in report.warnings) == is_left_out
    assert project.labels() == dict.fromkeys(project.tasks, GOOD)
    assert is_settled(http, project)


def test_a_prediction_that_label_studio_cannot_show_stops_nothing(
    project: Project, label_studio: Server, sqlite_store: Store
) -> None:
    http = impatient(label_studio.url, label_studio.key)
    sync_once(http, sqlite_store, project)
    body = f'{{"task": {project.tasks[0]}, "model_version": "other", "result": [{CHOICE.format(HALF)}]}}'
    post(label_studio, "/api/predictions/", body)
    assert LabelStudio(http).versions(project.id) == {VERSION: 2, "other": 1}
    with pytest.raises(BrokenAnswer):
        http.get("/api/predictions/", project=project.id)
    assert is_settled(http, project)  # by a database that knows nothing of our predictions
    report = sync_once(http, sqlite_store, project, from_scratch=True)
    assert report.plan.is_empty
    assert any(
        f"cannot show the predictions on 1 task, for example task {project.tasks[0]}" in one for one in report.warnings
    )
