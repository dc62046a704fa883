"""What stands in Label Studio: what we know to have written, and what is found there when that has to be checked."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import BrokenAnswer
from ..labelstudio import ProjectFacts
from ..store.passes import LastPass, invalidate_last_pass
from ..store.predictions import (
    StoredPrediction,
    forget_predictions,
    read_predictions,
    remember_version,
    save_predictions,
)
from ..store.project_settings import remember_settings
from .context import Pace, PassContext
from .existing import describe_hidden, describe_tampering, existing_predictions, our_versions, tampered
from .plan import DesiredPrediction, ExistingPrediction, Plan, Scope, make_plan, only_urgent
from .write import Written, settings_to_change

LISTED_PER_REQUEST = 50  # predictions that Label Studio lists in about the time it takes for those of one task
VERIFY_SECONDS = 3600.0  # equal counts do not say that nobody edited a prediction: they are compared this often


@dataclass(frozen=True)
class Standing:
    """Our predictions in Label Studio, as far as this pass knows them."""

    versions: Mapping[str, int]  # of ours → how many predictions each has
    taken: Collection[str]  # versions of others
    known: Mapping[int, StoredPrediction]  # task → what we wrote
    verified_at: float  # when predictions were last compared one by one
    found: Sequence[ExistingPrediction] | None = None  # all of ours; None if they were not listed
    hidden: frozenset[int] = frozenset()  # tasks whose predictions cannot be listed, and on which we remember none
    warnings: list[str] = field(default_factory=list)

    @property
    def is_as_written(self) -> bool:
        """Whether Label Studio holds what we wrote, as far as it was checked."""
        if self.found is None:
            return True
        by_task = {one.task: one.digest for one in self.found}
        expected = {task: stored.digest for task, stored in self.known.items()}
        return len(self.versions) <= 1 and len(by_task) == len(self.found) and by_task == expected

    def existing(self, tasks: Collection[int] | None = None) -> list[ExistingPrediction]:
        """Our predictions on some tasks, or all, from the list or from memory."""
        if self.found is None:
            return self.remembered(tasks)
        return [one for one in self.found if tasks is None or one.task in tasks]

    def remembered(self, tasks: Collection[int] | None = None) -> list[ExistingPrediction]:
        """Our predictions on some tasks, or all, as we wrote them."""
        version = next(iter(self.versions), "")
        return [
            ExistingPrediction(one.id or 0, one.task, version, one.digest, one.labels, one.score)
            for one in self.known.values()
            if tasks is None or one.task in tasks
        ]


def read_standing(
    context: PassContext, tasks_read: frozenset[int], last: LastPass | None, *, only_remembered: bool = False
) -> Standing:
    """What stands in Label Studio.

    Predictions are listed if their number differs from what we wrote, if they have not been compared for long, or if
    the project is to be settled. Else only those on tasks that were touched, which were read, may have changed. If a
    later pass will look, `only_remembered` spares Label Studio the count.
    """
    with context.store.data.connect() as connection:
        known = read_predictions(connection, context.project)
    verified_at = last.verified_at if last is not None else 0.0
    if only_remembered and known and last is not None:
        return Standing({last.version: len(known)}, (), known, verified_at)
    versions, taken = our_versions(context.studio, context.store, context.project)
    standing = Standing(versions, taken, known, verified_at)
    counts_agree = list(versions.values()) == ([len(known)] if known else [])
    is_verified = 0 <= time.time() - verified_at < VERIFY_SECONDS and not context.flags.from_scratch
    if not counts_agree or not is_verified or (last is not None and context.flags.pace is Pace.SETTLE):
        return _list(context, standing)
    if context.flags.pace is Pace.AT_ONCE and _are_changed(context, standing, tasks_read & known.keys()):
        return _list(context, standing)
    return standing


def _are_changed(context: PassContext, standing: Standing, tasks: frozenset[int]) -> bool:
    """Whether any of some tasks has other predictions of ours than we wrote."""
    on_tasks = context.studio.predictions_on(context.project, tasks) if tasks else {}
    for task in tasks:
        ours = [one for one in on_tasks.get(task, ()) if one.model_version in standing.versions]
        if [ExistingPrediction.of(one).digest for one in ours] != [standing.known[task].digest]:
            return True
    return False


def _list(context: PassContext, standing: Standing) -> Standing:
    """List our predictions, and say what somebody else did to them."""
    studio, project = context.studio, context.project
    found, hidden = existing_predictions(studio, project, standing.versions) if standing.versions else ([], frozenset())
    found += standing.remembered(hidden)
    changed = tampered(found, standing.known)
    warnings = [*describe_tampering(studio, context.store, project, changed), *describe_hidden(hidden)]
    hidden -= standing.known.keys()
    return replace(standing, found=found, hidden=hidden, verified_at=time.time(), warnings=warnings)


def plan_writes(
    context: PassContext,
    facts: ProjectFacts,
    desired: Sequence[DesiredPrediction],
    standing: Standing,
    scope: Scope,
) -> tuple[Plan, Standing]:
    """What to write at this pace, and what stands in Label Studio, which may have been listed for it.

    `desired` is about the tasks of the scope, and nothing is done to others.
    """
    plan = _plan(context, facts, desired, standing, scope)
    touched = [existing for existing, _ in plan.update] + plan.delete
    without_id = [existing.task for existing in touched if not existing.id]  # an import does not tell them
    if standing.found is None and without_id:
        standing = _find_ids(context, standing, without_id)
        plan = _plan(context, facts, desired, standing, scope)
    if desired:
        settings, _ = settings_to_change(facts, context.flags.take_over, plan.version, standing.versions)
        plan = replace(plan, settings=settings)
    return plan, standing


def _find_ids(context: PassContext, standing: Standing, tasks: Sequence[int]) -> Standing:
    """Find the ids of our predictions on some tasks: by asking for one task after another, or where they are many, or
    hold something else than we wrote, by listing all predictions."""
    known = dict(standing.known)
    if len(tasks) * LISTED_PER_REQUEST > len(known):
        return _list(context, standing)
    for task in tasks:
        try:
            with context.followed_by_pause():
                found = context.studio.predictions_on_task(task)
        except BrokenAnswer:
            return _list(context, standing)
        ours = [one for one in found if one.model_version in standing.versions]
        if [ExistingPrediction.of(one).digest for one in ours] != [known[task].digest]:
            return _list(context, standing)
        known[task] = replace(known[task], id=ours[0].id)
    return replace(standing, known=known)


def _plan(
    context: PassContext,
    facts: ProjectFacts,
    desired: Sequence[DesiredPrediction],
    standing: Standing,
    scope: Scope,
) -> Plan:
    plan = make_plan(
        [prediction for prediction in desired if prediction.task not in standing.hidden],
        standing.existing(scope.tasks),
        tasks=facts.task_number,
        shown_version=facts.model_version or "",
        ours=standing.versions if scope.tasks is not None else (),
        taken=standing.taken,
        may_replace=context.flags.pace is Pace.AT_ONCE,
    )
    return only_urgent(plan, standing.known, scope.answers) if context.flags.pace is Pace.LIVE else plan


def begin_writing(context: PassContext, facts: ProjectFacts, plan: Plan) -> None:
    """Forget what is about to change, so that after a crash all predictions are compared, and note what to restore."""
    with context.transaction() as connection:
        before = {name: getattr(facts, name) for name in plan.settings}
        remember_settings(connection, context.project, before)
        remember_version(connection, context.project, plan.version)
        invalidate_last_pass(connection, context.project)
        forget_predictions(connection, context.project, None if plan.retire else sorted(plan.tasks))


def end_writing(context: PassContext, plan: Plan, standing: Standing, written: Written) -> None:
    """Remember what Label Studio holds now."""
    is_known = standing.found is None and not plan.retire  # what the plan does not touch
    touched = plan.tasks
    before = {
        one.task: one.stored(standing.known[one.task].basis if one.task in standing.known else "")
        for one in standing.existing(touched if is_known else None)
        if one.version == plan.version
    }
    after = {**before, **written.stored}
    with context.transaction() as connection:
        forget_predictions(connection, context.project, sorted(touched | after.keys()) if is_known else None)
        save_predictions(connection, context.project, [one for one in after.values() if one is not None])
