"""`ls-crowd export`: labels and annotators as files for programs, also in the form that Label Studio imports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .report import known

if TYPE_CHECKING:
    from sqlalchemy import Engine

FORMATS = ("csv", "json", "jsonl", "label-studio")
LABELS = (
    *("task", "question", "label", "confidence", "difficulty", "answers", "votes", "plurality", "gold", "disputed"),
    *("part", "region"),  # of a task where regions are drawn: the number of one, and where it is
)
ANNOTATORS = (
    *("annotator", "name", "answers", "gold_answers", "gold_correct", "skill", "skill_se", "adversary_probability"),
    *("weight", "accuracy", "verdict", "agreement", "seconds"),
)

Row = Mapping[str, Any]


@click.command(short_help="Labels and annotators as CSV, JSON, JSONL or for Label Studio's import.")
@click.argument("project", type=click.IntRange(min=1))
@click.option(
    "--format", "formats", default="csv", show_default=True, help=f"Any of {', '.join(FORMATS)}; with commas."
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="A folder for labels and annotators.")
def export(project: int, formats: str, out: Path | None) -> None:
    """Exports what the last sync or pass found about PROJECT: one row per task and question, with label, confidence and
    votes, and one per annotator. Without --out the labels are printed.

    The format label-studio holds tasks with the consensus as their prediction, and asks Label Studio for the tasks.
    """
    from ..settings import read_settings
    from ..store import open_database
    from .files import check_output_directory, write_directory

    wanted = [name.strip() for name in formats.split(",")]
    for name in wanted:
        if name not in FORMATS:
            raise click.UsageError(f"There is no format {name!r}; choose of {', '.join(FORMATS)}.")
    if out is None and len(wanted) > 1:
        raise click.UsageError("Several formats need a folder: use --out.")
    engine = open_database(read_settings(studio=False).database_url or None)
    files: dict[str, Iterator[str]] = {}
    for name in wanted:
        files |= _files(engine, project, name)
    if out is None:
        click.echo("".join(next(iter(files.values()))), nl=False)
        return
    check_output_directory(out, files)
    written = write_directory(out, files)
    click.echo("Written: " + ", ".join(map(str, written)))


def _files(engine: Engine, project: int, name: str) -> dict[str, Iterator[str]]:
    """File name → its lines; the labels first."""
    from .files import csv_lines

    with engine.connect() as connection:
        known(connection, project)
        if name == "label-studio":
            return {"tasks.json": _json_lines(_tasks(project))}
        labels, annotators = _labels(connection, project), _annotators(connection, project)
    if name == "csv":
        flat = [{**row, **{name: _flat(row[name]) for name in ("votes", "region")}} for row in labels]
        tables = (("labels.csv", LABELS, flat), ("annotators.csv", ANNOTATORS, annotators))
        return {file: csv_lines(columns, map(_harmless, rows)) for file, columns, rows in tables}
    if name == "json":
        return {"labels.json": _json_lines(labels), "annotators.json": _json_lines(annotators)}
    return {"labels.jsonl": map(_line, labels), "annotators.jsonl": map(_line, annotators)}


def _harmless(row: Row) -> Row:
    """Names and labels are other people's words: a spreadsheet must not take them for formulas."""
    return {
        name: f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
        for name, value in row.items()
    }


def _flat(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _labels(connection: Any, project: int) -> list[dict[str, Any]]:
    from ..store import found
    from ..web.views import votes

    tasks, _ = found.tasks(connection, project)
    rows = [{**row, "votes": dict(votes(row["said"]))} for task in tasks for row in task["labels"]]
    rows.sort(key=lambda row: (row["task"], row["question"], row["part"]))
    return [{name: row[name] for name in LABELS} for row in rows]


def _annotators(connection: Any, project: int) -> list[dict[str, Any]]:
    from ..store import found

    rows, _ = found.annotators(connection, project, order="annotator")
    return [{name: row[name] for name in ANNOTATORS} for row in rows]


def _tasks(project: int) -> list[dict[str, Any]]:
    """Tasks of Label Studio with our prediction, and nothing of people."""
    from ..pipeline.plan import about
    from ..pipeline.write import is_ours
    from ..settings import read_settings
    from .parts import label_studio

    studio = label_studio(read_settings())
    ours = {int(each["task"]): each for each in studio.predictions(project) if is_ours(each.get("model_version"))}
    told = ("model_version", "score", "result")
    for each in ours.values():
        about(each["result"]).pop("annotators", None)
    return [
        {
            "data": task["data"],
            "predictions": [{name: ours[int(task["id"])][name] for name in told}],
        }
        for page in studio.task_pages(project, with_data=True)
        for task in page
        if int(task["id"]) in ours
    ]


def _json_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
