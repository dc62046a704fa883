"""Which predictions, model versions, tabs and `task.meta` of ours Label Studio should hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Column, Connection, Float, String, Table, delete, insert, select

from .sql import Id, chunks, data_tables, insert_missing, upsert

# A row says what Label Studio holds. It is deleted before a prediction is written and inserted afterwards, so that
# after a crash fewer predictions are known than Label Studio counts, and all are compared.
prediction_table = Table(
    "crowd_prediction",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("id", Id),  # in Label Studio; null until somebody has asked for it
    Column("digest", String(64), nullable=False),  # of all that was written
    Column("labels", String(64), nullable=False),  # digest of the labels alone
    Column("score", Float(53), nullable=False),
    Column("basis", String(64), nullable=False),  # digest of the task's own answers
)

# The model versions under which we wrote: others are somebody else's, whatever their names.
version_table = Table(
    "crowd_version",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("version", String(100), primary_key=True),
)

# The tabs of the Data Manager that we made.
tab_table = Table(
    "crowd_tab",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("tab", Id, primary_key=True, autoincrement=False),
)

# The digest of the prediction that `task.meta["crowd"]` was copied from.
task_meta_table = Table(
    "crowd_task_meta",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
)


@dataclass(frozen=True)
class StoredPrediction:
    """A prediction of ours as Label Studio holds it."""

    task: int
    id: int | None
    digest: str
    labels: str
    score: float
    basis: str


_COLUMNS = [prediction_table.c[name] for name in StoredPrediction.__dataclass_fields__]


def read_predictions(connection: Connection, project: int) -> dict[int, StoredPrediction]:
    """Task → our prediction on it."""
    rows = connection.execute(select(*_COLUMNS).where(prediction_table.c.project == project))
    return {int(row.task): StoredPrediction(*row) for row in rows}


def save_predictions(connection: Connection, project: int, predictions: Iterable[StoredPrediction]) -> None:
    """Add predictions that were written, or that were found in Label Studio."""
    rows = [{**vars(prediction), "project": project} for prediction in predictions]
    forget_predictions(connection, project, [row["task"] for row in rows])
    if rows:
        connection.execute(insert(prediction_table), rows)


def forget_predictions(connection: Connection, project: int, task_ids: Sequence[int] | None = None) -> None:
    """Forget what Label Studio holds of ours on some tasks, or on all."""
    of_project = delete(prediction_table).where(prediction_table.c.project == project)
    if task_ids is None:
        connection.execute(of_project)
        return
    for chunk in chunks(task_ids):
        connection.execute(of_project.where(prediction_table.c.task.in_(chunk)))


def remember_version(connection: Connection, project: int, version: str) -> None:
    insert_missing(connection, version_table, {"project": project, "version": version})


def read_versions(connection: Connection, project: int) -> frozenset[str]:
    """The model versions under which we wrote into a project."""
    query = select(version_table.c.version).where(version_table.c.project == project)
    return frozenset(connection.execute(query).scalars())


def remember_tab(connection: Connection, project: int, tab: int) -> None:
    insert_missing(connection, tab_table, {"project": project, "tab": tab})


def read_tabs(connection: Connection, project: int) -> frozenset[int]:
    """The tabs that we made in a project."""
    return frozenset(connection.execute(select(tab_table.c.tab).where(tab_table.c.project == project)).scalars())


def forget_tab(connection: Connection, project: int, tab: int) -> None:
    connection.execute(delete(tab_table).where(tab_table.c.project == project, tab_table.c.tab == tab))


def read_task_meta(connection: Connection, project: int) -> dict[int, str]:
    """Task → digest of the prediction that its `meta` was copied from."""
    columns = task_meta_table.c
    rows = connection.execute(select(columns.task, columns.digest).where(columns.project == project))
    return {int(row.task): str(row.digest) for row in rows}


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
