"""The trail: what each annotation said and when, kept after it is gone from Label Studio. Rows are only added,
and removed when they are old."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Column, Connection, String, Table, Text, case, delete, func, insert, select

from .sql import Id, data_tables

trail = Table(
    "crowd_trail",
    data_tables,
    Column("id", Id, primary_key=True),
    Column("project", Id, nullable=False, index=True),
    Column("task", Id, nullable=False),
    Column("annotation", Id, nullable=False, index=True),
    # created, changed, moved (to another task), reassigned (to another author), deleted, or unmarked (as ground truth:
    # annotator is who marked it, changed_by who took the mark away if Label Studio tells)
    Column("event", String(20), nullable=False),
    Column("at", String(40), nullable=False),  # by the annotation itself
    Column("noticed", String(40), nullable=False),  # start of the pull that noticed it, by Label Studio's clock
    Column("annotator", Id),
    Column("changed_by", Id),
    Column("result", Text, nullable=False),
)


@dataclass(frozen=True)
class Event:
    """One change of one annotation."""

    task: int
    annotation: int
    event: str
    at: str
    annotator: int | None
    changed_by: int | None
    result: str


def record_events(connection: Connection, project: int, events: Iterable[Event], noticed: str) -> None:
    """Add events in the order in which they happened."""
    ordered = sorted(events, key=lambda event: (event.at, event.annotation))
    if ordered:
        rows = [{**vars(event), "project": project, "noticed": noticed} for event in ordered]
        connection.execute(insert(trail), rows)


def count_reassigned(connection: Connection, project: int) -> int:
    """Count the annotations whose author has changed since they were first seen."""
    reassigned = (trail.c.project == project) & (trail.c.event == "reassigned")
    query = select(func.count(trail.c.annotation.distinct())).where(reassigned)
    return int(connection.execute(query).scalar_one())


def remove_before(connection: Connection, time: str, limit: int) -> int:
    """Remove events that were noticed before a time, at most `limit`, the first ones first; return how many.

    The time is written as in `noticed`. Events of the first release only say when they happened.
    """
    noticed = case((trail.c.noticed == "", trail.c.at), else_=trail.c.noticed)
    old = select(trail.c.id).where(noticed < time).order_by(trail.c.id).limit(limit)
    return connection.execute(delete(trail).where(trail.c.id.in_(old.scalar_subquery()))).rowcount


@dataclass(frozen=True)
class ErasedMark:
    """A mark as ground truth that somebody took away."""

    task: int
    annotation: int
    marked_by: int | None
    erased_by: int | None  # None if Label Studio does not tell


def read_erased_marks(connection: Connection, project: int) -> list[ErasedMark]:
    """All marks that were taken away, the last time for each annotation, by task."""
    query = select(trail).where((trail.c.project == project) & (trail.c.event == "unmarked"))
    last = {
        int(row.annotation): ErasedMark(int(row.task), int(row.annotation), row.annotator, row.changed_by)
        for row in connection.execute(query.order_by(trail.c.id))
    }
    return sorted(last.values(), key=lambda mark: (mark.task, mark.annotation))
