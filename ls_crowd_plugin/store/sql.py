"""What all modules of the store share: the two sets of tables, portable statements, and the database's clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import BigInteger, ColumnElement, Connection, Float, Integer, MetaData, Table, literal_column
from sqlalchemy.dialects import postgresql, sqlite

# Table names begin with crowd_, so that they can share a Postgres database with Label Studio's own.
data_tables = MetaData()
work_tables = MetaData()  # with SQLite in a file of its own, so that recording an event never waits for the mirror

Id = BigInteger().with_variant(Integer, "sqlite")  # SQLite's Integer is as large, and only it counts up by itself

CHUNK = 500  # ids in one statement: below every database's limit on parameters
CLOCKS = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
    "postgresql": "CAST(extract(epoch from clock_timestamp()) AS double precision)",
}


def now(connection: Connection) -> ColumnElement[float]:
    """Seconds since 1970 by the database's clock, which all machines share."""
    return clock(connection.dialect.name)


def clock(dialect: str) -> ColumnElement[float]:
    """`now` for a statement that is made once and used with many connections."""
    return literal_column(CLOCKS[dialect], Float)


def dialect_insert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that knows ON CONFLICT, which has the same form in both databases."""
    return insert_into(table, connection.dialect.name)


def insert_into(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    """`dialect_insert` for a statement that is made once and used with many connections."""
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


def upsert(connection: Connection, table: Table, key: Mapping[str, object], values: Mapping[str, object]) -> None:
    """Insert a row, or change the one with this primary key."""
    statement = dialect_insert(connection, table).values({**key, **values})
    columns = list(table.primary_key.columns)
    connection.execute(statement.on_conflict_do_update(index_elements=columns, set_=dict(values)))


def insert_missing(connection: Connection, table: Table, row: Mapping[str, object]) -> None:
    """Insert a row unless one with its primary key exists."""
    connection.execute(dialect_insert(connection, table).values(dict(row)).on_conflict_do_nothing())


def chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Split ids into parts that fit into one statement."""
    return (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))
