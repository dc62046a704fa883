"""Gold labels. They are kept here because Label Studio would show everybody, by a star, which tasks are probes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Column, Connection, String, Table, Text, delete, select

from .sql import Id, data_tables, upsert

gold_table = Table(
    "crowd_gold",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("task", Id, primary_key=True, autoincrement=False),
    Column("question", String(500), primary_key=True),
    Column("label", Text, nullable=False),
)

GoldKey = tuple[int, str]  # task, question


def add_gold(connection: Connection, project: int, gold: Mapping[GoldKey, str]) -> None:
    """Add gold labels, or change existing ones."""
    for (task, question), label in gold.items():
        key = {"project": project, "task": task, "question": question}
        upsert(connection, gold_table, key, {"label": label})


def list_gold(connection: Connection, project: int) -> dict[GoldKey, str]:
    """All gold labels of a project, by task and question."""
    query = select(gold_table).where(gold_table.c.project == project)
    rows = connection.execute(query.order_by(gold_table.c.task, gold_table.c.question))
    return {(int(row.task), str(row.question)): str(row.label) for row in rows}


def remove_gold(connection: Connection, project: int, keys: Iterable[GoldKey]) -> int:
    """Remove gold labels and return how many there were."""
    removed = 0
    for task, question in keys:
        row = (gold_table.c.project == project) & (gold_table.c.task == task) & (gold_table.c.question == question)
        removed += connection.execute(delete(gold_table).where(row)).rowcount
    return removed
