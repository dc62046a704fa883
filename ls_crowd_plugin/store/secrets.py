"""Secrets that this project makes for itself where none are given, and remembers."""

from __future__ import annotations

import secrets

from sqlalchemy import Engine, select

from . import tables
from .mirror import insert_missing


def kept_secret(engine: Engine, name: str) -> tuple[str, bool]:
    """A secret by its name, made at the first asking; whether it is new."""
    table = tables.secret
    with engine.begin() as connection:
        made = secrets.token_urlsafe(18)
        insert_missing(connection, table, {"name": name, "value": made})
        value = str(connection.execute(select(table.c.value).where(table.c.name == name)).scalar_one())
    return value, value == made
