"""An HTTP server that answers from a list of replies, also with broken ones, and records the requests."""

from __future__ import annotations

import base64
import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LEGACY_KEY = "0123456789abcdef-legacy-key"


def web_token(kind: str) -> str:
    """Return a text in the form of a JSON web token."""
    parts = (json.dumps(part).encode() for part in ({"alg": "HS256"}, {"kind": kind}))
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), f"signature-{kind}"])


PERSONAL_KEY = web_token("refresh")


@dataclass(frozen=True)
class Reply:
    """What the server does with one request."""

    status: int = 200
    body: Any = field(default_factory=dict)  # JSON, or bytes that are sent unchanged
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False  # announce more bytes than are sent
    reset: bool = False  # read the request, then drop the connection
    late: threading.Event | None = None  # answer only after this


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    authorization: str
    body: Any


class ScriptedServer(ThreadingHTTPServer):
    """Answers from a list of replies, with the last one for ever, and records what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: list[Reply] = [Reply()]
        self.token_replies: list[Reply] = []  # to token exchanges; when empty, access tokens are handed out
        self.clock = ""  # the Date header; when empty, the right time
        self.delays_packets = False  # whether a packet is sent only after the one before it was acknowledged
        self.requests: list[Request] = []
        self.token_requests: list[Request] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[ScriptedServer]:
        thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self.shutdown()
            thread.join()
            self.server_close()

    def reply_to(self, request: Request) -> Reply:
        if request.path == "/api/token/refresh/":
            self.token_requests.append(request)
            if self.token_replies:
                return self.token_replies.pop(0)
            return Reply(body={"access": web_token(f"access-{len(self.token_requests)}")})
        self.requests.append(request)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that go away; some tests provoke that."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ScriptedServer

    def setup(self) -> None:
        super().setup()
        if self.server.delays_packets:
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)

    def serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        authorization = self.headers.get("Authorization", "")
        request = Request(self.command, self.path, authorization, json.loads(body) if body else None)
        reply = self.server.reply_to(request)
        if reply.late is not None:
            reply.late.wait(10)
        if reply.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        self._send(reply)

    do_GET = do_POST = do_PATCH = do_DELETE = serve  # noqa: N815  the names http.server looks for

    def _send(self, reply: Reply) -> None:
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        body = b"" if reply.status == 204 else body
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + (50 if reply.cut else 0)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = reply.cut

    def date_time_string(self, timestamp: float | None = None) -> str:
        return self.server.clock or super().date_time_string(timestamp)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""
