"""Opens tasks for one more answer, and closes those that need none, in Label Studio's own queue.

A task is served to people while it has fewer answers than it requires (`overlap`) and is not marked as labelled. Label
Studio closes a task itself when its last answer comes; then it is opened for another one. That is the moment when
nobody works on it. A change of a task may nevertheless spoil its counters (`counters.py`), so it is read again just
before, and its counters are checked afterwards. An open task is closed only when nobody has worked on it for a while.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..errors import EndPass, NotFound
from ..labelstudio import ProjectFacts
from ..policy import Reason
from ..records import Json
from ..store import mirror
from .asking import Decisions
from .context import PassContext
from .counters import COUNTERS, change_time, counted_people, is_quiet, repair_counters

BATCH = 20  # tasks read together
STALE = timedelta(hours=1)  # an open task that is not answered for so long may be held by somebody who left
MAX_SLOTS = 3  # answers that such a task is asked for at the same time


@dataclass(frozen=True)
class Steered:
    """What was done."""

    opened: int = 0
    closed: int = 0
    repaired: int = 0  # tasks whose counters were repaired
    waiting: int = 0  # tasks that are to be closed when nobody has worked on them for a while
    is_complete: bool = True  # or the next pass does the rest

    def __add__(self, other: Steered) -> Steered:
        opened, closed = self.opened + other.opened, self.closed + other.closed
        repaired, waiting = self.repaired + other.repaired, self.waiting + other.waiting
        return Steered(opened, closed, repaired, waiting, self.is_complete and other.is_complete)


def open_tasks(context: PassContext, facts: ProjectFacts, decisions: Decisions) -> Steered:
    """Open tasks for one more answer. People wait for them, so this comes before anything is written, at full speed."""
    return _steer(context, facts, decisions, opening=True)


def close_tasks(context: PassContext, facts: ProjectFacts, decisions: Decisions) -> Steered:
    """Close tasks that need no more answers."""
    return _steer(context, facts, decisions, opening=False)


def _steer(context: PassContext, facts: ProjectFacts, decisions: Decisions, *, opening: bool) -> Steered:
    if context.flags.dry_run or not decisions.steering.policy.acts:
        return Steered()
    quiet_since = context.studio.server_time() - timedelta(seconds=context.flags.quiet_seconds)
    wanted, steered = _changes(context, decisions, opening), Steered()
    report = context.progress("queue")
    with context.timed("queue"):
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            tasks = context.studio.tasks(context.project, batch, f"{COUNTERS},updated_at")
            steered += _change(context, facts, decisions, tasks, quiet_since)
            report(min(start + BATCH, len(wanted)), len(wanted))
            try:
                context.checkpoint(rest_can_wait=not opening)
            except EndPass as end:
                if end.kind != "superseded":
                    raise
                return replace(steered, is_complete=start + BATCH >= len(wanted))
    return steered


def _changes(context: PassContext, decisions: Decisions, opening: bool) -> list[int]:
    """The tasks to open, those with too few answers first, or to close."""
    stale, asked = _stale(context, decisions) if opening else set(), decisions.steering.asked
    wanted = [
        task
        for task, reason in decisions.reasons.items()
        if reason.is_open == opening and (asked[task].is_open != opening or task in stale)
    ]
    return sorted(wanted, key=lambda task: (decisions.reasons[task] is not Reason.FEW, decisions.turn(task)))


def _stale(context: PassContext, decisions: Decisions) -> set[int]:
    """Open tasks that nobody answers, although others are answered: somebody may have opened them and left, and
    Label Studio keeps a task for such a person for a day."""
    asked, since = decisions.steering.asked, context.studio.server_time() - STALE
    newest = max((one.updated_at for one in asked.values()), default="")
    if change_time(newest) < since:
        return set()
    return {task for task, one in asked.items() if one.is_open and change_time(one.updated_at) < since}


def _change(
    context: PassContext,
    facts: ProjectFacts,
    decisions: Decisions,
    tasks: Sequence[Json],
    quiet_since: datetime,
) -> Steered:
    """Change some tasks that were just read."""
    changed: dict[int, tuple[int, bool]] = {}
    steered = Steered()
    least = decisions.steering.policy.min_answers
    for task in tasks:
        number = int(task["id"])
        counted = len(counted_people(task, facts.skips_count))
        required = int(task["overlap"] or 1)
        is_open = not task["is_labeled"] and required > counted
        if counted != decisions.steering.asked[number].counted:
            continue  # somebody has answered it since, so the next pass decides
        if decisions.is_open(number):
            slots = min(required - counted + 1, MAX_SLOTS) if is_open else 1  # an open one is stale
            required = counted + max(slots, least - len(counted_people(task, False)))
        elif is_open and not is_quiet(task, quiet_since):
            steered += Steered(waiting=1)
            continue
        else:
            required = max(counted, 1)
        is_closed = not decisions.is_open(number)
        if (required, is_closed) == (task["overlap"], task["is_labeled"]):
            continue
        with suppress(NotFound):
            context.studio.change_task(number, {"overlap": required, "is_labeled": is_closed})
            changed[number] = required, is_closed
            steered += Steered(opened=not is_closed, closed=is_closed)
    closed = {number: is_closed for number, (_, is_closed) in changed.items()}
    repaired = repair_counters(context.studio, context.project, changed, facts.skips_count, closed=closed)
    with context.transaction() as connection:
        mirror.set_required(connection, context.project, changed)
    return steered + Steered(repaired=repaired)
