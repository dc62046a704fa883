"""Calls a function of the store in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine

P = ParamSpec("P")
R = TypeVar("R")


def run(engine: Engine, function: Callable[Concatenate[Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call `function(connection, *args, **kwargs)`, commit, and return its result."""
    with engine.begin() as connection:
        return function(connection, *args, **kwargs)
