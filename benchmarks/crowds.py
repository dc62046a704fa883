"""Accuracy and calibration on a folder of real crowds, beside crowd-kit: python -m benchmarks.crowds FOLDER [--peers].

For plurality (plu), a tie counts as the chance of guessing right. All other methods are judged by their labels. Without
gold, `left out` is `auto` with numbers that were learned from the other crowds alone (see `benchmarks.learn`).
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ls_crowd_plugin.aggregation import aggregate
from ls_crowd_plugin.aggregation.evaluation import area_under_roc, brier_score, expected_calibration_excess

from .learn import Case, Learner, group_of, make_case
from .peers import frame_of, peer_names, peer_or_nothing, run_peer_with_confidence
from .real_crowds import RealCrowd, is_right, paired_difference, plurality_is_right, read_crowds, vote_share
from .text_table import Cell, print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .real_crowds import Floats

METHODS = ["plu", "neg", "sw", "hyb", "gem", "auto"]
GOLD_PEER = "ds+gold"
LEFT_OUT = "left out"

# One row of a table: method -> [draws] of [judged tasks] right or wrong; None where a peer failed.
Row = dict[str, list["Floats"] | None]
Confidences = dict[str, tuple["Floats", "Floats"]]  # method → [judged tasks] confidence, and right or wrong


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crowds", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="has a subfolder per crowd with answers.csv and truth.csv")
    parser.add_argument("--gold-share", type=float, default=0.1, help="part of the truth to show as gold (default 0.1)")
    parser.add_argument("--draws", type=int, default=5, help="how often gold is drawn (default 5)")
    parser.add_argument(
        "--peers", nargs="?", const="", help="crowd-kit too: mv,wawa,ds,onecoin,glad,mmsr,mace; default all"
    )
    parser.add_argument("--peer-seconds", type=int, default=600, help="after which a peer is given up (default 600)")
    parser.add_argument("--methods", default=",".join(METHODS), help="which of ours to run")
    options = parser.parse_args()
    peers, methods = peer_names(options.peers), ["plu", *(m for m in options.methods.split(",") if m != "plu")]
    crowds = read_crowds(options.folder)

    chosen: dict[str, list[str]] = {crowd.name: [] for crowd in crowds}
    cases = {crowd.name: make_case(crowd) for crowd in crowds} if "auto" in methods else {}
    learner = Learner(cases.values())
    rows: dict[str, Row] = {}
    confidences: dict[str, Confidences] = {}
    for crowd in crowds:
        case = cases.get(crowd.name)
        run = partial(run_peer_with_confidence, longest=options.peer_seconds)
        rows[crowd.name], confidences[crowd.name] = without_gold(
            crowd, methods, dict.fromkeys(peers, run), chosen[crowd.name], case, learner
        )
    columns = [*methods, *([LEFT_OUT] if cases else []), *peers]
    print_accuracy("Accuracy in percent without gold", rows, columns)
    print_confidence(rows, confidences, columns)
    if cases:
        print_lead(rows, columns)
    if options.draws:
        supervised = ["plu", "ss-plu", *methods[1:], *([GOLD_PEER] if "ds" in peers else [])]
        gold_rows: dict[str, Row] = {}
        calibration: dict[str, list[float]] = {}
        for crowd in crowds:
            gold_rows[crowd.name], calibration[crowd.name] = with_gold(
                crowd, supervised, options.gold_share, options.draws, chosen[crowd.name]
            )
        title = f"with {100 * options.gold_share:g} % gold, judged on the rest; {options.draws} draws"
        print_accuracy(f"Accuracy in percent {title}", gold_rows, supervised)
        print_calibration(f"Confidence of auto {title}", calibration)
    print("What auto chose, without gold and then with each draw of gold:")
    for name, choices in chosen.items():
        print(f"  {name}: {'; '.join(choices)}")


def without_gold(
    crowd: RealCrowd,
    methods: Sequence[str],
    peers: Mapping[str, Callable[..., Any]],
    chosen: list[str],
    case: Case | None,
    learner: Learner,
) -> tuple[Row, Confidences]:
    """Run every method once, on all tasks with known truth; also return the confidence in the labels."""
    judged = list(crowd.truth)
    votes = crowd.votes()
    row: Row = {"plu": [plurality_is_right(crowd, judged, votes)]}
    confidences: Confidences = {"plu": vote_share(crowd, judged, votes, 0)}

    def judge(method: str, labels: Mapping[Any, Any], confidence: Mapping[Any, float]) -> None:
        right = is_right(crowd, judged, labels)
        row[method] = [right]
        if confidence:
            confidences[method] = np.array([confidence[task] for task in judged]), right

    for method in methods[1:]:
        result = _ours(crowd, method, None, chosen)
        judge(method, result.labels, result.confidence)
    if case is not None:
        left_out = case.consensus(learner.learn(group_of(crowd.name)))
        judge(LEFT_OUT, left_out.labels, left_out.confidence)
    frame = frame_of(crowd.tasks, crowd.annotators, crowd.labels) if peers else None
    for peer, run in peers.items():
        started = time.perf_counter()
        answer = run(peer, frame)
        print(f"  {crowd.name}: crowd-kit's {peer} took {time.perf_counter() - started:.1f} s", flush=True)
        row[peer] = None
        if answer is not None:
            judge(peer, *answer)
    return row, confidences


def with_gold(
    crowd: RealCrowd, methods: Sequence[str], share: float, draws: int, chosen: list[str]
) -> tuple[Row, list[float]]:
    """Run every method with several draws of gold; also return the mean calibration of auto over the draws."""
    drawn: list[dict[str, Floats | None]] = []
    calibration = []
    votes = crowd.votes()
    for seed in range(draws):
        gold = crowd.draw_gold(share, seed)
        judged = [task for task in crowd.truth if task not in gold]
        right: dict[str, Floats | None] = {"plu": plurality_is_right(crowd, judged, votes)}
        for method in methods[1:]:
            if method == GOLD_PEER:
                labels = peer_or_nothing("ds", frame_of(crowd.tasks, crowd.annotators, crowd.labels), gold)
                right[method] = None if labels is None else is_right(crowd, judged, labels)
                continue
            result = _ours(crowd, method.removeprefix("ss-"), gold, chosen)
            ours = is_right(crowd, judged, result.labels)
            right[method] = ours
            if method == "auto":
                confidence = np.array([result.confidence[task] for task in judged])
                calibration.append(_judge_confidence(crowd, judged, confidence, ours, votes, seed))
        drawn.append(right)
    row: Row = {}
    for method in methods:
        kept = [flags for right in drawn if (flags := right[method]) is not None]
        row[method] = kept if len(kept) == draws else None
    return row, np.mean(calibration, axis=0).tolist() if calibration else []


def _ours(crowd: RealCrowd, method: str, gold: Mapping[str, str] | None, chosen: list[str]) -> Any:
    result = aggregate(crowd.tasks, crowd.annotators, crowd.labels, gold=gold, method=method)
    if method == "auto":
        chosen.append(f"{result.facts['method']} {result.facts['form']}")
    return result


def _judge_confidence(
    crowd: RealCrowd, judged: Sequence[str], confidence: Floats, right: Floats, votes: Any, seed: int
) -> list[float]:
    share, share_right = vote_share(crowd, judged, votes, seed)
    return [
        expected_calibration_excess(confidence, right, seed),
        expected_calibration_excess(share, share_right, seed),
        brier_score(confidence, right),
        brier_score(share, share_right),
        area_under_roc(confidence, right),
        area_under_roc(share, share_right),
    ]


def print_accuracy(title: str, rows: Mapping[str, Row], columns: Sequence[str]) -> None:
    """Print the accuracy per crowd and its mean, and the difference to plurality with its paired standard error."""
    accuracies: list[list[Cell]] = []
    differences: list[list[Cell]] = []
    for name, row in rows.items():
        plurality = row["plu"] or []
        accuracies.append([name, *(_accuracy(row[column]) for column in columns)])
        texts: list[Cell] = []
        for column in columns[1:]:
            draws = row[column]
            if draws is None:
                texts.append(None)
                continue
            pairs = [paired_difference(ours, theirs) for ours, theirs in zip(draws, plurality, strict=True)]
            difference, error = np.mean(pairs, axis=0)
            texts.append(f"{difference:+.1f} ± {error:.1f}")
        differences.append([name, *texts])
    means = [[row[column] for row in accuracies] for column in range(1, len(columns) + 1)]
    accuracies.append(["mean", *(_mean(column) for column in means)])
    print_table(title, ["crowd", *columns], accuracies)
    print_table("Difference to plurality in points, with its standard error", ["crowd", *columns[1:]], differences)


def _accuracy(draws: list[Floats] | None) -> float | None:
    return None if draws is None else 100 * float(np.mean([right.mean() for right in draws]))


def _mean(column: Sequence[Cell]) -> float | None:
    values = [value for value in column if isinstance(value, float)]
    return float(np.mean(values)) if len(values) == len(column) else None


def print_confidence(rows: Mapping[str, Row], confidences: Mapping[str, Confidences], columns: Sequence[str]) -> None:
    """Print excess ECE and Brier score of every method that has probabilities, per crowd and in the mean."""
    for title, measure in (("Excess ECE", expected_calibration_excess), ("Brier score", brier_score)):
        lines: list[list[Cell]] = []
        for name in rows:
            found = confidences[name]
            lines.append([name, *(float(measure(*found[column])) if column in found else None for column in columns)])
        means: list[Cell] = []
        for column in range(1, len(columns) + 1):
            values = [value for line in lines if isinstance(value := line[column], float)]
            means.append(float(np.mean(values)) if values else None)
        print_table(f"{title} without gold", ["crowd", *columns], [*lines, ["mean of those", *means]], digits=3)


def print_lead(rows: Mapping[str, Row], columns: Sequence[str]) -> None:
    """Print how far `auto`, learned without the crowd, is ahead of every other method on the crowds that it ended."""
    lines: list[list[Cell]] = []
    for column in columns:
        if column == LEFT_OUT:
            continue
        pairs = [
            (ours[0].mean() - theirs[0].mean()) * 100
            for row in rows.values()
            if (theirs := row[column]) is not None and (ours := row[LEFT_OUT]) is not None
        ]
        error = np.std(pairs, ddof=1) / np.sqrt(len(pairs)) if len(pairs) > 1 else 0.0
        lines.append([column, len(pairs), float(np.mean(pairs)), float(error)])
    header = ["method", "crowds", "points", "standard error over crowds"]
    print_table("auto, learned without the crowd, minus each method", header, lines, digits=2)


def print_calibration(title: str, rows: Mapping[str, list[float]]) -> None:
    """Print ECE beyond that of a perfect forecaster, Brier score and AUROC, of auto and of the vote share."""
    header = ["crowd", "ECE excess", "vote share", "Brier", "vote share", "AUROC", "vote share"]
    measured = {name: values for name, values in rows.items() if values}
    if measured:
        lines: list[list[Cell]] = [[name, *values] for name, values in measured.items()]
        print_table(title, header, [*lines, ["mean", *np.mean(list(measured.values()), axis=0).tolist()]], digits=3)


if __name__ == "__main__":
    main()
