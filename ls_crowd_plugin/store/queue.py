"""The queue: which projects have to be processed, since when, and not before when. One row per project.

An event is one UPSERT. A project is due while `requested` is ahead of `completed` and `not_before` has passed. Whoever
claims it also takes its lease; if that process dies, the lease runs out and the project is due again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Float,
    Integer,
    Table,
    Text,
    Update,
    bindparam,
    case,
    delete,
    literal,
    select,
    update,
)

from . import leases
from .leases import LEASE_SECONDS, Lease, lease_table
from .sql import Id, clock, dialect_insert, now, work_tables

PATIENT_ATTEMPTS = 3  # a project whose passes died so often is still retried at once
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 3600.0  # seconds before a retry

# Times are seconds since 1970 by the database's clock.
queue_table = Table(
    "crowd_queue",
    work_tables,
    Column("project", Id, primary_key=True, autoincrement=False),
    Column("requested", Id, nullable=False),  # counts requests
    Column("completed", Id, nullable=False),  # the request that the last complete pass covered
    Column("requested_at", Float(53), nullable=False),  # the oldest request that is not covered
    Column("not_before", Float(53), nullable=False),
    Column("attempts", Integer, nullable=False),  # passes started since the last complete one
    Column("completed_at", Float(53)),
    Column("last_error", Text),
    Column("active_at", Float(53), nullable=False),  # when an event arrived, or a pass found a changed answer
    Column("snapshot", Text),  # digest of the project's entry in Label Studio's list at the last poll
)


@dataclass(frozen=True)
class Claim:
    """A project that a worker has claimed."""

    project: int
    requested: int
    attempts: int
    idle: float  # seconds since an event arrived or an answer changed
    lease: Lease


@dataclass(frozen=True)
class QueueEntry:
    """A row of the queue for people. Times are seconds ago; negative ones lie ahead."""

    project: int
    waiting: float | None  # since the oldest open request; None if there is none, or only one for when it is idle
    due: float
    held_by: str
    attempts: int
    completed: float | None
    error: str | None


def enqueue(
    connection: Connection,
    project: int,
    *,
    quiet: float = 0.0,
    max_wait: float = 0.0,
    snapshot: str | None = None,
    is_event: bool = False,
) -> None:
    """Request a pass once no other request has come for `quiet` seconds, at most `max_wait` seconds after the first.

    A project that was parked or is paused after failures gets another chance. An event says that people are working.
    """
    current = now(connection)
    changes = _new_request(current, literal(quiet, Float), literal(max_wait, Float))
    if snapshot is not None:
        changes["snapshot"] = literal(snapshot)
    if is_event:
        changes["active_at"] = current
    statement = dialect_insert(connection, queue_table).values(
        project=project,
        requested=1,
        completed=0,
        requested_at=current,
        not_before=current + min(quiet, max_wait),
        attempts=0,
        active_at=current if is_event else 0.0,
        snapshot=snapshot,
    )
    connection.execute(statement.on_conflict_do_update(index_elements=[queue_table.c.project], set_=changes))


def enqueue_known(connection: Connection, project: int, *, quiet: float = 0.0, max_wait: float = 0.0) -> bool:
    """Request a pass for an event, but only over a project that is in the queue; return whether it is."""
    values = {"named": project, "quiet": quiet, "max_wait": max_wait}
    return connection.execute(_request_known(connection.dialect.name), values).rowcount == 1


def enqueue_all(connection: Connection) -> None:
    """Request a pass over every idle project, as after a gap in which events may have been missed."""
    current = now(connection)
    idle = update(queue_table).where(queue_table.c.requested <= queue_table.c.completed)
    connection.execute(idle.values(requested=queue_table.c.requested + 1, requested_at=current, not_before=current))


def request_when_idle(connection: Connection, project: int, seconds: float) -> None:
    """Request a pass for when the project has been idle for some seconds, unless one is requested already."""
    _request_at(connection, project, queue_table.c.active_at + seconds)


def request_later(connection: Connection, project: int, seconds: float) -> None:
    """Request a pass in some seconds, unless one is requested already."""
    _request_at(connection, project, now(connection) + seconds)


def mark_active(connection: Connection, project: int) -> None:
    """Note that an answer has changed."""
    current = now(connection)
    connection.execute(update(queue_table).where(queue_table.c.project == project).values(active_at=current))


def claim(connection: Connection, owner: str, seconds: float = LEASE_SECONDS) -> Claim | None:
    """Claim the project that has been due longest, and its lease; None if nothing is due or free."""
    current = now(connection)
    free = lease_table.c.project.is_(None) | (lease_table.c.expires_at <= current)
    due = (queue_table.c.requested > queue_table.c.completed) & (queue_table.c.not_before <= current)
    values = leases.new_lease(connection, owner, seconds)
    columns = [literal(value) if isinstance(value, str) else value for value in values.values()]
    longest_due = (
        select(queue_table.c.project, *columns)
        .select_from(queue_table.outerjoin(lease_table, lease_table.c.project == queue_table.c.project))
        .where(due, free)
        .order_by(queue_table.c.not_before, queue_table.c.project)
        .limit(1)
        .with_for_update(of=queue_table, skip_locked=True)
    )
    taken = connection.execute(
        dialect_insert(connection, lease_table)
        .from_select(["project", *values], longest_due)
        .on_conflict_do_update(
            index_elements=[lease_table.c.project],
            set_=leases.taken_over(connection, owner, seconds),
            where=lease_table.c.expires_at <= current,
        )
        .returning(lease_table.c.project, lease_table.c.token)
    ).first()
    if taken is None:
        return None
    row = connection.execute(
        update(queue_table)
        .where(queue_table.c.project == taken.project)
        .values(attempts=queue_table.c.attempts + 1)
        .returning(queue_table.c.requested, queue_table.c.attempts, (current - queue_table.c.active_at).label("idle"))
    ).one()
    lease = Lease(int(taken.project), owner, int(taken.token))
    return Claim(lease.project, int(row.requested), int(row.attempts), float(row.idle), lease)


def has_newer_request(connection: Connection, claim: Claim) -> bool:
    """Whether a later request than the claimed one is due."""
    newer = (queue_table.c.project == claim.project) & (queue_table.c.requested > claim.requested)
    query = select(queue_table.c.project).where(newer, queue_table.c.not_before <= now(connection))
    return connection.execute(query).first() is not None


def complete(connection: Connection, claim: Claim, error: str | None = None) -> bool:
    """End a pass and release its lease; False if the lease was lost.

    Requests that came meanwhile stay open, and queue up behind those of other projects. With `error` the project is
    parked: there is nothing to do until something changes.
    """
    current, not_before = now(connection), queue_table.c.not_before
    return _end(
        connection,
        claim,
        completed=claim.requested,
        completed_at=current,
        last_error=error,
        attempts=0,
        requested_at=current,
        not_before=case((not_before < current, current), else_=not_before),
    )


def retry_later(connection: Connection, claim: Claim, error: str | None, longest: float = LONGEST_PAUSE) -> bool:
    """End a failed pass and try again after a pause that doubles with each failure; False if the lease was lost.

    Without `error` nothing is wrong, and the pass is only deferred.
    """
    current = now(connection)
    newer = queue_table.c.requested > claim.requested  # for a new request the pauses start again
    pause = case((newer, FIRST_PAUSE), else_=min(retry_pause(claim.attempts), longest))
    return _end(connection, claim, requested_at=current, not_before=current + pause, last_error=error)


def expire_leases(connection: Connection, owner: str) -> None:
    """End the leases of an owner that has died now instead of when they run out."""
    theirs = (lease_table.c.owner == owner) & (lease_table.c.expires_at > now(connection))
    query = select(lease_table.c.project).where(theirs).order_by(lease_table.c.project)
    for project in connection.execute(query).scalars().all():
        _lock(connection, project)
        one = update(lease_table).where(theirs, lease_table.c.project == project)
        connection.execute(one.values(expires_at=now(connection)))


def requeue_abandoned(connection: Connection) -> None:
    """Put projects whose worker died behind the others; if that happens repeatedly, after longer and longer pauses."""
    current = now(connection)
    abandoned = (lease_table.c.owner != "") & (lease_table.c.expires_at <= current)
    query = select(lease_table.c.project, lease_table.c.token, queue_table.c.attempts)
    query = query.select_from(lease_table.outerjoin(queue_table, lease_table.c.project == queue_table.c.project))
    for project, token, attempts in connection.execute(query.where(abandoned).order_by(lease_table.c.project)).all():
        _lock(connection, project)
        lease = (lease_table.c.project == project) & (lease_table.c.token == token)
        if connection.execute(update(lease_table).where(lease, abandoned).values(**leases.RELEASED)).rowcount == 0:
            continue  # another worker was quicker
        not_before = queue_table.c.not_before
        changes: dict[str, object] = {"not_before": case((not_before < current, current), else_=not_before)}
        if (attempts or 0) > PATIENT_ATTEMPTS:
            sentence = f"{attempts} passes died without logging an error; check the worker's log and its memory limit."
            changes = {"not_before": current + retry_pause(int(attempts)), "last_error": sentence}
        connection.execute(update(queue_table).where(queue_table.c.project == project).values(**changes))


def retry_pause(attempts: int) -> float:
    """Seconds before the next attempt: 2, 4, 8 … up to an hour."""
    return float(min(FIRST_PAUSE * 2.0 ** min(max(attempts - 1, 0), 20), LONGEST_PAUSE))


def remove(connection: Connection, project: int) -> None:
    connection.execute(delete(queue_table).where(queue_table.c.project == project))


def read_snapshots(connection: Connection) -> dict[int, str | None]:
    """Project → digest of its entry in Label Studio's list of projects when it was last polled."""
    rows = connection.execute(select(queue_table.c.project, queue_table.c.snapshot))
    return {int(row.project): row.snapshot for row in rows}


