"""Duties: what one of several workers does at regular intervals, such as polling."""

from __future__ import annotations

from sqlalchemy import Column, Connection, Float, String, Table, update

from .sql import dialect_insert, now, work_tables

duty_table = Table(
    "crowd_duty",
    work_tables,
    Column("name", String(100), primary_key=True),
    Column("due", Float(53), nullable=False),
)


def claim_duty(connection: Connection, name: str, interval: float) -> bool:
    """Whether a duty is due and the caller is the one to do it; it is due again after `interval` seconds."""
    due = now(connection) + interval
    first = dialect_insert(connection, duty_table).values(name=name, due=due).on_conflict_do_nothing()
    if connection.execute(first.returning(duty_table.c.name)).first() is not None:
        return True
    is_due = (duty_table.c.name == name) & (duty_table.c.due <= now(connection))
    return connection.execute(update(duty_table).where(is_due).values(due=due)).rowcount == 1


def postpone_duty(connection: Connection, name: str, seconds: float) -> None:
    """Make a duty due after so many seconds from now."""
    postponed = update(duty_table).where(duty_table.c.name == name).values(due=now(connection) + seconds)
    connection.execute(postponed)
