"""When tasks that nobody has answered get their turn: while people work, once a minute, and answered ones first."""

from __future__ import annotations

import time

from ..labelstudio import ProjectFacts
from ..store.mirror_facts import count_tasks
from ..store.passes import LastPass
from ..store.results import get_results_time, load_summary
from .context import LARGE_PROJECT, Pace, PassContext
from .inputs import Inputs, without_answers
from .standing import Standing

REST_SECONDS = 60.0  # while people answer, other tasks and the dashboard get their turn this often


def results_due_in(context: PassContext) -> float:
    """Seconds until the results of a project as it is mirrored are due, if nothing but answers changes."""
    with context.store.data.connect() as connection:
        tasks = count_tasks(connection, context.project)
    return _results_due_in(context, tasks)


def rest_due(
    context: PassContext, facts: ProjectFacts, last: LastPass | None, current: str, standing: Standing | None = None
) -> float:
    """Seconds until tasks that were not answered get their turn, 0 if that is now: people wait for answered ones.

    If more than answers has changed, such as gold, somebody waits for all tasks.
    """
    if standing is not None and standing.found is not None:
        return 0.0
    if last is None or last.fingerprint == current or without_answers(last.fingerprint) != without_answers(current):
        return 0.0
    return _results_due_in(context, facts.task_number)


def _results_due_in(context: PassContext, tasks: int) -> float:
    """Seconds until the results of a project with this number of tasks are due, if nothing but answers changes."""
    if context.flags.pace is not Pace.LIVE or (tasks <= LARGE_PROJECT and not context.is_superseded()):
        return 0.0
    with context.store.data.connect() as connection:
        age = time.time() - get_results_time(connection, context.project)
    return REST_SECONDS - age if 0 <= age < REST_SECONDS else 0.0


def new_answers(context: PassContext, inputs: Inputs) -> int:
    """How many answers were given since all tasks had their turn; at least one."""
    with context.store.data.connect() as connection:
        shown = load_summary(connection, context.project)
    return max(len(inputs.crowd.units) - (shown.answers if shown is not None else 0), 1)
