"""What the last fit said, kept for people to look at: of a project, its labels and its annotators."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, delete, func, insert, select

from . import tables
from .mirror import chunks, upsert

Row = dict[str, Any]

TASK_ORDERS = ("least sure", "surest", "hardest", "most answers")
TASK_FILTERS = ("all", "unsettled", "settled", "disputed", "differs from plurality", "gold")
MOST_AT_ONCE = 10_000  # rows written in one go
SETTLED = 0.95  # confidence from which a label is called settled
EXCERPT = 300  # letters of a task's text, for people to recognise it


@dataclass(frozen=True)
class Finding:
    """What is known of a project as a whole."""

    at: float  # seconds since 1970
    summary: Row
    charts: Row


def remember(
    connection: Connection,
    project: int,
    summary: Mapping[str, Any],
    charts: Mapping[str, Any],
    labels: Sequence[Row],
    annotators: Sequence[Row],
) -> None:
    """Puts what a fit said in the place of what the one before said."""
    row = {"at": time.time(), "summary": json.dumps(summary), "charts": json.dumps(charts, ensure_ascii=False)}
    upsert(connection, tables.finding, {"project": project, **row}, row)
    for table, rows in ((tables.label, labels), (tables.annotator, annotators)):
        connection.execute(delete(table).where(table.c.project == project))
        names = [column.name for column in table.columns if column.name not in ("project", "number")]
        for start in range(0, len(rows), MOST_AT_ONCE):
            kept = [
                {"project": project, "number": start + place, **{name: each[name] for name in names}}
                for place, each in enumerate(rows[start : start + MOST_AT_ONCE])
            ]
            connection.execute(insert(table), kept)


def forget(connection: Connection, project: int) -> None:
    for table in (tables.finding, tables.label, tables.annotator):
        connection.execute(delete(table).where(table.c.project == project))


def finding(connection: Connection, project: int) -> Finding | None:
    row = connection.execute(select(tables.finding).where(tables.finding.c.project == project)).first()
    return None if row is None else Finding(float(row.at), json.loads(row.summary), json.loads(row.charts))


def summary(connection: Connection, project: int) -> Row:
    """What a pass found; empty if there was none."""
    query = select(tables.finding.c.summary).where(tables.finding.c.project == project)
    found = connection.execute(query).scalar()
    return {} if found is None else dict(json.loads(found))


def annotators(
    connection: Connection,
    project: int,
    *,
    order: str = "name",
    down: bool = False,
    verdict: str = "",
    name: str = "",
    only: Sequence[int] | None = None,
    start: int = 0,
    most: int | None = None,
) -> tuple[list[Row], int]:
    """A project's annotators without details, some of them if asked for, and how many there are."""
    table, users = tables.annotator, tables.user
    named = func.coalesce(users.c.name, "")
    columns = [column for column in table.columns if column.name not in ("project", "number", "detail")]
    query = select(*columns, named.label("name")).select_from(table.outerjoin(users, users.c.id == table.c.annotator))
    query = query.where(table.c.project == project)
    if verdict:
        query = query.where(table.c.verdict == verdict)
    if only is not None:
        query = query.where(table.c.annotator.in_(only))
    if name:
        query = query.where(named.icontains(name, autoescape=True))
    total = int(connection.execute(select(func.count()).select_from(query.subquery())).scalar_one())
    by: ColumnElement[Any] = func.lower(named) if order == "name" else table.c[order]
    query = query.order_by(by.is_(None), by.desc() if down else by.asc(), table.c.annotator).offset(start)
    rows = connection.execute(query if most is None else query.limit(most))
    return [_named(dict(row._mapping)) for row in rows], total


def annotator(connection: Connection, project: int, who: int) -> Row | None:
    """One annotator with everything."""
    table = tables.annotator
    row = connection.execute(select(table).where(table.c.project == project, table.c.annotator == who)).first()
    if row is None:
        return None
    found = dict(row._mapping)
    detail = json.loads(found.pop("detail"))
    return {**_named({**found, "name": names(connection, [who]).get(who, "")}), **detail}


