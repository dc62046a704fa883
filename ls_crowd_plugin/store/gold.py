"""Gold labels kept here and not in Label Studio, where its star would show everybody which tasks are probes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, select

from . import tables
from .mirror import upsert

Key = tuple[int, str]  # task, question


def add_gold(connection: Connection, project: int, gold: Mapping[Key, str]) -> None:
    """Adds gold labels, or changes those there are."""
    for (task, question), label in gold.items():
        row = {"project": project, "task": task, "question": question, "label": label}
        upsert(connection, tables.gold, row, {"label": label})


def list_gold(connection: Connection, project: int) -> dict[Key, str]:
    """All gold labels of a project, by task and question."""
    query = select(tables.gold).where(tables.gold.c.project == project)
    query = query.order_by(tables.gold.c.task, tables.gold.c.question)
    return {(int(row.task), str(row.question)): str(row.label) for row in connection.execute(query)}


def remove_gold(connection: Connection, project: int, keys: Iterable[Key]) -> int:
    """Removes gold labels; how many there were."""
    removed = 0
    for task, question in keys:
        one = (tables.gold.c.project == project) & (tables.gold.c.task == task) & (tables.gold.c.question == question)
        removed += connection.execute(delete(tables.gold).where(one)).rowcount
    return removed
