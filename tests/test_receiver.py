"""The receiver of webhooks: every event becomes one row, everything else is refused, nothing breaks; and health."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from service import PASSWORD, SECRET
from sqlalchemy import text
from werkzeug.security import generate_password_hash
from werkzeug.test import EnvironBuilder, run_wsgi_app

from ls_crowd_plugin.settings import SECRET_HEADER
from ls_crowd_plugin.store import WorkList, open_database, open_work_list
from ls_crowd_plugin.web import create_app
from ls_crowd_plugin.web.app import LARGEST_BODY, Parts

RIGHT = {SECRET_HEADER: SECRET}


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite, unless a class says otherwise: the work list itself is tested on both."""
    return f"sqlite:///{tmp_path / 'crowd.db'}"


def wanted(parts: Parts) -> list[int]:
    return sorted(parts.work.snapshots())


# The forms that events have: with payload or without, about one thing or several, by whatever name.
EVENTS = [
    {"action": "ANNOTATION_CREATED", "annotation": {"id": 28, "project": 3}, "project": {"id": 3}, "task": {"id": 4}},
    {"action": "ANNOTATION_UPDATED", "annotation": {"id": 28, "ground_truth": True}, "project": {"id": 3}},
    {"action": "ANNOTATIONS_CREATED", "annotation": [{"id": 31}], "task": [{"id": 4}], "project": {"id": 3}},
    {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 28}], "project": {"id": 3}},
    {"action": "TASKS_CREATED", "tasks": [{"id": 7, "project": 3}], "project": {"id": 3}},
    {"action": "TASKS_DELETED", "tasks": [{"id": 8}], "project": {"id": 3}},
    {"action": "PROJECT_UPDATED", "project": {"id": 3, "title": "x"}},
    {"action": "LABEL_LINK_CREATED", "label_link": [{"id": 1}], "project": {"id": 3}},
    {"action": "START_TRAINING", "project": {"id": 3}},
    {"action": "SOMETHING_NEW", "project": 3},
    {"action": "ANNOTATION_CREATED", "task": {"id": 4, "project": 3}},
    {"action": "TASKS_CREATED", "tasks": [{"id": 7, "project": 3}]},
]


class TestEvents:
    @pytest.mark.parametrize("event", EVENTS, ids=lambda event: str(event["action"]))
    @pytest.mark.parametrize("path", ["/webhook", "/webhook/3"])
    def test_mark_their_project(self, client: FlaskClient, parts: Parts, event: dict[str, Any], path: str) -> None:
        answer = client.post(path, json=event, headers=RIGHT)
        assert (answer.status_code, answer.json, wanted(parts)) == (202, {"project": 3}, [3])

    def test_without_a_payload_are_told_apart_by_the_address(self, client: FlaskClient, parts: Parts) -> None:
        answer = client.post("/webhook/5", json={"action": "ANNOTATION_CREATED"}, headers=RIGHT)
        assert (answer.status_code, wanted(parts)) == (202, [5])

    def test_without_a_project_anywhere_are_refused_with_what_to_do(self, client: FlaskClient, parts: Parts) -> None:
        answer = client.post("/webhook", json={"action": "ANNOTATION_CREATED"}, headers=RIGHT)
        assert (answer.status_code, wanted(parts)) == (400, [])
        assert "/webhook/<project id>" in answer.get_data(as_text=True)

    def test_are_recorded_in_postgres_too(self, postgres: Callable[[str], str]) -> None:
        engine = open_work_list(postgres("events"))
        work = WorkList(engine)
        client = create_app(Parts(engine, work, SECRET, "x", "key")).test_client()
        codes = {client.post("/webhook", json=event, headers=RIGHT).status_code for event in EVENTS}
        assert (codes, list(work.snapshots())) == ({202}, [3])
        engine.dispose()

    def test_wait_until_it_is_quiet(self, client: FlaskClient, parts: Parts) -> None:
        client.post("/webhook/5", json={"action": "X"}, headers=RIGHT)
        assert parts.work.claim("a") is None

    def test_that_cannot_be_recorded_are_answered_503(self, client: FlaskClient, parts: Parts) -> None:
        with parts.work.engine.begin() as connection:
            connection.execute(text("DROP TABLE crowd_work"))
        answer = client.post("/webhook/5", json={"action": "X"}, headers=RIGHT)
        assert answer.status_code == 503
        assert "crowd_work" not in answer.get_data(as_text=True)


