"""`ls-crowd export`: labels and annotators as files for programs, also in the form that Label Studio imports.

A new column of a CSV file is a field of the record in `records.py` and its name in LABEL_COLUMNS or ANNOTATOR_COLUMNS.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..records import Json, TaskLabel
from .report import results_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

FORMATS = ("csv", "json", "jsonl", "label-studio")
LABEL_COLUMNS = (
    *("task", "question", "label", "confidence", "difficulty", "answers", "votes", "plurality", "gold", "disputed"),
    *("part", "region"),  # where regions are drawn: the number of a region on its task, and where it is
    "state",
)
ANNOTATOR_COLUMNS = (
    *("annotator", "name", "answers", "gold_answers", "gold_correct", "skill", "skill_se", "adversary_probability"),
    *("weight", "accuracy", "verdict", "agreement", "seconds"),
)

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
NO_FORMULA = re.compile(r"[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?|[-+=@]+")

Row = Mapping[str, object]


@click.command(short_help="Export labels and annotators.")
@click.argument("project", type=click.IntRange(min=1))
@click.option(
    "--format", "formats", default="csv", show_default=True, help=f"Any of {', '.join(FORMATS)}; separated by commas."
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="A folder for labels and annotators.")
def export(project: int, formats: str, out: Path | None) -> None:
    """Export the results of the last pass over PROJECT: one row per task and question, with label, confidence and
    votes, and one per annotator. Without --out the labels are printed.

    The format label-studio holds tasks with the consensus as their prediction, and asks Label Studio for the tasks.
    """
    from .files import check_output_directory, write_directory
    from .setup import data_database

    wanted = [name.strip() for name in formats.split(",")]
    for name in wanted:
        if name not in FORMATS:
            raise click.UsageError(f"There is no format {name!r}; choose from {', '.join(FORMATS)}.")
    if out is None and len(wanted) > 1:
        raise click.UsageError("Several formats need a folder: use --out.")
    files: dict[str, Iterator[str]] = {}
    with data_database() as engine, engine.connect() as connection:
        results_of(connection, project)
        for name in wanted:
            files |= _files(connection, project, name)
    if out is None:
        click.echo("".join(next(iter(files.values()))), nl=False)
        return
    check_output_directory(out, files)
    written = write_directory(out, files)
    click.echo("Written: " + ", ".join(map(str, written)))


def _files(connection: Connection, project: int, name: str) -> dict[str, Iterator[str]]:
    """File name → its lines; the labels first."""
    from .files import csv_lines

    if name == "label-studio":
        return {"tasks.json": _json_lines(_tasks(project))}
    labels, annotators = _labels(connection, project), _annotators(connection, project)
    if name == "csv":
        flat = [{**row, "votes": _flat_votes(row["votes"]), "region": _flat(row["region"])} for row in labels]
        tables = (("labels.csv", LABEL_COLUMNS, flat), ("annotators.csv", ANNOTATOR_COLUMNS, annotators))
        return {file: csv_lines(columns, map(_without_formulas, rows)) for file, columns, rows in tables}
    if name == "json":
        return {"labels.json": _json_lines(labels), "annotators.json": _json_lines(annotators)}
    return {"labels.jsonl": map(_json_line, labels), "annotators.jsonl": map(_json_line, annotators)}


def _without_formulas(row: Row) -> Row:
    return {name: _plain_text(value) if isinstance(value, str) else value for name, value in row.items()}


def _plain_text(text: str) -> str:
    """Names and labels are other people's words: a spreadsheet must not run them as formulas.

    Numbers such as -1, and signs alone, are no formulas.
    """
    return f"'{text}" if text.startswith(FORMULA_STARTS) and not NO_FORMULA.fullmatch(text) else text


def _flat_votes(votes: object) -> str | None:
    """With the labels as they are in the other columns, so that they can be compared."""
    return _flat({_plain_text(label): number for label, number in votes.items()} if isinstance(votes, dict) else votes)


def _flat(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _labels(connection: Connection, project: int) -> list[Row]:
    from ..store.results import list_tasks

    tasks, _ = list_tasks(connection, project)
    labels = sorted((label for task in tasks for label in task.labels), key=lambda label: label.number)
    return [_label_row(label) for label in labels]


def _label_row(label: TaskLabel) -> Row:
    from ..web.words import count_votes

    values = {**vars(label), "votes": dict(count_votes(label.votes)), "region": label.region and label.region.to_json()}
    return {name: values[name] for name in LABEL_COLUMNS}


def _annotators(connection: Connection, project: int) -> list[Row]:
    from ..store.results import list_annotators

    people, _ = list_annotators(connection, project, order="annotator")
    return [{name: vars(one)[name] for name in ANNOTATOR_COLUMNS} for one in people]


def _tasks(project: int) -> list[Json]:
    """Tasks of Label Studio with our prediction, and nothing about people."""
    from ..pipeline.plan import crowd_meta
    from ..settings import read_settings
    from ..store.predictions import read_versions
    from .setup import data_database, label_studio

    studio = label_studio(read_settings())
    with data_database() as engine, engine.connect() as connection:
        versions = read_versions(connection, project)
    ours = {one.task: one for one in studio.predictions(project) if one.model_version in versions}
    for prediction in ours.values():
        crowd_meta(prediction.result).pop("annotators", None)
    tasks = []
    for page in studio.task_pages(project, with_data=True):
        for task in page:
            if (found := ours.get(int(task["id"]))) is not None:
                fields = {"model_version": found.model_version, "score": found.score, "result": found.result}
                tasks.append({"data": task["data"], "predictions": [fields]})
    return tasks


def _json_lines(rows: list[Row] | list[Json]) -> Iterator[str]:
    yield json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def _json_line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
