"""What all routes have in common: the login, the token of forms, headers, and errors in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask, url_for
from flask.testing import FlaskClient
from werkzeug.routing import Rule

from ls_crowd_plugin.records import Json
from ls_crowd_plugin.web import create_app
from ls_crowd_plugin.web.context import AppContext
from ls_crowd_plugin.web.receiver import MAX_ID
from tests.support.known_crowd import PROJECT, store_crowd
from tests.support.pages import HtmlChecker, csrf_token_in, log_in, read_page

PUBLIC = {
    *("login.login", "login.logout", "static", "health.healthz", "health.readyz", "metrics.metrics"),
}


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite: nothing here depends on the database."""
    return f"sqlite:///{tmp_path / 'crowd.db'}"


@pytest.fixture
def app(app: Flask, app_context: AppContext) -> Flask:
    """The application with the results of a crowd."""
    store_crowd(app_context.store)
    return app


def private_routes(app: Flask) -> Iterator[tuple[Rule, str]]:
    """Every route behind the login, with an address for it."""
    with app.test_request_context():
        for rule in app.url_map.iter_rules():
            if rule.endpoint not in PUBLIC:
                values: Json = dict.fromkeys(rule.arguments, PROJECT)
                yield rule, url_for(rule.endpoint, **values)


class TestLoginRequired:
    def test_every_route_that_is_not_public_asks_for_the_login(self, app: Flask) -> None:
        routes = list(private_routes(app))
        assert len(routes) > 10
        for rule, address in routes:
            for method in rule.methods or ():
                response = app.test_client().open(address, method=method)
                if address.startswith("/api/"):
                    assert response.status_code == 401, (method, address)
                else:
                    assert (response.status_code, response.headers["Location"]) == (302, "/login"), (method, address)

    def test_public_routes_are_those_that_are_listed(self, app: Flask) -> None:
        assert {rule.endpoint for rule in app.url_map.iter_rules()} >= PUBLIC

    def test_a_new_route_is_behind_the_login_unless_it_is_marked(self, app_context: AppContext) -> None:
        app = create_app(app_context)
        app.add_url_rule("/new", view_func=lambda: "something", endpoint="new")
        assert app.test_client().get("/new").status_code == 302

    def test_every_get_route_opens_after_the_login(self, app: Flask) -> None:
        client = app.test_client()
        log_in(client)
        for rule, address in private_routes(app):
            if "GET" in (rule.methods or ()):
                assert client.get(address, follow_redirects=True).status_code == 200, address


class TestCsrfToken:
    def test_only_get_and_post_are_used(self, app: Flask) -> None:
        """Tokens are checked for POST; another method that changes something would need the same."""
        for rule in app.url_map.iter_rules():
            assert (rule.methods or set()) <= {"GET", "HEAD", "OPTIONS", "POST"}, rule

    def test_every_post_route_refuses_a_form_without_it(self, app: Flask) -> None:
        client = app.test_client()
        log_in(client)
        posts = [address for rule, address in private_routes(app) if "POST" in (rule.methods or ())]
        assert posts
        for address in posts:
            for form in ({}, {"token": ""}, {"token": "guess"}):
                response = client.post(address, data=form)
                assert (response.status_code, "expired" in response.get_data(as_text=True)) == (400, True), address

    def test_another_session_has_another_one(self, app: Flask) -> None:
        tokens = set()
        for _ in range(2):
            client = app.test_client()
            log_in(client)
            tokens.add(csrf_token_in(read_page(client, "/")))
        assert len(tokens) == 2


class TestHeaders:
    @pytest.mark.parametrize(
        "path", ["/login", "/", "/healthz", "/metrics", "/nowhere", "/static/style.css", "/webhook"]
    )
    def test_forbid_scripts_from_elsewhere_and_frames(self, client: FlaskClient, path: str) -> None:
        headers = client.get(path, buffered=True).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"

    def test_keep_pages_out_of_caches(self, pages: FlaskClient) -> None:
        assert pages.get(f"/project/{PROJECT}/annotators").headers["Cache-Control"] == "no-store"


class TestErrors:
    @pytest.mark.parametrize(
        ("path", "problem"), [("/project/99", "There are no results for project 99 yet."), ("/nowhere", "not found")]
    )
    def test_of_pages_are_pages(self, pages: FlaskClient, path: str, problem: str) -> None:
        response = pages.get(path)
        page = response.get_data(as_text=True)
        assert (response.status_code, HtmlChecker(page).open_tags) == (404, [])
        assert problem in page

    @pytest.mark.parametrize("path", ["/api/projects/99", "/api/nowhere"])
    def test_of_what_programs_ask_for_are_json(self, pages: FlaskClient, path: str) -> None:
        response = pages.get(path)
        assert (response.status_code, list(response.get_json())) == (404, ["error"])

    @pytest.mark.parametrize("path", ["/project/{}", "/project/3/task/{}", "/project/3/annotator/{}"])
    def test_a_number_that_no_database_can_hold_is_not_found(self, pages: FlaskClient, path: str) -> None:
        assert pages.get(path.format(MAX_ID + 1)).status_code == 404

    def test_the_api_answers_the_same(self, pages: FlaskClient) -> None:
        assert pages.get(f"/api/projects/{MAX_ID + 1}").status_code == 404

    def test_an_internal_error_is_logged_and_not_shown(
        self, app: Flask, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail() -> str:
            raise RuntimeError("a secret detail")

        monkeypatch.setitem(app.view_functions, "pages.overview", fail)
        client = app.test_client()
        log_in(client)
        response = client.get("/")
        assert response.status_code == 500
        assert "secret detail" not in response.get_data(as_text=True)
        assert "internal error in the service path=/" in caplog.text
        assert "a secret detail" in caplog.text
