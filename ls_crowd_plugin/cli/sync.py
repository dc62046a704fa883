"""`ls-crowd sync`: existing projects in Label Studio get their consensus, now."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from ..errors import CrowdError, UnusableInput
from .aggregate import METHODS
from .progress import ProgressDisplay
from .summary import VERDICTS

if TYPE_CHECKING:
    from ..pipeline.sync import Report


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
    from ..labelstudio import Http, LabelStudio
    from ..pipeline.sync import Options
    from ..pipeline.sync import sync as sync_project
    from ..settings import read_settings
    from ..store import open_database

    settings = read_settings()
    studio = LabelStudio(Http(settings.url, settings.key, verify=settings.ca_bundle or True))
    engine = open_database(settings.database_url or None)
    options = Options(
        method=method or settings.method,
        dry_run=dry_run,
        from_scratch=since_scratch,
        take_over=take_over,
        annotator_scores=settings.annotator_scores,
        experts=settings.experts,
    )
    if options.method not in METHODS:
        raise UnusableInput(f"LS_CROWD_METHOD is {options.method!r}; use one of {', '.join(METHODS)}.")
    wanted = [int(each["id"]) for each in studio.projects()] if everything else list(dict.fromkeys(projects))
    failed = []
    for project in wanted:
        try:
            with ProgressDisplay() as display:
                report = sync_project(
                    studio, engine, project, options, lambda stage, done, total: display(stage, done / max(total, 1))
                )
        except CrowdError as error:
            failed.append(project)
            click.echo(f"Project {project} was not done: {error}", err=True)
            continue
        click.echo(_said(report, dry_run))
        for warning in report.warnings:
            click.echo(f"warning: {warning}", err=True)
    if failed:
        raise CrowdError(f"{len(failed)} of {len(wanted)} project(s) could not be done; the reasons are above.")


def _said(report: Report, dry_run: bool) -> str:
    """What a pass found and did, one fact a line."""
    crowd, consensus, facts = report.crowd, report.consensus, report.consensus.facts
    verdicts = Counter(each["verdict"] for each in consensus.annotators)
    confidence = list(consensus.confidence.values())
    contrary = [str(each["annotator"]) for each in consensus.annotators if each["verdict"] == "contrary"]
    plan, written = report.plan, report.written
    if dry_run:
        did = f"would create {len(plan.create)}, change {len(plan.update)}, delete {len(plan.delete)} predictions"
        did += f" and set {', '.join(plan.settings)}" if plan.settings else ""
    else:
        did = f"created {written.created}, changed {written.updated}, deleted {written.deleted} predictions"
        did += f"; set {', '.join(plan.settings)}" if written.settings else ""
    lines = [
        ("Project", f"{report.project}, {report.title}"),
        ("Read", f"{report.pulled.tasks_read} tasks, {report.pulled.annotations_changed} annotations changed"),
        ("Crowd", f"{len(crowd.answered)} tasks, {len(crowd.tasks)} answers, {len(consensus.annotators)} annotators"),
        ("Gold", f"{len(crowd.gold)} labels"),
        ("Method", f"{facts['method']}, form {facts['form']}: {facts['why']}"),
        ("People", ", ".join(f"{verdicts[word]} {word}" for word in VERDICTS if verdicts[word])),
        ("Contrary", ", ".join(contrary)),
        ("Confidence", f"{sum(confidence) / len(confidence):.1%} on average"),
        ("Plurality", f"{consensus.plurality_disagreements} labels differ from the most frequent answer"),
        ("Left out", "; ".join(f"{each.name} ({each.tag}): {each.reason}" for each in report.left_out)),
        ("Written", did),
        ("Seconds", ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in report.seconds.items())),
    ]
    return "\n".join(f"{name:<11} {text}" for name, text in lines if text)
