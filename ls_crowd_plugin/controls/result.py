"""Parses the JSON of an annotation's result, which may be anything that somebody posted."""

from __future__ import annotations

import json

from .bounds import MAX_RESULT_CHARACTERS
from .control import Item, Unreadable


def parse_result(text: str) -> list[Item]:
    """Return the entries of a result; raise Unreadable if it has no such form. An entry may still be anything."""
    if len(text) > MAX_RESULT_CHARACTERS:
        raise Unreadable(f"more than {MAX_RESULT_CHARACTERS:,} characters")
    try:
        result = json.loads(text)
    except RecursionError:
        raise Unreadable("a result that is nested too deeply") from None
    except ValueError:  # also an integer with thousands of digits
        raise Unreadable("a result that is no JSON, or has a number that is too long") from None
    if not isinstance(result, list):
        raise Unreadable("a result that is no list, or that Label Studio cannot show")
    return result
