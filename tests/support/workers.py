"""Workers that run in the test's own thread or in one beside it, and what they leave in the work database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ls_crowd_plugin.labelstudio import ProjectFacts
from ls_crowd_plugin.pipeline.context import PassContext, RunFlags
from ls_crowd_plugin.pipeline.outcome import Outcome, PassReport
from ls_crowd_plugin.pipeline.plan import Plan
from ls_crowd_plugin.pipeline.pull import Pulled
from ls_crowd_plugin.pipeline.worker import Worker
from ls_crowd_plugin.records import ProjectSummary
from ls_crowd_plugin.store import QueueEntry, Store, duties, queue, tallies
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import PLURALITY

RunPass = Callable[[PassContext], Outcome]


def make_worker(studio: MemoryStudio, store: Store, **options: Any) -> Worker:
    """A worker for which polling is not due, unless `poll_seconds` says so."""
    if "poll_seconds" not in options:
        with store.work.begin() as connection:
            duties.claim_duty(connection, "poll", 3600.0)
    return Worker(studio, store, PLURALITY, RunFlags(), **{"name": "worker", **options})


@contextmanager
def running(worker: Worker) -> Iterator[None]:
    """Run a worker in a thread for the length of a block."""
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join(30)
        assert not thread.is_alive()


def enqueue(store: Store, project: int = PROJECT, **when: float) -> None:
    with store.work.begin() as connection:
        queue.enqueue(connection, project, **when)  # type: ignore[arg-type]


def entry_of(store: Store, project: int = PROJECT) -> QueueEntry:
    """The row of a project in the queue."""
    with store.work.connect() as connection:
        entry = queue.get_entry(connection, project)
    assert entry is not None
    return entry


def is_idle(store: Store) -> bool:
    """Whether every request is covered."""
    with store.work.connect() as connection:
        return all(entry.waiting is None for entry in queue.list_entries(connection))


def tally_of(store: Store, name: str) -> dict[str, float]:
    """Label → sum."""
    with store.work.connect() as connection:
        return {label: value for (tally, label), value in tallies.read(connection).items() if tally == name}


def make_report(**fields: Any) -> PassReport:
    """The report of a pass that found and did nothing, except for these fields."""
    pulled = Pulled(ProjectFacts(PROJECT, "Moods", "", "", 0), frozenset(), 0, 0)
    return replace(PassReport(PROJECT, "Moods", pulled, Plan(), ProjectSummary()), **fields)
