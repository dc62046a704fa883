"""`ls-crowd evaluate`: compares all methods on held-out gold, says which to choose, and what more gold would buy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ..records import Json, percent
from .files import parse_labels, read_answers, read_gold
from .options import decide_option, ordered_option, ordered_questions, unordered_option
from .progress import ProgressDisplay
from .summary import listed

FEW_GOLD = 50


@click.command(short_help="Compare the methods on gold.")
@click.argument("answers_file", metavar="ANSWERS.csv", type=click.Path(path_type=Path))
@click.option(
    "--gold", "gold_file", metavar="GOLD.csv", type=click.Path(path_type=Path), required=True, help="Known labels."
)
@click.option("--labels", metavar="A,B,C", help="The full label set, where some label was never chosen.")
@ordered_option
@unordered_option
@decide_option
@click.option(
    "--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Number of parts the gold is split into."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random split.")
def evaluate(
    answers_file: Path,
    gold_file: Path,
    labels: str | None,
    ordered: tuple[str, ...],
    unordered: bool,
    decide: str,
    folds: int,
    seed: int,
) -> None:
    """Compare the methods by holding out parts of the gold in turn, and say which to choose.

    Numbers have their standard errors beside them. ECE (expected calibration error, and its excess over that of perfect
    forecasts on as few tasks), Brier score and, on a scale, the distance from the truth in places are better when
    small; AUROC, how well confidence separates right labels from wrong ones, is better when near 1.

    Then auto is judged on the same tasks with none, a quarter, half and all of the gold that is not held out, which
    shows what more gold would buy. That takes about as long as the comparison.
    """
    scales = ordered_questions(ordered, unordered, decide)
    label_set = None if labels is None else parse_labels(labels)
    with ProgressDisplay() as progress:
        answers = read_answers(answers_file, label_set, progress)
        gold = read_gold(gold_file, answers.questions is not None, label_set)
        from ..aggregation import evaluation, gold_curve
        from ..aggregation.trial import Trial

        trial = Trial(
            answers.tasks,
            answers.annotators,
            answers.labels,
            gold,
            label_set=label_set,
            questions=answers.questions,
            seed=seed,
            folds=folds,
            ordered=scales,
            decide=decide,
            progress=progress,
        )
        rows = evaluation.compare_methods(trial)
        curve = gold_curve.gold_curve(trial)
    click.echo(_table(_method_lines(rows)))
    click.echo(_choice(rows, decide, *evaluation.best_method(rows)))
    shares = "none, a quarter, half and all of the gold that is not held out"
    click.echo(f"\nauto with {shares}, judged on the same {rows[0]['tasks']:,} labels:\n")
    click.echo(_table(_curve_lines(curve)))
    click.echo(f"\n{_outlook(curve, gold_curve.clear_step(curve, decide), decide)}")


def _table(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells in columns; the first column is aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        ).rstrip()
        for line in lines
    )


def _method_lines(rows: Sequence[Json]) -> list[list[str]]:
    header = ["method", "accuracy", "± error", "ECE", "excess", "± error", "Brier", "± error", "AUROC"]
    has_scale = rows[0]["distance"] is not None
    lines = [
        [
            row["method"],
            percent(row["accuracy"]),
            percent(row["accuracy_se"]),
            f"{row['calibration_error']:.3f}",
            f"{row['calibration_excess']:.3f}",
            f"{row['calibration_excess_se']:.3f}",
            f"{row['brier']:.3f}",
            f"{row['brier_se']:.3f}",
            "–" if row["auroc"] is None else f"{row['auroc']:.3f}",
            *([f"{row['distance']:.3f}", f"{row['distance_se']:.3f}"] if has_scale else []),
        ]
        for row in rows
    ]
    return [[*header, *(["distance", "± error"] if has_scale else [])], *lines]


def _curve_lines(rows: Sequence[Json]) -> list[list[str]]:
    names = {"accuracy": "accuracy", "calibration_excess": "excess", "brier": "Brier", "distance": "distance"}
    shown = [name for name in names if rows[0][name] is not None]
    lines = [["gold", *(cell for name in shown for cell in (names[name], "change", "± error"))]]
    for row in rows:
        cells = [f"{row['gold']:,}"]
        for name in shown:
            change, error = row[f"{name}_change"], row[f"{name}_change_se"]
            cells.append(percent(row[name]) if name == "accuracy" else f"{row[name]:.3f}")
            if change is None:
                cells += ["", ""]
            elif name == "accuracy":
                cells += [f"{change:+.1%}", percent(error)]
            else:
                cells += [f"{change:+.3f}", f"{error:.3f}"]
        lines.append(cells)
    return lines


def _choice(rows: Sequence[Json], decide: str, best: str, equals: Sequence[str]) -> str:
    row = next(row for row in rows if row["method"] == best)
    sentence = f"\nChoose {best}: right on {percent(row['accuracy'])} of {row['tasks']:,} held-out gold labels"
    if decide == "distance" and row["distance"] is not None:
        sentence += f", and {row['distance']:.2f} places from the truth on average"
    if equals:
        sentence += f"; this gold cannot separate it from {listed(equals)}, and its Brier score is the best of these"
    sentence += "."
    if row["tasks"] < FEW_GOLD:
        sentence += f" With fewer than {FEW_GOLD} gold labels small differences say little; collect more gold."
    return sentence


def _outlook(rows: Sequence[Json], step: tuple[str, bool] | None, decide: str) -> str:
    """What the last step, from half of the gold to all of it, says about more gold."""
    usual = "distance" if decide == "distance" and rows[-1]["distance"] is not None else "accuracy"
    measure, is_better = step or (usual, False)
    half, everything = rows[-2], rows[-1]
    before, after, error = half[measure], everything[measure], everything[f"{measure}_change_se"]
    shown = f"with half of it ({half['gold']:,})", f"with all of it ({everything['gold']:,})"
    if measure == "accuracy":
        figures = f"{shown[0]} auto is right on {percent(before)}, {shown[1]} on {percent(after)} (± {percent(error)})."
    else:
        what = "Brier score" if measure == "brier" else "mean distance from the truth"
        figures = f"{shown[0]} auto has a {what} of {before:.3f}, {shown[1]} of {after:.3f} (± {error:.3f})."
    if step is not None:
        return f"More gold still helps: {figures}" if is_better else f"More gold did not help: {figures}"
    if everything["gold"] < FEW_GOLD:
        return f"Twice as much gold made no clear difference, but it is too little to tell: {figures}"
    return f"Twice as much gold made no clear difference, so a few more tasks would probably change nothing: {figures}"
