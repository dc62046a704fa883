"""The HTTP server stays available, whoever keeps it waiting, and stores no large body of a stranger."""

from __future__ import annotations

import contextlib
import http.client
import resource
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from waitress import wasyncore

from ls_crowd_plugin.demo.server import free_port
from ls_crowd_plugin.web.server import MAX_CONNECTIONS, MAX_FILES, MAX_FORM, make_server, usable_connections
from tests.support.service import SECRET
from tests.support.waiting import eventually
from tests.support.webhooks import RIGHT

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

HALVES = {
    "nothing": b"",
    "half of the headers": b"POST /webhook/1 HTTP/1.1\r\nHost: x\r\n",
    "half of the body": b"POST /webhook/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
}


def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answers with the size of the body."""
    size = len(environ["wsgi.input"].read())
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(size).encode()]


@contextmanager
def running(**limits: int) -> Iterator[int]:
    """Run a server in a thread; gives its port."""
    port, stop = free_port(), threading.Event()
    server = make_server(app, "127.0.0.1", port, SECRET, **limits)

    def loop() -> None:
        while not stop.is_set():
            wasyncore.loop(timeout=0.05, use_poll=True, map=server.map, count=1)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield port
    finally:
        stop.set()
        thread.join()
        server.close()


def connect(port: int, sent: bytes, opened: contextlib.ExitStack) -> socket.socket:
    connection = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
    connection.sendall(sent)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection."""
    connection.setblocking(False)
    try:
        return connection.recv(1000, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    finally:
        connection.settimeout(10)


def post(port: int, size: int, headers: dict[str, str]) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(connection):
        connection.request("POST", "/webhook", b"x" * size, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


class TestConnectionsThatWait:
    @pytest.mark.parametrize("sent", HALVES.values(), ids=HALVES)
    def test_keep_nobody_out_however_many_there_are(self, sent: bytes) -> None:
        with running(connections=20) as port, contextlib.ExitStack() as opened:
            for _ in range(60):
                connect(port, sent, opened)
            for _ in range(5):
                assert post(port, 3, {}) == (200, "3")

    def test_make_way_in_the_order_in_which_they_came(self) -> None:
        with running(connections=20) as port, contextlib.ExitStack() as opened:
            waiting = []
            for _ in range(30):
                waiting.append(connect(port, HALVES["half of the headers"], opened))
                time.sleep(0.01)
            eventually(lambda: sum(map(is_closed, waiting)) >= 10, 10)
            closed = [is_closed(connection) for connection in waiting]
            assert closed == sorted(closed, reverse=True)
            assert sum(closed) <= 12

    @pytest.mark.slow
    def test_are_closed_after_a_time_though_they_send_a_byte_now_and_then(self) -> None:
        with running(seconds=1) as port, contextlib.ExitStack() as opened:
            slow = connect(port, HALVES["half of the headers"], opened)
            started = time.monotonic()
            while not is_closed(slow):
                assert time.monotonic() - started < 10
                with contextlib.suppress(OSError):
                    slow.sendall(b"X-More: 1\r\n")
                time.sleep(0.1)
            assert time.monotonic() - started > 0.9

    @pytest.mark.slow
    def test_are_not_closed_while_they_bring_requests(self) -> None:
        with running(seconds=1) as port:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.connect()
            first = connection.sock
            for _ in range(12):
                connection.request("GET", "/")
                assert connection.getresponse().read() == b"0"
                time.sleep(0.2)
            assert connection.sock is first
            connection.close()


class TestBodies:
    def test_of_strangers_are_small(self) -> None:
        with running() as port:
            assert post(port, MAX_FORM - 1, {}) == (200, str(MAX_FORM - 1))
            assert post(port, MAX_FORM, {})[0] == 413
            assert post(port, MAX_FORM, dict.fromkeys(RIGHT, "guess"))[0] == 413

    def test_of_strangers_are_refused_before_they_are_sent(self) -> None:
        with running() as port, contextlib.ExitStack() as opened:
            head = f"POST /webhook/1 HTTP/1.1\r\nHost: x\r\nContent-Length: {MAX_FORM}\r\n\r\n"
            stranger = connect(port, head.encode(), opened)
            assert b" 413 " in stranger.recv(1000)

    def test_in_chunks_are_no_way_around_that(self) -> None:
        with running() as port, contextlib.ExitStack() as opened:
            head = b"POST /webhook/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            stranger = connect(port, head, opened)
            with contextlib.suppress(OSError):
                for _ in range(MAX_FORM // 1024 + 1):
                    stranger.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
            assert b" 413 " in stranger.recv(1000)

    def test_with_the_secret_may_be_large(self) -> None:
        with running() as port:
            assert post(port, 2_000_000, RIGHT) == (200, "2000000")


@pytest.mark.parametrize(
    ("limits", "raised_to", "connections"),
    [
        ((1024, 4096), 4096, MAX_CONNECTIONS),
        ((1024, 10**9), MAX_FILES, MAX_CONNECTIONS),
        ((1024, resource.RLIM_INFINITY), MAX_FILES, MAX_CONNECTIONS),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), None, MAX_CONNECTIONS),
        ((256, 256), None, 52),
        ((64, 64), None, 1),
    ],
)
def test_the_process_may_open_as_many_files_as_it_needs(
    limits: tuple[int, int], raised_to: int | None, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[int] = []

    def set_limit(_: int, limits: tuple[int, int]) -> None:
        raised.append(limits[0])

    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", set_limit)
    assert usable_connections() == connections
    assert raised == ([] if raised_to is None else [raised_to])
