"""Simulated people who rate on a scale: each has a noise and a shift of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tests.support.crowds import Row


@dataclass(frozen=True)
class RatedCrowd:
    """Rows of (task, annotator, place on the scale), and the true place of every task."""

    rows: list[Row]
    truth: Mapping[str, int]

    def error(self, labels: Mapping[str, int]) -> float:
        """The mean distance of labels from the truth."""
        return float(np.mean([abs(labels[task] - place) for task, place in self.truth.items()]))

    def accuracy(self, labels: Mapping[str, int]) -> float:
        return float(np.mean([labels[task] == place for task, place in self.truth.items()]))


def rated_crowd(
    seed: int,
    labels: int = 5,
    tasks: int = 150,
    people: int = 30,
    answers_per_task: int = 5,
    noise: tuple[float, float] = (0.4, 1.5),
    shift: Mapping[str, float] | None = None,
) -> RatedCrowd:
    """Truth is uniform. An answer is the truth plus the person's shift plus Gaussian noise, rounded into the scale.

    The noise of each person is drawn from the given range; nobody has a shift except those named: "p0", "p1", …
    """
    generator = np.random.default_rng(seed)
    names = [f"p{number}" for number in range(people)]
    deviation = dict(zip(names, generator.uniform(*noise, people).tolist(), strict=True))
    truth = {f"t{number}": int(generator.integers(labels)) for number in range(tasks)}
    rows: list[Row] = []
    for task, place in truth.items():
        for position in generator.permutation(people)[:answers_per_task].tolist():
            name = names[position]
            rating = place + (shift or {}).get(name, 0.0) + generator.normal(0.0, deviation[name])
            rows.append((task, name, int(np.clip(np.rint(rating), 0, labels - 1))))
    return RatedCrowd(rows, truth)