class TestRefused:
    @pytest.mark.parametrize(
        "given", [{}, {SECRET_HEADER: ""}, {SECRET_HEADER: "wrong"}, {SECRET_HEADER: SECRET + "x"}]
    )
    def test_is_who_does_not_know_the_secret(self, client: FlaskClient, parts: Parts, given: dict[str, str]) -> None:
        answer = client.post("/webhook/3", json=EVENTS[0], headers=given)
        assert (answer.status_code, wanted(parts)) == (401, [])

    def test_is_who_does_not_know_the_secret_before_the_body_is_read(self, parts: Parts) -> None:
        class Unread(io.BytesIO):
            def read(self, *_: object) -> bytes:
                raise AssertionError("The body was read.")

        environ = EnvironBuilder("/webhook/3", method="POST").get_environ()
        environ |= {"wsgi.input": Unread(), "CONTENT_LENGTH": "100"}
        _, status, _ = run_wsgi_app(create_app(parts), environ)
        assert status.startswith("401")

    @pytest.mark.parametrize(
        "body",
        [b"", b"nonsense", b"[]", b"3", b"null", b'"x"', b"{}", b'{"action": 3}', b'{"action": ""}', b"\xff\xfe"],
    )
    def test_is_what_is_no_event(self, client: FlaskClient, parts: Parts, body: bytes) -> None:
        answer = client.post("/webhook/3", data=body, headers=RIGHT)
        assert (answer.status_code, wanted(parts)) == (400, [])

    def test_is_what_is_nested_without_end(self, client: FlaskClient) -> None:
        body = b'{"action": "X", "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        assert client.post("/webhook/3", data=body, headers=RIGHT).status_code == 400

    def test_is_what_is_too_large(self, client: FlaskClient, parts: Parts) -> None:
        body = b'{"action": "X", "a": "' + b"x" * LARGEST_BODY + b'"}'
        assert (client.post("/webhook/3", data=body, headers=RIGHT).status_code, wanted(parts)) == (413, [])

    @pytest.mark.parametrize("project", [0, -1, 2**63, 10**30, True, "3", None, [3], {"id": "3"}])
    def test_is_a_project_that_cannot_be(self, client: FlaskClient, parts: Parts, project: Any) -> None:
        answer = client.post("/webhook", json={"action": "X", "project": project}, headers=RIGHT)
        assert (answer.status_code, wanted(parts)) == (400, [])

    @pytest.mark.parametrize(
        "path",
        ["/webhook/", "/webhook/x", "/webhook/-3", "/webhook/3/4", "/webhook/%2e%2e", "//webhook", "/webhook/3.5"],
    )
    def test_is_an_address_that_is_none(self, client: FlaskClient, parts: Parts, path: str) -> None:
        answer = client.post(path, json=EVENTS[0], headers=RIGHT)
        assert (answer.status_code in (308, 404, 405), wanted(parts)) == (True, [])

    @pytest.mark.parametrize("method", ["get", "put", "delete", "patch"])
    def test_is_another_way_of_asking(self, client: FlaskClient, method: str) -> None:
        assert getattr(client, method)("/webhook/3", headers=RIGHT).status_code == 405


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from(["action", "project", "task", "tasks", "annotation", "annotations", "id"])
events = st.dictionaries(names, json_values | st.dictionaries(names, json_values, max_size=3), max_size=6)
bodies = st.binary(max_size=200) | (events | json_values).map(lambda value: json.dumps(value).encode())
paths = st.sampled_from(["/webhook", "/webhook/3", "/webhook/99999999999999999999"]) | st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="?#"), max_size=15
).map(lambda tail: f"/webhook/{tail}")
headers = st.sampled_from([RIGHT, {}, {SECRET_HEADER: "x"}, {**RIGHT, "Content-Type": "text/xml"}])


def never_breaks(client: FlaskClient, path: str, body: bytes, given_headers: dict[str, str]) -> None:
    answer = client.post(path, data=body, headers=given_headers)
    said = answer.get_data(as_text=True)
    assert answer.status_code < 500, said
    assert SECRET not in said
    assert "Traceback" not in said