def tasks(
    connection: Connection,
    project: int,
    *,
    order: str = "least sure",
    show: str = "all",
    start: int = 0,
    most: int | None = None,
) -> tuple[list[Row], int]:
    """A project's tasks with their labels, some of them if asked for, and how many there are.

    A task is as sure as the least sure of its labels.
    """
    table = tables.label
    sure = func.min(table.c.confidence)
    query = select(table.c.task, sure.label("confidence")).where(table.c.project == project).group_by(table.c.task)
    differs = table.c.plurality.is_not(None) & (table.c.plurality != table.c.label)
    conditions = {
        "unsettled": sure < SETTLED,
        "settled": sure >= SETTLED,
        "disputed": func.max(case((table.c.disputed, 1), else_=0)) == 1,
        "differs from plurality": func.max(case((differs, 1), else_=0)) == 1,
        "gold": func.max(case((table.c.gold.is_not(None), 1), else_=0)) == 1,
    }
    if show in conditions:
        query = query.having(conditions[show])
    orders: dict[str, list[ColumnElement[Any]]] = {
        "least sure": [sure.asc()],
        "surest": [sure.desc()],
        "hardest": [func.max(table.c.difficulty).is_(None), func.max(table.c.difficulty).desc()],
        "most answers": [func.max(table.c.answers).desc()],
    }
    total = int(connection.execute(select(func.count()).select_from(query.subquery())).scalar_one())
    query = query.order_by(*orders[order], table.c.task).offset(start)
    chosen = [int(row.task) for row in connection.execute(query if most is None else query.limit(most))]
    labels = labels_of(connection, project, chosen)
    texts = shown(connection, chosen)
    return [{"task": task, "text": texts.get(task, ""), "labels": labels[task]} for task in chosen], total


def labels_of(connection: Connection, project: int, of: Sequence[int]) -> dict[int, list[Row]]:
    """Task → its labels, the least sure first."""
    table = tables.label
    found: dict[int, list[Row]] = {task: [] for task in of}
    for chunk in chunks(of):
        query = select(table).where(table.c.project == project, table.c.task.in_(chunk)).order_by(table.c.confidence)
        for row in connection.execute(query):
            values = dict(row._mapping)
            values["said"], values["posterior"] = json.loads(values["said"]), json.loads(values["posterior"])
            values["region"] = None if values["region"] is None else json.loads(values["region"])
            found[int(row.task)].append(values)
    return found


def shown(connection: Connection, of: Sequence[int]) -> dict[int, str]:
    """Task → the beginning of what annotators see, as far as it is text."""
    return {task: " · ".join(texts.values())[:EXCERPT] for task, texts in texts_of(connection, of).items()}


def texts_of(connection: Connection, of: Sequence[int]) -> dict[int, dict[str, str]]:
    """Task → object of the label config → its text, of a long one perhaps only the beginning."""
    found = {}
    for chunk in chunks(of):
        query = select(tables.task.c.id, tables.task.c.data).where(tables.task.c.id.in_(chunk))
        for row in connection.execute(query):
            texts = json.loads(row.data) if row.data else {}
            found[int(row.id)] = {name: text for name, text in texts.items() if not text.startswith("data:")}
    return found


def project_title(connection: Connection, project: int) -> str:
    found = connection.execute(select(tables.project.c.title).where(tables.project.c.id == project)).scalar()
    return f"Project {project}" if found is None else str(found)


def remember_users(connection: Connection, users: Mapping[int, str]) -> None:
    for who, name in users.items():
        upsert(connection, tables.user, {"id": who, "name": name}, {"name": name})


def names(connection: Connection, people: Sequence[int]) -> dict[int, str]:
    """Of those whose names are known."""
    found: dict[int, str] = {}
    for chunk in chunks(people):
        query = select(tables.user.c.id, tables.user.c.name).where(tables.user.c.id.in_(chunk))
        found |= {int(row.id): str(row.name) for row in connection.execute(query)}
    return found


def _named(row: Row) -> Row:
    return {**row, "name": row["name"] or f"user {row['annotator']}"}
