"""What the answers say: by a vote with what the last fit knows, where that is enough, or else by a new fit."""

from __future__ import annotations

from dataclasses import replace

from ..controls import read_config
from ..errors import UnusableInput
from ..labelstudio import ProjectFacts
from ..store import mirror_facts
from ..store.results import get_results_time
from .asking import Decisions, SharedFacts
from .context import PassContext
from .inputs import Inputs, read_inputs, without_answers
from .project_fit import ProjectFit, fit_project

NEXT_IN_TURN = 50  # tasks that are opened at most, for those that were answered


def vote(
    context: PassContext, facts: ProjectFacts, current: str, tasks: frozenset[int]
) -> tuple[Inputs, ProjectFit] | None:
    """Some tasks and what the last fit says about them, by their present answers; None if only a new fit can tell."""
    learned = context.fits.recall(context.project, _depends_on(context, facts, current))
    if learned is None or read_config(facts.label_config).has_open_labels:
        return None
    shared = _shared_facts(context)
    next_in_turn = shared.waiting if shared is not None else ()
    inputs = read_inputs(context.store, facts, context.recipe, tasks.union(next_in_turn))
    inputs = replace(inputs, shared=shared)
    try:
        return inputs, learned.vote(inputs.crowd)
    except UnusableInput:  # somebody who has just begun, or a label that nobody gave before
        return None


def fit_all(context: PassContext, facts: ProjectFacts, current: str) -> tuple[Inputs, ProjectFit | None]:
    """All answers and the fit to them; None if there are no answers."""
    inputs = read_inputs(context.store, facts, context.recipe)
    if not inputs.crowd.units:
        return inputs, None
    report = context.progress("fit")
    fit = fit_project(
        inputs.crowd,
        context.recipe.method,
        separate=context.recipe.separate_fits,
        decide=context.recipe.decide,
        rings=context.recipe.rings,
        on_progress=lambda fraction: report(int(100 * fraction), 100),
    )
    remember(context, facts, current, inputs, fit)
    return inputs, fit


def remember(
    context: PassContext,
    facts: ProjectFacts,
    current: str,
    inputs: Inputs,
    fit: ProjectFit,
    decisions: Decisions | None = None,
) -> None:
    """Keep a fit for later votes; once more when its results are stored, because then these are the newest."""
    shared = None
    if inputs.policy is not None:
        last = context.fits.shared_facts(context.project)
        waiting = last.waiting if last is not None else ()
        shared = decisions.shared if decisions else replace(inputs.steering.shared, waiting=waiting)
    context.fits.remember(context.project, _depends_on(context, facts, current), len(inputs.crowd.units), fit, shared)


def _shared_facts(context: PassContext) -> SharedFacts | None:
    """What a policy knows about all tasks: from the last fit, but with the tasks that are open now, and only those
    next in turn that are still closed."""
    shared = context.fits.shared_facts(context.project)
    if shared is None:
        return None
    with context.store.data.connect() as connection:
        still_open = mirror_facts.read_open_tasks(connection, context.project)
        open_tried = mirror_facts.count_open_tried(connection, context.project)
    waiting = [task for task in shared.waiting if task not in still_open]
    return replace(shared, open=len(still_open), open_tried=open_tried, waiting=tuple(waiting[:NEXT_IN_TURN]))


def _depends_on(context: PassContext, facts: ProjectFacts, current: str) -> str:
    """What a remembered fit depends on besides the answers: the same project, gold and recipe, and the same results as
    are stored, or else another process has a newer fit."""
    with context.store.data.connect() as connection:
        results_at = get_results_time(connection, context.project)
    return f"{facts.created_at} {without_answers(current)} {results_at!r}"
