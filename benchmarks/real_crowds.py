"""Reads real crowds from files, and judges labels by their truth."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RealCrowd:
    """Answers as three columns of equal length, and the truth of some of the tasks."""

    name: str
    tasks: list[str]
    annotators: list[str]
    labels: list[str]
    truth: dict[str, str]  # only tasks that have answers

    def draw_gold(self, share: float, seed: int) -> dict[str, str]:
        """Return a random part of the truth."""
        tasks = list(self.truth)
        chosen = np.random.default_rng(seed).permutation(len(tasks))[: round(share * len(tasks))]
        return {tasks[position]: self.truth[tasks[position]] for position in sorted(chosen.tolist())}

    def votes(self) -> dict[str, Counter[str]]:
        """Return how many annotators gave each label, by task; an annotator's last answer to a task counts."""
        last = dict(zip(zip(self.tasks, self.annotators, strict=True), self.labels, strict=True))
        votes: dict[str, Counter[str]] = defaultdict(Counter)
        for (task, _), label in last.items():
            votes[task][label] += 1
        return votes


def read_crowds(folder: Path) -> list[RealCrowd]:
    """Read every subfolder that has answers.csv (task,annotator,label) and truth.csv (task,label)."""
    crowds = []
    for answers in sorted(folder.glob("*/answers.csv")):
        with answers.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        with (answers.parent / "truth.csv").open(encoding="utf-8", newline="") as file:
            truth = {row["task"]: row["label"] for row in csv.DictReader(file)}
        tasks = [row["task"] for row in rows]
        crowds.append(
            RealCrowd(
                answers.parent.name,
                tasks,
                [row["annotator"] for row in rows],
                [row["label"] for row in rows],
                {task: truth[task] for task in dict.fromkeys(tasks) if task in truth},
            )
        )
    if not crowds:
        raise SystemExit(f"{folder} has no subfolder with answers.csv and truth.csv; name the folder that holds them.")
    return crowds


def is_right(crowd: RealCrowd, judged: Sequence[str], labels: Mapping[Any, Any]) -> Floats:
    """Return 1 where the label is the true one, else 0 [judged]; a task without a label counts as wrong."""
    return np.array([float(labels.get(task) == crowd.truth[task]) for task in judged])


def plurality_is_right(crowd: RealCrowd, judged: Sequence[str], votes: Mapping[str, Counter[str]]) -> Floats:
    """Return the probability [judged] that plurality is right when it breaks ties at random."""
    right = []
    for task in judged:
        highest = max(votes[task].values())
        tied = [label for label, count in votes[task].items() if count == highest]
        right.append((crowd.truth[task] in tied) / len(tied))
    return np.array(right)


def vote_share(
    crowd: RealCrowd, judged: Sequence[str], votes: Mapping[str, Counter[str]], seed: int
) -> tuple[Floats, Floats]:
    """Return the share of votes for the plurality label [judged], ties broken at random, and whether it is right."""
    generator = np.random.default_rng(seed)
    share, right = [], []
    for task in judged:
        highest = max(votes[task].values())
        tied = sorted(label for label, count in votes[task].items() if count == highest)
        share.append(highest / sum(votes[task].values()))
        right.append(float(tied[int(generator.integers(len(tied)))] == crowd.truth[task]))
    return np.array(share), np.array(right)


def paired_difference(ours: Floats, theirs: Floats) -> tuple[float, float]:
    """Return the mean difference in points, and its standard error over the tasks."""
    difference = 100 * (ours - theirs)
    return float(difference.mean()), float(difference.std() / np.sqrt(len(difference)))
