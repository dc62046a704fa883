"""The metrics: events of this process, and what the database says about projects and workers."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import text

from ls_crowd_plugin.pipeline.worker import REACTIONS
from ls_crowd_plugin.records import LeftOutAnnotations, ProjectSummary
from ls_crowd_plugin.store import queue, tallies
from ls_crowd_plugin.store.heartbeats import beat
from ls_crowd_plugin.store.results import save_results
from ls_crowd_plugin.web.context import AppContext
from tests.support.result_records import FIGURES
from tests.support.webhooks import EVENTS, RIGHT


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite: tallies are tested on both databases."""
    return f"sqlite:///{tmp_path / 'crowd.db'}"


def read_metrics(client: FlaskClient) -> dict[str, float]:
    lines = client.get("/metrics").get_data(as_text=True).splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def test_events_are_counted_by_outcome(client: FlaskClient, app_context: AppContext) -> None:
    assert read_metrics(client)['ls_crowd_events_total{outcome="lost"}'] == 0
    with app_context.store.work.begin() as connection:
        queue.enqueue(connection, 3)
    for project in (3, 4, 4, 5):
        client.post(f"/webhook/{project}", json=EVENTS[0], headers=RIGHT)
    client.post("/webhook/3", json=EVENTS[0])
    metrics = read_metrics(client)
    assert metrics['ls_crowd_events_total{outcome="accepted"}'] == 1
    assert metrics['ls_crowd_events_total{outcome="unknown"}'] == 3
    assert metrics['ls_crowd_events_total{outcome="refused"}'] == 1
    assert (metrics["ls_crowd_projects"], metrics["ls_crowd_projects_unconfirmed"]) == (1, 2)


def test_an_event_that_could_not_be_recorded_is_counted(client: FlaskClient, app_context: AppContext) -> None:
    with app_context.store.work.begin() as connection:
        connection.execute(text("DROP TABLE crowd_queue"))
    client.post("/webhook/3", json=EVENTS[0], headers=RIGHT)
    assert read_metrics(client)['ls_crowd_events_total{outcome="lost"}'] == 1


def test_projects_that_wait_and_fail_are_counted(client: FlaskClient, app_context: AppContext) -> None:
    with app_context.store.work.begin() as connection:
        queue.enqueue(connection, 3)
        claim = queue.claim(connection, "a")
        assert claim is not None
        queue.complete(connection, claim, "Something is wrong.")
        queue.enqueue(connection, 4)
    metrics = read_metrics(client)
    assert (metrics["ls_crowd_projects"], metrics["ls_crowd_projects_waiting"]) == (2, 1)
    assert metrics["ls_crowd_projects_failing"] == 1
    assert 0 <= metrics["ls_crowd_queue_age_seconds"] < 60


def test_annotations_that_cannot_be_used_are_counted(client: FlaskClient, app_context: AppContext) -> None:
    with app_context.store.work.begin() as connection:
        for project in (3, 4, 5):
            queue.enqueue(connection, project)
    with app_context.store.data.begin() as connection:
        for project, number in ((3, 2), (4, 5), (99, 7)):  # nobody monitors the last one
            summary = ProjectSummary(left_out_annotations=LeftOutAnnotations(number))
            save_results(connection, project, summary, FIGURES, [], [])
    assert read_metrics(client)["ls_crowd_annotations_left_out"] == 7


def test_workers_are_counted(client: FlaskClient, app_context: AppContext) -> None:
    with app_context.store.work.begin() as connection:
        beat(connection, "a")
        beat(connection, "b", "Label Studio does not answer.")
    metrics = read_metrics(client)
    assert (metrics["ls_crowd_workers"], metrics["ls_crowd_workers_in_trouble"]) == (2, 1)


def test_what_all_workers_did_is_summed(client: FlaskClient, app_context: AppContext) -> None:
    with app_context.store.work.begin() as connection:
        for _ in range(2):
            amounts = {("passes", "done"): 1.0, ("pass_seconds", "pull"): 0.75, ("predictions", "created"): 7.0}
            tallies.add(connection, amounts)
    metrics = read_metrics(client)
    assert metrics['ls_crowd_passes_total{outcome="done"}'] == 2
    assert metrics['ls_crowd_pass_seconds_total{stage="pull"}'] == 1.5
    assert metrics['ls_crowd_predictions_total{what="created"}'] == 14


def test_outcomes_of_passes_are_single_words() -> None:
    """They are labels of `ls_crowd_passes_total`, and dashboards are built on them."""
    assert {reaction.metric for reaction in REACTIONS.values()} == {
        *("done", "unchanged", "superseded", "parked", "deferred", "stopped", "project_gone", "failed")
    }


def test_a_database_that_does_not_answer_is_reported(client: FlaskClient, app_context: AppContext) -> None:
    with app_context.store.work.begin() as connection:
        connection.execute(text("DROP TABLE crowd_tally"))
    metrics = read_metrics(client)
    assert metrics["ls_crowd_database_up"] == 0
    assert "ls_crowd_projects" not in metrics
