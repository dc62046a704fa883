"""The mirror: a project's tasks and annotations as Label Studio last showed them, replaced task by task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    delete,
    func,
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
    Column("created_at", String(40), nullable=False),  # tells it from another server's project of the same id
    Column("pulled_until", String(40)),  # changes of tasks up to this time are in the mirror
    Column("pull_rule", Text),  # what else the mirror's contents depend on: when it changes, all tasks are pulled again
    Column("revision", Integer, nullable=False, default=0),  # rises whenever anything that counts changes in the mirror
)

task_table = Table(
    "crowd_task",
    data_tables,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("project", ForeignKey("crowd_project.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("updated_at", String(40), nullable=False),
    Column("required_annotators", Integer, nullable=False),
    Column("is_labeled", Boolean, nullable=False),
    Column("gold_field", Text),  # JSON of the field of task.data that holds the right label
    Column("data", Text),  # JSON: object of the label config → the text annotators see there
)

annotation_table = Table(
    "crowd_annotation",
    data_tables,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("project", ForeignKey("crowd_project.id", ondelete="CASCADE"), nullable=False),
    Column("task", ForeignKey("crowd_task.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("annotator", Id),
    Column("result", Text, nullable=False),  # JSON as Label Studio sent it
    Column("skipped", Boolean, nullable=False),
    Column("ground_truth", Boolean, nullable=False),
    Column("copied", Boolean, nullable=False),  # from a prediction or from somebody else's annotation
    Column("created_at", String(40), nullable=False),
    Column("updated_at", String(40), nullable=False),
    Column("updated_by", Id),
    Column("lead_time", Float),
    Index("crowd_annotation_of_project", "project", "task", "annotator"),
)


@dataclass(frozen=True)
class MirroredProject:
    title: str
    label_config: str
    created_at: str
    pulled_until: str | None
    pull_rule: str | None
    revision: int


@dataclass(frozen=True)
class Task:
    id: int
    updated_at: str
    required_annotators: int
    is_labeled: bool
    gold_field: str | None = None  # JSON
    data: str | None = None  # JSON

    @property
    def texts(self) -> dict[str, str]:
        """Object of the label config → the text annotators see there."""
        return dict(json.loads(self.data)) if self.data else {}

    @property
    def fit_facts(self) -> tuple[int, int, str | None, str | None]:
        """What the consensus depends on."""
        return self.id, self.required_annotators, self.gold_field, self.data


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


def set_pulled_until(connection: Connection, project: int, until: str | None) -> None:
    connection.execute(update(project_table).where(project_table.c.id == project).values(pulled_until=until))


def project_titles(connection: Connection) -> dict[int, str]:
    rows = connection.execute(select(project_table.c.id, project_table.c.title))
    return {int(row.id): str(row.title) for row in rows}


def project_title(connection: Connection, project: int) -> str:
    found = get_project(connection, project)
    return f"Project {project}" if found is None else found.title


def replace_tasks(
    connection: Connection, project: int, tasks: Sequence[tuple[Task, Sequence[Annotation]]], noticed: str
) -> int:
    """Replace tasks together with all their annotations; return how many annotations changed."""
    if not tasks:
        return 0
    ids = [task.id for task, _ in tasks]
    before = {annotation.id: annotation for annotation in _annotations_of(connection, ids)}
    after = {annotation.id: annotation for _, annotations in tasks for annotation in annotations}
    deleted = [before[key] for key in before.keys() - after.keys()]
    changed = [annotation for key, annotation in after.items() if before.get(key) != annotation]
    events = [annotation.event("deleted") for annotation in deleted]
    events += [annotation.event(_kind_of_change(before.get(annotation.id), annotation)) for annotation in changed]
    if events or _fit_facts(connection, ids) != {task.fit_facts for task, _ in tasks}:
        _raise_revision(connection, project)
    _delete_tasks(connection, ids)
    connection.execute(insert(task_table), [{**vars(task), "project": project} for task, _ in tasks])
    if after:
        rows = [{**vars(annotation), "project": project} for annotation in after.values()]
        connection.execute(insert(annotation_table), rows)
    record_events(connection, project, events, noticed)
    return len(changed) + len(deleted)


def drop_tasks(connection: Connection, project: int, task_ids: Iterable[int], noticed: str) -> None:
    """Remove tasks that are gone from Label Studio; the trail keeps what was said on them."""
    ids = sorted(task_ids)
    if not ids:
        return
    events = [annotation.event("deleted") for annotation in _annotations_of(connection, ids)]
    record_events(connection, project, events, noticed)
    _raise_revision(connection, project)
    _delete_tasks(connection, ids)
    predictions.forget_tasks(connection, project, ids)


def read_tasks(connection: Connection, project: int) -> dict[int, Task]:
    query = select(*_TASK_COLUMNS).where(task_table.c.project == project)
    return {row.id: Task(*row) for row in connection.execute(query)}


def read_task_ids(connection: Connection, project: int) -> set[int]:
    return set(connection.execute(select(task_table.c.id).where(task_table.c.project == project)).scalars())


def count_tasks(connection: Connection, project: int) -> int:
    query = select(func.count()).select_from(task_table).where(task_table.c.project == project)
    return int(connection.execute(query).scalar_one())


def count_annotations(connection: Connection, project: int) -> int:
    query = select(func.count()).select_from(annotation_table).where(annotation_table.c.project == project)
    return int(connection.execute(query).scalar_one())


def read_annotations(connection: Connection, project: int) -> list[Annotation]:
    """All annotations of a project, by id."""
    query = select(*_ANNOTATION_COLUMNS).where(annotation_table.c.project == project).order_by(annotation_table.c.id)
    return [Annotation(*row) for row in connection.execute(query)]


def read_texts(connection: Connection, task_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    """Task → object of the label config → its text; of a long text perhaps only the beginning."""
    texts = {}
    for chunk in chunks(task_ids):
        for row in connection.execute(select(*_TASK_COLUMNS).where(task_table.c.id.in_(chunk))):
            task = Task(*row)
            texts[task.id] = {name: text for name, text in task.texts.items() if not text.startswith("data:")}
    return texts


def read_excerpts(connection: Connection, task_ids: Sequence[int]) -> dict[int, str]:
    """Task → the beginning of what annotators see, as far as it is text."""
    texts = read_texts(connection, task_ids)
    return {task: " · ".join(parts.values())[:EXCERPT] for task, parts in texts.items()}


def _annotations_of(connection: Connection, task_ids: Sequence[int]) -> list[Annotation]:
    annotations: list[Annotation] = []
    for chunk in chunks(task_ids):
        query = select(*_ANNOTATION_COLUMNS).where(annotation_table.c.task.in_(chunk))
        annotations += [Annotation(*row) for row in connection.execute(query)]
    return annotations


def _fit_facts(connection: Connection, task_ids: Sequence[int]) -> set[tuple[int, int, str | None, str | None]]:
    facts = set()
    for chunk in chunks(task_ids):
        query = select(*_TASK_COLUMNS).where(task_table.c.id.in_(chunk))
        facts |= {Task(*row).fit_facts for row in connection.execute(query)}
    return facts


def _kind_of_change(before: Annotation | None, after: Annotation) -> str:
    if before is None:
        return "created"
    return "changed" if before.annotator == after.annotator else "reassigned"


def _raise_revision(connection: Connection, project: int) -> None:
    raised = update(project_table).where(project_table.c.id == project).values(revision=project_table.c.revision + 1)
    connection.execute(raised)


def _delete_tasks(connection: Connection, task_ids: Sequence[int]) -> None:
    for chunk in chunks(task_ids):
        connection.execute(delete(annotation_table).where(annotation_table.c.task.in_(chunk)))
        connection.execute(delete(task_table).where(task_table.c.id.in_(chunk)))
