"""Crowds with a ring: people who copy one another, among honest ones."""

from __future__ import annotations

import numpy as np

from ls_crowd_plugin.aggregation import Consensus
from tests.support.crowds import Row

LABELS = "abcd"
RING = ("ring 0", "ring 1", "ring 2", "ring 3", "ring 4")


def independent_crowd(seed: int, tasks: int, people: int = 20, per_task: int = 5, accuracy: float = 0.8) -> list[Row]:
    """Honest people who are right with the same probability and otherwise choose any wrong label; the truth of a task
    is the label at its number modulo four."""
    generator = np.random.default_rng(seed)
    return [
        (task, f"person {person:02}", answer(generator, task, accuracy))
        for task in range(tasks)
        for person in generator.permutation(people)[:per_task].tolist()
    ]


def answer(generator: np.random.Generator, task: int, accuracy: float) -> str:
    shift = 0 if generator.random() < accuracy else int(generator.integers(1, len(LABELS)))
    return LABELS[(task + shift) % len(LABELS)]


def ring_rows(seed: int, tasks: int, accuracy: float = 0.3, fidelity: float = 0.95) -> list[Row]:
    """The answers of RING to the first tasks: those of its first account, which the others copy with few exceptions."""
    generator = np.random.default_rng(seed)
    rows: list[Row] = []
    for task in range(tasks):
        leader = answer(generator, task, accuracy)
        for member in RING:
            copies = member == RING[0] or generator.random() < fidelity
            rows.append((task, member, leader if copies else answer(generator, task, 0.25)))
    return rows


def truth_share(consensus: Consensus) -> float:
    return float(np.mean([label == LABELS[task % len(LABELS)] for task, label in consensus.labels.items()]))
