"""Short ways to enqueue and claim projects and to read candidates, each in a transaction of its own."""

from __future__ import annotations

from sqlalchemy import select, update

from ls_crowd_plugin.store import Claim, QueueEntry, Store, queue
from ls_crowd_plugin.store.candidates import candidate_table
from ls_crowd_plugin.store.queue import queue_table
from tests.support.transactions import run


def enqueue(store: Store, *projects: int, quiet: float = 0.0, max_wait: float = 0.0) -> None:
    for project in projects:
        run(store.work, queue.enqueue, project, quiet=quiet, max_wait=max_wait)


def claim(store: Store, owner: str = "a", seconds: float = 60.0) -> Claim:
    """Claim what is due; fail if nothing is."""
    claimed = run(store.work, queue.claim, owner, seconds)
    assert claimed is not None
    return claimed


def claim_project(store: Store, owner: str = "a", seconds: float = 60.0) -> int | None:
    """Claim what is due; return the project, or None if nothing is due."""
    claimed = run(store.work, queue.claim, owner, seconds)
    return None if claimed is None else claimed.project


def get_entry(store: Store, project: int = 3) -> QueueEntry:
    entry = run(store.work, queue.get_entry, project)
    assert entry is not None
    return entry


def set_due(store: Store, project: int, seconds_ago: float) -> None:
    """Make a project due since some seconds, instead of waiting that long."""
    entry = get_entry(store, project)
    with store.work.begin() as connection:
        due = queue_table.c.not_before + entry.due - seconds_ago
        connection.execute(update(queue_table).where(queue_table.c.project == project).values(not_before=due))


def candidates_in(store: Store) -> list[int]:
    """The projects that events named and that Label Studio was not asked about."""
    with store.work.connect() as connection:
        query = select(candidate_table.c.project).order_by(candidate_table.c.project)
        return [int(project) for project in connection.execute(query).scalars()]
