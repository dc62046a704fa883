"""Projects as the overview and the API list them, and whether new results are on their way."""

from __future__ import annotations

from dataclasses import dataclass

from flask import abort
from sqlalchemy import Connection

from ..store import QueueEntry, StoredResults, queue
from ..store.mirror import project_titles
from ..store.results import load_results, load_summary
from .context import app_context
from .words import state_of

SOON_SECONDS = 20.0
NOT_MONITORED = "not monitored"


@dataclass(frozen=True)
class ListedProject:
    """The fields are the keys of the JSON."""

    id: int
    title: str
    state: str
    waiting: bool
    error: str | None
    seconds_since_pass: float | None
    tasks: int | None
    answers: int | None
    annotators: int | None
    confidence: float | None


def list_projects() -> list[ListedProject]:
    """All monitored projects, and those that have results from before or from `ls-crowd sync`."""
    store = app_context().store
    with store.work.connect() as connection:
        entries = {entry.project: entry for entry in queue.list_entries(connection)}
    listed = []
    with store.data.connect() as connection:
        titles = project_titles(connection)
        for number in sorted(entries.keys() | titles.keys()):
            entry, summary = entries.get(number), load_summary(connection, number)
            if entry is None and summary is None:
                continue
            completed = entry.completed if entry is not None else None
            listed.append(
                ListedProject(
                    id=number,
                    title=titles.get(number, f"Project {number}"),
                    state=NOT_MONITORED if entry is None else state_of(entry),
                    waiting=entry is not None and entry.waiting is not None,
                    error=entry.error if entry is not None else None,
                    seconds_since_pass=None if completed is None else round(completed, 1),
                    tasks=summary.tasks if summary else None,
                    answers=summary.answers if summary else None,
                    annotators=summary.annotators if summary else None,
                    confidence=summary.confidence if summary else None,
                )
            )
    return listed


def queue_entry(project: int) -> QueueEntry | None:
    with app_context().store.work.connect() as connection:
        return queue.get_entry(connection, project)


def is_busy(entry: QueueEntry | None) -> bool:
    """Whether new results will be there soon; not while a pass waits for tasks to become quiet, or after failures."""
    if entry is None or entry.error:
        return False
    return bool(entry.held_by) or (entry.waiting is not None and -entry.due < SOON_SECONDS)


def results_or_404(connection: Connection, project: int) -> StoredResults:
    results = load_results(connection, project)
    if results is None:
        abort(404, f"There are no results for project {project} yet.")
    return results
