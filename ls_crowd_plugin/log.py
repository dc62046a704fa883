"""Log lines that people can read and programs can parse: time, level, what happened, then name=value pairs."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

LOG = logging.getLogger("ls_crowd")


def log_to_stderr() -> None:
    """From now on, log lines of this process go to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s.%(msecs)03d %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    LOG.handlers[:] = [handler]
    LOG.setLevel(logging.INFO)
    LOG.propagate = False


def line(what: str, **facts: Any) -> str:
    """One line, whatever the facts hold."""
    return " ".join([what, *(f"{name}={_value(value)}" for name, value in facts.items() if value is not None)])


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    text = str(value)
    return text if text and text.isascii() and text.isprintable() and not set(text) & set(' "=') else json.dumps(text)
