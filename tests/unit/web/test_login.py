"""The login: opens with the password only, survives a restart, and ends when one logs out or the password changes."""

from __future__ import annotations

import ipaddress
from dataclasses import replace

import pytest
from flask.sessions import SecureCookieSessionInterface
from flask.testing import FlaskClient
from werkzeug.security import generate_password_hash

from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import queue, sessions
from ls_crowd_plugin.web import create_app
from ls_crowd_plugin.web.context import AppContext
from tests.support.pages import csrf_token_in, log_in, read_page
from tests.support.service import PASSWORD


def copy_session(client: FlaskClient, other: FlaskClient) -> None:
    cookie = client.get_cookie("ls_crowd")
    assert cookie is not None
    other.set_cookie("ls_crowd", cookie.value)


def decode_cookie(client: FlaskClient, cookie: str) -> Json:
    serializer = SecureCookieSessionInterface().get_signing_serializer(client.application)
    assert serializer is not None
    content: Json = serializer.loads(cookie)
    return content


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


def test_a_cookie_that_was_copied_before_logging_out_opens_nothing_after_it(app_context: AppContext) -> None:
    """Neither here nor at another service on the same database."""
    first, second = (create_app(app_context).test_client() for _ in range(2))
    log_in(first)
    copy_session(first, second)
    assert second.get("/api/projects").status_code == 200
    first.post("/logout", data={"token": csrf_token_in(read_page(first, "/"))})
    assert second.get("/api/projects").status_code == 401


def test_logging_out_leaves_other_sessions_alone(app_context: AppContext) -> None:
    first, second = (create_app(app_context).test_client() for _ in range(2))
    log_in(first)
    log_in(second)
    first.post("/logout", data={"token": csrf_token_in(read_page(first, "/"))})
    assert second.get("/api/projects").status_code == 200


def test_a_session_ends_after_its_time(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(client)
    assert client.get("/api/projects").status_code == 200
    monkeypatch.setattr(sessions, "MAX_SECONDS", 0.0)
    assert client.get("/api/projects").status_code == 401


def test_logging_in_makes_a_new_session(client: FlaskClient) -> None:
    """Nobody can prepare a session for somebody else, and open it once they are logged in."""
    log_in(client)
    first = client.get_cookie("ls_crowd")
    log_in(client)
    second = client.get_cookie("ls_crowd")
    assert first is not None
    assert second is not None
    sessions_of = [decode_cookie(client, cookie.value) for cookie in (first, second)]
    assert sessions_of[0]["id"] != sessions_of[1]["id"]


class TestGuessing:
    def test_is_slowed_down(self, client: FlaskClient) -> None:
        assert [log_in(client, f"guess {number}") for number in range(12)] == [*[401] * 10, 429, 429]
        assert log_in(client) == 429

    def test_does_not_lock_out_another_client(self, app_context: AppContext) -> None:
        app = create_app(app_context)
        guesser, owner = app.test_client(), app.test_client()
        owner.environ_base["REMOTE_ADDR"] = "192.0.2.7"
        assert [log_in(guesser, "guess") for _ in range(11)][-1] == 429
        assert log_in(owner) == 302

    @pytest.mark.parametrize("is_trusted", [True, False])
    def test_through_a_proxy_counts_for_the_client_behind_it(self, app_context: AppContext, is_trusted: bool) -> None:
        """If the proxy is trusted; otherwise anybody could invent clients."""
        trusted = (ipaddress.ip_network("127.0.0.1"),) if is_trusted else ()
        client = create_app(replace(app_context, trusted_proxies=trusted)).test_client()
        for number in range(10):
            client.environ_base["HTTP_X_FORWARDED_FOR"] = f"198.51.100.{number}, 192.0.2.66"
            assert log_in(client, "guess") == 401
        assert log_in(client) == 429
        client.environ_base["HTTP_X_FORWARDED_FOR"] = "192.0.2.7"
        assert log_in(client) == (302 if is_trusted else 429)


class TestCookie:
    @pytest.mark.parametrize(
        ("public_url", "proxies", "scheme", "is_secure"),
        [
            ("http://crowd.example", [], "", False),
            ("http://crowd.example", [], "https", False),  # somebody says so
            ("https://crowd.example", [], "", True),
            ("http://crowd.example", ["127.0.0.1"], "https", True),
            ("https://crowd.example", ["127.0.0.1"], "http", False),
            ("https://crowd.example", ["127.0.0.1"], "", True),
            ("https://crowd.example", ["192.0.2.1"], "https", False),  # past the proxy
        ],
    )
    def test_is_only_sent_by_https_where_pages_are(
        self, app_context: AppContext, public_url: str, proxies: list[str], scheme: str, is_secure: bool
    ) -> None:
        trusted = tuple(map(ipaddress.ip_network, proxies))
        context = replace(app_context, public_url=public_url, trusted_proxies=trusted)
        headers = {"X-Forwarded-Proto": scheme} if scheme else {}
        cookie = create_app(context).test_client().get("/login", headers=headers).headers["Set-Cookie"]
        assert ("Secure" in cookie) == is_secure
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie

    def test_that_a_browser_does_not_send_by_plain_http_is_explained(self, app_context: AppContext) -> None:
        client = create_app(replace(app_context, public_url="https://crowd.example")).test_client()
        token = csrf_token_in(read_page(client, "/login"))
        client.delete_cookie("ls_crowd")
        response = client.post("/login", data={"token": token, "password": PASSWORD})
        page = response.get_data(as_text=True)
        assert response.status_code == 400
        assert "The browser sent no cookie, because the cookie is only for https: open https://crowd.example" in page
        assert "LS_CROWD_TRUSTED_PROXIES" in page

    def test_that_a_browser_refuses_is_said(self, client: FlaskClient) -> None:
        response = client.post("/login", data={"password": PASSWORD})
        assert "The browser sent no cookie; allow cookies" in response.get_data(as_text=True)
