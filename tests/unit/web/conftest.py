"""The application, and its pages for a project with a crowd of known people."""

from __future__ import annotations

from typing import cast

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.security import generate_password_hash

from ls_crowd_plugin.store import Store
from ls_crowd_plugin.web import create_app
from ls_crowd_plugin.web.app import set_context
from ls_crowd_plugin.web.context import AppContext
from tests.support.known_crowd import known_span_crowd, store_crowd
from tests.support.pages import log_in
from tests.support.service import PASSWORD, SECRET


@pytest.fixture(scope="session")
def password_hash() -> str:
    return generate_password_hash(PASSWORD, "pbkdf2:sha256:1000")


@pytest.fixture
def app_context(store: Store, password_hash: str) -> AppContext:
    """What the service's application needs, with an empty database."""
    return AppContext(
        store=store,
        webhook_secret=SECRET,
        password_hash=password_hash,
        session_key="key",
        studio_url="http://studio.example",
    )


@pytest.fixture(scope="session")
def reused_app() -> Flask:
    """The application without its context: to compile routes and templates again for every test takes long."""
    return create_app(AppContext(cast("Store", None), "", "", ""))


@pytest.fixture
def app(reused_app: Flask, app_context: AppContext) -> Flask:
    """The application as if it had just been created."""
    set_context(reused_app, app_context)
    return reused_app


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def pages(app_context: AppContext, client: FlaskClient) -> FlaskClient:
    """A client that is logged in, with a crowd that answers one question."""
    store_crowd(app_context.store)
    log_in(client)
    return client


@pytest.fixture
def region_pages(app_context: AppContext, client: FlaskClient) -> FlaskClient:
    """A client that is logged in, with a crowd that marks two names in each sentence, which one person gets wrong."""
    store_crowd(app_context.store, known_span_crowd())
    log_in(client)
    return client
