"""Failed requests are repeated with growing pauses, except where that could create something twice."""

from __future__ import annotations

import socket
import threading
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest

from ls_crowd_plugin.errors import Interrupted, Unreachable
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.labelstudio.retries import MAX_RETRY_AFTER, MAX_TRIES
from tests.support.scripted_server import LEGACY_KEY, Reply, ScriptedServer

FAILURES = {
    "500": Reply(500),
    "502": Reply(502, b"<html>bad gateway</html>"),
    "503": Reply(503),
    "504": Reply(504),
    "reset": Reply(reset=True),
    "truncated": Reply(body=b'{"id": 1', cut=True),
    "half a JSON": Reply(body=b'{"id": '),
    "no JSON": Reply(body=b"<html>log in</html>"),
}
each_failure = pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)


def impatient(server: ScriptedServer) -> Http:
    return Http(server.url, LEGACY_KEY, timeout=(5.0, 0.2), sleep=lambda _: None)


def client_without_server(port_holder: socket.socket) -> Http:
    """A client of a port that is bound and not listening, so that connections are refused."""
    port_holder.bind(("127.0.0.1", 0))
    return Http(f"http://127.0.0.1:{port_holder.getsockname()[1]}", LEGACY_KEY, sleep=lambda _: None)


class TestHarmlessRequests:
    @each_failure
    def test_that_read_are_repeated(self, failure: Reply, server: ScriptedServer, http: Http) -> None:
        server.replies = [failure, failure, Reply(body={"done": True})]
        assert http.get("/api/x") == {"done": True}

    @each_failure
    def test_that_change_are_repeated(self, failure: Reply, server: ScriptedServer, http: Http) -> None:
        server.replies = [failure, Reply(body={"done": True})]
        assert http.patch("/api/x", {"a": 1}) == {"done": True}

    @each_failure
    def test_that_keep_failing_end_in_one_sentence(self, failure: Reply, server: ScriptedServer, http: Http) -> None:
        server.replies = [failure]
        with pytest.raises(Unreachable, match=rf"failed to answer GET /api/x in {MAX_TRIES} tries: .*\.$"):
            http.get("/api/x")

    def test_are_tried_a_limited_number_of_times(self, server: ScriptedServer, http: Http) -> None:
        server.replies = [Reply(503)]
        with pytest.raises(Unreachable):
            http.get("/api/x")
        assert len(server.requests) == MAX_TRIES

    def test_send_the_same_body_again(self, server: ScriptedServer, http: Http) -> None:
        server.replies = [Reply(503), Reply()]
        http.patch("/api/x", {"a": 1})
        assert [request.body for request in server.requests] == [{"a": 1}, {"a": 1}]

    def test_are_repeated_after_a_time_out(self, server: ScriptedServer) -> None:
        late = threading.Event()
        server.replies = [Reply(late=late), Reply(body={"done": True})]
        assert impatient(server).get("/api/x") == {"done": True}
        late.set()

    def test_to_a_missing_server_name_its_address(self) -> None:
        with socket.socket() as port_holder:
            http = client_without_server(port_holder)
            with pytest.raises(Unreachable, match=http.url):
                http.get("/api/x")


class TestPauses:
    def test_grow(self, server: ScriptedServer, http: Http, pauses: list[float]) -> None:
        server.replies = [Reply(503)]
        with pytest.raises(Unreachable):
            http.get("/api/x")
        assert len(pauses) == MAX_TRIES - 1
        assert pauses == sorted(pauses)

    def test_are_not_made_if_nothing_fails(self, http: Http, pauses: list[float]) -> None:
        http.get("/api/x")
        assert pauses == []

    @pytest.mark.parametrize("status", [429, 503])
    def test_last_as_many_seconds_as_the_server_asks(
        self, status: int, server: ScriptedServer, http: Http, pauses: list[float]
    ) -> None:
        server.replies = [Reply(status, headers=(("Retry-After", "7"),)), Reply()]
        http.get("/api/x")
        assert pauses == [7.0]

    def test_last_until_the_time_the_server_names(
        self, server: ScriptedServer, http: Http, pauses: list[float]
    ) -> None:
        until = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=40), usegmt=True)
        server.replies = [Reply(429, headers=(("Retry-After", until),)), Reply()]
        http.get("/api/x")
        assert 30 < pauses[0] <= 40

    def test_are_zero_for_a_time_in_the_past(self, server: ScriptedServer, http: Http, pauses: list[float]) -> None:
        server.replies = [Reply(429, headers=(("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"),)), Reply()]
        http.get("/api/x")
        assert pauses == [0.0]

    @pytest.mark.parametrize("text", ["86400", "inf"])
    def test_are_limited(self, text: str, server: ScriptedServer, http: Http, pauses: list[float]) -> None:
        server.replies = [Reply(429, headers=(("Retry-After", text),)), Reply()]
        http.get("/api/x")
        assert pauses[0] <= MAX_RETRY_AFTER

    @pytest.mark.parametrize("text", ["soon", "nan", ""])
    def test_have_the_default_length_where_the_server_names_no_time(
        self, text: str, server: ScriptedServer, http: Http, pauses: list[float]
    ) -> None:
        server.replies = [Reply(429, headers=(("Retry-After", text),)), Reply()]
        http.get("/api/x")
        assert 0.0 < pauses[0] < 1.0


class TestCreation:
    @each_failure
    def test_is_not_repeated_once_it_may_have_been_done(
        self, failure: Reply, server: ScriptedServer, http: Http
    ) -> None:
        server.replies = [failure, Reply(201, {"id": 1})]
        with pytest.raises(Interrupted, match="POST /api/x to Label Studio broke off"):
            http.post("/api/x", {})
        assert len(server.requests) == 1

    def test_is_not_repeated_after_a_time_out(self, server: ScriptedServer) -> None:
        late = threading.Event()
        server.replies = [Reply(late=late), Reply()]
        with pytest.raises(Interrupted):
            impatient(server).post("/api/x", {})
        late.set()
        assert len(server.requests) == 1

    def test_is_repeated_if_the_server_was_too_busy_to_begin(self, server: ScriptedServer, http: Http) -> None:
        server.replies = [Reply(429), Reply(429), Reply(201, {"id": 1})]
        assert http.post("/api/x", {}) == {"id": 1}

    @each_failure
    def test_is_repeated_if_the_caller_allows_it(self, failure: Reply, server: ScriptedServer, http: Http) -> None:
        server.replies = [failure, Reply(201, {"id": 1})]
        assert http.post("/api/x", {}, repeatable=True) == {"id": 1}

    def test_is_repeated_if_no_server_received_it(self) -> None:
        with socket.socket() as port_holder, pytest.raises(Unreachable):
            client_without_server(port_holder).post("/api/x", {})

    def test_is_repeated_if_the_host_was_not_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

        monkeypatch.setattr(socket, "getaddrinfo", fail)
        with pytest.raises(Unreachable):
            Http("http://label-studio.example", LEGACY_KEY, sleep=lambda _: None).post("/api/x", {})
