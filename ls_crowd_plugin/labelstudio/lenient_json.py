"""Parses Label Studio's answers, also where one annotation among them holds what Python's parser refuses as a whole:
an integer of thousands of digits, or lists inside lists without end. Only that number or list is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

MAX_DEPTH = 100  # lists and objects inside one another; what is deeper is read as null
_PARTS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)

Parsed = Any  # JSON of a shape that only Label Studio knows


def parse(content: bytes) -> Parsed:
    """Return the JSON in an answer; raise ValueError if it is cut off or no JSON at all."""
    with suppress(RecursionError, ValueError):
        return json.loads(content)
    text = content.decode("utf-8", "surrogatepass")  # UnicodeDecodeError is a ValueError
    with suppress(RecursionError):
        return json.loads(text, parse_int=_whole_number)
    return json.loads("".join(_shallow_parts(text)), parse_int=_whole_number)


def _whole_number(digits: str) -> float:
    """Return an integer, or where it has so many digits that Python refuses to read it, infinity."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _shallow_parts(text: str) -> Iterator[str]:
    """Yield a JSON text in pieces, with null for every list and object that is too deep inside others."""
    depth = start = 0
    for found in _PARTS.finditer(text):
        part = found.group()
        if part in "[{":
            if depth == MAX_DEPTH:
                yield text[start : found.start()] + "null"
            depth += 1
        elif part in "]}":
            depth -= 1
            if depth == MAX_DEPTH:
                start = found.end()
    yield text[start:] if depth <= MAX_DEPTH else ""
