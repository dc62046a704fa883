"""The EM loop, and the convergence rule that all iterative methods share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .answers import Answers
from .types import FitProgress

TOLERANCE, LARGE_TOLERANCE, RESUMED_TOLERANCE = 3e-6, 2e-5, 6e-5  # nats per answer that the last iteration may gain
LARGE = 40_000  # answers
LEAST_ITERATIONS, LEAST_RESUMED = 6, 2  # of a new fit, and of one that goes on from another
PATIENCE = 50  # a fit that could not reach the floor in this many more iterations like the last is given up


@dataclass(frozen=True)
class Convergence:
    """The course of an iterative fit."""

    history: tuple[float, ...]  # the objective after each iteration
    converged: bool

    @property
    def objective(self) -> float:
        return self.history[-1]


class Model(Protocol):
    """A model that expectation maximization can fit."""

    def m_step(self) -> None:
        """Update what is known about the annotators and the crowd, given the posterior of the labels."""

    def e_step(self) -> float:
        """Update the posterior of the labels; returns the objective, which never falls."""


def run_em(
    model: Model,
    answers: Answers,
    progress: FitProgress,
    *,
    max_iterations: int = 300,
    min_iterations: int = LEAST_ITERATIONS,
    tolerance: float | None = None,
    floor: float = -np.inf,
    resumed: bool = False,
) -> Convergence:
    """Fit a model by expectation maximization; it starts from an initial posterior, so the M-step comes first.

    By default, the tolerance is wider for large crowds, whose labels hardly depend on the last iterations, and for fits
    that go on from another (`resumed`). Those also need fewer iterations.

    The default for `min_iterations` is this high because a model may begin to learn about the crowd as a whole only
    after a few iterations.
    """
    if resumed:
        min_iterations = LEAST_RESUMED
    if tolerance is None:
        tolerance = LARGE_TOLERANCE if len(answers.answer_item) >= LARGE else TOLERANCE
        tolerance = RESUMED_TOLERANCE if resumed else tolerance

    def iteration() -> float:
        model.m_step()
        return model.e_step()

    return run_until_converged(
        iteration,
        answers,
        progress,
        max_iterations=max_iterations,
        min_iterations=min_iterations,
        tolerance=tolerance,
        floor=floor,
    )


def run_until_converged(
    iteration: Callable[[], float],
    answers: Answers,
    progress: FitProgress,
    *,
    max_iterations: int = 300,
    min_iterations: int,
    tolerance: float,
    floor: float = -np.inf,
) -> Convergence:
    """Repeat `iteration`, which returns the objective, until the objective gains less than `tolerance` per answer.

    A fit that stays hopelessly below `floor` is given up: it is only compared with one that has reached it.
    """
    min_gain = tolerance * max(len(answers.answer_item), 100)
    history: list[float] = []
    for number in range(1, max_iterations + 1):
        history.append(iteration())
        progress(number / max_iterations)
        if number < min_iterations:
            continue
        gain = history[-1] - history[-2]
        if gain < min_gain:
            return Convergence(tuple(history), converged=True)
        if history[-1] + PATIENCE * gain < floor:
            break
    return Convergence(tuple(history), converged=False)
