"""Settings of Label Studio projects as they were before we changed them, to be restored by `disconnect`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from sqlalchemy import Column, Connection, String, Table, Text, delete, select

from .sql import Id, data_tables, insert_missing

OF_POLICY = "queue: "  # before the name of a setting: as it was before the policy that acts changed it

setting_table = Table(
    "crowd_setting_before",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("name", String(100), primary_key=True),
    Column("value", Text, nullable=False),  # JSON
)


def remember_settings(connection: Connection, project: int, values: Mapping[str, object]) -> None:
    """Keep settings as they are now, unless they are kept already from before an earlier change."""
    for name, value in values.items():
        row = {"project": project, "name": name, "value": json.dumps(value)}
        insert_missing(connection, setting_table, row)


def read_settings_before(connection: Connection, project: int) -> dict[str, object]:
    """The settings as they were before our first change."""
    columns = (setting_table.c.name, setting_table.c.value)
    rows = connection.execute(select(*columns).where(setting_table.c.project == project))
    return {str(row.name): json.loads(row.value) for row in rows}


def forget_settings(connection: Connection, project: int, names: Collection[str] | None = None) -> None:
    """Forget the settings of a project, or some of them."""
    query = delete(setting_table).where(setting_table.c.project == project)
    connection.execute(query if names is None else query.where(setting_table.c.name.in_(sorted(names))))
