"""Users of Label Studio under the names people know them by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Column, Connection, Table, Text, select

from .sql import Id, chunks, data_tables, upsert

user_table = Table(
    "crowd_user",
    data_tables,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
)


def save_users(connection: Connection, names: Mapping[int, str]) -> None:
    saved = read_names(connection, list(names))
    for user, name in names.items():
        if saved.get(user) != name:
            upsert(connection, user_table, {"id": user}, {"name": name})


def read_names(connection: Connection, user_ids: Sequence[int]) -> dict[int, str]:
    """The names of those users that are known."""
    names: dict[int, str] = {}
    for chunk in chunks(user_ids):
        query = select(user_table.c.id, user_table.c.name).where(user_table.c.id.in_(chunk))
        names |= {int(row.id): str(row.name) for row in connection.execute(query)}
    return names
