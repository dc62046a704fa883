"""What passes leave behind: what stands in Label Studio, what the last one found, settings as they were before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select

from . import tables
from .mirror import upsert


@dataclass(frozen=True)
class LastPass:
    fingerprint: str
    version: str
    summary: dict[str, Any]
    compared: float  # when what stands in Label Studio was last compared one by one, in seconds since 1970


def last_pass(connection: Connection, project: int) -> LastPass | None:
    """The last pass that ended well, if nothing has been begun since."""
    row = connection.execute(select(tables.run).where(tables.run.c.project == project)).first()
    return (
        None
        if row is None
        else LastPass(str(row.fingerprint), str(row.version), json.loads(row.summary), float(row.compared))
    )


def remember_pass(
    connection: Connection,
    project: int,
    fingerprint: str,
    version: str,
    summary: Mapping[str, Any],
    compared: float,
) -> None:
    row = {"fingerprint": fingerprint, "version": version, "summary": json.dumps(summary), "compared": compared}
    upsert(connection, tables.run, {"project": project, **row}, row)


def forget(connection: Connection, project: int) -> None:
    """Before anything is changed in Label Studio: from now on nobody knows what stands there."""
    for table in (tables.run, tables.written):
        connection.execute(delete(table).where(table.c.project == project))


def written(connection: Connection, project: int) -> dict[int, str]:
    """Task → digest of our prediction on it."""
    return _digests(connection, tables.written, project)


def remember_written(connection: Connection, project: int, digests: Mapping[int, str]) -> None:
    connection.execute(delete(tables.written).where(tables.written.c.project == project))
    rows = [{"project": project, "task": task, "digest": digest} for task, digest in digests.items()]
    if rows:
        connection.execute(insert(tables.written), rows)


def task_meta(connection: Connection, project: int) -> dict[int, str]:
    """Task → digest of the prediction that its `meta` was copied from."""
    return _digests(connection, tables.task_meta, project)


def remember_task_meta(connection: Connection, project: int, task: int, digest: str | None) -> None:
    """Notes from which prediction a task's `meta` was copied; None: from none any more."""
    table = tables.task_meta
    if digest is None:
        connection.execute(delete(table).where(table.c.project == project, table.c.task == task))
    else:
        upsert(connection, table, {"project": project, "task": task, "digest": digest}, {"digest": digest})


def remember_settings(
    connection: Connection, project: int, facts: Mapping[str, Any], changing: Mapping[str, Any]
) -> None:
    """A project's settings as they were before they were first changed, to be restored when it is disconnected."""
    before = tables.setting_before
    known = set(connection.execute(select(before.c.name).where(before.c.project == project)).scalars())
    for name in changing.keys() - known:
        connection.execute(insert(before).values(project=project, name=name, value=json.dumps(facts.get(name))))


def settings_before(connection: Connection, project: int) -> dict[str, str]:
    """A project's settings as they were before they were first changed: name → JSON."""
    before = tables.setting_before
    rows = connection.execute(select(before.c.name, before.c.value).where(before.c.project == project))
    return {str(row.name): str(row.value) for row in rows}


def forget_settings(connection: Connection, project: int) -> None:
    connection.execute(delete(tables.setting_before).where(tables.setting_before.c.project == project))


def _digests(connection: Connection, table: Table, project: int) -> dict[int, str]:
    rows = connection.execute(select(table.c.task, table.c.digest).where(table.c.project == project))
    return {int(row.task): str(row.digest) for row in rows}
