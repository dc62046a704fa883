"""`ls-crowd report`: a project's results, in the terminal or as one file to mail."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import CrowdError
from ..records import MISSING, SETTLED, Annotator, TaskLabels, count, percent
from .summary import printable, verdict_counts

if TYPE_CHECKING:
    from rich.table import Table
    from sqlalchemy import Connection

    from ..policy import Asking
    from ..store import StoredResults

LEAST_CONFIDENT = 10  # tasks that are listed


@click.command(short_help="Print or save a report about a project.")
@click.argument("project", type=click.IntRange(min=1))
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write one self-contained page instead.")
def report(project: int, html: Path | None) -> None:
    """Report the results of the last pass over PROJECT from the database; Label Studio is not asked."""
    from ..settings import read_settings
    from .setup import data_database

    price = read_settings(needs_label_studio=False).answer_price

    with data_database() as engine, engine.connect() as connection:
        results = results_of(connection, project)
        if html is None:
            click.echo(_terminal_report(connection, project, results, price), nl=False)
            return
        from ..web.report import render_report

        page = render_report(connection, project, results, price)
    try:
        html.write_text(page, encoding="utf-8")
    except OSError as error:
        raise CrowdError(f"{html} cannot be written ({error.strerror}).") from None
    click.echo(f"The report is in {html}.")


def results_of(connection: Connection, project: int) -> StoredResults:
    """A project's results; raise CrowdError if there are none."""
    from ..store.results import load_results

    results = load_results(connection, project)
    if results is None:
        raise CrowdError(f"There are no results for project {project} yet; run 'ls-crowd sync {project}' first.")
    return results


def _terminal_report(connection: Connection, project: int, results: StoredResults, price: float) -> str:
    from rich.console import Console

    from ..store.mirror import project_title
    from ..store.results import list_annotators, list_tasks
    from ..web.views import ring_views

    title = project_title(connection, project)
    console = Console(highlight=False, markup=False, width=110)
    with console.capture() as captured:
        for name, text in [("Project", f"{project}, {printable(title)}"), *_facts(results, price)]:
            console.print(f"{name:<12}{text}")
        people, _ = list_annotators(connection, project, order="accuracy", descending=True)
        console.print(_people(people))
        for view in ring_views(results.summary.rings, people):
            console.print(printable(view.sentence))
        console.print("Least confident labels", style="bold")
        console.print(_tasks(list_tasks(connection, project, limit=LEAST_CONFIDENT)[0]))
        console.print("Details", style="bold")
        for name, text in _details(results):
            console.print(f"{name:<12}{text}")
    return captured.get()


def _facts(results: StoredResults, price: float) -> list[tuple[str, str]]:
    facts, gold = results.summary, results.figures.gold
    people = count(facts.annotators, "annotator")
    settled = sum(row.settled for row in results.figures.cost)
    gold_facts = "no gold task has been answered" if facts.gold else "none yet; a few dozen labels help a lot"
    if gold.labels:
        gold_facts = f"without knowing them, the consensus gets {gold.right} of {count(gold.labels, 'label')} right,"
        gold_facts += f" the most frequent answer {gold.plurality:.0f}"
    return [
        ("Crowd", f"{count(facts.tasks, 'task')}, {count(facts.answers, 'answer')}, {people}"),
        ("Settled", f"{count(settled, 'task')} with a confidence of at least {SETTLED:.0%}"),
        ("Confidence", f"{percent(facts.confidence)} on average"),
        ("Plurality", f"{facts.differ_from_plurality:,} of {facts.labels:,} labels are not the most frequent answer"),
        ("Gold", gold_facts),
        ("Annotators", verdict_counts(facts.verdicts)),
        *_answers(results.figures.asking, price),
    ]


def _answers(asking: Asking | None, price: float) -> list[tuple[str, str]]:
    """What more answers would buy."""
    if asking is None:
        return []
    forecast, policy = asking.forecast, asking.policy
    wanted = f"{forecast.answers:,} so far; {asking.needed} more for a confidence of {policy.confidence:.0%}"
    stopping = f"about {count(round(forecast.errors), 'task')} would be wrong if nobody answered any more"
    against = f"{asking.saved(price)} than with {count(forecast.fixed, 'answer')} for every task"
    return [("Answers", f"{wanted}, and then {against}"), ("Stopping", stopping)]


def _details(results: StoredResults) -> list[tuple[str, str]]:
    """Statistics for those who want them."""
    facts, alpha = results.summary, results.figures.agreement.alpha
    agreement = ", ".join(f"{printable(name)} {value:.2f}" for name, value in alpha.items() if value is not None)
    return [
        ("Method", f"{facts.method}, form {facts.form}"),
        ("Why", facts.why),
        ("Agreement", f"Krippendorff's alpha: {agreement or MISSING}"),
    ]


def _people(people: Sequence[Annotator]) -> Table:
    table = _table("annotator", "verdict", "answers", "gold right", "agreement", "accuracy", "skill", "adversary")
    for one in people:
        table.add_row(
            printable(one.name),
            one.verdict,
            f"{one.answers:,}",
            f"{one.gold_correct} of {one.gold_answers}" if one.gold_answers else MISSING,
            percent(one.agreement),
            percent(one.accuracy),
            MISSING if one.skill is None else f"{one.skill:.1f}",
            percent(one.adversary_probability),
        )
    return table


def _tasks(tasks: Sequence[TaskLabels]) -> Table:
    from ..web.words import count_votes

    several = len({label.question for task in tasks for label in task.labels}) > 1
    table = _table("task", *(["question"] if several else []), "label", "confidence", "answers", "text")
    for task in tasks:
        label = task.labels[0]
        answers = ", ".join(f"{printable(name)} ×{votes}" for name, votes in count_votes(label.votes))
        question = [printable(label.question)] if several else []
        confidence = percent(label.confidence)
        table.add_row(str(task.task), *question, printable(label.label), confidence, answers, printable(task.text))
    return table


def _table(*columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column)
    return table
