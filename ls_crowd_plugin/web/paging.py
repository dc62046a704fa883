"""Pages of long lists: which page was asked for, and what a template needs to lead to the others."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from flask import request

PAGE_SIZE = 50


@dataclass(frozen=True)
class Paging:
    page: int
    total: int
    address: Callable[[int], str]  # of a page

    @property
    def pages(self) -> int:
        return -(-self.total // PAGE_SIZE)


def page_number() -> int:
    asked = request.args.get("page", "1")
    return min(max(int(asked), 1), 1_000_000) if asked.isascii() and asked.isdecimal() and len(asked) < 10 else 1


def page_offset() -> int:
    return PAGE_SIZE * (page_number() - 1)


def one_of(name: str, choices: Collection[str], default: str) -> str:
    """A parameter of the address, if it is one of the choices."""
    asked = request.args.get(name, default)
    return asked if asked in choices else default
