"""The receiver of webhooks: an event of a known project becomes a request, one of another project a candidate,
everything else is refused, and nothing breaks it."""

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
from sqlalchemy import event, text
from werkzeug.test import EnvironBuilder, run_wsgi_app

from ls_crowd_plugin.records import Json
from ls_crowd_plugin.settings import SECRET_HEADER
from ls_crowd_plugin.store import Store, open_store, queue
from ls_crowd_plugin.web import create_app
from ls_crowd_plugin.web.context import AppContext
from ls_crowd_plugin.web.receiver import LARGE_BODY, MAX_BODY
from tests.support.examples import examples
from tests.support.queue_steps import candidates_in, claim, enqueue, get_entry
from tests.support.service import SECRET
from tests.support.webhooks import EVENTS, RIGHT


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite: the queue itself is tested on both databases."""
    return f"sqlite:///{tmp_path / 'crowd.db'}"


def recorded(store: Store) -> list[int]:
    """The projects in the queue and the candidates."""
    with store.work.connect() as connection:
        return [entry.project for entry in queue.list_entries(connection)] + candidates_in(store)


def receiver(store: Store) -> FlaskClient:
    """An application that nobody can log in to."""
    return create_app(AppContext(store, SECRET, "x", "key")).test_client()


class TestEvents:
    @pytest.mark.parametrize("event", EVENTS, ids=lambda event: str(event["action"]))
    @pytest.mark.parametrize("path", ["/webhook", "/webhook/3"])
    def test_name_their_project(self, client: FlaskClient, app_context: AppContext, event: Json, path: str) -> None:
        response = client.post(path, json=event, headers=RIGHT)
        assert (response.status_code, response.json, recorded(app_context.store)) == (202, {"project": 3}, [3])

    def test_without_payload_name_their_project_in_the_address(
        self, client: FlaskClient, app_context: AppContext
    ) -> None:
        response = client.post("/webhook/5", json={"action": "ANNOTATION_CREATED"}, headers=RIGHT)
        assert (response.status_code, recorded(app_context.store)) == (202, [5])

    def test_without_a_project_are_refused_with_what_to_do(self, client: FlaskClient, app_context: AppContext) -> None:
        response = client.post("/webhook", json={"action": "ANNOTATION_CREATED"}, headers=RIGHT)
        assert (response.status_code, recorded(app_context.store)) == (400, [])
        assert "/webhook/<project id>" in response.get_data(as_text=True)

    @pytest.mark.postgres
    def test_are_recorded_in_postgres(self, postgres: Callable[[str], str]) -> None:
        with open_store(postgres("events")) as store:
            client = receiver(store)
            statuses = {client.post("/webhook", json=event, headers=RIGHT).status_code for event in EVENTS}
            assert (statuses, recorded(store)) == ({202}, [3])

    def test_of_a_project_in_the_queue_request_a_pass_when_it_is_quiet(
        self, client: FlaskClient, app_context: AppContext
    ) -> None:
        store = app_context.store
        enqueue(store, 5)
        with store.work.begin() as connection:
            queue.complete(connection, claim(store))
        assert get_entry(store, 5).waiting is None
        client.post("/webhook/5", json={"action": "X"}, headers=RIGHT)
        entry = get_entry(store, 5)
        assert (entry.waiting is None, entry.due < 0, candidates_in(store)) == (False, True, [])

    def test_of_a_project_that_may_not_exist_request_nothing(
        self, client: FlaskClient, app_context: AppContext
    ) -> None:
        """Whoever knows the secret can invent projects without end."""
        for _ in range(2):
            assert client.post("/webhook/987654", json={"action": "X"}, headers=RIGHT).status_code == 202
        with app_context.store.work.connect() as connection:
            assert queue.list_entries(connection) == []
        assert candidates_in(app_context.store) == [987654]

    def test_that_are_large_are_not_parsed_where_the_address_names_the_project(
        self, client: FlaskClient, app_context: AppContext
    ) -> None:
        response = client.post("/webhook/5", data=b"[" * (LARGE_BODY + 1), headers=RIGHT)
        assert (response.status_code, recorded(app_context.store)) == (202, [5])

    def test_that_are_large_name_their_project(self, client: FlaskClient, app_context: AppContext) -> None:
        body = {"action": "TASKS_CREATED", "tasks": [{"project": 3, "text": "x" * LARGE_BODY}]}
        response = client.post("/webhook", json=body, headers=RIGHT)
        assert (response.status_code, recorded(app_context.store)) == (202, [3])

    def test_that_cannot_be_recorded_get_a_503(self, client: FlaskClient, app_context: AppContext) -> None:
        with app_context.store.work.begin() as connection:
            connection.execute(text("DROP TABLE crowd_queue"))
        response = client.post("/webhook/5", json={"action": "X"}, headers=RIGHT)
        assert response.status_code == 503
        assert "crowd_queue" not in response.get_data(as_text=True)

    def test_on_a_full_disk_get_a_503(self, tmp_path: Path) -> None:
        """SQLite's limit of pages stands for that of the disk."""
        with open_store(f"sqlite:///{tmp_path / 'crowd.db'}") as store:
            with store.work.connect() as connection:
                pages = int(connection.execute(text("PRAGMA page_count")).scalar_one())
            limit = f"PRAGMA max_page_count={pages}"
            event.listen(store.work, "connect", lambda connection, _: connection.execute(limit))
            store.work.dispose()
            client = receiver(store)
            statuses: list[int] = []
            while 503 not in statuses and len(statuses) < 300:
                response = client.post(f"/webhook/{len(statuses) + 1}", json={"action": "X"}, headers=RIGHT)
                statuses.append(response.status_code)
        assert set(statuses) == {202, 503}


