"""Yes/no questions where yes is rare, and annotators who always give one answer: python -m benchmarks.rare.

A third of the annotators never say yes, the others are right 90 % of the time; 5 answers per task. Tasks with gold are
not judged where methods get gold. Recall is that of yes; counts are pooled over the crowds.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ls_crowd_plugin.aggregation import aggregate
from ls_crowd_plugin.demo.crowds import constant_label_crowd, rare_answer_crowd

from .text_table import Cell, print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ls_crowd_plugin.demo import SimulatedCrowd

Floats = npt.NDArray[np.float64]
METHODS = ["plu", "gem", "auto"]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rare", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rates", default="40,20,8,2", help="percentages of yes (default 40,20,8,2)")
    parser.add_argument("--crowds", type=int, default=20, help="crowds per rate (default 20)")
    parser.add_argument("--tasks", type=int, default=400, help="tasks per crowd (default 400)")
    options = parser.parse_args()
    rows: list[list[Cell]] = []
    verdict_rows: list[list[Cell]] = []
    for rate in [float(text) for text in options.rates.split(",")]:
        crowds = [rare_answer_crowd(seed, rate / 100, options.tasks) for seed in range(options.crowds)]
        for with_gold in (False, True):
            name = f"{rate:g} %{', gold' if with_gold else ''}"
            more_rows, more_verdicts = judge(crowds, with_gold, name)
            rows += more_rows
            verdict_rows += more_verdicts
    title = (
        f"Rare answers; {options.crowds} crowds of {options.tasks} tasks; differences to plurality with standard errors"
    )
    header = ["yes, method", "recall", "to plu", "macro-F1", "to plu", "accuracy"]
    print_table(title, header, rows, digits=3)
    header = ["yes, method, kind of annotator", "verdicts"]
    print_table("Verdicts on those who never say yes (constant) and on the others", header, verdict_rows)

    crowds = [constant_label_crowd(seed) for seed in range(options.crowds)]
    verdict_rows = []
    for with_gold in (False, True):
        for method in METHODS[1:]:
            verdicts: dict[str, Counter[str]] = {}
            for crowd in crowds:
                _count_verdicts(verdicts, crowd, _run(crowd, method, with_gold))
            verdict_rows += _verdict_rows(f"{method}{', gold' if with_gold else ''}", verdicts)
    header = ["method, kind of annotator", "verdicts"]
    print_table("One of twenty annotators always picks the same of five labels", header, verdict_rows)


def judge(crowds: Iterable[SimulatedCrowd], with_gold: bool, name: str) -> tuple[list[list[Cell]], list[list[Cell]]]:
    """Return rows of recall and macro-F1 by method, and rows of verdicts by method and kind of annotator."""
    counts: dict[str, list[list[int]]] = {method: [] for method in METHODS}
    verdicts: dict[str, dict[str, Counter[str]]] = {method: {} for method in METHODS[1:]}
    for crowd in crowds:
        for method in METHODS:
            # Everything is compared with plurality without gold.
            result = _run(crowd, method, with_gold and method != "plu")
            counts[method].append(_counts(crowd, result.labels, with_gold))
            if method in verdicts:
                _count_verdicts(verdicts[method], crowd, result)
    tables = {method: np.array(numbers, float) for method, numbers in counts.items()}  # [crowds, 4]
    rows: list[list[Cell]] = []
    for method, table in tables.items():
        row: list[Cell] = [f"{name}, {method}"]
        for measure in (recall, macro_f1):
            row += [measure(table.sum(axis=0)), _difference(measure, table, tables["plu"]) if method != "plu" else None]
        rows.append([*row, float((table[:, 0] + table[:, 3]).sum() / table.sum())])
    verdict_rows = [row for method in verdicts for row in _verdict_rows(f"{name}, {method}", verdicts[method])]
    return rows, verdict_rows


def recall(counts: Floats) -> float:
    """Return the share of yes tasks with the label yes; counts are yes right, yes missed, no missed, no right."""
    return float(counts[0] / (counts[0] + counts[1]))


def macro_f1(counts: Floats) -> float:
    """Return the mean over both labels of F1 = 2 right / (2 right + missed + wrong)."""
    missed = counts[1] + counts[2]
    return float(np.mean([2 * right / (2 * right + missed) for right in (counts[0], counts[3])]))


def _difference(measure: Callable[[Floats], float], ours: Floats, theirs: Floats) -> str:
    """Return the difference of a measure of pooled counts, with its jackknife standard error over the crowds."""
    pooled, other = ours.sum(axis=0), theirs.sum(axis=0)
    left_out = [measure(pooled - one) - measure(other - two) for one, two in zip(ours, theirs, strict=True)]
    error = np.sqrt((len(left_out) - 1) * np.var(left_out))
    return f"{measure(pooled) - measure(other):+.3f} ± {error:.3f}"


def _run(crowd: SimulatedCrowd, method: str, with_gold: bool) -> Any:
    gold = crowd.gold if with_gold else None
    return aggregate(crowd.tasks, crowd.annotators, crowd.labels, gold=gold, method=method, label_set=crowd.label_set)


def _counts(crowd: SimulatedCrowd, labels: dict[Any, Any], skip_gold: bool) -> list[int]:
    """Return the numbers of yes right, yes missed, no missed, no right."""
    pairs = Counter(
        (truth, labels[task]) for task, truth in crowd.truth.items() if not (skip_gold and task in crowd.gold)
    )
    return [pairs["yes", "yes"], pairs["yes", "no"], pairs["no", "yes"], pairs["no", "no"]]


def _count_verdicts(verdicts: dict[str, Counter[str]], crowd: SimulatedCrowd, result: Any) -> None:
    for row in result.annotators:
        verdicts.setdefault(crowd.kinds[row["annotator"]], Counter())[row["verdict"]] += 1


def _verdict_rows(name: str, verdicts: dict[str, Counter[str]]) -> list[list[Cell]]:
    return [
        [f"{name}, {kind}", ", ".join(f"{verdict} {count}" for verdict, count in verdicts[kind].most_common())]
        for kind in sorted(verdicts, reverse=True)
    ]


if __name__ == "__main__":
    main()
