"""The policies of projects that are asked for answers where they help; a project without one is left as it is."""

from __future__ import annotations

import secrets

from sqlalchemy import Boolean, Column, Connection, Float, Integer, String, Table, delete, select

from ..policy import Policy
from .sql import Id, data_tables, upsert

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
    connection.execute(delete(policy_table).where(policy_table.c.project == project))
