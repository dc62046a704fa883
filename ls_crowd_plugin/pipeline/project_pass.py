"""One pass over one project, from Label Studio's annotations to the consensus in Label Studio. Read this first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from sqlalchemy.exc import SQLAlchemyError

from ..errors import CrowdError, EndPass, LabelStudioError, LeaseLost
from ..labelstudio import ProjectFacts
from ..labelstudio.validation import explain_rejection
from ..records import ProjectSummary
from ..store.forget import forget_written
from ..store.passes import LastPass, get_last_pass, save_last_pass
from ..store.predictions import read_predictions, save_predictions
from ..store.project_settings import remember_settings
from ..store.results import forget_results, save_results
from ..store.users import read_names, save_users
from .annotator_records import annotator_records
from .context import PassContext
from .desired import desired_predictions
from .figures import figures
from .inputs import Inputs, fingerprint, read_inputs
from .label_records import fitted_labels
from .outcome import Kind, Outcome, PassReport
from .plan import DesiredPrediction, Plan, make_plan
from .project_fit import ProjectFit, fit_project
from .pull import Pulled, pull
from .task_meta import copy_task_meta
from .usable import summarise
from .write import Written, existing_predictions, existing_versions, settings_to_change, write

MAX_PLANS = 4  # in one pass, if requests are interrupted or tasks are deleted meanwhile
VERIFY_SECONDS = 3600.0  # equal counts do not say that nobody edited a prediction: they are compared this often
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
        return Outcome(Kind.FAILED, f"The database failed ({type(error).__name__}); check that it is running.")


def _run(context: PassContext) -> Outcome:
    with context.timed("pull"):
        pulled = pull(context)
        facts = pulled.facts
        with context.store.data.connect() as connection:
            current = fingerprint(connection, context.project, facts.label_config, context.recipe)
            last = get_last_pass(connection, context.project)
    if last is not None and last.fingerprint == current and _is_in_place(context, facts, last):
        _, warning = settings_to_change(facts, context.flags.take_over, last.version)
        report = _report(context, pulled, Plan(last.version), last.summary, warning)
        return Outcome(Kind.UNCHANGED, report=_with_task_meta(context, report))

    with context.timed("fit"):
        inputs = read_inputs(context.store, context.project, facts.label_config, context.recipe)
        if not inputs.crowd.units:
            return _clear(context, facts, inputs)
        fit = _fit(context, inputs)
    with context.timed("plan"):
        desired = _desired(context, inputs, fit)
        plan, warning, verified_at = _plan(context, facts, desired)
        summary = _summary(inputs, fit)
    report = _report(context, pulled, plan, summary, warning)
    if context.flags.dry_run:
        return Outcome(Kind.DONE, report=report)

    with context.timed("write"):
        written, plan = _write(context, facts, desired, plan)
    with context.timed("results"):
        if written.ended_by is not None and written.ended_by.kind == Kind.STOPPED:
            raise written.ended_by
        _save_results(context, inputs, fit, summary)
        if written.ended_by is not None:
            raise written.ended_by
        _save_written(context, desired, written, LastPass(current, plan.version, summary, verified_at))
        _save_names(context, fit)
    warnings = [*report.warnings, *_refused(facts, desired, plan, written)]
    return Outcome(Kind.DONE, report=_with_task_meta(context, replace(report, written=written, warnings=warnings)))


def _is_in_place(context: PassContext, facts: ProjectFacts, last: LastPass) -> bool:
    """Whether Label Studio still holds what the last pass wrote, as far as counts tell."""
    if context.flags.from_scratch or not _verified_lately(last):
        return False
    settings, _ = settings_to_change(facts, context.flags.take_over, last.version)
    with context.store.data.connect() as connection:
        predictions = read_predictions(connection, context.project)
    expected = {last.version: len(predictions)} if predictions else {}
    return not settings and existing_versions(context.studio, context.project) == expected


def _fit(context: PassContext, inputs: Inputs) -> ProjectFit:
    report = context.progress("fit")
    return fit_project(
        inputs.crowd,
        context.recipe.method,
        separate=context.recipe.separate_fits,
        on_progress=lambda fraction: report(int(100 * fraction), 100),
    )


def _desired(context: PassContext, inputs: Inputs, fit: ProjectFit) -> list[DesiredPrediction]:
    predictions = desired_predictions(inputs.crowd, fit, context.recipe.annotator_scores, inputs.texts)
    return [prediction for prediction in predictions if inputs.is_complete(prediction.task)]


def _clear(context: PassContext, facts: ProjectFacts, inputs: Inputs) -> Outcome:
    """Without answers there are no predictions of ours, and no results."""
    if not context.flags.dry_run:
        with context.transaction() as connection:
            forget_results(connection, context.project)
        if existing_versions(context.studio, context.project):
            plan = make_plan([], existing_predictions(context.studio, context.project))
            written, _ = _write(context, facts, [], plan)
            if written.ended_by is not None:
                raise written.ended_by
        copy_task_meta(context, facts)
    config = inputs.crowd.config
    if config.controls or config.regions:
        return Outcome(Kind.NO_ANSWERS, f"Project {context.project} has no answers to aggregate yet.")
    named = ", ".join(f"{control.name} ({control.tag})" for control in config.left_out) or "none at all"
    reason = f"Project {context.project} has no control that can be aggregated; its controls are: {named}."
    return Outcome(Kind.PARKED, reason)


def _plan(context: PassContext, facts: ProjectFacts, desired: Sequence[DesiredPrediction]) -> tuple[Plan, str, float]:
    """A plan, a warning, and when predictions were last compared one by one: they are only listed if something of ours
    has changed here or there, or if that was too long ago."""
    with context.store.data.connect() as connection:
        before = read_predictions(connection, context.project)
        last = get_last_pass(connection, context.project)
    versions = existing_versions(context.studio, context.project)
    unchanged = before == {one.task: one.digest for one in desired} and not context.flags.from_scratch
    if unchanged and last is not None and _verified_lately(last) and list(versions.values()) == [len(before)]:
        plan, verified_at = Plan(next(iter(versions))), last.verified_at
    else:
        verified_at = time.time()
        existing = existing_predictions(context.studio, context.project) if versions else []
        plan = make_plan(desired, existing, tasks=facts.task_number, shown_version=facts.model_version or "")
    if not desired:
        return plan, "", verified_at
    settings, warning = settings_to_change(facts, context.flags.take_over, plan.version)
    return replace(plan, settings=settings), warning, verified_at


def _verified_lately(last: LastPass) -> bool:
    return 0 <= time.time() - last.verified_at < VERIFY_SECONDS


def _write(
    context: PassContext, facts: ProjectFacts, desired: Sequence[DesiredPrediction], plan: Plan
) -> tuple[Written, Plan]:
    """Carry out the plan; where it is interrupted, or tasks have been deleted, make a new one from what exists.

    Returns what was written, and the last plan.
    """
    if plan.is_empty:
        return Written(), plan
    with context.transaction() as connection:
        before = {name: getattr(facts, name) for name in plan.settings}
        remember_settings(connection, context.project, before)
        forget_written(connection, context.project)
    written = Written()
    for plans_left in reversed(range(MAX_PLANS)):
        written = written.followed_by(write(context, plan, facts.task_number, created_before=written.created))
        if written.error is None:
            break
        if not plans_left or not written.needs_new_plan:
            raise written.error
        desired = [prediction for prediction in desired if prediction.task not in written.tasks_gone]
        plan, _, _ = _plan(context, facts, desired)
        written = written.with_missing({prediction.task for prediction in plan.create})
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
        warnings=[*crowd.warnings, *found.warnings],
    )


def _report(context: PassContext, pulled: Pulled, plan: Plan, summary: ProjectSummary, warning: str) -> PassReport:
    return PassReport(
        context.project,
        pulled.facts.title,
        pulled,
        plan,
        summary,
        warnings=[*summary.warnings, *([warning] if warning else [])],
        seconds=context.seconds,
    )


def _with_task_meta(context: PassContext, report: PassReport) -> PassReport:
    with context.timed("meta"):
        return replace(report, copied=copy_task_meta(context, report.pulled.facts))


def _save_results(context: PassContext, inputs: Inputs, fit: ProjectFit, summary: ProjectSummary) -> None:
    """Store what the dashboard shows."""
    labels = fitted_labels(inputs.crowd, fit)
    annotators = annotator_records(inputs.crowd, fit, labels)
    charts = figures(inputs.crowd, fit, labels)
    with context.transaction() as connection:
        records = (label.record for label in labels)
        save_results(connection, context.project, summary, charts, records, annotators)


def _save_written(context: PassContext, desired: Sequence[DesiredPrediction], written: Written, last: LastPass) -> None:
    """Record what Label Studio holds now, and if it accepted everything, that this pass is complete."""
    digests = {one.task: one.digest for one in desired if one.task not in written.refused}
    with context.transaction() as connection:
        save_predictions(connection, context.project, digests)
        if not written.refused:
            save_last_pass(connection, context.project, last)


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
