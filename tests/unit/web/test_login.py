"""The login: opens with the password only, survives a restart, and ends when the password changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask.testing import FlaskClient
from werkzeug.security import generate_password_hash

from ls_crowd_plugin.store import queue
from ls_crowd_plugin.web import create_app
from ls_crowd_plugin.web.context import AppContext
from tests.support.pages import csrf_token_in, log_in, read_page
from tests.support.service import PASSWORD


def copy_session(client: FlaskClient, other: FlaskClient) -> None:
    cookie = client.get_cookie("ls_crowd")
    assert cookie is not None
    other.set_cookie("ls_crowd", cookie.value)


def cheap_hash(password: str) -> str:
    return generate_password_hash(password, "pbkdf2:sha256:1")


def test_browsers_are_sent_to_the_login(client: FlaskClient) -> None:
    response = client.get("/")
    assert (response.status_code, response.headers["Location"]) == (302, "/login")


def test_programs_are_refused_without_a_login(client: FlaskClient) -> None:
    response = client.get("/api/projects")
    assert (response.status_code, response.get_json()) == (401, {"error": "Log in first."})


def test_the_password_opens_the_pages(client: FlaskClient, app_context: AppContext) -> None:
    with app_context.store.work.begin() as connection:
        queue.enqueue(connection, 3)
    assert log_in(client) == 302
    assert "Project 3" in read_page(client, "/")
    assert [project["id"] for project in client.get("/api/projects").get_json()["projects"]] == [3]


def test_another_password_does_not(client: FlaskClient) -> None:
    assert log_in(client, "guess") == 401
    assert client.get("/api/projects").status_code == 401


@pytest.mark.parametrize("form", [{}, {"token": ""}, {"token": "-"}, {"token": "x"}])
def test_a_form_of_another_site_does_not_log_in(client: FlaskClient, form: dict[str, str]) -> None:
    assert client.post("/login", data={"password": PASSWORD, **form}).status_code == 400
    assert client.get("/api/projects").status_code == 401


def test_a_form_of_another_site_does_not_log_out(client: FlaskClient) -> None:
    log_in(client)
    assert client.post("/logout").status_code == 302
    assert client.get("/api/projects").status_code == 200


def test_logging_out_ends_the_session(client: FlaskClient) -> None:
    log_in(client)
    response = client.post("/logout", data={"token": csrf_token_in(read_page(client, "/"))})
    assert (response.status_code, response.headers["Location"]) == (302, "/login")
    assert client.get("/api/projects").status_code == 401


def test_a_new_password_ends_all_sessions(client: FlaskClient, app_context: AppContext) -> None:
    log_in(client)
    other = create_app(replace(app_context, password_hash=cheap_hash("new"))).test_client()
    copy_session(client, other)
    assert other.get("/api/projects").status_code == 401


def test_a_session_survives_a_restart_of_the_service(app_context: AppContext) -> None:
    """The hash of the same password is different after each start."""
    first, second = (
        create_app(replace(app_context, password=PASSWORD, password_hash=cheap_hash(PASSWORD))).test_client()
        for _ in range(2)
    )
    log_in(first)
    copy_session(first, second)
    assert second.get("/api/projects").status_code == 200


def test_a_session_of_another_service_does_not_count(app_context: AppContext) -> None:
    first, second = (create_app(replace(app_context, session_key=key)).test_client() for key in ("one", "two"))
    log_in(first)
    copy_session(first, second)
    assert second.get("/api/projects").status_code == 401


def test_guessing_is_slowed_down(client: FlaskClient) -> None:
    assert [log_in(client, f"guess {number}") for number in range(12)] == [*[401] * 10, 429, 429]
    assert log_in(client) == 429


@pytest.mark.parametrize("is_https", [True, False])
def test_the_cookie_is_only_sent_by_https_where_pages_are(app_context: AppContext, is_https: bool) -> None:
    response = create_app(replace(app_context, is_https=is_https)).test_client().get("/login")
    cookie = response.headers["Set-Cookie"]
    assert ("Secure" in cookie) == is_https
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
