"""The JSON API: the same results as on the pages, under keys that programs rely on."""

from __future__ import annotations

from dataclasses import fields

import pytest
from flask.testing import FlaskClient

from ls_crowd_plugin.chart_records import Figures
from ls_crowd_plugin.records import Annotator, ProjectSummary
from ls_crowd_plugin.store import queue
from ls_crowd_plugin.store.queue import FIRST_PAUSE
from ls_crowd_plugin.web.context import AppContext
from tests.support.known_crowd import CONTRARY, LABELS, PROJECT
from tests.support.pages import log_in

LABEL_KEYS = {
    *("number", "task", "question", "part", "label", "confidence", "difficulty", "answers", "plurality", "gold"),
    *("disputed", "posterior", "state", "region", "project", "said", "explanation"),
}


def is_busy(client: FlaskClient) -> bool:
    return bool(client.get(f"/api/projects/{PROJECT}/state").get_json()["busy"])


def test_projects_are_listed_with_their_main_facts(pages: FlaskClient) -> None:
    (project,) = pages.get("/api/projects").get_json()["projects"]
    assert project.pop("seconds_since_pass") < 60
    assert 0.9 < project.pop("confidence") < 1
    assert project == {
        "id": PROJECT,
        "title": "Topics",
        "state": "up to date",
        "waiting": False,
        "error": None,
        "tasks": 60,
        "answers": 540,
        "annotators": 20,
    }


def test_a_project_without_results_is_listed_without_numbers(client: FlaskClient, app_context: AppContext) -> None:
    with app_context.store.work.begin() as connection:
        queue.enqueue(connection, 8)
    log_in(client)
    (project,) = client.get("/api/projects").get_json()["projects"]
    assert (project["id"], project["title"], project["waiting"], project["tasks"]) == (8, "Project 8", True, None)


def test_a_project_has_summary_and_charts(pages: FlaskClient) -> None:
    project = pages.get(f"/api/projects/{PROJECT}").get_json()
    assert set(project) == {"at", "summary", "charts"}
    assert set(project["summary"]) == {field.name for field in fields(ProjectSummary)}
    assert set(project["charts"]) == {field.name for field in fields(Figures)}
    assert project["summary"]["contrary"] == list(CONTRARY)
    assert project["charts"]["questions"] == {"topic": list(LABELS)}


def test_annotators_have_their_scores(pages: FlaskClient) -> None:
    response = pages.get(f"/api/projects/{PROJECT}/annotators").get_json()
    assert response["total"] == 20
    assert {frozenset(annotator) for annotator in response["annotators"]} == {
        frozenset(field.name for field in fields(Annotator))
    }
    verdicts = {annotator["annotator"]: annotator["verdict"] for annotator in response["annotators"]}
    assert {who for who, verdict in verdicts.items() if verdict == "contrary"} == set(CONTRARY)


def test_tasks_have_their_labels_and_votes(pages: FlaskClient) -> None:
    response = pages.get(f"/api/projects/{PROJECT}/tasks").get_json()
    assert response["total"] == 60
    first = response["tasks"][0]
    assert set(first) == {"task", "text", "labels"}
    assert set(first["labels"][0]) == LABEL_KEYS
    assert len(first["labels"][0]["said"]) == 9
    assert all(label in LABELS for _, label in first["labels"][0]["said"])


def test_lists_have_pages(pages: FlaskClient) -> None:
    first, second, beyond = (
        [task["task"] for task in pages.get(f"/api/projects/{PROJECT}/tasks?page={page}").get_json()["tasks"]]
        for page in (1, 2, 3)
    )
    assert (len(first), len(second), beyond) == (50, 10, [])
    assert sorted(first + second) == list(range(1, 61))


@pytest.mark.slow
def test_regions_say_where_they_are(region_pages: FlaskClient) -> None:
    tasks = region_pages.get(f"/api/projects/{PROJECT}/tasks").get_json()["tasks"]
    labels = [label for task in tasks if task["task"] == 0 for label in task["labels"] if label["label"] == "PER"]
    (region,) = [label["region"] for label in labels]
    assert (region["control"], region["object"], region["shape"]) == ("entity", "text", "span")
    assert (region["value"]["start"], region["value"]["end"]) == (0, 8)
    assert "original_width" not in region


@pytest.mark.parametrize("path", ["", "/annotators", "/tasks"])
def test_a_project_without_results_is_not_found(pages: FlaskClient, path: str) -> None:
    response = pages.get(f"/api/projects/99{path}")
    assert response.status_code == 404
    assert response.get_json() == {"error": "There are no results for project 99 yet."}


class TestState:
    """Whether a page should expect new results soon."""

    def test_is_idle_after_a_pass(self, pages: FlaskClient) -> None:
        assert not is_busy(pages)

    def test_is_busy_while_a_pass_is_due_or_runs(self, pages: FlaskClient, app_context: AppContext) -> None:
        with app_context.store.work.begin() as connection:
            queue.enqueue(connection, PROJECT)
        assert is_busy(pages)
        with app_context.store.work.begin() as connection:
            assert queue.claim(connection, "a worker") is not None
        assert is_busy(pages)

    def test_is_idle_while_a_pass_is_far_away(self, pages: FlaskClient, app_context: AppContext) -> None:
        with app_context.store.work.begin() as connection:
            queue.enqueue(connection, PROJECT, is_event=True)
            claimed = queue.claim(connection, "a worker")
            assert claimed is not None
            queue.complete(connection, claimed)
            queue.request_when_idle(connection, PROJECT, 60)
        assert not is_busy(pages)

    def test_is_idle_after_a_failure(self, pages: FlaskClient, app_context: AppContext) -> None:
        with app_context.store.work.begin() as connection:
            queue.enqueue(connection, PROJECT)
            claim = queue.claim(connection, "a worker")
            assert claim is not None
            queue.retry_later(connection, claim, "Something is wrong.", FIRST_PAUSE)
        assert not is_busy(pages)

    def test_of_an_unknown_project_is_idle(self, pages: FlaskClient) -> None:
        assert pages.get("/api/projects/99/state").get_json() == {"busy": False, "results_at": 0.0}

    def test_tells_when_the_results_were_stored(self, pages: FlaskClient) -> None:
        results_at = pages.get(f"/api/projects/{PROJECT}").get_json()["at"]
        assert pages.get(f"/api/projects/{PROJECT}/state").get_json()["results_at"] == results_at
