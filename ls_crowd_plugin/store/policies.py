"""The policies of projects that are asked for answers where they help, and since when they have asked for which; a
project without a policy is left as it is."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence

from sqlalchemy import Boolean, Column, Connection, Float, Integer, String, Table, delete, select

from ..policy import Policy
from .sql import Id, chunks, data_tables, upsert

policy_table = Table(
    "crowd_policy",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("min_answers", Integer, nullable=False),
    Column("max_answers", Integer, nullable=False),
    Column("confidence", Float(53), nullable=False),
    Column("budget", Integer),
    Column("acts", Boolean, nullable=False),
    Column("salt", String(32), nullable=False),  # by which tasks are drawn that nobody should be able to guess
)

asked_table = Table(
    "crowd_asked",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("since", Float(53), nullable=False),  # seconds since 1970 by Label Studio's clock
)


def save_policy(connection: Connection, project: int, policy: Policy) -> None:
    values = {**vars(policy), "salt": get_salt(connection, project) or secrets.token_hex(16)}
    upsert(connection, policy_table, {"project": project}, values)


def get_policy(connection: Connection, project: int) -> Policy | None:
    columns = [policy_table.c[name] for name in Policy.__dataclass_fields__]
    row = connection.execute(select(*columns).where(policy_table.c.project == project)).first()
    return None if row is None else Policy(*row)


def get_salt(connection: Connection, project: int) -> str:
    query = select(policy_table.c.salt).where(policy_table.c.project == project)
    return str(connection.execute(query).scalar() or "")


def forget_policy(connection: Connection, project: int) -> None:
    for table in (policy_table, asked_table):
        connection.execute(delete(table).where(table.c.project == project))


def note_asked(connection: Connection, project: int, tasks: Collection[int], since: float) -> None:
    """Record since when tasks have been open for one more answer."""
    for task in tasks:
        upsert(connection, asked_table, {"project": project, "task": task}, {"since": since})


def forget_asked(connection: Connection, project: int, tasks: Sequence[int]) -> None:
    for chunk in chunks(tasks):
        rows = (asked_table.c.project == project) & asked_table.c.task.in_(chunk)
        connection.execute(delete(asked_table).where(rows))


def read_asked(connection: Connection, project: int) -> dict[int, float]:
    """Task → since when it has been open for one more answer."""
    query = select(asked_table.c.task, asked_table.c.since).where(asked_table.c.project == project)
    return {int(row.task): float(row.since) for row in connection.execute(query)}
