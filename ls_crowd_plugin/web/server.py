"""The HTTP server: waitress, with bounds on what those can take up who only keep it waiting.

By itself waitress stops to accept connections when there are too many, so that a hundred that never send a request make
it unavailable, and it stores a body before anybody asks who sent it.
"""

from __future__ import annotations

import copy
import heapq
import hmac
import logging
import resource
import time
from typing import TYPE_CHECKING

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import MultiSocketServer, TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from ..log import LOG, line
from ..settings import SECRET_HEADER
from .receiver import MAX_BODY

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication
    from waitress.wasyncore import _SocketMap

THREADS = 8
MAX_CONNECTIONS = 1000  # if one more comes, the one that has been waiting longest is closed
ACCEPTED_AT_ONCE = 100
SPARE_CONNECTIONS = 2 * ACCEPTED_AT_ONCE  # if none of them waits, so many more are accepted
REQUEST_SECONDS = 30  # within which a connection has to bring a request, however busily it sends
MAX_HEADERS = 32 * 1024  # bytes
MAX_FORM = 64 * 1024  # bytes of a body without the webhook's secret
MAX_FILES = 65536  # as many open files as are asked for
FILES_PER_CONNECTION, OTHER_FILES = 3, 100
WARN_SECONDS = 60.0  # between two lines in the log about too many connections


def make_server(
    app: WSGIApplication,
    host: str,
    port: int,
    webhook_secret: str,
    *,
    connections: int = MAX_CONNECTIONS,
    seconds: int = REQUEST_SECONDS,
) -> MultiSocketServer:
    """A server that is bound to its port; raises OSError if that is taken."""
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it would log a line for each request of a flood
    adjustments = Adjustments(
        host=host,
        port=port,
        threads=THREADS,
        connection_limit=connections + SPARE_CONNECTIONS,
        channel_timeout=seconds,
        cleanup_interval=1,
        max_request_header_size=MAX_HEADERS,
        max_request_body_size=MAX_BODY,
        asyncore_use_poll=True,  # select() fails for file descriptors from 1024 on
        clear_untrusted_proxy_headers=False,  # see client.py
        log_socket_errors=False,  # a line for each client that hangs up
        ident="",
    )
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.set_thread_count(adjustments.threads)
    sockets: _SocketMap = {}
    for socket_info in adjustments.listen:  # each server adds its socket to `sockets`
        server = _Server(app, sockets, dispatcher=dispatcher, adj=adjustments, sockinfo=socket_info)  # type: ignore[arg-type]
        server.channel_class = _channel_class(webhook_secret, adjustments)
        server.sockets, server.connections = sockets, connections
    return MultiSocketServer(sockets, adjustments, [], dispatcher)


def usable_connections() -> int:
    """How many connections there can be; allows the process as many open files as it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    files = MAX_FILES if soft == resource.RLIM_INFINITY else soft
    return max(min(MAX_CONNECTIONS, (files - OTHER_FILES) // FILES_PER_CONNECTION), 1)


class _Channel(HTTPChannel):
    """A connection, which knows since when it has been waiting for a request; single bytes are no request."""

    _served_at = 0.0

    def service(self) -> None:
        super().service()
        self._served_at = time.time()

    @property
    def is_waiting(self) -> bool:
        return not self.requests and not self.will_close

    @property
    def waiting_since(self) -> float:
        return max(self.creation_time, self._served_at)


class _Server(TcpWSGIServer):
    """A port on which connections arrive."""

    connections = MAX_CONNECTIONS
    sockets: _SocketMap  # all that the loop watches, also those of other ports
    _warned_at = -WARN_SECONDS

    def handle_accept(self) -> None:
        """Accept who has arrived; waitress by itself accepts one, and then looks at all connections again."""
        for _ in range(ACCEPTED_AT_ONCE):
            before = len(self.sockets)
            super().handle_accept()
            if len(self.sockets) == before:
                break
        if len(self.sockets) > self.connections:
            self._make_room()

    def maintenance(self, now: int) -> None:
        super().maintenance(now)
        latest = now - self.adj.channel_timeout
        for channel in self._channels():
            if channel.is_waiting and channel.waiting_since < latest and not channel.total_outbufs_len:
                channel.will_close = True

    def _channels(self) -> list[_Channel]:
        return [channel for channel in self.sockets.values() if isinstance(channel, _Channel)]

    def _make_room(self) -> None:
        """Close the connections that have been waiting longest; the loop does so before it next waits for anything."""
        channels = [channel for channel in self._channels() if not channel.will_close]
        waiting = [channel for channel in channels if channel.is_waiting]
        excess = len(channels) - self.connections
        if excess <= 0:
            return
        for channel in heapq.nsmallest(excess, waiting, key=lambda channel: channel.waiting_since):
            channel.will_close = True
        if time.monotonic() - self._warned_at > WARN_SECONDS:
            self._warned_at = time.monotonic()
            LOG.warning(line("too many connections; the longest waiting are closed", connections=len(channels)))


def _channel_class(secret: str, adjustments: Adjustments) -> type[_Channel]:
    """Connections on which a request without the secret can only bring a small body."""
    for_strangers = copy.copy(adjustments)
    for_strangers.max_request_body_size = MAX_FORM
    header = SECRET_HEADER.upper().replace("-", "_")

    class Parser(HTTPRequestParser):
        def parse_header(self, header_plus: bytes) -> None:
            super().parse_header(header_plus)
            if not hmac.compare_digest(self.headers.get(header, "").encode(), secret.encode()):
                self.adj = for_strangers

    class Channel(_Channel):
        parser_class = Parser

    return Channel
