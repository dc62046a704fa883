"""One pass over one project, from Label Studio's annotations to the consensus in Label Studio. Read this first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlalchemy.exc import SQLAlchemyError, StatementError

from ..errors import CrowdError, EndPass, LabelStudioError, LeaseLost
from ..labelstudio import ProjectFacts
from ..labelstudio.validation import explain_rejection
from ..records import ProjectSummary
from ..store.passes import LastPass, get_last_pass, save_last_pass
from ..store.results import forget_results, save_results
from ..store.users import read_names, save_users
from .annotator_records import annotator_records
from .asking import Decisions
from .context import Pace, PassContext
from .counters import check_changed
from .desired import desired_predictions
from .figures import figures
from .fitting import fit_all, remember, vote
from .forecast import describe
from .gold_doubts import describe_doubts, doubtful_gold
from .inputs import Inputs, fingerprint, without_answers
from .label_records import fitted_labels
from .outcome import Kind, Outcome, PassReport
from .plan import DesiredPrediction, Plan, Scope
from .project_fit import ProjectFit
from .pull import Pulled, pull
from .queue_settings import prepare_queue
from .rest import new_answers, rest_due, results_due_in
from .standing import Standing, begin_writing, end_writing, plan_writes, read_standing
from .steer import Overdue, close_tasks, open_tasks, recount
from .task_meta import copy_task_meta
from .usable import summarise
from .write import Written, settings_to_change, write

MAX_PLANS = 4  # in one pass, if requests are interrupted or tasks are deleted meanwhile
FEW_WRITES = 20  # predictions that are written before the dashboard gets its results; it does not wait for more
OUTAGE_PAUSE = 60.0  # longest pause before a retry when Label Studio failed


def run_pass(context: PassContext) -> Outcome:
    """Make our predictions in Label Studio a function of its present annotations, our gold and the recipe."""
    try:
        return _run(context)
    except EndPass as end:
        return Outcome(Kind(end.kind), str(end))
    except LeaseLost as lost:
        return Outcome(Kind.DEFERRED, str(lost))
    except LabelStudioError as error:
        return Outcome(Kind.FAILED, str(error), max_pause=OUTAGE_PAUSE)
    except CrowdError as error:
        return Outcome(Kind.PARKED, str(error))
    except SQLAlchemyError as error:
        if isinstance(error, StatementError) and isinstance(error.orig, MemoryError):
            raise error.orig from error
        return Outcome(Kind.FAILED, f"The database failed ({type(error).__name__}); check that it is running.")


def _run(context: PassContext) -> Outcome:
    with context.timed("pull"):
        pulled, last, current = _pull(context, only_newest=results_due_in(context) > 0)
        if context.flags.pace is Pace.SETTLE and pulled.annotations_changed:  # people do work, only without webhooks
            context = replace(context, flags=replace(context.flags, pace=Pace.LIVE))
        rest_due_in = rest_due(context, pulled.facts, last, current)
        if pulled.only_newest and not rest_due_in:
            more, last, current = _pull(context, only_newest=False)
            pulled = pulled.followed_by(more)
        facts = pulled.facts
        if not context.flags.dry_run:
            check_changed(context, facts)
        standing = read_standing(context, pulled.tasks, last, only_remembered=rest_due_in > 0)
        overdue = Overdue.read(context)
    is_known = last is not None and last.fingerprint == current and not overdue.tasks
    if is_known and last is not None and _is_done(context, last) and standing.is_as_written:
        settings, warning = settings_to_change(facts, context.flags.take_over, last.version, standing.versions)
        if not settings:
            report = _report(context, pulled, Plan(last.version), last.summary, [warning])
            return Outcome(Kind.UNCHANGED, report=_with_task_meta(context, report, standing))

    with context.timed("fit"):
        voted = vote(context, facts, current, pulled.tasks) if rest_due_in else None
        inputs, fit = voted or fit_all(context, facts, current)
        inputs = replace(inputs, overdue=overdue.tasks)
        if fit is None:
            return _clear(context, facts, inputs, standing)
    with context.timed("plan"):
        rest_due_in = rest_due_in or rest_due(context, facts, last, current, standing)
        scope = Scope(pulled.tasks if rest_due_in else None, 1 if voted else new_answers(context, inputs))
        desired, decisions = _desired(context, inputs, fit, scope)
        plan, standing = plan_writes(context, facts, desired, standing, scope)
        summary = last.summary if voted and last is not None else _summary(inputs, fit)
    _, warning = settings_to_change(facts, context.flags.take_over, plan.version, standing.versions)
    report = _report(context, pulled, plan, summary, [*standing.warnings, warning], rest_due_in)
    if context.flags.dry_run:
        return Outcome(Kind.DONE, report=report)
    computed = _Computed(facts, current, inputs, fit, summary, desired, decisions, scope)
    return _carry_out(context, computed, plan, standing, report, last)


@dataclass(frozen=True)
class _Computed:
    """What a pass computed about the tasks of its scope."""

    facts: ProjectFacts
    fingerprint: str
    inputs: Inputs
    fit: ProjectFit
    summary: ProjectSummary
    desired: Sequence[DesiredPrediction]
    decisions: Decisions
    scope: Scope


def _carry_out(
    context: PassContext,
    computed: _Computed,
    plan: Plan,
    standing: Standing,
    report: PassReport,
    last: LastPass | None,
) -> Outcome:
    """Write what was computed to Label Studio, and store the results."""
    facts, current, scope = computed.facts, computed.fingerprint, computed.scope
    takes_long = not report.rest_due_in and plan.size > FEW_WRITES and context.flags.pace is not Pace.AT_ONCE
    if takes_long:
        with context.timed("results"):
            _save_results(context, computed)
    steered = open_tasks(context, facts, computed.decisions)
    opened = {task for task, reason in computed.decisions.reasons.items() if reason.is_open}
    context.fits.forget_waiting(context.project, opened)
    with context.timed("write"):
        written, plan = _write(context, facts, computed.desired, plan, standing, scope)
        if written.ended_by is not None and written.ended_by.kind == Kind.STOPPED:
            raise written.ended_by
    with context.timed("results"):
        is_complete = takes_long or not (report.rest_due_in or rest_due(context, facts, last, current, standing))
        if is_complete and not takes_long:
            _save_results(context, computed)
    if written.ended_by is None:
        steered += close_tasks(context, facts, computed.decisions) + recount(context, facts, computed.inputs)
    with context.timed("results"):
        if not written.refused:
            # What is not covered is done by a later pass.
            is_covered = is_complete and written.ended_by is None and steered.is_complete
            covered = current if is_covered else without_answers(current)
            counters_due = computed.decisions.steering.policy.acts and context.flags.pace is Pace.LIVE
            settled = not (plan.deferred or steered.waiting or counters_due)
            with context.transaction() as connection:
                last = LastPass(covered, plan.version, computed.summary, standing.verified_at, settled)
                save_last_pass(connection, context.project, last)
        if written.ended_by is not None:
            kind = Kind(written.ended_by.kind)
            return Outcome(kind, str(written.ended_by), replace(report, written=written, steered=steered))
        _save_names(context, computed.fit)
    warnings = [*report.warnings, *_refused(facts, computed.desired, plan, written), *steered.warnings]
    again = Overdue.read(context).next_in
    report = replace(report, written=written, steered=steered, ask_again_in=again, warnings=warnings)
    return Outcome(Kind.DONE, report=_with_task_meta(context, report, standing))


def _pull(context: PassContext, *, only_newest: bool) -> tuple[Pulled, LastPass | None, str]:
    """Read what changed; returns the last pass, too, and the fingerprint of this one."""
    pulled = pull(context, only_newest=only_newest)
    if prepare_queue(context, pulled.facts):
        pulled = pulled.followed_by(pull(context))
    with context.store.data.connect() as connection:
        last = get_last_pass(connection, context.project)
        return pulled, last, fingerprint(connection, pulled.facts, context.recipe)


def _is_done(context: PassContext, last: LastPass) -> bool:
    """Whether the last pass wrote as much as this one would."""
    return not context.flags.from_scratch and (last.settled or context.flags.pace is Pace.LIVE)


def _desired(
    context: PassContext, inputs: Inputs, fit: ProjectFit, scope: Scope
) -> tuple[list[DesiredPrediction], Decisions]:
    """What the predictions should say about the tasks of the scope, and why these are to be open or closed."""
    tasks = scope.tasks if inputs.policy is None else None  # a policy compares tasks with each other
    predictions = desired_predictions(inputs.crowd, fit, context.recipe.annotator_scores, inputs.texts, tasks)
    decisions = inputs.steering.decide({prediction.task: prediction.score for prediction in predictions})
    wanted = [
        prediction
        for prediction in predictions
        if (scope.tasks is None or prediction.task in scope.tasks) and inputs.is_complete(prediction.task, decisions)
    ]
    return wanted, decisions


def _clear(context: PassContext, facts: ProjectFacts, inputs: Inputs, standing: Standing) -> Outcome:
    """Without answers there are no predictions of ours, and no results."""
    if not context.flags.dry_run:
        with context.transaction() as connection:
            forget_results(connection, context.project)
        if standing.versions:
            plan, standing = plan_writes(context, facts, [], standing, Scope())
            written, _ = _write(context, facts, [], plan, standing, Scope())
            if written.ended_by is not None:
                raise written.ended_by
        copy_task_meta(context, facts, standing.versions)
        open_tasks(context, facts, inputs.steering.decide({}))
    if inputs.crowd.config.problem is not None:
        return Outcome(Kind.PARKED, f"Project {context.project} {inputs.crowd.config.problem}.")
    return Outcome(Kind.NO_ANSWERS, f"Project {context.project} has no answers to aggregate yet.")


def _write(
    context: PassContext,
    facts: ProjectFacts,
    desired: Sequence[DesiredPrediction],
    plan: Plan,
    standing: Standing,
    scope: Scope,
) -> tuple[Written, Plan]:
    """Carry out the plan; where it is interrupted, or tasks have been deleted, make a new one from what exists.

    Returns what was written, and the last plan. Where only answered tasks are written, none is left to the next pass:
    it would not know of it.
    """
    if plan.is_empty:
        return Written(), plan
    if scope.tasks is not None:
        context = context.to_the_end()
    written = Written()
    for plans_left in reversed(range(MAX_PLANS)):
        begin_writing(context, facts, plan)
        later = write(context, plan, facts, standing.versions, created_before=written.created)
        written = written.followed_by(later)
        if written.error is None:
            break
        if not plans_left or not written.needs_new_plan:
            raise written.error
        desired = [prediction for prediction in desired if prediction.task not in written.tasks_gone]
        plan, standing = plan_writes(context, facts, desired, read_standing(context, frozenset(), None), scope)
        written = written.with_missing({prediction.task for prediction in plan.create})
    end_writing(context, plan, standing, written)
    if written.ended_by is None:
        check_changed(context, facts)
    return written, plan


def _summary(inputs: Inputs, fit: ProjectFit) -> ProjectSummary:
    crowd, found = inputs.crowd, fit.summary
    return replace(
        found,
        tasks=len(crowd.answer_counts),
        answers=len(crowd.units),
        gold=len(crowd.gold),
        left_out=list(crowd.config.left_out),
        left_out_annotations=summarise(crowd.left_out_annotations),
        warnings=[*crowd.warnings, *describe_doubts(doubtful_gold(crowd, fit)), *found.warnings],
    )


def _report(
    context: PassContext,
    pulled: Pulled,
    plan: Plan,
    summary: ProjectSummary,
    warnings: Sequence[str],
    rest_due_in: float = 0.0,
) -> PassReport:
    return PassReport(
        context.project,
        pulled.facts.title,
        pulled,
        plan,
        summary,
        warnings=[*summary.warnings, *filter(None, warnings)],
        pace=context.flags.pace,
        rest_due_in=rest_due_in,
        seconds=context.seconds,
    )


def _with_task_meta(context: PassContext, report: PassReport, standing: Standing) -> PassReport:
    """Copy metadata to tasks, but not while people work: changing a task may spoil what they submit to it."""
    if context.flags.pace is Pace.LIVE:
        return report
    with context.timed("meta"):
        touched = report.pulled.tasks if standing.found is None else None
        copied = copy_task_meta(context, report.pulled.facts, {*standing.versions, report.plan.version}, touched)
        return replace(report, copied=copied)


def _save_results(context: PassContext, computed: _Computed) -> None:
    """Store what the dashboard shows, and remember the fit that it came from."""
    inputs, fit = computed.inputs, computed.fit
    labels = fitted_labels(inputs.crowd, fit)
    annotators = annotator_records(inputs.crowd, fit, labels)
    asking = describe(computed.decisions, fit.scores, inputs.annotations, inputs.fixed)
    charts = replace(figures(inputs.crowd, fit, labels), asking=asking)
    with context.transaction() as connection:
        records = (label.record for label in labels)
        save_results(connection, context.project, computed.summary, charts, records, annotators)
    remember(context, computed.facts, computed.fingerprint, inputs, fit, computed.decisions)


def _save_names(context: PassContext, fit: ProjectFit) -> None:
    """Look up people's names when there is somebody new; a pass does not fail for lack of names."""
    with context.store.data.connect() as connection:
        unknown = fit.scores.keys() - read_names(connection, list(fit.scores)).keys()
    if unknown:
        with suppress(LabelStudioError):
            users = context.studio.users()
            with context.store.data.begin() as connection:
                save_users(connection, users)


def _refused(facts: ProjectFacts, desired: Sequence[DesiredPrediction], plan: Plan, written: Written) -> list[str]:
    """A warning about predictions that Label Studio did not accept."""
    if not written.refused:
        return []
    example = next(prediction for prediction in desired if prediction.task == min(written.refused))
    body = {"result": example.result, "score": example.score, "model_version": plan.version}
    why = explain_rejection(facts.label_config, body) or "the task may be gone, or the label config may have changed"
    return [
        f"Label Studio did not accept the predictions of {len(written.refused)} task(s), for example task"
        f" {example.task} ({why}); the next pass tries again."
    ]
