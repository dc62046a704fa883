"""When a failed request is worth another try, and how long to wait for it."""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime

import requests

MAX_TRIES = 6
MAX_PAUSE = 30.0  # seconds between two tries
MAX_RETRY_AFTER = 120.0  # seconds; a longer Retry-After is cut to this
TRANSIENT_STATUSES = frozenset({429, 500, 502, 503, 504})


def never_sent(error: requests.exceptions.RequestException) -> bool:
    """Whether the connection failed before the request could have reached the server."""
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return True
    return any(name in repr(error) for name in ("NewConnectionError", "NameResolutionError"))


def retry_after(response: requests.Response) -> float | None:
    """Return the seconds the server asks to wait, which it may give as a number or as a time."""
    text = response.headers.get("Retry-After")
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (TypeError, ValueError):
            return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER) if seconds == seconds else None  # NaN differs from itself


def backoff(attempt: int) -> float:
    """Return a pause that doubles from half a second, with jitter so that many clients do not return at once."""
    return min(0.25 * 2.0**attempt, MAX_PAUSE) * random.uniform(0.75, 1.25)  # noqa: S311
