"""Waiting in tests for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def eventually(condition: Callable[[], Result], seconds: float = 60.0) -> Result:
    """Return the first true result of a condition; fail if there is none in time, even on a busy machine."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"It did not happen within {seconds:.0f} s."
        time.sleep(0.02)
    return result
