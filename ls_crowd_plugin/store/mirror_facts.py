"""What tells whether the mirror is still equal to Label Studio: counts, stamps, times and people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, case, func, select

from .mirror import annotation_table, task_table
from .sql import chunks


class AnnotationCounts(NamedTuple):
    """How many annotations a project has, as Label Studio counts them."""

    answered: int
    skipped: int
    ground_truth: int


def read_stamps(connection: Connection, project: int) -> dict[int, str]:
    """Task → digest of what a listing told about it when it was mirrored."""
    query = select(task_table.c.id, task_table.c.stamp).where(task_table.c.project == project)
    return {int(row.id): str(row.stamp) for row in connection.execute(query)}


def newest_change(connection: Connection, project: int) -> str | None:
    """When a task was last changed, by Label Studio's clock."""
    query = select(func.max(task_table.c.updated_at)).where(task_table.c.project == project)
    newest = connection.execute(query).scalar()
    return None if newest is None else str(newest)


def count_annotations(connection: Connection, project: int) -> AnnotationCounts:
    columns = annotation_table.c
    numbers = (func.sum(case((condition, 1), else_=0)) for condition in (~columns.skipped, columns.skipped))
    marked = func.sum(case((columns.ground_truth, 1), else_=0))
    row = connection.execute(select(*numbers, marked).where(columns.project == project)).one()
    return AnnotationCounts(*(int(number or 0) for number in row))


def read_annotators(connection: Connection, project: int) -> dict[int, int]:
    """Everybody who annotated → one of their annotations."""
    columns = annotation_table.c
    query = select(columns.annotator, func.min(columns.id)).where(columns.project == project)
    rows = connection.execute(query.where(columns.annotator.is_not(None)).group_by(columns.annotator))
    return {int(annotator): int(annotation) for annotator, annotation in rows}


def read_tasks_with_copies(connection: Connection, project: int) -> set[int]:
    """The tasks with annotations that were made from predictions or other annotations."""
    columns = annotation_table.c
    query = select(columns.task).distinct().where(columns.project == project, columns.copied)
    return set(connection.execute(query).scalars())


def read_tasks_of(connection: Connection, project: int, annotators: Sequence[int]) -> set[int]:
    """The tasks that any of some people annotated."""
    columns = annotation_table.c
    query = select(columns.task).distinct().where(columns.project == project)
    return {
        task
        for ids in chunks(annotators)
        for task in connection.execute(query.where(columns.annotator.in_(ids))).scalars()
    }


def count_tasks(connection: Connection, project: int) -> int:
    query = select(func.count()).select_from(task_table).where(task_table.c.project == project)
    return int(connection.execute(query).scalar_one())


def read_open_tasks(connection: Connection, project: int) -> set[int]:
    """The tasks that Label Studio serves, as far as it has marked no other as labelled."""
    columns = task_table.c
    query = select(columns.id).where(columns.project == project, columns.is_labeled.is_(False))
    return set(connection.execute(query).scalars())


def count_open_tried(connection: Connection, project: int) -> dict[int, int]:
    """Person → how many of these tasks they have annotated or skipped."""
    task, annotation = task_table.c, annotation_table.c
    same_task = (annotation.project == task.project) & (annotation.task == task.id)
    is_open = (task.project == project) & task.is_labeled.is_(False) & annotation.annotator.is_not(None)
    query = select(annotation.annotator, func.count(annotation.task.distinct()).label("tasks"))
    query = query.select_from(task_table.join(annotation_table, same_task))
    rows = connection.execute(query.where(is_open).group_by(annotation.annotator))
    return {int(row.annotator): int(row.tasks) for row in rows}
