"""Which predictions and which `task.meta` of ours Label Studio should hold, task by task, as digests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Column, Connection, String, Table, delete, insert, select

from .sql import Id, chunks, data_tables, upsert

# The digest tells without asking Label Studio whether a prediction has to change.
prediction_table = Table(
    "crowd_prediction",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
)

# The digest of the prediction that `task.meta["crowd"]` was copied from.
task_meta_table = Table(
    "crowd_task_meta",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
)


def read_predictions(connection: Connection, project: int) -> dict[int, str]:
    """Task → digest of our prediction on it."""
    return _read(connection, prediction_table, project)


def save_predictions(connection: Connection, project: int, digests: Mapping[int, str]) -> None:
    """Replace what is known of a project's predictions."""
    connection.execute(delete(prediction_table).where(prediction_table.c.project == project))
    rows = [{"project": project, "task": task, "digest": digest} for task, digest in digests.items()]
    if rows:
        connection.execute(insert(prediction_table), rows)


def read_task_meta(connection: Connection, project: int) -> dict[int, str]:
    """Task → digest of the prediction that its `meta` was copied from."""
    return _read(connection, task_meta_table, project)


def save_task_meta(connection: Connection, project: int, task: int, digest: str | None) -> None:
    """Record which prediction a task's `meta` was copied from; None: it holds nothing of ours any more."""
    if digest is not None:
        upsert(connection, task_meta_table, {"project": project, "task": task}, {"digest": digest})
    else:
        row = (task_meta_table.c.project == project) & (task_meta_table.c.task == task)
        connection.execute(delete(task_meta_table).where(row))


def forget_tasks(connection: Connection, project: int, task_ids: Sequence[int]) -> None:
    """Forget tasks that are gone from Label Studio."""
    for table in (prediction_table, task_meta_table):
        for chunk in chunks(task_ids):
            connection.execute(delete(table).where(table.c.project == project, table.c.task.in_(chunk)))


def _read(connection: Connection, table: Table, project: int) -> dict[int, str]:
    rows = connection.execute(select(table.c.task, table.c.digest).where(table.c.project == project))
    return {int(row.task): str(row.digest) for row in rows}
