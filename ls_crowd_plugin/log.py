"""Log lines that people can read and programs can parse: time, level, event, then name=value pairs."""

from __future__ import annotations

import json
import logging
import sys

LOG = logging.getLogger("ls_crowd")


def log_to_stderr() -> None:
    """Send the log lines of this process to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s.%(msecs)03d %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    LOG.handlers[:] = [handler]
    LOG.setLevel(logging.INFO)
    LOG.propagate = False


def line(event: str, **facts: object) -> str:
    """One line, whatever the facts contain."""
    return " ".join([event, *(f"{name}={_value(value)}" for name, value in facts.items() if value is not None)])


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    text = str(value)
    return text if text and text.isascii() and text.isprintable() and not set(text) & set(' "=') else json.dumps(text)
