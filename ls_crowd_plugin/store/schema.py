"""Brings the tables of a database up to date: an empty one gets all, an older one what has changed since.

What can be read again from Label Studio is dropped and pulled anew; gold, the trail and settings of before are kept.
"""

from __future__ import annotations

from sqlalchemy import Column, Connection, Engine, Integer, Table, inspect, select, text

from ..errors import CrowdError
from .tables import metadata

VERSION = 3
FIRST_TABLES = ("annotation", "task", "written", "project", "trail", "gold", "setting_before")

schema = Table("crowd_schema", metadata, Column("version", Integer, primary_key=True, autoincrement=False))


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
        metadata.create_all(connection)
        if version == 1:
            _from_1(connection)
        if version == 2:
            _from_2(connection)
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
    """0 for an empty database. The first schema did not say its number, and its names were also Label Studio's."""
    if schema.name in there:
        found = connection.execute(select(schema.c.version)).scalar()
        if found is not None:
            return int(found)
    return 1 if there.issuperset(FIRST_TABLES) and "django_migrations" not in there else 0


def _from_1(connection: Connection) -> None:
    """Names of its own; events in the trail say when they were noticed, those of before say nothing."""
    kept = "project, task, annotation, event, at, annotator, changed_by, result"
    for statement in (
        f"INSERT INTO crowd_trail ({kept}, noticed) SELECT {kept}, '' FROM trail ORDER BY id",  # noqa: S608
        "INSERT INTO crowd_gold (project, task, question, label) SELECT project, task, question, label FROM gold",
        "INSERT INTO crowd_setting_before (project, name, value) SELECT project, name, value FROM setting_before",
        *(f"DROP TABLE {name}" for name in FIRST_TABLES),
    ):
        connection.execute(text(statement))


def _from_2(connection: Connection) -> None:
    """Tasks say what annotators see, so all are read again; and the next pass computes, to say what it found."""
    for statement in (
        "ALTER TABLE crowd_task ADD COLUMN data TEXT",
        "UPDATE crowd_project SET seen_until = NULL",
        "DELETE FROM crowd_run",
    ):
        connection.execute(text(statement))
