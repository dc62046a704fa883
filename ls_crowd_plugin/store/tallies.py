"""Tallies: sums over all passes of all workers, for the metrics."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Column, Connection, Float, String, Table, select

from .sql import dialect_insert, work_tables

tally_table = Table(
    "crowd_tally",
    work_tables,
    Column("name", String(100), primary_key=True),
    Column("label", String(100), primary_key=True),
    Column("value", Float(53), nullable=False),
)

Tallies = Mapping[tuple[str, str], float]  # (name, label) → sum


def add(connection: Connection, amounts: Tallies) -> None:
    for (name, label), amount in sorted(amounts.items()):
        statement = dialect_insert(connection, tally_table).values(name=name, label=label, value=amount)
        key = [tally_table.c.name, tally_table.c.label]
        changes = {"value": tally_table.c.value + amount}
        connection.execute(statement.on_conflict_do_update(index_elements=key, set_=changes))


def read(connection: Connection) -> Tallies:
    return {(row.name, row.label): float(row.value) for row in connection.execute(select(tally_table))}
