"""`ls-crowd sync`: existing projects in Label Studio get their consensus, now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ..errors import CrowdError, ProjectGone
from .aggregate import METHODS
from .progress import ProgressDisplay
from .summary import VERDICTS, shown

WAIT_SECONDS = 30.0  # for a worker that is at the same project

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ..labelstudio import LabelStudio
    from ..pipeline.plan import Plan
    from ..pipeline.sync import Options, Report
    from ..store import WorkList


@click.command(short_help="Consensus for existing Label Studio projects.")
@click.argument("projects", metavar="[PROJECT]...", nargs=-1, type=click.IntRange(min=1))
@click.option("--all", "everything", is_flag=True, help="All projects the key may see.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.option("--method", type=click.Choice(METHODS), default=None, help="Default: LS_CROWD_METHOD, else auto.")
@click.option("--since-scratch", is_flag=True, help="Read all tasks again, not only those that changed.")
@click.option("--take-over", is_flag=True, help="Show the consensus where a project shows another model's predictions.")
def sync(
    projects: tuple[int, ...], everything: bool, dry_run: bool, method: str | None, since_scratch: bool, take_over: bool
) -> None:
    """Pulls what annotators did, aggregates it, and writes the consensus back as predictions.

    Needs LABEL_STUDIO_URL and LABEL_STUDIO_API_KEY. A project that cannot be aggregated is named with the reason, and
    the others are still done.
    """
    if everything == bool(projects):
        raise click.UsageError("Name projects by their ids, or use --all.")
    from ..pipeline.hold import own_name
    from ..settings import read_settings
    from .parts import databases, label_studio, options_of

    settings = read_settings()
    studio = label_studio(settings)
    options = replace(
        options_of(settings),
        method=method or settings.method,
        dry_run=dry_run,
        from_scratch=since_scratch,
        take_over=take_over,
    )
    with databases(settings) as (engine, work):
        wanted = [int(each["id"]) for each in studio.projects()] if everything else list(dict.fromkeys(projects))
        name = own_name()
        failed = [project for project in wanted if not done(studio, engine, work, name, project, options)]
    if failed:
        raise CrowdError(f"{len(failed)} of {len(wanted)} project(s) could not be done; the reasons are above.")


def done(studio: LabelStudio, engine: Engine, work: WorkList, name: str, project: int, options: Options) -> bool:
    """Does one project and says what came of it; whether it went well."""
    from sqlalchemy.exc import SQLAlchemyError

    from ..pipeline.hold import holding
    from ..pipeline.sync import sync as sync_project

    try:
        with ProgressDisplay() as display, holding(work, project, name, wait=WAIT_SECONDS) as held:

            def told(stage: str, done: int, total: int) -> None:
                if not held():
                    raise CrowdError("another process has taken the project over; what was done so far stands.")
                display(f"Project {project}: {stage}", done / max(total, 1))

            report = sync_project(studio, engine, project, options, told)
    except ProjectGone as gone:
        click.echo(str(gone))
        return True
    except (CrowdError, SQLAlchemyError) as error:
        known = isinstance(error, CrowdError)
        why = str(error) if known else f"the database did not do what it should ({type(error).__name__})."
        click.echo(f"Project {project} was not done: {why}", err=True)
        return False
    click.echo(_said(report, options.dry_run))
    for warning in report.warnings:
        click.echo(f"warning: {warning}", err=True)
    return True


def _said(report: Report, dry_run: bool) -> str:
    """What a pass found and did, one fact a line."""
    found = report.summary
    lines = [
        ("Project", f"{report.project}, {shown(report.title)}"),
        ("Read", f"{report.pulled.tasks_read:,} tasks, {report.pulled.annotations_changed:,} annotations changed"),
        ("Crowd", f"{found['tasks']:,} tasks, {found['answers']:,} answers, {found['annotators']:,} annotators"),
        ("Gold", f"{found['gold']:,} labels"),
        ("Method", f"{found['method']}, form {found['form']}: {found['why']}"),
        ("People", ", ".join(f"{found['verdicts'][word]} {word}" for word in VERDICTS if word in found["verdicts"])),
        ("Contrary", ", ".join(f"user {number}" for number in found["contrary"])),
        ("Confidence", f"{found['confidence']:.1%} on average"),
        (
            "Plurality",
            f"{found['differ_from_plurality']:,} of {found['labels']:,} labels differ from the most frequent answer",
        ),
        ("Left out", "; ".join(f"{each['name']} ({each['tag']}): {each['reason']}" for each in found["left_out"])),
        ("Written", _planned(report.plan) if dry_run else _written(report)),
        ("Seconds", ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in report.seconds.items())),
    ]
    return "\n".join(f"{name:<11} {text}" for name, text in lines if text)


def _planned(plan: Plan) -> str:
    if plan.empty:
        return "nothing would change"
    deleted = len(plan.delete) + sum(plan.retire.values())
    said = f"would create {len(plan.create):,}, change {len(plan.update):,}, delete {deleted:,} predictions"
    return said + (f" and set {_settings(plan)}" if plan.settings else "")


def _written(report: Report) -> str:
    written, copied = report.written, report.copied
    said = [
        f"{number:,} predictions {what}"
        for number, what in ((written.created, "created"), (written.updated, "changed"), (written.deleted, "deleted"))
        if number
    ] or ["no prediction had to change"]
    if written.settings:
        said.append(f"set {_settings(report.plan)}")
    if copied.written:
        said.append(f"task.meta of {copied.written:,} tasks")
    if copied.waiting:
        said.append(f"task.meta of {copied.waiting:,} more waits until they are finished and quiet")
    if copied.repaired:
        said.append(f"counters of {copied.repaired:,} tasks put right")
    return "; ".join(said)


def _settings(plan: Plan) -> str:
    return ", ".join(f"{name} to {value!r}" for name, value in plan.settings.items())
