"""`ls-crowd aggregate`: turns a CSV file of answers into labels, confidences and annotators' scores."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..records import ANNOTATOR_COLUMNS, METHODS, RINGS
from .files import check_output_directory, csv_lines, parse_labels, read_answers, read_gold, write_directory
from .options import decide_option, ordered_option, ordered_questions, unordered_option
from .progress import ProgressDisplay
from .summary import summary

if TYPE_CHECKING:
    from ..aggregation import Consensus

TASK_COLUMNS = ("task", "label", "confidence", "difficulty", "answers", "state")
FILES = ("consensus.csv", "annotators.csv", "run.json")


@click.command(short_help="Aggregate a CSV file of answers.")
@click.argument("answers_file", metavar="ANSWERS.csv", type=click.Path(path_type=Path))
@click.option("--gold", "gold_file", metavar="GOLD.csv", type=click.Path(path_type=Path), help="Known labels.")
@click.option("--method", type=click.Choice(METHODS), default="auto", show_default=True, help="Method of aggregation.")
@click.option("--form", metavar="NAME", help="Form of GEM, see docs/methods.md. By default the data decide.")
@click.option("--labels", metavar="A,B,C", help="The full label set, where some label was never chosen.")
@ordered_option
@unordered_option
@decide_option
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed for random choices, such as ties."
)
@click.option(
    "--rings",
    type=click.Choice(RINGS),
    default="off",
    is_flag=False,
    flag_value="count",
    help="People who give the same answers against everybody else: --rings=show them, or --rings at the end, or"
    " --rings=count, to count them as one.",
)
@click.option("--quiet", is_flag=True, help="Print no summary.")
@click.option(
    "--out",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    required=True,
    help="Output directory, created if missing.",
)
def aggregate(
    answers_file: Path,
    gold_file: Path | None,
    method: str,
    form: str | None,
    labels: str | None,
    ordered: tuple[str, ...],
    unordered: bool,
    decide: str,
    seed: int,
    rings: str,
    quiet: bool,
    directory: Path,
) -> None:
    """Find the label of every task, and how far each annotator can be trusted.

    ANSWERS.csv has the columns task, annotator (or worker) and label, and question where a task asks several.
    GOLD.csv has task and label (and question). DIR gets consensus.csv, annotators.csv and run.json.
    """
    if form is not None and method != "gem":
        raise click.UsageError("--form is a form of gem: give --method gem with it.")
    scales = ordered_questions(ordered, unordered, decide)
    label_set = None if labels is None else parse_labels(labels)
    check_output_directory(directory, FILES)
    with ProgressDisplay() as progress:
        answers = read_answers(answers_file, label_set, progress)
        gold = read_gold(gold_file, answers.questions is not None, label_set) if gold_file else {}
        from .. import aggregation

        if form is not None and form not in aggregation.FORMS:
            known = ", ".join(aggregation.FORMS)
            raise click.UsageError(f"--form {form} is unknown: there are {known}.")
        consensus = aggregation.aggregate(
            answers.tasks,
            answers.annotators,
            answers.labels,
            gold=gold,
            method=method,
            label_set=label_set,
            questions=answers.questions,
            seed=seed,
            form=form,
            progress=progress,
            ordered=scales,
            decide=decide,
            rings=rings,
        )
        written = write_directory(directory, _contents(consensus, answers.questions is not None))
    groups = (ring.sentence([str(annotator) for annotator in ring.annotators]) for ring in consensus.rings)
    for warning in (*consensus.warnings, *groups):
        click.echo(f"warning: {warning}", err=True)
    if not quiet:
        click.echo(summary(answers, gold, consensus, written))


def _contents(consensus: Consensus, with_questions: bool) -> dict[str, Iterable[str]]:
    columns = (TASK_COLUMNS[0], "question", *TASK_COLUMNS[1:]) if with_questions else TASK_COLUMNS
    return {
        "consensus.csv": csv_lines(columns, consensus.tasks),
        "annotators.csv": csv_lines(ANNOTATOR_COLUMNS, consensus.annotators),
        "run.json": _json_lines(consensus.facts),
    }


def _json_lines(facts: object) -> Iterator[str]:
    yield json.dumps(_plain(facts), indent=2, ensure_ascii=False, allow_nan=False)
    yield "\n"


def _plain(value: object) -> object:
    """A value as JSON can hold it: without infinity and tuples, and with plain numbers instead of numpy's."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
