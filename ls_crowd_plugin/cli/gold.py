"""`ls-crowd gold`: manages tasks whose right label is known, which Label Studio Community's pages cannot do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import UnusableInput
from ..records import count

if TYPE_CHECKING:
    from ..controls import Config
    from ..labelstudio import ProjectFacts


@click.group(short_help="Manage known labels of tasks.")
def gold() -> None:
    """Add, list and remove gold labels of a Label Studio project; they stay in this plugin's database."""


@gold.command("add")
@click.argument("project", type=click.IntRange(min=1))
@click.argument("task", type=click.IntRange(min=1), required=False)
@click.argument("label", required=False)
@click.option("--question", help="Needed where the project has several; a multiple choice has one per choice.")
@click.option(
    "--file", "file", type=click.Path(path_type=Path), help="CSV with task, label and, where needed, question."
)
def add(project: int, task: int | None, label: str | None, question: str | None, file: Path | None) -> None:
    """Mark LABEL as the right one for TASK, or all rows of a file."""
    from ..controls import read_config, with_scales
    from ..settings import read_settings
    from ..store.gold import add_gold
    from .setup import data_database

    if (file is None) == (task is None or label is None):
        raise click.UsageError("Give a task and a label, or a --file.")
    facts = _facts(project)
    config, _ = with_scales(read_config(facts.label_config), read_settings().recipe.ordered)
    rows = [(task or 0, question, str(label))] if file is None else _rows(file, len(config.questions) > 1)
    labels = {}
    for number, name, value in rows:
        checked = _question(config, name)
        labels[number, checked] = _label(config, checked, value)
    with data_database() as engine, engine.begin() as connection:
        add_gold(connection, project, labels, facts.created_at)
    click.echo(f"{count(len(labels), 'gold label')} added to project {project}; the next sync uses them.")


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


def _rows(file: Path, with_questions: bool) -> list[tuple[int, str | None, str]]:
    """Task, question and label of every row of a file."""
    from .files import read_gold

    rows: list[tuple[int, str | None, str]] = []
    for key, label in read_gold(file, with_questions).items():
        task, question = key if isinstance(key, tuple) else (key, None)
        if not task.isdecimal():
            raise UnusableInput(f"{file} names task {task!r}; give Label Studio's task ids, which are numbers.")
        rows.append((int(task), question, label))
    return rows


def _facts(project: int) -> ProjectFacts:
    from ..settings import read_settings
    from .setup import label_studio

    return label_studio(read_settings()).project(project)


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
