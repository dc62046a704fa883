"""Creates the tables, and upgrades those of an older release step by step.

A change of any table needs a step at the end of its list here; a test compares a hash of the DDL with the version.
What can be pulled again from Label Studio may be dropped by a step; gold, the trail and remembered settings may not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Column, Connection, Engine, Integer, MetaData, Table, inspect, select, text

from ..errors import CrowdError
from . import (
    candidates,
    duties,
    gold,
    heartbeats,
    leases,
    mirror,
    passes,
    policies,
    predictions,
    project_settings,
    queue,
    results,
    sessions,
    tallies,
    trail,
    users,
)
from . import secrets as secrets_
from .sql import data_tables, work_tables

# Importing a module adds its tables to `data_tables` or `work_tables`.
OWNERS = (
    *(candidates, duties, gold, heartbeats, leases, mirror, passes, policies, predictions, project_settings),
    *(queue, results, secrets_, sessions, tallies, trail, users),
)

Step = Callable[[Connection], None]


@dataclass(frozen=True)
class Schema:
    """One set of tables. `steps[n]` leads from version n + 1 to version n + 2."""

    tables: MetaData
    version_table: Table
    steps: tuple[Step, ...]
    first_tables: frozenset[str]  # of version 1, which did not record its number
    has_own_names: bool  # whether these are names that Label Studio, in the same database, does not use

    @property
    def version(self) -> int:
        return len(self.steps) + 1


def upgrade(engine: Engine, schema: Schema) -> None:
    """Create or upgrade the tables; raise CrowdError for a database that a newer release has written.

    Steps only touch tables that exist; whatever is missing after the last one is created as it is now.
    """
    with engine.begin() as connection:
        _lock(connection)
        version = _stored_version(connection, schema)
        if version > schema.version:
            raise CrowdError(
                f"The database has schema {version}, but this release only knows schemas up to {schema.version};"
                " install a newer release."
            )
        if version == schema.version:
            return
        for step in schema.steps[version - 1 :] if version else ():
            step(connection)
        schema.tables.create_all(connection)
        connection.execute(schema.version_table.delete())
        connection.execute(schema.version_table.insert().values(version=schema.version))


def _lock(connection: Connection) -> None:
    """Several processes may start at once and must not create the same tables; held until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(7140811)"))
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _stored_version(connection: Connection, schema: Schema) -> int:
    """The version of the tables in a database; 0 for an empty one."""
    existing = set(inspect(connection).get_table_names())
    if schema.version_table.name in existing:
        version = connection.execute(select(schema.version_table.c.version)).scalar()
        if version is not None:
            return int(version)
    is_ours = schema.has_own_names or "django_migrations" not in existing
    return 1 if existing.issuperset(schema.first_tables) and is_ours else 0


def _execute(connection: Connection, *statements: str) -> None:
    """Run statements, each given as "table: statement", where the table exists."""
    for statement in statements:
        table, _, sql = statement.partition(": ")
        if inspect(connection).has_table(table):
            connection.execute(text(sql))


def _has_column(connection: Connection, table: str, column: str) -> bool:
    tables = inspect(connection)
    return tables.has_table(table) and any(one["name"] == column for one in tables.get_columns(table))


def _own_names(connection: Connection) -> None:
    """Tables get names of our own; the trail says when an event was noticed."""
    _execute(
        connection,
        "trail: ALTER TABLE trail RENAME TO crowd_trail",
        "gold: ALTER TABLE gold RENAME TO crowd_gold",
        "setting_before: ALTER TABLE setting_before RENAME TO crowd_setting_before",
        *(f"{name}: DROP TABLE {name}" for name in ("annotation", "task", "written", "project")),
    )
    if not _has_column(connection, "crowd_trail", "noticed"):  # some databases without a version have it
        _execute(connection, "crowd_trail: ALTER TABLE crowd_trail ADD COLUMN noticed VARCHAR(40) NOT NULL DEFAULT ''")
    if connection.dialect.name == "postgresql":  # its INTEGER is too small for some ids
        ids = {
            "crowd_trail": ("id", "project", "task", "annotation", "annotator", "changed_by"),
            "crowd_gold": ("project", "task"),
            "crowd_setting_before": ("project",),
        }
        for table, columns in ids.items():
            changes = ", ".join(f"ALTER COLUMN {column} TYPE BIGINT" for column in columns)
            _execute(connection, f"{table}: ALTER TABLE {table} {changes}")


