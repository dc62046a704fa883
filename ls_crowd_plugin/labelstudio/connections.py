"""Connections to Label Studio that acknowledge at once what they receive.

Label Studio's own server sends an answer in several small packets and, by Nagle's algorithm, each only after the one
before it was acknowledged. The kernel delays acknowledgements by 40 ms on a connection that is kept open, so without
this the smallest request takes 55 ms instead of 15.
"""

from __future__ import annotations

import socket

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.response import HTTPResponse

QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)  # Linux only; a kernel forgets it, so it is set for every answer


class _QuickConnection(HTTPConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3 has it, too
        if QUICK_ACK is not None and self.sock is not None:
            self.sock.setsockopt(socket.IPPROTO_TCP, QUICK_ACK, 1)
        return super().getresponse()


class _QuickSecureConnection(_QuickConnection, HTTPSConnection):
    pass


class _QuickPool(HTTPConnectionPool):
    ConnectionCls = _QuickConnection


class _QuickSecurePool(HTTPSConnectionPool):
    ConnectionCls = _QuickSecureConnection


class QuickAdapter(HTTPAdapter):
    """Gives a session of requests such connections; those through a proxy stay as they are."""

    def init_poolmanager(self, *arguments: object, **options: object) -> None:
        super().init_poolmanager(*arguments, **options)  # type: ignore[arg-type]
        self.poolmanager.pool_classes_by_scheme = {"http": _QuickPool, "https": _QuickSecurePool}
