"""`ls-crowd gold`: marks tasks whose right label is known, which Label Studio Community's pages cannot do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import UnusableInput

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ..controls import Config


@click.group(short_help="Known labels of a project's tasks.")
def gold() -> None:
    """Adds, lists and removes gold labels of a Label Studio project; they stay in this plugin's database."""


@gold.command("add")
@click.argument("project", type=click.IntRange(min=1))
@click.argument("task", type=click.IntRange(min=1), required=False)
@click.argument("label", required=False)
@click.option("--question", help="Needed where the project has several; a multiple choice has one per choice.")
@click.option(
    "--file", "file", type=click.Path(path_type=Path), help="CSV with task, label and, where needed, question."
)
def add(project: int, task: int | None, label: str | None, question: str | None, file: Path | None) -> None:
    """Marks LABEL as the right one for TASK, or all rows of a file."""
    from ..controls import NONE
    from ..store.gold import add_gold

    if (file is None) == (task is None or label is None):
        raise click.UsageError("Give a task and a label, or a --file.")
    config = _config(project)
    rows = [(task or 0, question, str(label))] if file is None else _rows(file, len(config.questions) > 1)
    known, single = {}, {control.name for control in config.controls}
    for number, asked, value in rows:
        name = _question(config, asked)
        labels = next(each.labels for each in config.questions if each.name == name)
        if name in single:  # not one of a multiple choice's yes/no questions: it may be known to be empty
            labels = (*labels, NONE)
        if value not in labels:
            raise UnusableInput(f"{value!r} is no label of {name!r}; its labels are {', '.join(labels)}.")
        known[number, name] = value
    with _engine().begin() as connection:
        add_gold(connection, project, known)
    click.echo(f"{len(known)} gold label(s) added to project {project}; the next sync uses them.")


@gold.command("list")
@click.argument("project", type=click.IntRange(min=1))
def list_(project: int) -> None:
    """Prints the project's gold labels as CSV."""
    from ..store.gold import list_gold
    from .files import csv_lines

    with _engine().connect() as connection:
        found = list_gold(connection, project)
    rows = ({"task": task, "question": question, "label": label} for (task, question), label in found.items())
    click.echo("".join(csv_lines(("task", "question", "label"), rows)), nl=False)


@gold.command("remove")
@click.argument("project", type=click.IntRange(min=1))
@click.argument("tasks", metavar="TASK...", nargs=-1, type=click.IntRange(min=1), required=True)
@click.option("--question", help="Only this question's.")
def remove(project: int, tasks: tuple[int, ...], question: str | None) -> None:
    """Forgets the gold labels of tasks."""
    from ..store.gold import list_gold, remove_gold

    with _engine().begin() as connection:
        keys = [key for key in list_gold(connection, project) if key[0] in tasks and question in (None, key[1])]
        removed = remove_gold(connection, project, keys)
    click.echo(f"{removed} gold label(s) removed from project {project}.")


def _rows(file: Path, with_questions: bool) -> list[tuple[int, str | None, str]]:
    from .files import read_gold

    rows: list[tuple[int, str | None, str]] = []
    for key, label in read_gold(file, with_questions).items():
        task, question = key if isinstance(key, tuple) else (key, None)
        if not task.isdecimal():
            raise UnusableInput(f"{file} names task {task!r}; give Label Studio's task ids, which are numbers.")
        rows.append((int(task), question, label))
    return rows


def _engine() -> Engine:
    from ..settings import read_settings
    from ..store import open_database

    return open_database(read_settings(studio=False).database_url or None)


def _config(project: int) -> Config:
    from ..controls import read_config
    from ..settings import read_settings
    from .parts import label_studio

    return read_config(str(label_studio(read_settings()).project(project)["label_config"]))


def _question(config: Config, asked: str | None) -> str:
    """The question meant; where there is only one, it need not be named."""
    names = [each.name for each in config.questions]
    if asked is None and len(names) == 1:
        return names[0]
    if asked in names:
        return str(asked)
    said = "Name the question" if asked is None else f"There is no question {asked!r}; name one"
    raise UnusableInput(f"{said} with --question; the project has: {', '.join(names) or 'none'}.")
