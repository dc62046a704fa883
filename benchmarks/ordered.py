"""Accuracy and distance on ordered crowds: python -m benchmarks.ordered FOLDER --crowds NAME,NAME [--peers].

The labels of these crowds must be numbers. `mode` is the most probable label, `near` the label of least expected
distance; the error of a label is its distance from the truth in places on the scale. Plurality is not among the
columns because a tie has no distance.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ls_crowd_plugin.aggregation import aggregate

from .peers import frame_of, peer_or_nothing
from .real_crowds import RealCrowd, paired_difference, read_crowds
from .text_table import Cell, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .real_crowds import Floats

UNORDERED, ORDERED = "unordered", "ordered"
PEER = "crowd-kit's Dawid-Skene"
Errors = dict[str, "Floats | None"]  # way to label -> distance of each judged task's label from the truth


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ordered", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="has a subfolder per crowd with answers.csv and truth.csv")
    parser.add_argument("--crowds", required=True, help="the subfolders whose labels are ordered, with commas between")
    parser.add_argument("--method", default="gem", help="method for both (default gem)")
    parser.add_argument("--form", default="ordered-1", help="form that is also judged alone (default ordered-1)")
    parser.add_argument("--peers", action="store_true", help="crowd-kit's Dawid-Skene, too")
    options = parser.parse_args()
    names = options.crowds.split(",")
    crowds = {crowd.name: crowd for crowd in read_crowds(options.folder)}
    unknown = [name for name in names if name not in crowds]
    if unknown:
        raise SystemExit(f"{options.folder} has no crowd {unknown[0]!r}; choose among {', '.join(crowds)}.")
    errors = {name: judge(crowds[name], options.method, options.form, options.peers) for name in names}
    columns = list(next(iter(errors.values())))
    right: dict[str, Errors] = {
        name: {column: None if error is None else (error == 0).astype(float) for column, error in row.items()}
        for name, row in errors.items()
    }
    print_means("Accuracy in percent", right, columns, 100.0, 1)
    print_means("Mean absolute error in places", errors, columns, 1.0, 3)
    print_changes(errors, right, options.form)


def judge(crowd: RealCrowd, method: str, form: str, with_peer: bool) -> Errors:
    """Label the crowd in every way; returns the distances [judged tasks] of the labels from the truth."""
    places = {label: place for place, label in enumerate(sorted({*crowd.labels, *crowd.truth.values()}, key=float))}
    label_set = list(places)

    def labels(**options: Any) -> Mapping[str, str]:
        return aggregate(crowd.tasks, crowd.annotators, crowd.labels, label_set=label_set, **options).labels

    def error(found: Mapping[str, str]) -> Floats:
        return np.array([abs(places[found[task]] - places[truth]) for task, truth in crowd.truth.items()], float)

    def near_in(unordered: Any) -> Mapping[str, str]:
        """The label of least expected distance by a posterior that knows nothing of the order."""
        place = np.arange(len(places))
        distance = np.abs(place[:, None] - place)
        return {
            task: label_set[int((distance @ [unordered.posterior(task)[label] for label in label_set]).argmin())]
            for task in crowd.truth
        }

    unordered = aggregate(
        crowd.tasks, crowd.annotators, crowd.labels, method=method, label_set=label_set, ordered=False
    )
    single: dict[str, Any] = {"method": "gem", "form": form, "ordered": True}
    both: dict[str, Any] = {"method": method, "ordered": True}
    row: Errors = {
        f"{UNORDERED} mode": error(unordered.labels),
        f"{UNORDERED} near": error(near_in(unordered)),
        f"{form} mode": error(labels(**single)),
        f"{form} near": error(labels(**single, decide="distance")),
        f"{ORDERED} mode": error(labels(**both)),
        f"{ORDERED} near": error(labels(**both, decide="distance")),
    }
    if with_peer:
        found = peer_or_nothing("ds", frame_of(crowd.tasks, crowd.annotators, crowd.labels))
        row[PEER] = None if found is None else error(found)
    return row


def print_means(title: str, rows: Mapping[str, Errors], columns: list[str], factor: float, digits: int) -> None:
    """Print a crowd's mean of every column, and the mean over crowds."""
    table: list[list[Cell]] = []
    for name, row in rows.items():
        values = [row[column] for column in columns]
        table.append([name, *(None if value is None else factor * float(value.mean()) for value in values)])
    means: list[Cell] = []
    for column in range(1, len(columns) + 1):
        cells = [row[column] for row in table]
        numbers = [cell for cell in cells if isinstance(cell, float)]
        means.append(float(np.mean(numbers)) if len(numbers) == len(cells) else None)
    print_table(title, ["crowd", *columns], [*table, ["mean", *means]], digits)


def print_changes(errors: Mapping[str, Errors], right: Mapping[str, Errors], form: str) -> None:
    """Print how the ordered ways differ from the unordered method's most probable label, with standard errors."""
    table: list[list[Cell]] = []
    base = f"{UNORDERED} mode"
    for name in errors:
        cells: list[Cell] = [name]
        for way in (form, ORDERED):
            accuracy = paired_difference(_known(right[name], f"{way} mode"), _known(right[name], base))
            before, after = _known(errors[name], base), _known(errors[name], f"{way} near")
            difference, deviation = paired_difference(after, before)
            percent = 1.0 / before.mean() if before.any() else 0.0
            cells.append("{:+.1f} ± {:.1f}".format(*accuracy))
            cells.append(f"{percent * difference:+.1f} ± {percent * deviation:.1f}")
        table.append(cells)
    header = ["crowd", *(f"{way} {what}" for way in (form, ORDERED) for what in ("accuracy", "error %"))]
    print_table(f"Difference to {base}: accuracy of the mode in points, error of near in percent", header, table)


def _known(row: Errors, column: str) -> Floats:
    values = row[column]
    if values is None:
        raise KeyError(column)
    return values


if __name__ == "__main__":
    main()
