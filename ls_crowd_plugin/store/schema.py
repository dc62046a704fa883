"""Brings the tables of a database up to date: an empty one gets all, an older one what has changed since.

What can be read again from Label Studio is dropped and pulled anew; gold, the trail and settings of before are kept.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Column, Connection, Engine, Integer, Table, inspect, select, text

from ..errors import CrowdError
from .tables import metadata

VERSION = 2
_MIRROR = ("annotation", "task", "written", "project")

schema = Table("schema", metadata, Column("version", Integer, primary_key=True, autoincrement=False))


def bring_up_to_date(engine: Engine) -> None:
    """Raises CrowdError for a database that a newer release has written."""
    with engine.begin() as connection:
        lock_schema(connection)
        there = set(inspect(connection).get_table_names())
        version = _version(connection, there)
        if version > VERSION:
            raise CrowdError(
                f"The database has schema {version}, this release knows up to {VERSION}; install a newer one."
            )
        for step in range(version or VERSION, VERSION):
            STEPS[step](connection)
        metadata.create_all(connection)
        if version < VERSION:
            connection.execute(schema.delete())
            connection.execute(schema.insert().values(version=VERSION))


def lock_schema(connection: Connection) -> None:
    """Several processes may start at once, and must not make the same tables; until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(7140811)"))
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _version(connection: Connection, there: set[str]) -> int:
    """0 for an empty database; the first schema did not say its number."""
    if "schema" in there:
        found = connection.execute(select(schema.c.version)).scalar()
        if found is not None:
            return int(found)
    return 1 if "trail" in there else 0


def _from_1(connection: Connection) -> None:
    """Known labels from task.data, revisions, `task.meta`; events in the trail say when they were noticed."""
    for name in _MIRROR:
        connection.execute(text(f"DROP TABLE IF EXISTS {name}"))
    connection.execute(text("ALTER TABLE trail ADD COLUMN noticed VARCHAR(40) NOT NULL DEFAULT ''"))


STEPS: dict[int, Callable[[Connection], None]] = {1: _from_1}
