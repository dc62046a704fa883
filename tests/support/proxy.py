"""A proxy in front of Label Studio that records requests and, on demand, breaks them."""

from __future__ import annotations

import http.client
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

WRITING_METHODS = frozenset({"POST", "PATCH", "PUT", "DELETE"})


@dataclass(frozen=True)
class ProxiedRequest:
    """A request that reached the proxy."""

    method: str
    path: str
    authorization: str = field(default="", repr=False)

    @property
    def writes(self) -> bool:
        """Whether it may change something; exchanging a token does not."""
        return self.method in WRITING_METHODS and "/token/" not in self.path


# What happens to a request: "" forwards it; "500" and "429" answer instead of Label Studio; "reset" closes the
# connection before Label Studio receives the request, "lost" after it has answered; "truncated" cuts the answer in
# half; "slow" delays it.
Fault = Callable[[ProxiedRequest], str]


class Proxy:
    """An HTTP or HTTPS server that forwards requests to a target."""

    def __init__(self, target: str, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[ProxiedRequest] = []
        self.fault: Fault = lambda _: ""
        self.after: Callable[[ProxiedRequest], None] = lambda _: None  # called when Label Studio has answered
        self.clock_ahead = timedelta(0)  # how far the clock in the answers is ahead of Label Studio's
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self, urlsplit(target).netloc))
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"http{'' if tls is None else 's'}://127.0.0.1:{self._server.server_address[1]}"

    @property
    def writes(self) -> list[str]:
        """Return method and path of the requests that may have changed something."""
        return [f"{request.method} {request.path}" for request in self.requests if request.writes]

    @contextmanager
    def running(self) -> Iterator[Proxy]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()


def _handler(proxy: Proxy, netloc: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            """Log nothing."""

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path, authorization = urlsplit(self.path).path, self.headers.get("Authorization") or ""
            request = ProxiedRequest(self.command, path, authorization)
            proxy.requests.append(request)
            fault = proxy.fault(request)
            if fault in ("500", "429"):
                return self._answer(int(fault), [("Retry-After", "0")], b'{"detail": "broken on purpose"}')
            if fault == "reset":
                return self._reset()
            if fault == "slow":
                time.sleep(0.3)
            upstream = http.client.HTTPConnection(netloc, timeout=300)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            upstream.request(self.command, self.path, body, headers)
            answer = upstream.getresponse()
            content = answer.read()
            upstream.close()
            proxy.after(request)
            if fault == "lost":
                return self._reset()
            kept = [("Content-Type", answer.headers["Content-Type"])] if "Content-Type" in answer.headers else []
            kept += [("Date", _later(date, proxy.clock_ahead)) for date in answer.headers.get_all("Date", [])]
            if fault == "truncated":
                self._answer(answer.status, kept, content[: len(content) // 2], announced=len(content))
                return self._reset()
            return self._answer(answer.status, kept, content)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _forward  # noqa: N815

        def _answer(
            self, status: int, headers: list[tuple[str, str]], content: bytes, announced: int | None = None
        ) -> None:
            self.send_response_only(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content) if announced is None else announced))
            self.end_headers()
            self.wfile.write(content)

        def _reset(self) -> None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True

    return Handler


def _later(date: str, ahead: timedelta) -> str:
    return format_datetime(parsedate_to_datetime(date) + ahead, usegmt=True) if ahead else date
