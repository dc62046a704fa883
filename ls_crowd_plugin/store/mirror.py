"""The mirror: Label Studio's annotations as last seen, replaced task by task, and the trail of what changed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from ..errors import Overtaken
from . import tables

CHUNK = 500  # ids in one statement: below every database's limit on parameters


@dataclass(frozen=True)
class Task:
    id: int
    updated_at: str
    overlap: int
    is_labeled: bool
    known: str | None = None  # JSON of the field of task.data with known labels, where there is one
    data: str | None = None  # JSON: object of the label config → what annotators see there


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

    def claim(self) -> str:
        """Makes the caller the project's only reader, until another claims it."""
        reader = secrets.token_hex(8)
        self._connection.execute(self._update().values(reader=reader))
        return reader

    def still(self, reader: str) -> None:
        """Raises Overtaken if another has claimed the project since; before anything else in a transaction."""
        mine = self._update().where(tables.project.c.reader == reader).values(reader=reader)
        if self._connection.execute(mine).rowcount != 1:
            raise Overtaken(f"Another process has begun to read project {self._project}; this one leaves it to that.")

    def describe(self, title: str, label_config: str, created_at: str, read_with: str = "") -> None:
        """Notes the project, new or changed. Where it was read with something else, all tasks are to be read again."""
        row = self._row()
        values: dict[str, str | None] = {
            "title": title,
            "label_config": label_config,
            "created_at": created_at,
            "read_with": read_with,
        }
        if row is not None and row.read_with != read_with:
            values["seen_until"] = None
        upsert(self._connection, tables.project, {"id": self._project, "revision": 0, **values}, values)

    def created_at(self) -> str | None:
        """When the project that is known under this number was made; None if there is none."""
        row = self._row()
        return None if row is None else str(row.created_at)

    def seen_until(self) -> str | None:
        row = self._row()
        return None if row is None else row.seen_until

    def revision(self) -> int:
        """Another number whenever answers, or what else decides about the consensus, have changed."""
        row = self._row()
        return 0 if row is None else int(row.revision)

    def set_seen_until(self, when: str | None) -> None:
        self._connection.execute(self._update().values(seen_until=when))

    def replace(self, tasks: Sequence[tuple[Task, Sequence[Annotation]]], noticed: str) -> int:
        """Puts tasks with all their annotations in the place of what was known of them; how many annotations differ."""
        if not tasks:
            return 0
        ids = [task.id for task, _ in tasks]
        known = {each.id: each for each in self._annotations(ids)}
        now = {each.id: each for _, annotations in tasks for each in annotations}
        gone = [known[key] for key in known.keys() - now.keys()]
        different = [each for key, each in now.items() if known.get(key) != each]
        events = [self._event("deleted", each, noticed) for each in gone]
        events += [self._event(_event(known.get(each.id), each), each, noticed) for each in different]
        if events or self._tasks(ids) != {(task.id, task.overlap, task.known, task.data) for task, _ in tasks}:
            self._move()
        self._forget_tasks(ids)
        self._connection.execute(insert(tables.task), [{**vars(task), "project": self._project} for task, _ in tasks])
        if now:
            self._connection.execute(
                insert(tables.annotation), [{**vars(each), "project": self._project} for each in now.values()]
            )
        if events:
            events.sort(key=lambda each: (each["at"], each["annotation"]))
            self._connection.execute(insert(tables.trail), events)
        return len(different) + len(gone)

    def drop(self, tasks: Iterable[int], noticed: str) -> None:
        """Tasks that are gone from Label Studio; the trail keeps what was said on them."""
        ids = sorted(tasks)
        events = [self._event("deleted", each, noticed) for each in self._annotations(ids)]
        if events:
            self._connection.execute(insert(tables.trail), events)
        if ids:
            self._move()
        self._forget_tasks(ids)
        for table in (tables.written, tables.task_meta):
            for chunk in chunks(ids):
                of_chunk = (table.c.project == self._project) & table.c.task.in_(chunk)
                self._connection.execute(delete(table).where(of_chunk))

    def forget(self) -> None:
        """The project is gone from Label Studio: gold, the trail and its settings of before are kept."""
        of_fits = (tables.finding, tables.label, tables.annotator)
        for table in (tables.written, tables.task_meta, tables.run, *of_fits):
            self._connection.execute(delete(table).where(table.c.project == self._project))
        self._connection.execute(delete(tables.project).where(tables.project.c.id == self._project))

    def reassigned(self) -> int:
        """How many of the project's annotations have got another author since they were first seen."""
        trail = tables.trail
        query = select(func.count(trail.c.annotation.distinct())).where(
            trail.c.project == self._project, trail.c.event == "reassigned"
        )
        return int(self._connection.execute(query).scalar_one())

    def known(self) -> dict[int, str]:
        """Task → JSON of its field with known labels, where it has one."""
        query = select(tables.task.c.id, tables.task.c.known).where(
            tables.task.c.project == self._project, tables.task.c.known.is_not(None)
        )
        return {int(row.id): str(row.known) for row in self._connection.execute(query)}

    def tasks(self) -> dict[int, Task]:
        columns = [tables.task.c[name] for name in Task.__dataclass_fields__]
        query = select(*columns).where(tables.task.c.project == self._project)
        return {row.id: Task(*row) for row in self._connection.execute(query)}

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

    def _tasks(self, tasks: Sequence[int]) -> set[tuple[int, int, str | None, str | None]]:
        found = set()
        for chunk in chunks(tasks):
            query = select(*(tables.task.c[name] for name in ("id", "overlap", "known", "data")))
            found |= {tuple(row) for row in self._connection.execute(query.where(tables.task.c.id.in_(chunk)))}
        return found

    def _row(self) -> Any:
        return self._connection.execute(select(tables.project).where(tables.project.c.id == self._project)).first()

    def _update(self) -> Any:
        return update(tables.project).where(tables.project.c.id == self._project)

    def _move(self) -> None:
        self._connection.execute(self._update().values(revision=tables.project.c.revision + 1))

    def _forget_tasks(self, tasks: Sequence[int]) -> None:
        for chunk in chunks(tasks):
            self._connection.execute(delete(tables.annotation).where(tables.annotation.c.task.in_(chunk)))
            self._connection.execute(delete(tables.task).where(tables.task.c.id.in_(chunk)))

    def _event(self, event: str, annotation: Annotation, noticed: str) -> dict[str, Any]:
        return {
            "project": self._project,
            "task": annotation.task,
            "annotation": annotation.id,
            "event": event,
            "at": annotation.updated_at,
            "noticed": noticed,
            "annotator": annotation.annotator,
            "changed_by": annotation.updated_by,
            "result": annotation.result,
        }


def _event(before: Annotation | None, now: Annotation) -> str:
    if before is None:
        return "created"
    return "changed" if before.annotator == now.annotator else "reassigned"


def upsert(connection: Connection, table: Any, row: dict[str, Any], changes: dict[str, Any]) -> None:
    """Inserts a row, or changes the one with its primary key."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(table).values(row)
    key = list(table.primary_key.columns)
    connection.execute(statement.on_conflict_do_update(index_elements=key, set_=changes))


def insert_missing(connection: Connection, table: Any, row: dict[str, Any]) -> None:
    """Inserts a row, unless there is one with its primary key."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    connection.execute(dialect.insert(table).values(row).on_conflict_do_nothing())


def chunks(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    return (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))
