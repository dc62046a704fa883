"""`ls-crowd sync`: computes and writes the consensus of existing Label Studio projects now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ..errors import CrowdError, ProjectBusy
from ..records import METHODS, LeftOutAnnotations, count, percent
from .progress import ProgressDisplay
from .summary import printable, verdict_counts

WAIT_SECONDS = 30.0  # for a worker that is working on the same project

if TYPE_CHECKING:
    from ..labelstudio import LabelStudio
    from ..pipeline.context import RunFlags
    from ..pipeline.outcome import Outcome, PassReport
    from ..pipeline.plan import Plan
    from ..recipe import Recipe
    from ..store import Store


@click.command(short_help="Compute and write the consensus of projects now.")
@click.argument("projects", metavar="[PROJECT]...", nargs=-1, type=click.IntRange(min=1))
@click.option("--all", "everything", is_flag=True, help="All projects that the key can see.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.option("--method", type=click.Choice(METHODS), default=None, help="Default: LS_CROWD_METHOD, else auto.")
@click.option("--from-scratch", is_flag=True, help="Read all tasks again, not only those that changed.")
@click.option("--since-scratch", "since_scratch", is_flag=True, hidden=True, help="An older name of --from-scratch.")
@click.option("--take-over", is_flag=True, help="Show the consensus where a project shows another model's predictions.")
def sync(
    projects: tuple[int, ...],
    everything: bool,
    dry_run: bool,
    method: str | None,
    from_scratch: bool,
    since_scratch: bool,
    take_over: bool,
) -> None:
    """Pull annotations, aggregate them, and write the consensus back as predictions.

    Needs LABEL_STUDIO_URL and LABEL_STUDIO_API_KEY. For a project that cannot be aggregated the reason is printed, and
    the others are still processed.
    """
    if everything == bool(projects):
        raise click.UsageError("Name projects by their ids, or use --all.")
    from ..pipeline.context import RunFlags
    from ..settings import read_settings
    from .setup import label_studio, store_of

    settings = read_settings()
    studio = label_studio(settings)
    recipe = replace(settings.recipe, method=method or settings.recipe.method)
    flags = RunFlags(
        dry_run=dry_run,
        from_scratch=from_scratch or since_scratch,
        take_over=take_over,
        audit_seconds=settings.audit_seconds,
    )
    with store_of(settings) as store:
        wanted = [int(entry["id"]) for entry in studio.projects()] if everything else list(dict.fromkeys(projects))
        several = len(wanted) > 1
        failed = [one for one in wanted if not sync_project(studio, store, one, recipe, flags, several=several)]
    if failed:
        raise CrowdError(f"{len(failed)} of {count(len(wanted), 'project')} could not be processed; see above.")


def sync_project(
    studio: LabelStudio, store: Store, project: int, recipe: Recipe, flags: RunFlags, *, several: bool = False
) -> bool:
    """Process one project and print what came of it; return whether it went well.

    Where there are several projects, warnings name theirs.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from ..pipeline.context import PassContext
    from ..pipeline.lease import hold_project, process_name
    from ..pipeline.outcome import Kind
    from ..pipeline.project_pass import run_pass

    try:
        with ProgressDisplay() as display, hold_project(store, project, process_name(), wait=WAIT_SECONDS) as held:

            def show(stage: str, done: int, total: int) -> None:
                display(f"Project {project}: {stage}", done / max(total, 1))

            def checkpoint(*, rest_can_wait: bool = False) -> None:
                del rest_can_wait
                held.check()

            context = PassContext(studio, store, project, recipe, held.lease, flags, show, checkpoint)
            outcome = run_pass(context)
    except ProjectBusy as busy:
        click.echo(str(busy), err=True)
        return False
    except SQLAlchemyError as error:
        click.echo(f"Project {project}: the database failed ({type(error).__name__}); try again.", err=True)
        return False
    if outcome.report is not None:
        click.echo(_describe(outcome.report, flags.dry_run))
        name = f"project {project}: " if several else ""
        for warning in outcome.report.warnings:
            click.echo(f"warning: {name}{warning}", err=True)
        return True
    click.echo(_reason(project, outcome), err=outcome.kind is not Kind.PROJECT_GONE)
    return outcome.kind in (Kind.PROJECT_GONE, Kind.NO_ANSWERS)


