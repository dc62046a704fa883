"""`ls-crowd report`: what is known of a project, in the terminal or as one file to mail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import CrowdError
from .summary import VERDICTS, shown

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from ..store.found import Finding

LEAST_SURE = 10


@click.command(short_help="Whom to trust and what the labels are.")
@click.argument("project", type=click.IntRange(min=1))
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write one self-contained page instead.")
def report(project: int, html: Path | None) -> None:
    """Reports what the last sync or pass found about PROJECT, from the database: Label Studio is not asked."""
    from ..settings import read_settings
    from ..store import open_database

    engine = open_database(read_settings(studio=False).database_url or None)
    with engine.connect() as connection:
        finding = known(connection, project)
        if html is None:
            click.echo(_in_the_terminal(connection, project, finding), nl=False)
            return
        from ..web.views import report as page

        text = page(connection, project, finding)
    try:
        html.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CrowdError(f"{html} cannot be written ({error.strerror}).") from None
    click.echo(f"The report is in {html}.")


def known(connection: Connection, project: int) -> Finding:
    """What is known of a project; raises where that is nothing."""
    from ..store import found

    finding = found.finding(connection, project)
    if finding is None:
        raise CrowdError(f"Nothing is known of project {project} yet; run 'ls-crowd sync {project}' first.")
    return finding


def _in_the_terminal(connection: Connection, project: int, finding: Finding) -> str:
    from rich.console import Console

    from ..store import found

    facts, charts = finding.summary, finding.charts
    verdicts = ", ".join(f"{facts['verdicts'][word]} {word}" for word in VERDICTS if word in facts["verdicts"])
    settled = sum(row[2] for row in charts["cost"])
    gold = charts["gold"]
    alpha = ", ".join(
        f"{shown(question)} {value:.2f}"
        for question, value in charts["agreement"]["alpha"].items()
        if value is not None
    )
    lines = [
        ("Project", f"{project}, {shown(found.project_title(connection, project))}"),
        ("Crowd", f"{facts['tasks']:,} tasks, {facts['answers']:,} answers, {facts['annotators']:,} annotators"),
        ("Method", f"{facts['method']}, {facts['form']}"),
        ("Settled", f"{settled:,} tasks have a confidence of at least 95 %; {facts['confidence']:.1%} on average"),
        (
            "Plurality",
            f"{facts['differ_from_plurality']:,} of {facts['labels']:,} labels are not the most frequent answer",
        ),
        (
            "Gold",
            f"{gold['right']} of {gold['labels']} right, not being told; the most frequent answer {gold['plurality']}"
            if gold["labels"]
            else "none that was answered",
        ),
        ("Alpha", alpha or "–"),
        ("Answers are", verdicts),
    ]
    console = Console(highlight=False, markup=False, width=110)
    with console.capture() as captured:
        for name, text in lines:
            console.print(f"{name:<12}{text}")
        console.print(_people(found.annotators(connection, project, order="accuracy", down=True)[0]))
        console.print("Least sure", style="bold")
        console.print(_tasks(found.tasks(connection, project, most=LEAST_SURE)[0]))
    return captured.get()


def _people(rows: list[dict[str, Any]]) -> Any:
    table = _table("annotator", "answers are", "answers", "gold right", "agreement", "accuracy", "skill", "adversary")
    for each in rows:
        table.add_row(
            shown(each["name"]),
            each["verdict"],
            f"{each['answers']:,}",
            f"{each['gold_correct']} of {each['gold_answers']}" if each["gold_answers"] else "–",
            _share(each["agreement"]),
            _share(each["accuracy"]),
            "–" if each["skill"] is None else f"{each['skill']:.1f}",
            _share(each["adversary_probability"]),
        )
    return table


def _tasks(rows: list[dict[str, Any]]) -> Any:
    from ..web.views import votes

    table = _table("task", "label", "confidence", "answers", "text")
    for each in rows:
        row = each["labels"][0]
        said = ", ".join(f"{count} {shown(label)}" for label, count in votes(row["said"]))
        table.add_row(str(each["task"]), shown(row["label"]), _share(row["confidence"]), said, shown(each["text"]))
    return table


def _table(*columns: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column)
    return table


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
