"""Whether the service is alive, and whether it is ready."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import text

from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.heartbeats import beat
from ls_crowd_plugin.web.context import AppContext


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite: heartbeats are tested on both databases."""
    return f"sqlite:///{tmp_path / 'crowd.db'}"


def start_worker(store: Store, problem: str | None = None) -> None:
    with store.work.begin() as connection:
        beat(connection, "a", problem)


def test_it_is_alive_whatever_else_is_missing(client: FlaskClient, app_context: AppContext) -> None:
    with app_context.store.work.begin() as connection:
        connection.execute(text("DROP TABLE crowd_duty"))
    assert client.get("/healthz").status_code == 200


def test_it_is_ready_once_a_worker_is_running(client: FlaskClient, app_context: AppContext) -> None:
    response = client.get("/readyz")
    assert (response.status_code, response.get_json()["why"]) == (503, "No worker is running.")
    start_worker(app_context.store)
    response = client.get("/readyz")
    assert (response.status_code, response.get_json()) == (200, {"status": "ready", "workers": 1, "troubles": 0})


def test_it_is_ready_and_counts_problems(client: FlaskClient, app_context: AppContext) -> None:
    start_worker(app_context.store, "Label Studio does not answer.")
    response = client.get("/readyz")
    assert (response.status_code, response.get_json()["troubles"]) == (200, 1)
    assert "Label Studio" not in response.get_data(as_text=True), "anybody can ask"


def test_it_is_not_ready_without_the_database(client: FlaskClient, app_context: AppContext) -> None:
    start_worker(app_context.store)
    with app_context.store.work.begin() as connection:
        connection.execute(text("DROP TABLE crowd_duty"))
    response = client.get("/readyz")
    assert response.status_code == 503
    assert "The database does not answer" in response.get_json()["why"]
