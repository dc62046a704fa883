"""The mirror: Label Studio's annotations as last seen, replaced task by task, and the trail of what changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from . import tables

CHUNK = 500  # ids in one statement: below every database's limit on parameters


@dataclass(frozen=True)
class Task:
    id: int
    updated_at: str
    overlap: int
    is_labeled: bool


@dataclass(frozen=True)
class Annotation:
    id: int
    task: int
    annotator: int | None
    result: str  # JSON
    skipped: bool
    ground_truth: bool
    copied: bool
    created_at: str
    updated_at: str
    updated_by: int | None
    lead_time: float | None

    @property
    def items(self) -> list[dict[str, Any]]:
        """The parsed result."""
        return list(json.loads(self.result))


class Mirror:
    """One project's part of the mirror, inside a transaction of the caller's."""

    def __init__(self, connection: Connection, project: int) -> None:
        self._connection, self._project = connection, project

    def describe(self, title: str, label_config: str) -> None:
        """Notes the project, new or changed."""
        values = {"title": title, "label_config": label_config}
        upsert(self._connection, tables.project, {"id": self._project, **values}, values)

    def seen_until(self) -> str | None:
        query = select(tables.project.c.seen_until).where(tables.project.c.id == self._project)
        return self._connection.execute(query).scalar()

    def set_seen_until(self, when: str | None) -> None:
        change = update(tables.project).where(tables.project.c.id == self._project).values(seen_until=when)
        self._connection.execute(change)

    def replace(self, tasks: Sequence[tuple[Task, Sequence[Annotation]]]) -> int:
        """Puts tasks with all their annotations in the place of what was known of them; how many annotations differ."""
        if not tasks:
            return 0
        ids = [task.id for task, _ in tasks]
        known = {each.id: each for each in self._annotations(ids)}
        now = {each.id: each for _, annotations in tasks for each in annotations}
        events = [self._event("deleted", known[key]) for key in known.keys() - now.keys()]
        different = [each for key, each in now.items() if known.get(key) != each]
        events += [self._event("changed" if each.id in known else "created", each) for each in different]
        self._forget_tasks(ids)
        self._connection.execute(insert(tables.task), [{**asdict(task), "project": self._project} for task, _ in tasks])
        if now:
            self._connection.execute(
                insert(tables.annotation), [{**asdict(each), "project": self._project} for each in now.values()]
            )
        if events:
            events.sort(key=lambda each: (each["at"], each["annotation"]))
            self._connection.execute(insert(tables.trail), events)
        return len(different) + len(known.keys() - now.keys())

    def drop(self, tasks: Iterable[int]) -> None:
        """Tasks that are gone from Label Studio; the trail keeps what was said on them."""
        ids = sorted(tasks)
        events = [self._event("deleted", each) for each in self._annotations(ids)]
        if events:
            self._connection.execute(insert(tables.trail), events)
        self._forget_tasks(ids)
        for chunk in chunks(ids):
            of_chunk = (tables.written.c.project == self._project) & tables.written.c.task.in_(chunk)
            self._connection.execute(delete(tables.written).where(of_chunk))

    def task_ids(self) -> set[int]:
        query = select(tables.task.c.id).where(tables.task.c.project == self._project)
        return set(self._connection.execute(query).scalars())

    def task_count(self) -> int:
        query = select(func.count()).select_from(tables.task).where(tables.task.c.project == self._project)
        return int(self._connection.execute(query).scalar_one())

    def annotations(self) -> list[Annotation]:
        """All of the project's, by id."""
        columns = [tables.annotation.c[name] for name in Annotation.__dataclass_fields__]
        query = select(*columns).where(tables.annotation.c.project == self._project).order_by(tables.annotation.c.id)
        return [Annotation(*row) for row in self._connection.execute(query)]

    def _annotations(self, tasks: Sequence[int]) -> list[Annotation]:
        columns = [tables.annotation.c[name] for name in Annotation.__dataclass_fields__]
        found: list[Annotation] = []
        for chunk in chunks(tasks):
            query = select(*columns).where(tables.annotation.c.task.in_(chunk))
            found += [Annotation(*row) for row in self._connection.execute(query)]
        return found

    def _forget_tasks(self, tasks: Sequence[int]) -> None:
        for chunk in chunks(tasks):
            self._connection.execute(delete(tables.annotation).where(tables.annotation.c.task.in_(chunk)))
            self._connection.execute(delete(tables.task).where(tables.task.c.id.in_(chunk)))

    def _event(self, event: str, annotation: Annotation) -> dict[str, Any]:
        return {
            "project": self._project,
            "task": annotation.task,
            "annotation": annotation.id,
            "event": event,
            "at": annotation.updated_at,
            "annotator": annotation.annotator,
            "changed_by": annotation.updated_by,
            "result": annotation.result,
        }


def upsert(connection: Connection, table: Any, row: dict[str, Any], changes: dict[str, Any]) -> None:
    """Inserts a row, or changes the one with its primary key."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(table).values(row)
    key = list(table.primary_key.columns)
    connection.execute(statement.on_conflict_do_update(index_elements=key, set_=changes))


def chunks(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    return (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))
