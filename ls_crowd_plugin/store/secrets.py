"""Secrets that the service generates where none are configured."""

from __future__ import annotations

import secrets

from sqlalchemy import Column, Connection, String, Table, Text, select

from .sql import data_tables, insert_missing, upsert

secret_table = Table(
    "crowd_secret",
    data_tables,
    Column("name", String(100), primary_key=True),
    Column("value", Text, nullable=False),
)


def get_or_create_secret(connection: Connection, name: str, value: str | None = None) -> tuple[str, bool]:
    """Return a secret and whether it is new; a new one is `value`, or random."""
    value = value or secrets.token_urlsafe(18)
    insert_missing(connection, secret_table, {"name": name, "value": value})
    stored = get_secret(connection, name)
    return str(stored), stored == value


def replace_secret(connection: Connection, name: str, value: str) -> None:
    upsert(connection, secret_table, {"name": name}, {"value": value})


def get_secret(connection: Connection, name: str) -> str | None:
    return connection.execute(select(secret_table.c.value).where(secret_table.c.name == name)).scalar()
