"""A result that is computed by one thread at a time: anybody may ask for it, and the other threads are for webhooks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """The result of some computation, which is repeated whenever it is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: list[T] = []  # empty until there is one

    def get(self, compute: Callable[[], T]) -> T:
        """Compute the result; if another thread is computing it at this moment, the one before is as good."""
        before = self._last
        if not self._lock.acquire(blocking=not before):
            return before[0]
        try:
            result = compute()
            self._last = [result]
            return result
        finally:
            self._lock.release()