def list_entries(connection: Connection, project: int | None = None) -> list[QueueEntry]:
    """The whole queue, or one project's row, by project."""
    current = now(connection)
    held = case((lease_table.c.expires_at > current, lease_table.c.owner), else_="")
    query = select(
        queue_table,
        (current - queue_table.c.requested_at).label("since"),
        (current - queue_table.c.not_before).label("due"),
        (current - queue_table.c.completed_at).label("ended"),
        held.label("held_by"),
    ).select_from(queue_table.outerjoin(lease_table, lease_table.c.project == queue_table.c.project))
    if project is not None:
        query = query.where(queue_table.c.project == project)
    return [
        QueueEntry(
            project=int(row.project),
            waiting=float(row.since) if row.requested > row.completed and row.since >= 0 else None,
            due=float(row.due),
            held_by=str(row.held_by),
            attempts=int(row.attempts),
            completed=None if row.ended is None else float(row.ended),
            error=row.last_error,
        )
        for row in connection.execute(query.order_by(queue_table.c.project))
    ]


def get_entry(connection: Connection, project: int) -> QueueEntry | None:
    return next(iter(list_entries(connection, project)), None)


@cache
def _request_known(dialect: str) -> Update:
    """The statement of `enqueue_known`. It is run for every event, and to make it takes longer than to run it."""
    current = clock(dialect)
    changes = _new_request(current, bindparam("quiet", type_=Float), bindparam("max_wait", type_=Float))
    changes["active_at"] = current
    return update(queue_table).where(queue_table.c.project == bindparam("named", type_=Id)).values(changes)


