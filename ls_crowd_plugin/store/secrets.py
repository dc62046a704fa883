"""Secrets that this project makes for itself where none are given, and remembers."""

from __future__ import annotations

import secrets

from sqlalchemy import Engine, select

from . import tables
from .mirror import insert_missing


def kept_secret(engine: Engine, name: str, made: str | None = None) -> tuple[str, bool]:
    """A secret by its name, at the first asking `made` or drawn; whether it is new."""
    table = tables.secret
    made = made or secrets.token_urlsafe(18)
    with engine.begin() as connection:
        insert_missing(connection, table, {"name": name, "value": made})
        value = str(connection.execute(select(table.c.value).where(table.c.name == name)).scalar_one())
    return value, value == made


def known_secret(engine: Engine, name: str) -> str | None:
    """A secret by its name, if there is one."""
    with engine.connect() as connection:
        return connection.execute(select(tables.secret.c.value).where(tables.secret.c.name == name)).scalar()
