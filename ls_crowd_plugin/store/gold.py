"""Gold labels. They are kept here because Label Studio would show everybody, by a star, which tasks are probes.

They belong to a project and a task with their creation times: Label Studio may give an id to a later project or task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Column, Connection, String, Table, Text, delete, func, select, update

from .mirror import get_project, task_table
from .sql import Id, data_tables, upsert

gold_table = Table(
    "crowd_gold",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("project_created_at", String(40), primary_key=True),  # empty: of the next project with this id
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("question", String(500), primary_key=True),
    Column("label", Text, nullable=False),
    # Of the task; empty: the one that the next pull finds
    Column("task_created_at", String(40), nullable=False, server_default=""),
)

GoldKey = tuple[int, str]  # task, question


def add_gold(
    connection: Connection, project: int, gold: Mapping[GoldKey, str], project_created_at: str | None = None
) -> None:
    """Add gold labels, or change existing ones, of the project that is mirrored or was created at a time."""
    created_at = project_created_at or _created_at(connection, project)
    for (task, question), label in gold.items():
        key = {"project": project, "project_created_at": created_at, "task": task, "question": question}
        upsert(connection, gold_table, key, {"label": label, "task_created_at": ""})


def list_gold(connection: Connection, project: int) -> dict[GoldKey, str]:
    """All gold labels of a project, by task and question; without those of an earlier task with the same id."""
    columns = gold_table.c
    ours = (columns.project == project) & (columns.project_created_at == _created_at(connection, project))
    same_task = (task_table.c.project == columns.project) & (task_table.c.id == columns.task)
    is_current = (columns.task_created_at == func.coalesce(task_table.c.created_at, columns.task_created_at)) | (
        columns.task_created_at == ""
    )
    query = select(gold_table).outerjoin(task_table, same_task).where(ours, is_current)
    rows = connection.execute(query.order_by(columns.task, columns.question))
    return {(int(row.task), str(row.question)): str(row.label) for row in rows}


def remove_gold(connection: Connection, project: int, keys: Iterable[GoldKey]) -> int:
    """Remove gold labels and return how many there were."""
    removed, created_at = 0, _created_at(connection, project)
    for task, question in keys:
        row = (gold_table.c.project == project) & (gold_table.c.project_created_at == created_at)
        row &= (gold_table.c.task == task) & (gold_table.c.question == question)
        removed += connection.execute(delete(gold_table).where(row)).rowcount
    return removed


def adopt_gold(connection: Connection, project: int, created_at: str) -> None:
    """Let gold that was added before the project was known belong to the project created at a time."""
    unclaimed = (gold_table.c.project == project) & (gold_table.c.project_created_at == "")
    connection.execute(update(gold_table).where(unclaimed).values(project_created_at=created_at))


def adopt_tasks(connection: Connection, project: int) -> None:
    """After a pull: let gold that was added since the last one belong to the tasks that are there now."""
    columns = gold_table.c
    same_task = (task_table.c.project == columns.project) & (task_table.c.id == columns.task)
    created_at = select(task_table.c.created_at).where(same_task).scalar_subquery()
    unclaimed = (columns.project == project) & (columns.task_created_at == "")
    values = {"task_created_at": func.coalesce(created_at, "")}
    connection.execute(update(gold_table).where(unclaimed).values(values))


def _created_at(connection: Connection, project: int) -> str:
    """When the project was created that gold of this id is about: the one that is mirrored, else the newest."""
    mirrored = get_project(connection, project)
    if mirrored is not None:
        return mirrored.created_at
    query = select(func.max(gold_table.c.project_created_at)).where(gold_table.c.project == project)
    return str(connection.execute(query).scalar() or "")
