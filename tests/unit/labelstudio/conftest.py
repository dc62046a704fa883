"""A scripted server and clients of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ls_crowd_plugin.labelstudio import Http, LabelStudio
from tests.support.scripted_server import LEGACY_KEY, PERSONAL_KEY, ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer().running() as server:
        yield server


@pytest.fixture
def pauses() -> list[float]:
    """The seconds that `http` or `personal` waited between its tries."""
    return []


@pytest.fixture
def http(server: ScriptedServer, pauses: list[float]) -> Http:
    """A client with a legacy token."""
    return Http(server.url, LEGACY_KEY, sleep=pauses.append)


@pytest.fixture
def personal(server: ScriptedServer, pauses: list[float]) -> Http:
    """A client with a personal access token."""
    return Http(server.url, PERSONAL_KEY, sleep=pauses.append)


@pytest.fixture
def studio(http: Http) -> LabelStudio:
    return LabelStudio(http)
