"""Checks passwords. That is slow on purpose, so only a few threads may do it, and each client only so often."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import OrderedDict, deque
from enum import Enum

from werkzeug.security import check_password_hash

MAX_ATTEMPTS = 10  # with a wrong password in a minute, for each client
MAX_CLIENTS = 2000  # whose attempts are remembered
MAX_THREADS = 2  # one checks, another waits; the rest are for webhooks


class Verdict(Enum):
    """What became of an attempt."""

    RIGHT = "right"
    WRONG = "wrong"
    TOO_MANY = "too many"  # attempts of this client
    BUSY = "busy"  # with attempts of others


class PasswordGate:
    """Tells the right password from wrong ones.

    The right one is recognised without the slow check wherever it is known, so that a flood of wrong ones keeps nobody
    out: from the start if it is configured, and otherwise from the first time it was used.
    """

    def __init__(self, password: str, password_hash: str) -> None:
        self._hash = password_hash
        self._key = secrets.token_bytes(32)
        self._right = self._digest(password) if password else b""
        self._failures = _Failures()
        self._threads = threading.BoundedSemaphore(MAX_THREADS)
        self._one_at_a_time = threading.Lock()

    def check(self, client: str, password: str) -> Verdict:
        if self._failures.are_too_many(client):
            return Verdict.TOO_MANY
        if self._right and hmac.compare_digest(self._digest(password), self._right):
            return Verdict.RIGHT
        if not self._threads.acquire(blocking=False):
            return Verdict.BUSY
        try:
            with self._one_at_a_time:
                return self._check_slowly(client, password)
        finally:
            self._threads.release()

    def _check_slowly(self, client: str, password: str) -> Verdict:
        if self._failures.are_too_many(client):  # others may have failed while this one waited
            return Verdict.TOO_MANY
        if check_password_hash(self._hash, password):
            self._right = self._digest(password)
            return Verdict.RIGHT
        self._failures.add(client)
        return Verdict.WRONG

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, password.encode(), "sha256")


class _Failures:
    """When clients last used a wrong password; if there are too many clients, the first are forgotten."""

    def __init__(self) -> None:
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def add(self, client: str) -> None:
        self._times.setdefault(client, deque(maxlen=MAX_ATTEMPTS)).append(time.monotonic())
        self._times.move_to_end(client)
        if len(self._times) > MAX_CLIENTS:
            self._times.popitem(last=False)

    def are_too_many(self, client: str) -> bool:
        times = self._times.get(client)
        return times is not None and len(times) == MAX_ATTEMPTS and time.monotonic() - times[0] < 60
