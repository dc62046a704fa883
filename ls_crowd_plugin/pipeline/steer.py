"""Opens tasks for one more answer, and closes those that need none, in Label Studio's own queue.

A task is served to people while fewer of the answers that it requires (`overlap`) are taken, and it is not marked as
labelled. Label Studio closes a task itself when its last answer comes; then it is opened for another one. That is the
moment when nobody works on it. A change of a task may nevertheless spoil its counters (`counters.py`), so it is read
again just before, and its counters are checked afterwards. An open task is closed only when nobody has worked on it for
a while. Whoever takes a task and leaves keeps it from others for a day, so after an hour it is offered once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..errors import EndPass, NotAllowed, NotFound, Rejected
from ..labelstudio import ProjectFacts
from ..policy import Reason
from ..records import Json
from ..store import mirror
from ..store.policies import forget_asked, get_policy, note_asked, read_asked
from .asking import Decisions
from .context import Pace, PassContext
from .counters import COUNTERS, is_quiet, note_change, places_taken, repair_counters
from .inputs import Inputs

BATCH = 20  # tasks read together
HELD = timedelta(hours=1)  # an open task that is not answered for so long may be held by somebody who left
MAX_SLOTS = 3  # answers that such a task is asked for at the same time


@dataclass(frozen=True)
class Steered:
    """What was done."""

    opened: int = 0
    closed: int = 0
    repaired: int = 0  # tasks whose counters were repaired
    waiting: int = 0  # tasks that are to be closed when nobody has worked on them for a while
    refused: int = 0  # tasks that Label Studio does not let anybody change
    is_complete: bool = True  # or the next pass does the rest

    def __add__(self, other: Steered) -> Steered:
        return Steered(
            self.opened + other.opened,
            self.closed + other.closed,
            self.repaired + other.repaired,
            self.waiting + other.waiting,
            self.refused + other.refused,
            self.is_complete and other.is_complete,
        )

    @property
    def warnings(self) -> list[str]:
        if not self.refused:
            return []
        return [
            f"Tasks that Label Studio refuses to open or close: {self.refused:,}. It does so where task.data lacks a"
            " field that the label config shows; add it there."
        ]


@dataclass(frozen=True)
class Overdue:
    """Open tasks that nobody has answered for an hour."""

    tasks: frozenset[int] = frozenset()
    next_in: float = 0.0  # seconds until there are more; 0: there will be none

    @classmethod
    def read(cls, context: PassContext) -> Overdue:
        with context.store.data.connect() as connection:
            policy = get_policy(connection, context.project)
            since = read_asked(connection, context.project) if policy is not None and policy.acts else {}
        left = {task: asked + HELD.total_seconds() - _now(context) for task, asked in since.items()}
        ahead = [seconds for seconds in left.values() if seconds > 0]
        return cls(frozenset(task for task, seconds in left.items() if seconds <= 0), min(ahead, default=0.0))


def open_tasks(context: PassContext, facts: ProjectFacts, decisions: Decisions) -> Steered:
    """Open tasks for one more answer, and close those that the budget leaves none. People wait for them, so this comes
    before anything is written, at full speed."""
    return _steer(context, facts, decisions, urgent=True)


def close_tasks(context: PassContext, facts: ProjectFacts, decisions: Decisions) -> Steered:
    """Close tasks that need no more answers."""
    return _steer(context, facts, decisions, urgent=False)


def _steer(context: PassContext, facts: ProjectFacts, decisions: Decisions, *, urgent: bool) -> Steered:
    if context.flags.dry_run or not decisions.steering.policy.acts:
        return Steered()
    wanted, steered = _changes(decisions, urgent), Steered()
    report = context.progress("queue")
    with context.timed("queue"):
        if urgent and decisions.steering.is_whole:
            _note_asked(context, decisions)
        for start in range(0, len(wanted), BATCH):
            steered += _change(context, facts, decisions, wanted[start : start + BATCH], urgent)
            report(min(start + BATCH, len(wanted)), len(wanted))
            try:
                context.checkpoint(rest_can_wait=not urgent)
            except EndPass as end:
                if end.kind != "superseded":
                    raise
                return replace(steered, is_complete=steered.is_complete and start + BATCH >= len(wanted))
    return steered


def _changes(decisions: Decisions, urgent: bool) -> list[int]:
    """The tasks to change, those with too few answers first, then in turn."""
    steering = decisions.steering
    wanted = []
    for task in decisions.in_turn:
        reason, one = decisions.reasons[task], steering.asked[task]
        is_held = task in steering.overdue and one.slots < MAX_SLOTS
        is_right = one.is_open and not is_held if reason.is_open else one.is_labeled
        if not is_right and (reason.is_open or reason is Reason.BUDGET) == urgent:
            wanted.append(task)
    return sorted(wanted, key=lambda task: decisions.reasons[task] is not Reason.FEW)


def recount(context: PassContext, facts: ProjectFacts, inputs: Inputs) -> Steered:
    """When nobody works, repair what Label Studio itself has miscounted, as it does where two people submit at the same
    moment: such a task may be served to nobody."""
    if context.flags.dry_run or context.flags.pace is Pace.LIVE or not inputs.steering.policy.acts:
        return Steered()
    counts = {task: [0, 0] for task in inputs.tasks}  # answered, skipped
    for one in inputs.annotations:
        counts[one.task][one.skipped] += 1
    wrong = [
        int(task["id"])
        for page in context.studio.listed_pages(context.project)
        for task in page
        if counts.get(int(task["id"])) not in (None, [task["total_annotations"], task["cancelled_annotations"]])
    ]
    return Steered(repaired=repair_counters(context.studio, context.project, wrong, facts.skips_count))


def _note_asked(context: PassContext, decisions: Decisions) -> None:
    """Keep since when tasks have been open for the tasks that may be offered once more. Those with too few answers are
    open without our doing; when only some are left, somebody may hold each of them."""
    steering, reasons = decisions.steering, decisions.reasons
    with context.store.data.connect() as connection:
        known = read_asked(connection, context.project)
    held = [task for task, one in steering.asked.items() if one.is_open and reasons[task].is_open]
    may_wait = {task for task in held if steering.asked[task].slots < MAX_SLOTS or task not in steering.overdue}
    few = [task for task in held if reasons[task] is Reason.FEW]
    new = [task for task in few if task not in known] if len(few) <= steering.enough_open else []
    old = sorted(known.keys() - may_wait)
    if new or old:
        with context.transaction() as connection:
            forget_asked(connection, context.project, old)
            note_asked(connection, context.project, new, _now(context))


def _change(
    context: PassContext, facts: ProjectFacts, decisions: Decisions, batch: Sequence[int], urgent: bool
) -> Steered:
    """Change some tasks, after another look at them."""
    changed: dict[int, tuple[int, bool]] = {}
    steered = Steered()
    quiet_since = context.studio.server_time() - timedelta(seconds=context.flags.quiet_seconds)
    tasks = context.studio.tasks(context.project, batch, f"{COUNTERS},updated_at")
    note_change(context)
    try:
        for task in tasks:
            wanted = _wanted(task, decisions, facts, quiet_since)
            if not isinstance(wanted, tuple):
                steered += wanted
                continue
            required, is_closed = wanted
            number = int(task["id"])
            try:
                with nullcontext() if urgent else context.followed_by_pause(), suppress(NotFound):
                    context.studio.change_task(number, {"overlap": required, "is_labeled": is_closed})
                    changed[number] = wanted
                    steered += Steered(opened=not is_closed, closed=is_closed)
            except (Rejected, NotAllowed):
                steered += Steered(refused=1)
    finally:
        _record(context, changed)
    closed = {number: is_closed for number, (_, is_closed) in changed.items()}
    repaired = repair_counters(context.studio, context.project, changed, facts.skips_count, closed=closed)
    with context.transaction() as connection:
        mirror.note_counters_checked(connection, context.project)
    return steered + Steered(repaired=repaired)


def _wanted(task: Json, decisions: Decisions, facts: ProjectFacts, quiet_since: datetime) -> tuple[int, bool] | Steered:
    """How many answers a task is to require and whether it is to be closed, or why it is left as it is."""
    number, steering = int(task["id"]), decisions.steering
    one, is_closed = steering.asked[number], not decisions.is_open(number)
    rows = ((row["completed_by"], row["was_cancelled"], row["ground_truth"]) for row in task["annotations"])
    taken, required = places_taken(rows, facts.skip_queue), int(task["overlap"] or 1)
    if taken != one.taken:
        return Steered(is_complete=False)  # somebody has answered it since, so the next pass decides
    is_open = not task["is_labeled"] and required > taken
    if not is_closed:
        slots = min(required - taken + 1, MAX_SLOTS) if is_open else 1  # an open one is held
        required = taken + max(slots, steering.policy.min_answers - len(one.answered))
    elif is_open and decisions.reasons[number] is not Reason.BUDGET and not is_quiet(task, quiet_since):
        return Steered(waiting=1)
    else:
        required = max(taken, 1)
    return Steered() if (required, is_closed) == (task["overlap"], task["is_labeled"]) else (required, is_closed)


def _record(context: PassContext, changed: dict[int, tuple[int, bool]]) -> None:
    """Remember what was changed, and since when tasks are open."""
    opened = [task for task, (_, is_closed) in changed.items() if not is_closed]
    with context.transaction() as connection:
        mirror.set_required(connection, context.project, changed)
        forget_asked(connection, context.project, list(changed))
        note_asked(connection, context.project, opened, _now(context))


def _now(context: PassContext) -> float:
    """By Label Studio's clock."""
    return context.studio.server_time().timestamp()
