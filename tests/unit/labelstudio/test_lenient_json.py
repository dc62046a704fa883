"""An answer of Label Studio is read although one annotation in it holds what Python's parser refuses."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.labelstudio.lenient_json import MAX_DEPTH, parse


def page(value: str) -> bytes:
    """Two tasks, of which the first has something odd."""
    return f'{{"tasks": [{{"id": 1, "odd": {value}, "text": "[{{\\""}}, {{"id": 2}}]}}'.encode()


def tasks(value: str) -> list[dict[str, Any]]:
    return list(parse(page(value))["tasks"])


@pytest.mark.parametrize(("digits", "number"), [("9" * 10_000, math.inf), ("-" + "1" * 5000, -math.inf)])
def test_an_integer_with_thousands_of_digits_is_infinite(digits: str, number: float) -> None:
    first, second = tasks(digits)
    assert (first["odd"], first["id"], second) == (number, 1, {"id": 2})


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}"), ('[{"]": [', "]}]")])
def test_what_is_nested_too_deeply_is_null(opening: str, closing: str) -> None:
    first, second = tasks(opening * 20_000 + "1" + closing * 20_000)
    assert (first["text"], second) == ('[{"', {"id": 2})
    levels, inner = 0, first["odd"]
    while inner is not None:
        inner = inner[0] if isinstance(inner, list) else next(iter(inner.values()))
        levels += 1
    assert levels == MAX_DEPTH - 3  # the page, its list and the task are around it


def test_numbers_and_depth_may_both_be_absurd() -> None:
    first, second = tasks(f'[{"[" * 20_000}{"]" * 20_000}, {"9" * 10_000}, "\\\\"]')
    assert (first["odd"][1:], second) == ([math.inf, "\\"], {"id": 2})


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b'{"a": ', b"[" * 20_000, b"[" * 20_000 + b"}" * 20_000, b"\xff\xfe\xfa", b'"\xff"']
)
def test_what_is_no_json_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  the message does not matter
        parse(content)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(value=_json, ascii_only=st.booleans())
def test_other_answers_are_read_as_they_are(value: object, ascii_only: bool) -> None:
    """Also beside something odd."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    if "\ud800" <= max(text, default="") <= "\udfff":
        text = json.dumps(value)
    assert parse(text.encode("utf-8", "surrogatepass")) == value
    deep = "[" * 20_000 + "]" * 20_000
    assert parse(f"[{text},{'9' * 5000},{deep}]".encode("utf-8", "surrogatepass"))[0] == value
