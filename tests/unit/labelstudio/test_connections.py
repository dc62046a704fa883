"""Connections do not wait for delayed acknowledgements."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import requests

from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.labelstudio.connections import QUICK_ACK
from tests.support.scripted_server import ScriptedServer

REQUESTS = 10


@pytest.mark.skipif(QUICK_ACK is None, reason="only Linux can acknowledge at once")
def test_answers_in_several_packets_do_not_wait(server: ScriptedServer, http: Http) -> None:
    server.delays_packets = True
    with requests.Session() as plain:
        waiting = _seconds(lambda: plain.get(f"{server.url}/api/x"))
    assert _seconds(lambda: http.get("/api/x")) < waiting / 2


def _seconds(ask: Callable[[], object]) -> float:
    """How long some requests take on a connection that is open already."""
    ask()
    started = time.perf_counter()
    for _ in range(REQUESTS):
        ask()
    return time.perf_counter() - started
