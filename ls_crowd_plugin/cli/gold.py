"""`ls-crowd gold`: manages tasks whose right label is known, which Label Studio Community's pages cannot do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import UnusableInput
from ..records import count

if TYPE_CHECKING:
    from ..controls import Config

MAX_NAMED = 10  # tasks in an error


@click.group(short_help="Manage known labels of tasks.")
def gold() -> None:
    """Add, list and remove gold labels of a Label Studio project; they stay in this plugin's database."""


@gold.command("add")
@click.argument("project", type=click.IntRange(min=1))
@click.argument("task", type=click.IntRange(min=1), required=False)
@click.argument("label", required=False)
@click.option("--question", help="Needed where the project has several; a multiple choice has one per choice.")
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path),
    help="CSV with task and label (and question), or with a column for each control; or Label Studio's JSON export.",
)
def add(project: int, task: int | None, label: str | None, question: str | None, file: Path | None) -> None:
    """Mark LABEL as the right one for TASK, or all rows of a file."""
    from ..controls import read_config, with_scales
    from ..settings import read_settings
    from ..store.gold import add_gold, list_gold
    from .gold_files import read_gold_file
    from .setup import data_database, label_studio

    if (file is None) == (task is None or label is None):
        raise click.UsageError("Give a task and a label, or a --file.")
    settings = read_settings()
    studio = label_studio(settings)
    facts = studio.project(project)
    config, _ = with_scales(read_config(facts.label_config), settings.recipe.ordered)
    if file is None:
        given = {(task or 0, _question(config, question)): str(label)}
    else:
        given = read_gold_file(file, config, lambda name: _question(config, name))
    labels = {(number, name): _label(config, name, value) for (number, name), value in given.items()}
    _check_tasks(project, {number for number, _ in labels}, studio.task_ids(project))
    with data_database() as engine, engine.begin() as connection:
        before = list_gold(connection, project)
        add_gold(connection, project, labels, facts.created_at)
    changed = sum(key in before for key in labels)
    replaced = f" ({changed:,} of them replaced)" if changed else ""
    click.echo(f"{count(len(labels), 'gold label')} added to project {project}{replaced}; the next sync uses them.")


@gold.command("list")
@click.argument("project", type=click.IntRange(min=1))
def list_(project: int) -> None:
    """Print the project's gold labels as CSV."""
    from ..store.gold import list_gold
    from .files import csv_lines
    from .setup import data_database

    with data_database() as engine, engine.connect() as connection:
        labels = list_gold(connection, project)
    rows = ({"task": task, "question": question, "label": label} for (task, question), label in labels.items())
    click.echo("".join(csv_lines(("task", "question", "label"), rows)), nl=False)


@gold.command("remove")
@click.argument("project", type=click.IntRange(min=1))
@click.argument("tasks", metavar="TASK...", nargs=-1, type=click.IntRange(min=1), required=True)
@click.option("--question", help="Only this question's.")
def remove(project: int, tasks: tuple[int, ...], question: str | None) -> None:
    """Remove the gold labels of tasks."""
    from ..store.gold import list_gold, remove_gold
    from .setup import data_database

    with data_database() as engine, engine.begin() as connection:
        keys = [key for key in list_gold(connection, project) if key[0] in tasks and question in (None, key[1])]
        removed = remove_gold(connection, project, keys)
    click.echo(f"{count(removed, 'gold label')} removed from project {project}.")


def _check_tasks(project: int, named: set[int], existing: set[int]) -> None:
    missing = sorted(named - existing)
    if missing:
        listed = ", ".join(map(str, missing[:MAX_NAMED])) + (", …" if len(missing) > MAX_NAMED else "")
        raise UnusableInput(
            f"Project {project} has no {'task' if len(missing) == 1 else 'tasks'} {listed}; no gold was added."
        )


def _question(config: Config, name: str | None) -> str:
    """The question that is meant; where there is only one, it need not be named."""
    names = [question.name for question in config.questions]
    if name is None and len(names) == 1:
        return names[0]
    if name in names:
        return str(name)
    problem = "Name the question" if name is None else f"There is no question {name!r}; name one"
    raise UnusableInput(f"{problem} with --question; the project has: {', '.join(names) or 'none'}.")


def _label(config: Config, question: str, label: str) -> str:
    """The label, if the question has it."""
    from ..controls import NONE

    labels = next(one.labels for one in config.questions if one.name == question)
    is_control = any(control.name == question for control in config.controls)  # no yes/no question of a multiple choice
    if is_control and question not in config.ordered:
        labels = (*labels, NONE)  # it may be known that nothing was to be chosen
    if label not in labels:
        raise UnusableInput(f"{label!r} is not a label of {question!r}; its labels are {', '.join(labels)}.")
    return label