def _reason(project: int, outcome: Outcome) -> str:
    """Why there is no consensus; the sentence names the project."""
    return outcome.reason if f"roject {project}" in outcome.reason else f"Project {project}: {outcome.reason}"


def _describe(report: PassReport, dry_run: bool) -> str:
    """What a pass found and did, one fact a line."""
    facts = report.summary
    annotations = count(report.pulled.annotations_changed, "changed annotation")
    people = count(facts.annotators, "annotator")
    lines = [
        ("Project", f"{report.project}, {printable(report.title)}"),
        ("Read", f"{count(report.pulled.tasks_read, 'task')}, {annotations}"),
        ("Crowd", f"{count(facts.tasks, 'task')}, {count(facts.answers, 'answer')}, {people}"),
        ("Gold", count(facts.gold, "label")),
        ("Method", f"{facts.method} ({facts.form})"),
        ("Annotators", verdict_counts(facts.verdicts)),
        ("Contrary", ", ".join(f"user {number}" for number in facts.contrary)),
        ("Confidence", f"{percent(facts.confidence)} on average"),
        (
            "Plurality",
            f"{facts.differ_from_plurality:,} of {facts.labels:,} labels differ from the most frequent answer",
        ),
        ("Left out", "; ".join(f"{one.name} ({one.tag}): {one.reason}" for one in facts.left_out)),
        ("Not used", _not_used(facts.left_out_annotations)),
        ("Planned" if dry_run else "Written", _planned(report.plan) if dry_run else _written(report)),
        ("Seconds", ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in report.seconds.items())),
    ]
    return "\n".join(f"{name:<11} {text}" for name, text in lines if text)


def _not_used(annotations: LeftOutAnnotations) -> str:
    """Annotations that are left out, of many only some."""
    if not annotations.number:
        return ""
    named = [f"annotation {number}: {reason}" for number, reason in annotations.examples]
    rest = annotations.number - len(named)
    return "; ".join([*named, *([f"and {rest:,} more"] if rest else [])])


def _planned(plan: Plan) -> str:
    if plan.is_empty:
        return "nothing would change"
    deleted = len(plan.delete) + sum(plan.retire.values())
    planned = f"would create {len(plan.create):,}, change {len(plan.update):,}, delete {deleted:,} predictions"
    return planned + (f" and set {_settings(plan)}" if plan.settings else "")


def _written(report: PassReport) -> str:
    written, copied = report.written, report.copied
    numbers = ((written.created, "created"), (written.updated, "changed"), (written.deleted, "deleted"))
    parts = [f"{count(number, 'prediction')} {what}" for number, what in numbers if number]
    parts = parts or ["no prediction had to change"]
    if written.settings:
        parts.append(f"set {_settings(report.plan)}")
    if report.steered.opened:
        parts.append(f"{count(report.steered.opened, 'task')} opened for one more answer")
    if report.steered.closed:
        parts.append(f"{count(report.steered.closed, 'task')} closed")
    if copied.written:
        parts.append(f"task.meta of {count(copied.written, 'task')} written")
    if copied.waiting:
        parts.append(f"task.meta of {copied.waiting:,} more will be written when they are finished and quiet")
    if repaired := copied.repaired + report.steered.repaired:
        parts.append(f"annotation counters of {count(repaired, 'task')} repaired")
    return "; ".join(parts)


def _settings(plan: Plan) -> str:
    return ", ".join(f"{name} to {value!r}" for name, value in plan.settings.items())
