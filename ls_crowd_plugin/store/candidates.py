"""Candidates: projects that an event named but that are not in the queue, until Label Studio was asked about them.

Anybody who knows the webhook's secret can name any number, so a name alone earns no place in the queue. The table is
bounded, and when it is full the largest numbers give way: Label Studio counts projects from 1, so that invented numbers
cannot push out a real one, unless it has had more than `MAX_CANDIDATES` projects.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from functools import cache

from sqlalchemy import Column, Connection, Float, Insert, Table, bindparam, delete, func, select

from .sql import Id, clock, insert_into, now, work_tables

MAX_CANDIDATES = 10_000
TRIM_EVERY = 100  # additions, on average: until then the table may be so much larger

candidate_table = Table(
    "crowd_candidate",
    work_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("named_at", Float(53), nullable=False),  # by the last event, in seconds since 1970 by the database's clock
)


def add(connection: Connection, project: int) -> None:
    """Record that an event named a project."""
    connection.execute(_add(connection.dialect.name), {"named": project})
    if secrets.randbelow(TRIM_EVERY) == 0:
        _trim(connection)


def count(connection: Connection) -> int:
    return int(connection.execute(select(func.count()).select_from(candidate_table)).scalar_one())


def exist(connection: Connection) -> bool:
    return connection.execute(select(candidate_table.c.project).limit(1)).first() is not None


def read_clock(connection: Connection) -> float:
    """The time by the database's clock, to be read before Label Studio is asked which projects exist."""
    return float(connection.execute(select(now(connection))).scalar_one())


def settle(connection: Connection, existing: Collection[int], asked_at: float) -> list[int]:
    """Return the candidates that exist, and forget them and those named before `asked_at`.

    One that was named later may have been created after the answer was made, and waits for the next.
    """
    named = connection.execute(select(candidate_table.c.project)).scalars()
    found = sorted({int(project) for project in named} & set(existing))
    for project in found:
        connection.execute(delete(candidate_table).where(candidate_table.c.project == project))
    connection.execute(delete(candidate_table).where(candidate_table.c.named_at < asked_at))
    return found


@cache
def _add(dialect: str) -> Insert:
    """The statement of `add`. It is run for many events, and to make it takes longer than to run it."""
    at = {"named_at": clock(dialect)}
    values = {"project": bindparam("named", type_=Id), **at}
    statement = insert_into(candidate_table, dialect).values(values)
    return statement.on_conflict_do_update(index_elements=[candidate_table.c.project], set_=at)


def _trim(connection: Connection) -> None:
    """Keep the smallest numbers."""
    first_to_go = select(candidate_table.c.project).order_by(candidate_table.c.project).offset(MAX_CANDIDATES).limit(1)
    too_large = candidate_table.c.project >= first_to_go.scalar_subquery()
    connection.execute(delete(candidate_table).where(too_large))