@pytest.fixture(scope="module")
def lasting_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    url = f"sqlite:///{tmp_path_factory.mktemp('fuzz') / 'crowd.db'}"
    engine, work = open_database(url), open_work_list(url)
    app = create_app(Parts(engine, WorkList(work), SECRET, generate_password_hash(PASSWORD, "pbkdf2:sha256:1"), "key"))
    yield app.test_client()
    engine.dispose()
    work.dispose()


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=paths, body=bodies, given_headers=headers)
def test_no_request_breaks_it(
    lasting_client: FlaskClient, path: str, body: bytes, given_headers: dict[str, str]
) -> None:
    never_breaks(lasting_client, path, body, given_headers)


@pytest.mark.soak
@settings(max_examples=10_000, suppress_health_check=list(HealthCheck))
@given(path=paths, body=bodies, given_headers=headers)
def test_no_request_of_ten_thousand_breaks_it(
    lasting_client: FlaskClient, path: str, body: bytes, given_headers: dict[str, str]
) -> None:
    never_breaks(lasting_client, path, body, given_headers)


class TestHealth:
    def test_is_alive_without_anything_else(self, client: FlaskClient) -> None:
        assert client.get("/healthz").status_code == 200

    def test_is_ready_once_a_worker_is_there(self, client: FlaskClient, parts: Parts) -> None:
        assert client.get("/readyz").status_code == 503
        parts.work.alive("a")
        assert client.get("/readyz").status_code == 200

    def test_is_not_ready_without_the_database(self, client: FlaskClient, parts: Parts) -> None:
        parts.work.alive("a")
        with parts.work.engine.begin() as connection:
            connection.execute(text("DROP TABLE crowd_duty"))
        assert client.get("/readyz").status_code == 503


class TestMetrics:
    def metrics(self, client: FlaskClient) -> dict[str, float]:
        lines = client.get("/metrics").get_data(as_text=True).splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def test_count_events(self, client: FlaskClient) -> None:
        client.post("/webhook/3", json=EVENTS[0], headers=RIGHT)
        client.post("/webhook/3", json=EVENTS[0])
        found = self.metrics(client)
        assert found['ls_crowd_events_total{outcome="accepted"}'] == 1
        assert found['ls_crowd_events_total{outcome="refused"}'] == 1

    def test_tell_what_waits(self, client: FlaskClient, parts: Parts) -> None:
        parts.work.want(3)
        found = self.metrics(client)
        assert (found["ls_crowd_projects"], found["ls_crowd_projects_waiting"]) == (1, 1)
        assert 0 <= found["ls_crowd_queue_age_seconds"] < 60

    def test_tell_what_all_workers_did(self, client: FlaskClient, parts: Parts) -> None:
        parts.work.add({("passes", "done"): 2, ("pass_seconds", "pull"): 1.5, ("predictions", "created"): 7})
        found = self.metrics(client)
        assert found['ls_crowd_passes_total{outcome="done"}'] == 2
        assert found['ls_crowd_pass_seconds_total{stage="pull"}'] == 1.5
        assert found['ls_crowd_predictions_total{what="created"}'] == 7

    def test_say_that_the_database_is_down(self, client: FlaskClient, parts: Parts) -> None:
        with parts.work.engine.begin() as connection:
            connection.execute(text("DROP TABLE crowd_tally"))
        assert self.metrics(client)["ls_crowd_database_up"] == 0


def test_a_work_list_on_a_full_disk_is_said(tmp_path: Path) -> None:
    """SQLite's own limit of pages stands for the disk's."""
    url = f"sqlite:///{tmp_path / 'crowd.db'}"
    engine, work = open_database(url), open_work_list(url)
    with work.connect() as connection:
        pages = int(connection.execute(text("PRAGMA page_count")).scalar_one())

    from sqlalchemy import event

    event.listen(work, "connect", lambda connection, _: connection.execute(f"PRAGMA max_page_count={pages}"))
    work.dispose()
    client = create_app(Parts(engine, WorkList(work), SECRET, "x", "key")).test_client()
    codes = {
        client.post(f"/webhook/{project}", json={"action": "X"}, headers=RIGHT).status_code for project in range(1, 300)
    }
    assert 503 in codes
    assert codes <= {202, 503}
    engine.dispose()
    work.dispose()