def _new_request(
    current: ColumnElement[float], quiet: ColumnElement[float], max_wait: ColumnElement[float]
) -> dict[str, ColumnElement[Any]]:
    """What one more request changes in a row."""
    is_open = (queue_table.c.requested > queue_table.c.completed) & (queue_table.c.requested_at < current)
    first = case((is_open, queue_table.c.requested_at), else_=current)
    latest, after_quiet = first + max_wait, current + quiet
    return {
        "requested": queue_table.c.requested + 1,
        "requested_at": first,
        "not_before": case((after_quiet < latest, after_quiet), else_=latest),
        "attempts": literal(0),
    }


def _request_at(connection: Connection, project: int, due: ColumnElement[float]) -> None:
    idle = (queue_table.c.project == project) & (queue_table.c.requested <= queue_table.c.completed)
    values = {"requested": queue_table.c.requested + 1, "requested_at": due, "not_before": due}
    connection.execute(update(queue_table).where(idle).values(**values))


def _end(connection: Connection, claim: Claim, **changes: object) -> bool:
    """Change a claimed row and release its lease, if the lease is still held."""
    _lock(connection, claim.project)
    if not leases.release(connection, claim.lease):
        return False
    connection.execute(update(queue_table).where(queue_table.c.project == claim.project).values(**changes))
    return True


def _lock(connection: Connection, project: int) -> None:
    """Lock a row before its lease, the order of `claim`: or two processes could each wait for what the other has."""
    connection.execute(select(queue_table.c.project).where(queue_table.c.project == project).with_for_update()).all()
