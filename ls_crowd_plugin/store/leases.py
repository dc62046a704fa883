"""Leases: whoever holds a project's lease, a worker or a command, is the only one to work on it.

Every lease has a fencing token that is larger than those before it. The data database keeps the largest token that has
written to a project, so that a holder that was too slow, and lost the lease without noticing, can write nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Column, ColumnElement, Connection, Float, String, Table, case, cast, select, update

from ..errors import LeaseLost
from .sql import Id, data_tables, dialect_insert, now, work_tables

LEASE_SECONDS = 60.0

lease_table = Table(
    "crowd_lease",
    work_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("owner", String(200), nullable=False),  # empty: released
    Column("token", Id, nullable=False),
    Column("expires_at", Float(53), nullable=False),  # seconds since 1970 by the database's clock
)

fence_table = Table(
    "crowd_fence",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("token", Id, nullable=False),
)


@dataclass(frozen=True)
class Lease:
    project: int
    owner: str
    token: int


def acquire(connection: Connection, project: int, owner: str, seconds: float = LEASE_SECONDS) -> Lease | None:
    """Take the lease of a project; None while another has it."""
    statement = dialect_insert(connection, lease_table).values(project=project, **new_lease(connection, owner, seconds))
    row = connection.execute(
        statement.on_conflict_do_update(
            index_elements=[lease_table.c.project],
            set_=taken_over(connection, owner, seconds),
            where=lease_table.c.expires_at <= now(connection),
        ).returning(lease_table.c.token)
    ).first()
    return None if row is None else Lease(project, owner, int(row.token))


def new_lease(connection: Connection, owner: str, seconds: float) -> dict[str, str | ColumnElement[float]]:
    """Values of a project's first lease. Its token is the time in microseconds, larger than any before even if this
    database was lost and made anew."""
    return {"owner": owner, "token": cast(1e6 * now(connection), Id), "expires_at": now(connection) + seconds}


def taken_over(connection: Connection, owner: str, seconds: float) -> dict[str, str | ColumnElement[float]]:
    """Values of a project's next lease, whose token is larger even if the clock was set back."""
    values = new_lease(connection, owner, seconds)
    by_clock, by_count = values["token"], lease_table.c.token + 1
    return {**values, "token": case((by_clock > by_count, by_clock), else_=by_count)}


def renew(connection: Connection, lease: Lease, seconds: float = LEASE_SECONDS) -> bool:
    """Extend a lease; False if it was lost."""
    extended = update(lease_table).where(_held(lease)).values(expires_at=now(connection) + seconds)
    return connection.execute(extended).rowcount == 1


def release(connection: Connection, lease: Lease) -> bool:
    """Give a lease back; False if it was lost."""
    return connection.execute(update(lease_table).where(_held(lease)).values(**RELEASED)).rowcount == 1


def release_all(connection: Connection, owner: str) -> None:
    """Give back all leases of an owner that stops."""
    connection.execute(update(lease_table).where(lease_table.c.owner == owner).values(**RELEASED))


def list_owners(connection: Connection) -> set[str]:
    """Everybody who holds a lease, or died with one."""
    return set(connection.execute(select(lease_table.c.owner).where(lease_table.c.owner != "")).scalars())


def check_fence(connection: Connection, lease: Lease) -> None:
    """Raise LeaseLost if a later lease has written to the project; the first statement of every transaction of a pass
    that writes to the data database."""
    statement = dialect_insert(connection, fence_table).values(project=lease.project, token=lease.token)
    statement = statement.on_conflict_do_update(
        index_elements=[fence_table.c.project],
        set_={"token": lease.token},
        where=fence_table.c.token <= lease.token,
    )
    if connection.execute(statement.returning(fence_table.c.token)).first() is None:
        raise LeaseLost(f"Another process has taken over project {lease.project}, so this one stops.")


def _held(lease: Lease) -> ColumnElement[bool]:
    held = (lease_table.c.project == lease.project) & (lease_table.c.token == lease.token)
    return held & (lease_table.c.owner == lease.owner)


RELEASED: dict[str, str | float] = {"owner": "", "expires_at": 0.0}
