"""The mirror: a project's tasks and annotations as Label Studio last showed them, replaced task by task."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    Text,
    delete,
    insert,
    select,
    update,
)

from ..records import Json
from . import predictions
from .sql import Id, chunks, data_tables, upsert
from .trail import Event, record_events

EXCERPT = 300  # characters of a task's text that let people recognise it

project_table = Table(
    "crowd_project",
    data_tables,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("title", Text, nullable=False),
    Column("label_config", Text, nullable=False),
    Column("created_at", String(40), nullable=False),  # tells it from a later project of the same id
    Column("pulled_until", String(40)),  # changes of tasks up to this time, by Label Studio's clock, are in the mirror
    Column("newest_change", String(40)),  # the time of the newest change that is in the mirror
    Column("newest_seen_at", Float(53), nullable=False, default=0.0),  # when it was first seen, by this machine's clock
    Column("pull_rule", Text),  # what else the mirror's contents depend on: when it changes, all tasks are pulled again
    Column("audited_at", Float(53), nullable=False, default=0.0),  # seconds since 1970, by this machine's clock
    Column("imported_since", String(40)),  # since when, by Label Studio's clock, counters may be wrong
    Column("revision", Integer, nullable=False, default=0),  # rises whenever anything that counts changes in the mirror
)

task_table = Table(
    "crowd_task",
    data_tables,
    Column("project", ForeignKey("crowd_project.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("created_at", String(40), nullable=False),
    Column("updated_at", String(40), nullable=False),
    Column("stamp", String(64), nullable=False),  # digest of what a listing of tasks tells about this one
    Column("required_annotators", Integer, nullable=False),
    Column("is_labeled", Boolean, nullable=False),
    Column("gold_field", Text),  # JSON of the field of task.data that holds the right label
    Column("data", Text),  # JSON: object of the label config → the text annotators see there
)

annotation_table = Table(
    "crowd_annotation",
    data_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("task", Id, nullable=False),
    Column("annotator", Id),
    Column("result", Text, nullable=False),  # JSON as Label Studio sent it
    Column("skipped", Boolean, nullable=False),
    Column("ground_truth", Boolean, nullable=False),
    Column("copied", Boolean, nullable=False),  # from a prediction or from somebody else's annotation
    Column("created_at", String(40), nullable=False),
    Column("updated_at", String(40), nullable=False),
    Column("updated_by", Id),
    Column("lead_time", Float),
    Index("crowd_annotation_of_task", "project", "task", "annotator"),
    ForeignKeyConstraint(["project", "task"], ["crowd_task.project", "crowd_task.id"], ondelete="CASCADE"),
)


@dataclass(frozen=True)
class MirroredProject:
    title: str
    label_config: str
    created_at: str
    pulled_until: str | None
    newest_change: str | None
    newest_seen_at: float
    pull_rule: str | None
    audited_at: float
    imported_since: str | None
    revision: int


@dataclass(frozen=True)
class Task:
    id: int
    created_at: str
    updated_at: str
    stamp: str
    required_annotators: int
    is_labeled: bool
    gold_field: str | None = None  # JSON
    data: str | None = None  # JSON

    @property
    def texts(self) -> dict[str, str]:
        """Object of the label config → the text annotators see there."""
        return dict(json.loads(self.data)) if self.data else {}

    @property
    def fit_facts(self) -> tuple[int, str, int, bool, str | None, str | None]:
        """What the consensus, and which tasks are open, depend on."""
        return self.id, self.created_at, self.required_annotators, self.is_labeled, self.gold_field, self.data


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
    def items(self) -> list[Json]:
        """The parsed result."""
        return list(json.loads(self.result))

    def event(self, kind: str) -> Event:
        """This annotation as an entry of the trail."""
        return Event(self.task, self.id, kind, self.updated_at, self.annotator, self.updated_by, self.result)


_TASK_COLUMNS = [task_table.c[name] for name in Task.__dataclass_fields__]
_ANNOTATION_COLUMNS = [annotation_table.c[name] for name in Annotation.__dataclass_fields__]


def get_project(connection: Connection, project: int) -> MirroredProject | None:
    columns = [project_table.c[name] for name in MirroredProject.__dataclass_fields__]
    row = connection.execute(select(*columns).where(project_table.c.id == project)).first()
    return None if row is None else MirroredProject(*row)


def save_project(
    connection: Connection, project: int, *, title: str, label_config: str, created_at: str, pull_rule: str = ""
) -> None:
    """Add or update a project. Under another `pull_rule` than before, all its tasks have to be pulled again."""
    before = get_project(connection, project)
    values: dict[str, str | None] = {
        "title": title,
        "label_config": label_config,
        "created_at": created_at,
        "pull_rule": pull_rule,
    }
    if before is not None and before.pull_rule != pull_rule:
        values["pulled_until"] = None
    upsert(connection, project_table, {"id": project}, values)


def set_pulled(
    connection: Connection, project: int, *, until: str | None, newest_change: str | None, newest_seen_at: float
) -> None:
    """Record up to which time the mirror has all changes, and the newest change in it."""
    values = {"pulled_until": until, "newest_change": newest_change, "newest_seen_at": newest_seen_at}
    connection.execute(update(project_table).where(project_table.c.id == project).values(**values))


def set_audited(connection: Connection, project: int, at: float) -> None:
    connection.execute(update(project_table).where(project_table.c.id == project).values(audited_at=at))


def note_counters_in_doubt(connection: Connection, project: int, since: str) -> None:
    """Record that tasks are about to be changed, or predictions imported; what was not checked before counts, too."""
    unchecked = project_table.c.imported_since.is_(None)
    query = update(project_table).where(project_table.c.id == project, unchecked)
    connection.execute(query.values(imported_since=since))


def note_counters_checked(connection: Connection, project: int) -> None:
    connection.execute(update(project_table).where(project_table.c.id == project).values(imported_since=None))


def project_titles(connection: Connection) -> dict[int, str]:
    rows = connection.execute(select(project_table.c.id, project_table.c.title))
    return {int(row.id): str(row.title) for row in rows}


def project_title(connection: Connection, project: int) -> str:
    found = get_project(connection, project)
    return f"Project {project}" if found is None else found.title


def replace_tasks(
    connection: Connection, project: int, tasks: Sequence[tuple[Task, Sequence[Annotation]]], noticed: str
) -> int:
    """Replace tasks together with all their annotations; return how many annotations changed.

    An annotation may have been on another task before, which is replaced later or not at all.
    """
    if not tasks:
        return 0
    ids = [task.id for task, _ in tasks]
    after = {annotation.id: annotation for _, annotations in tasks for annotation in annotations}
    of_tasks = _annotations(connection, project, annotation_table.c.task, ids)
    moved = _annotations(connection, project, annotation_table.c.id, sorted(after.keys() - of_tasks.keys()))
    before = {**of_tasks, **moved}
    deleted = [before[key] for key in before.keys() - after.keys()]
    changed = [annotation for key, annotation in after.items() if before.get(key) != annotation]
    events = [event for annotation in deleted for event in _events(annotation, None)]
    events += [event for annotation in changed for event in _events(before.get(annotation.id), annotation)]
    if events or _fit_facts(connection, project, ids) != {task.fit_facts for task, _ in tasks}:
        _raise_revision(connection, project)
    _delete(connection, project, annotation_table.c.id, sorted(moved))
    _delete_tasks(connection, project, ids)
    connection.execute(insert(task_table), [{**vars(task), "project": project} for task, _ in tasks])
    if after:
        rows = [{**vars(annotation), "project": project} for annotation in after.values()]
        connection.execute(insert(annotation_table), rows)
    record_events(connection, project, events, noticed)
    return len(changed) + len(deleted)


def set_required(connection: Connection, project: int, required: Mapping[int, tuple[int, bool]]) -> None:
    """Record how many annotators tasks require, and whether they are labelled, as we changed it: nothing that a later
    pull finds in these tasks is then new."""
    for task, (number, is_labeled) in required.items():
        row = (task_table.c.project == project) & (task_table.c.id == task)
        values = {"required_annotators": number, "is_labeled": is_labeled}
        connection.execute(update(task_table).where(row).values(**values))


def drop_tasks(connection: Connection, project: int, task_ids: Iterable[int], noticed: str) -> None:
    """Remove tasks that are gone from Label Studio; the trail keeps what was said on them."""
    ids = sorted(task_ids)
    if not ids:
        return
    gone = _annotations(connection, project, annotation_table.c.task, ids)
    events = [event for annotation in gone.values() for event in _events(annotation, None)]
    record_events(connection, project, events, noticed)
    _raise_revision(connection, project)
    _delete_tasks(connection, project, ids)
    predictions.forget_tasks(connection, project, ids)


def read_tasks(connection: Connection, project: int, task_ids: Collection[int] | None = None) -> dict[int, Task]:
    """All tasks of a project, or some."""
    query = select(*_TASK_COLUMNS).where(task_table.c.project == project)
    queries = (
        [query] if task_ids is None else [query.where(task_table.c.id.in_(ids)) for ids in chunks(sorted(task_ids))]
    )
    return {row.id: Task(*row) for query in queries for row in connection.execute(query)}


def read_annotations(connection: Connection, project: int, task_ids: Collection[int] | None = None) -> list[Annotation]:
    """All annotations of a project, or those of some tasks, by id."""
    if task_ids is not None:
        of_tasks = _annotations(connection, project, annotation_table.c.task, sorted(task_ids))
        return [of_tasks[key] for key in sorted(of_tasks)]
    query = select(*_ANNOTATION_COLUMNS).where(annotation_table.c.project == project).order_by(annotation_table.c.id)
    return [Annotation(*row) for row in connection.execute(query)]


def read_texts(connection: Connection, project: int, task_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    """Task → object of the label config → its text; of a long text perhaps only the beginning."""
    return {
        task.id: {name: text for name, text in task.texts.items() if not text.startswith("data:")}
        for task in read_tasks(connection, project, task_ids).values()
    }


def read_excerpts(connection: Connection, project: int, task_ids: Sequence[int]) -> dict[int, str]:
    """Task → the beginning of what annotators see, as far as it is text."""
    texts = read_texts(connection, project, task_ids)
    return {task: " · ".join(parts.values())[:EXCERPT] for task, parts in texts.items()}


def _annotations(
    connection: Connection, project: int, column: ColumnElement[int], values: Sequence[int]
) -> dict[int, Annotation]:
    """Annotations by id: those of a project where a column has one of these values."""
    annotations: dict[int, Annotation] = {}
    query = select(*_ANNOTATION_COLUMNS).where(annotation_table.c.project == project)
    for chunk in chunks(values):
        annotations |= {row.id: Annotation(*row) for row in connection.execute(query.where(column.in_(chunk)))}
    return annotations


def _fit_facts(
    connection: Connection, project: int, task_ids: Sequence[int]
) -> set[tuple[int, str, int, bool, str | None, str | None]]:
    return {task.fit_facts for task in read_tasks(connection, project, task_ids).values()}


def _events(before: Annotation | None, after: Annotation | None) -> Iterator[Event]:
    """What the trail keeps of a change of one annotation."""
    if before is None:
        yield from () if after is None else (after.event("created"),)
    elif after is None:
        yield before.event("deleted")
    elif before.annotator != after.annotator:
        yield after.event("reassigned")
    else:
        yield after.event("changed" if before.task == after.task else "moved")
    if before is not None and before.ground_truth and (after is None or not after.ground_truth):
        # Label Studio takes a mark away silently, leaving the time, when somebody marks another annotation of the task.
        eraser = None if after is None or after.updated_at == before.updated_at else after.updated_by
        yield replace(before.event("unmarked"), annotator=before.updated_by, changed_by=eraser)


def _raise_revision(connection: Connection, project: int) -> None:
    raised = update(project_table).where(project_table.c.id == project).values(revision=project_table.c.revision + 1)
    connection.execute(raised)


def _delete_tasks(connection: Connection, project: int, task_ids: Sequence[int]) -> None:
    _delete(connection, project, annotation_table.c.task, task_ids)
    _delete(connection, project, task_table.c.id, task_ids)


def _delete(connection: Connection, project: int, column: Column[int], values: Sequence[int]) -> None:
    """Delete rows of a project where a column of the mirror has one of these values."""
    table = column.table
    for chunk in chunks(values):
        connection.execute(delete(table).where(table.c.project == project, column.in_(chunk)))
