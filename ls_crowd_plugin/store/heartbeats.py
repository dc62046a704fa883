"""Heartbeats: which workers are alive, and what keeps them from working."""

from __future__ import annotations

from sqlalchemy import Column, Connection, Float, String, Table, Text, delete, select

from .sql import now, upsert, work_tables

ALIVE_SECONDS = 30.0  # a worker without a heartbeat for longer is considered dead

worker_table = Table(
    "crowd_worker",
    work_tables,
    Column("name", String(200), primary_key=True),
    Column("seen", Float(53), nullable=False),
    Column("trouble", Text),  # the problem that it reports
)


def beat(connection: Connection, worker: str, problem: str | None = None) -> None:
    """Record that a worker is alive, and what keeps it from working, if anything does."""
    upsert(connection, worker_table, {"name": worker}, {"seen": now(connection), "trouble": problem})
    connection.execute(delete(worker_table).where(worker_table.c.seen < now(connection) - 100 * ALIVE_SECONDS))


def deregister(connection: Connection, worker: str) -> None:
    connection.execute(delete(worker_table).where(worker_table.c.name == worker))


def alive_workers(connection: Connection) -> dict[str, str | None]:
    """Worker → the problem that it reports, if any."""
    alive = worker_table.c.seen > now(connection) - ALIVE_SECONDS
    rows = connection.execute(select(worker_table.c.name, worker_table.c.trouble).where(alive))
    return {str(row.name): row.trouble for row in rows}