def _task_texts(connection: Connection) -> None:
    """Tasks keep what annotators see, so all of them are pulled again, and the next pass computes everything."""
    _execute(
        connection,
        "crowd_task: ALTER TABLE crowd_task ADD COLUMN data TEXT",
        "crowd_project: UPDATE crowd_project SET seen_until = NULL",
        "crowd_run: DELETE FROM crowd_run",
    )


def _plain_names(connection: Connection) -> None:
    """Plain names, and a fence instead of the project's reader."""
    if _has_column(connection, "crowd_project", "reader"):
        _execute(connection, "crowd_project: ALTER TABLE crowd_project DROP COLUMN reader")
    _execute(
        connection,
        "crowd_project: ALTER TABLE crowd_project RENAME COLUMN seen_until TO pulled_until",
        "crowd_project: ALTER TABLE crowd_project RENAME COLUMN read_with TO pull_rule",
        "crowd_task: ALTER TABLE crowd_task RENAME COLUMN overlap TO required_annotators",
        "crowd_task: ALTER TABLE crowd_task RENAME COLUMN known TO gold_field",
        "crowd_written: ALTER TABLE crowd_written RENAME TO crowd_prediction",
        "crowd_run: ALTER TABLE crowd_run RENAME TO crowd_last_pass",
        "crowd_last_pass: ALTER TABLE crowd_last_pass RENAME COLUMN compared TO verified_at",
        "crowd_finding: ALTER TABLE crowd_finding RENAME TO crowd_result",
        "crowd_result: ALTER TABLE crowd_result RENAME COLUMN charts TO figures",
        "crowd_label: ALTER TABLE crowd_label RENAME COLUMN said TO votes",
    )


def _project_identity(connection: Connection) -> None:
    """Rows belong to one project, which is an id and a creation time; the mirror and what we wrote are read again."""
    _execute(
        connection,
        "crowd_gold: ALTER TABLE crowd_gold RENAME TO crowd_gold_before",
        "crowd_annotation: DROP TABLE crowd_annotation",
        "crowd_task: DROP TABLE crowd_task",
        "crowd_prediction: DROP TABLE crowd_prediction",
        "crowd_project: ALTER TABLE crowd_project ADD COLUMN audited_at FLOAT NOT NULL DEFAULT 0",
        "crowd_project: ALTER TABLE crowd_project ADD COLUMN newest_change VARCHAR(40)",
        "crowd_project: ALTER TABLE crowd_project ADD COLUMN newest_seen_at FLOAT NOT NULL DEFAULT 0",
        "crowd_project: UPDATE crowd_project SET pulled_until = NULL",
    )
    for table in (mirror.project_table, gold.gold_table, predictions.version_table):
        table.create(connection, checkfirst=True)
    _execute(
        connection,
        "crowd_gold_before: INSERT INTO crowd_gold (project, project_created_at, task, question, label)"
        " SELECT old.project, COALESCE(crowd_project.created_at, ''), old.task, old.question, old.label"
        " FROM crowd_gold_before AS old LEFT JOIN crowd_project ON crowd_project.id = old.project",
        "crowd_gold_before: DROP TABLE crowd_gold_before",
        "crowd_last_pass: INSERT INTO crowd_version (project, version) SELECT project, version FROM crowd_last_pass",
        "crowd_last_pass: DROP TABLE crowd_last_pass",
    )