class TestRefused:
    @pytest.mark.parametrize(
        "headers", [{}, {SECRET_HEADER: ""}, {SECRET_HEADER: "wrong"}, {SECRET_HEADER: SECRET + "x"}]
    )
    def test_without_the_secret(self, client: FlaskClient, app_context: AppContext, headers: dict[str, str]) -> None:
        response = client.post("/webhook/3", json=EVENTS[0], headers=headers)
        assert (response.status_code, recorded(app_context.store)) == (401, [])

    def test_without_the_secret_before_the_body_is_read(self, app_context: AppContext) -> None:
        class Unread(io.BytesIO):
            def read(self, *_: object) -> bytes:
                raise AssertionError("The body was read.")

        environ = EnvironBuilder("/webhook/3", method="POST").get_environ()
        environ |= {"wsgi.input": Unread(), "CONTENT_LENGTH": "100"}
        _, status, _ = run_wsgi_app(create_app(app_context), environ)
        assert status.startswith("401")

    @pytest.mark.parametrize(
        "body",
        [b"", b"nonsense", b"[]", b"3", b"null", b'"x"', b"{}", b'{"action": 3}', b'{"action": ""}', b"\xff\xfe"],
    )
    def test_what_is_not_an_event(self, client: FlaskClient, app_context: AppContext, body: bytes) -> None:
        response = client.post("/webhook/3", data=body, headers=RIGHT)
        assert (response.status_code, recorded(app_context.store)) == (400, [])

    def test_what_is_nested_without_end(self, client: FlaskClient) -> None:
        body = b'{"action": "X", "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        assert client.post("/webhook/3", data=body, headers=RIGHT).status_code == 400

    def test_what_is_too_large(self, client: FlaskClient, app_context: AppContext) -> None:
        body = b'{"action": "X", "a": "' + b"x" * MAX_BODY + b'"}'
        response = client.post("/webhook/3", data=body, headers=RIGHT)
        assert (response.status_code, recorded(app_context.store)) == (413, [])

    @pytest.mark.parametrize("project", [0, -1, 2**63, 10**30, True, "3", None, [3], {"id": "3"}])
    def test_a_project_that_cannot_exist(self, client: FlaskClient, app_context: AppContext, project: Any) -> None:
        response = client.post("/webhook", json={"action": "X", "project": project}, headers=RIGHT)
        assert (response.status_code, recorded(app_context.store)) == (400, [])

    def test_a_number_in_the_address_that_no_database_can_hold(self, client: FlaskClient) -> None:
        response = client.post(f"/webhook/{2**63}", json=EVENTS[0], headers=RIGHT)
        assert (response.status_code, response.json) == (400, {"error": f"There can be no project {2**63}."})

    @pytest.mark.parametrize(
        "path",
        ["/webhook/", "/webhook/x", "/webhook/-3", "/webhook/3/4", "/webhook/%2e%2e", "//webhook", "/webhook/3.5"],
    )
    def test_an_unknown_address(self, client: FlaskClient, app_context: AppContext, path: str) -> None:
        response = client.post(path, json=EVENTS[0], headers=RIGHT)
        assert (response.status_code in (308, 404, 405), recorded(app_context.store)) == (True, [])

    @pytest.mark.parametrize("method", ["get", "put", "delete", "patch", "options", "head"])
    def test_another_method(self, client: FlaskClient, method: str) -> None:
        response = getattr(client, method)("/webhook/3", headers=RIGHT)
        assert (response.status_code, response.headers["Allow"]) == (405, "POST")

    def test_a_large_event_while_another_one_is_read(self, client: FlaskClient) -> None:
        """Parsing takes much memory: only one at a time."""

        class Body(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                statuses.append(client.post("/webhook", data=b"x" * size_of_body, headers=RIGHT).status_code)
                return super().read(size)

        size_of_body, statuses = LARGE_BODY + 1, list[int]()
        environ = EnvironBuilder("/webhook", method="POST", headers=list(RIGHT.items())).get_environ()
        environ |= {"wsgi.input": Body(b"x" * size_of_body), "CONTENT_LENGTH": str(size_of_body)}
        _, status, _ = run_wsgi_app(client.application, environ)
        assert (statuses, status) == ([503], "400 Bad Request")


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
any_headers = st.sampled_from([RIGHT, {}, {SECRET_HEADER: "x"}, {**RIGHT, "Content-Type": "text/xml"}])


def check_response(client: FlaskClient, path: str, body: bytes, headers: dict[str, str]) -> None:
    """Send a request, which must not break anything or reveal the secret."""
    response = client.post(path, data=body, headers=headers)
    content = response.get_data(as_text=True)
    assert response.status_code < 500, content
    assert SECRET not in content
    assert "Traceback" not in content


@pytest.fixture(scope="module")
def lasting_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """One application for all random requests."""
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('fuzz') / 'crowd.db'}") as store:
        yield receiver(store)


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=paths, body=bodies, headers=any_headers)
def test_no_request_breaks_it(lasting_client: FlaskClient, path: str, body: bytes, headers: dict[str, str]) -> None:
    check_response(lasting_client, path, body, headers)


@pytest.mark.soak
@settings(max_examples=10_000, suppress_health_check=list(HealthCheck))
@given(path=paths, body=bodies, headers=any_headers)
def test_no_request_of_ten_thousand_breaks_it(
    lasting_client: FlaskClient, path: str, body: bytes, headers: dict[str, str]
) -> None:
    check_response(lasting_client, path, body, headers)
