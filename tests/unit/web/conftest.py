"""Pages of a project with a crowd of known people."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from ls_crowd_plugin.web.context import AppContext
from tests.support.known_crowd import known_span_crowd, store_crowd
from tests.support.pages import log_in


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