def _task_identity(connection: Connection) -> None:
    """Gold belongs to a task, which is an id and a creation time; the next pull fills the latter in."""
    if not _has_column(connection, "crowd_gold", "task_created_at"):  # an earlier step creates the table as it is now
        added = "ALTER TABLE crowd_gold ADD COLUMN task_created_at VARCHAR(40) DEFAULT '' NOT NULL"
        _execute(connection, f"crowd_gold: {added}")


def _label_state(connection: Connection) -> None:
    """Labels say whether the answers decide them; the next pass fills it in."""
    if not _has_column(connection, "crowd_label", "state"):
        added = "ALTER TABLE crowd_label ADD COLUMN state VARCHAR(20) DEFAULT 'open' NOT NULL"
        _execute(connection, f"crowd_label: {added}")


def _label_explanation(connection: Connection) -> None:
    """Labels say how their confidence came about; the next pass fills it in."""
    if not _has_column(connection, "crowd_label", "explanation"):
        _execute(connection, "crowd_label: ALTER TABLE crowd_label ADD COLUMN explanation TEXT")


def _import_time(connection: Connection) -> None:
    """Projects say since when an import of predictions may have spoilt the counters of tasks."""
    if not _has_column(connection, "crowd_project", "imported_since"):
        _execute(connection, "crowd_project: ALTER TABLE crowd_project ADD COLUMN imported_since VARCHAR(40)")


def _policies(connection: Connection) -> None:
    """The tables of policies, and of what they asked for, are new."""
    del connection


def _queue_and_leases(connection: Connection) -> None:
    """The work list becomes the queue; its lease and the holding of a project become one lease in its own table."""
    renamed = {"put off": "deferred", "set aside": "parked", "nothing to do": "unchanged", "gone": "project_gone"}
    _execute(
        connection,
        "crowd_holding: DROP TABLE crowd_holding",
        "crowd_work: ALTER TABLE crowd_work RENAME TO crowd_queue",
        "crowd_queue: ALTER TABLE crowd_queue RENAME COLUMN wanted TO requested",
        "crowd_queue: ALTER TABLE crowd_queue RENAME COLUMN done TO completed",
        "crowd_queue: ALTER TABLE crowd_queue RENAME COLUMN first_wanted TO requested_at",
        "crowd_queue: ALTER TABLE crowd_queue RENAME COLUMN last_done TO completed_at",
        "crowd_queue: ALTER TABLE crowd_queue DROP COLUMN lease_until",
        "crowd_queue: ALTER TABLE crowd_queue DROP COLUMN owner",
        *(
            f"crowd_tally: UPDATE crowd_tally SET label = '{new}' WHERE name = 'passes' AND label = '{old}'"  # noqa: S608
            for old, new in renamed.items()
        ),
    )


def _activity(connection: Connection) -> None:
    """The queue knows when people last worked on a project; tables of candidates and sessions are new."""
    _execute(connection, "crowd_queue: ALTER TABLE crowd_queue ADD COLUMN active_at FLOAT NOT NULL DEFAULT 0")


def _version_table(name: str, tables: MetaData) -> Table:
    return Table(name, tables, Column("version", Integer, primary_key=True, autoincrement=False))


DATA_SCHEMA = Schema(
    data_tables,
    _version_table("crowd_schema", data_tables),
    (
        _own_names,
        _task_texts,
        _plain_names,
        _project_identity,
        _task_identity,
        _label_state,
        _label_explanation,
        _import_time,
        _policies,
    ),
    frozenset({"annotation", "task", "written", "project", "trail", "gold", "setting_before"}),
    has_own_names=False,
)
WORK_SCHEMA = Schema(
    work_tables,
    _version_table("crowd_work_schema", work_tables),
    (_queue_and_leases, _activity),
    frozenset({"crowd_work"}),
    has_own_names=True,
)
