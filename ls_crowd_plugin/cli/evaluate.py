"""`ls-crowd evaluate`: compares all methods on held-out gold, and says which to choose."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ..records import Json
from .files import parse_labels, read_answers, read_gold
from .progress import ProgressDisplay
from .summary import listed

FEW_GOLD = 50


@click.command(short_help="Compare the methods on gold.")
@click.argument("answers_file", metavar="ANSWERS.csv", type=click.Path(path_type=Path))
@click.option(
    "--gold", "gold_file", metavar="GOLD.csv", type=click.Path(path_type=Path), required=True, help="Known labels."
)
@click.option("--labels", metavar="A,B,C", help="The full label set, where some label was never chosen.")
@click.option(
    "--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Number of parts the gold is split into."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random split.")
def evaluate(answers_file: Path, gold_file: Path, labels: str | None, folds: int, seed: int) -> None:
    """Compare the methods by holding out parts of the gold in turn, and say which to choose.

    Accuracy has its standard error beside it. ECE (expected calibration error, and its excess over that of perfect
    forecasts on as few tasks) and Brier score are better when small; AUROC, how well confidence separates right labels
    from wrong ones, is better when near 1.
    """
    label_set = None if labels is None else parse_labels(labels)
    with ProgressDisplay() as progress:
        answers = read_answers(answers_file, label_set, progress)
        gold = read_gold(gold_file, answers.questions is not None, label_set)
        from ..aggregation import evaluation

        rows = evaluation.evaluate(
            answers.tasks,
            answers.annotators,
            answers.labels,
            gold,
            label_set=label_set,
            questions=answers.questions,
            seed=seed,
            folds=folds,
            progress=progress,
        )
    click.echo(_table(rows))
    click.echo(_choice(rows, *evaluation.best_method(rows)))


def _table(rows: Sequence[Json]) -> str:
    header = ["method", "accuracy", "± error", "ECE", "excess", "Brier", "AUROC"]
    lines = [
        [
            row["method"],
            f"{row['accuracy']:.1%}",
            f"{row['accuracy_se']:.1%}",
            f"{row['calibration_error']:.3f}",
            f"{row['calibration_excess']:.3f}",
            f"{row['brier']:.3f}",
            "–" if row["auroc"] is None else f"{row['auroc']:.3f}",
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in [header, *lines]
    )


def _choice(rows: Sequence[Json], best: str, equals: Sequence[str]) -> str:
    row = next(row for row in rows if row["method"] == best)
    sentence = f"\nChoose {best}: right on {row['accuracy']:.1%} of {row['tasks']:,} held-out gold labels"
    if equals:
        sentence += f"; this gold cannot separate it from {listed(equals)}, and its Brier score is the best of these"
    sentence += "."
    if row["tasks"] < FEW_GOLD:
        sentence += f" With fewer than {FEW_GOLD} gold labels small differences say little; collect more gold."
    return sentence
