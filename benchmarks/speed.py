"""Time and memory on one core, compared with crowd-kit: python -m benchmarks.speed [--peers].

Five labels, 1,000 annotators, 10 answers per task; integer arrays in, labels out; every case in a process of its own.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from ls_crowd_plugin.demo.crowds import large_crowd

from .text_table import Cell, print_table

OURS = ["neg", "gem", "auto"]
PEER_OF = {"neg": "mv", "gem": "ds"}
GLAD_ANSWERS = 100_000
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
CROWD_KIT_SCRIPT = """
import sys
import pandas as pd
from crowdkit.aggregation import DawidSkene
answers = pd.read_csv(sys.argv[1], dtype=str).rename(columns={"annotator": "worker"})
DawidSkene().fit_predict(answers).to_csv(sys.argv[2])
"""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--answers", default="10000,100000,1000000,10000000", help="numbers of answers, separated by commas"
    )
    parser.add_argument("--labels", default="5,50,500,5000", help="numbers of labels for the table by labels, or 0")
    parser.add_argument("--answers-by-labels", type=int, default=1_000_000, help="answers in that table (default 10^6)")
    parser.add_argument("--peers", action="store_true", help="crowd-kit too (GLAD takes minutes)")
    parser.add_argument("--most-for-peers", type=int, default=1_000_000, help="no peers beyond that many answers")
    parser.add_argument("--without-glad", action="store_true", help="leave GLAD out")
    parser.add_argument(
        "--command-answers", type=int, default=10_000, help="rows of the file for the whole command, or 0"
    )
    options = parser.parse_args()
    sizes = [int(text) for text in options.answers.split(",") if int(text)]
    if sizes:
        print_by_answers(sizes, options.most_for_peers if options.peers else 0, not options.without_glad)
    counts = [int(text) for text in options.labels.split(",") if int(text)]
    if counts:
        print_by_labels(counts, options.answers_by_labels)
    if options.command_answers:
        print_whole_command(options.command_answers, options.peers)


def print_by_answers(sizes: list[int], max_for_peers: int, with_glad: bool) -> None:
    """Print time, memory and accuracy by number of answers."""
    rows: list[list[Cell]] = []
    seconds: dict[tuple[str, int], float] = {}
    for size in sizes:
        methods = [*OURS]
        if size <= max_for_peers:
            methods += [f"peer:{name}" for name in PEER_OF.values()]
            methods += ["peer:glad"] if with_glad and size == GLAD_ANSWERS else []
        for method in methods:
            measured = measure(method, size, 5)
            seconds[method, size] = measured["seconds"]
            rows.append([f"{size:,}", method, *_measures(measured)])
    print_table("By answers, 5 labels", ["answers", "method", "seconds", "accuracy %", "peak MB", "MB before"], rows)

    ratios: list[list[Cell]] = []
    for size in sizes:
        for ours, peer in [*PEER_OF.items(), ("gem", "glad")]:
            if (f"peer:{peer}", size) in seconds:
                ratios.append([f"{size:,}", f"{peer} / {ours}", seconds[f"peer:{peer}", size] / seconds[ours, size]])
        ratios.append([f"{size:,}", "auto / gem", seconds["auto", size] / seconds["gem", size]])
    print_table("Ratios of the times (peer / ours: how many times faster ours is)", ["answers", "", "ratio"], ratios, 2)
    growth: list[list[Cell]] = [
        [
            f"{small:,} to {large:,}",
            *(np.log(seconds[method, large] / seconds[method, small]) / np.log(large / small) for method in OURS),
        ]
        for small, large in pairwise(sizes)
    ]
    if growth:
        print_table("Exponent of the growth in the answers (1 is linear)", ["answers", *OURS], growth, 2)


def print_by_labels(counts: list[int], answers: int) -> None:
    """Print time by number of labels."""
    rows: list[list[Cell]] = [
        [f"{count:,}", method, *_measures(measure(method, answers, count))] for count, method in product(counts, OURS)
    ]
    header = ["labels", "method", "seconds", "accuracy %", "peak MB", "MB before"]
    print_table(f"By labels, {answers:,} answers", header, rows)


def print_whole_command(answers: int, with_peer: bool) -> None:
    """Print the time of the command on a file, start-up included, and of crowd-kit's Dawid-Skene in a process."""
    crowd = large_crowd(seed=0, answers=answers, annotators=100)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "answers.csv")
        with file.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.writer(handle)
            writer.writerow(["task", "annotator", "label"])
            writer.writerows(zip(crowd.tasks, crowd.annotators, crowd.labels, strict=True))
        out = str(Path(folder, "out"))
        commands = {
            f"ls-crowd aggregate --method {method}": [
                *("-m", "ls_crowd_plugin", "aggregate", str(file), "--method", method, "--quiet", "--out", out)
            ]
            for method in ("auto", "gem")
        }
        if with_peer:
            commands["crowd-kit's DawidSkene"] = ["-c", CROWD_KIT_SCRIPT, str(file), str(Path(folder, "labels.csv"))]
        rows: list[list[Cell]] = [[name, _best_of_three(command)] for name, command in commands.items()]
    print_table(f"The whole process on a file of {answers:,} answers, best of 3", ["", "seconds"], rows, 2)


def measure(method: str, answers: int, labels: int) -> dict[str, float]:
    """Run one case in a process of its own."""
    arguments = ["-m", "benchmarks.speed_case", method, str(answers), str(labels)]
    result = subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **ONE_THREAD}, check=True, stdout=subprocess.PIPE, text=True
    )
    measured: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    print(f"  {method}, {answers:,} answers, {labels:,} labels: {measured['seconds']:.3f} s", flush=True)
    return measured


def _measures(measured: dict[str, float]) -> list[Cell]:
    return [
        f"{measured['seconds']:.3f}",
        100 * measured["accuracy"],
        f"{measured['peak']:.0f}",
        f"{measured['before']:.0f}",
    ]


def _best_of_three(arguments: list[str]) -> float:
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], env={**os.environ, **ONE_THREAD}, check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    return min(seconds)


if __name__ == "__main__":
    main()
