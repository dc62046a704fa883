"""Maximisation with derivatives, because the fit of the paper's GEM does little else and must not take long.

There are two tasks: one function of many parameters, and many small functions at once. Both algorithms are told the
approximate curvature, never make a value smaller, and cost little more than the evaluations of the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .types import Floats, Positions

MEMORY = 10  # how many of the last steps tell the curvature
LENGTHS = (1.0, 0.3, 0.1, 0.03, 0.01)  # of steps, tried in this order
MAX_STEP = 4.0  # in any parameter; for the logarithm of a number this is a factor of 55
SUFFICIENT = 1e-4  # a step must gain at least this part of what the gradient promises


class Point(NamedTuple):
    """A function of N parameters at one place."""

    at: Floats  # [N]
    value: float
    gradient: Floats  # [N]
    divide_by_curvature: Callable[[Floats], Floats]  # [N] → [N], with an approximate, positive definite curvature


class Trial(NamedTuple):
    """A function at a place where a step may end: its derivatives are only needed if it does."""

    value: float
    derive: Callable[[], Point]


class Points(NamedTuple):
    """J separate functions of R parameters each."""

    value: Floats  # [J]
    gradient: Floats  # [R, J]
    curvature: Floats  # [J, R, R] approximate and positive definite


def ascend(evaluate: Callable[[Floats], Trial], start: Floats, max_steps: int, min_gain: float) -> Floats:
    """Climb by L-BFGS steps; returns the parameters [N] that it reaches.

    L-BFGS corrects the given curvature by what the last steps have shown of the gradient. Ends early if the next step
    promises less than `min_gain`, or gains nothing because the function is too far from a quadratic one.
    """
    point = evaluate(start).derive()
    memory: list[tuple[Floats, Floats]] = []  # of each step: the step, and how much the gradient became smaller
    first = 0  # the position in LENGTHS that is tried first: one more than the last step's length, which is often right
    for _ in range(max_steps):
        direction = _quasi_newton(point, memory)
        direction *= MAX_STEP / max(np.abs(direction).max(initial=0.0), MAX_STEP)
        slope = float(point.gradient @ direction)
        if slope / 2 < min_gain:  # what a quadratic function gains
            break
        reached, position = _search_line(evaluate, point, direction, slope, first)
        if reached is None:
            break
        first = max(position - 1, 0)
        step, change = reached.at - point.at, point.gradient - reached.gradient
        if step @ change > 1e-10 * np.sqrt((step @ step) * (change @ change)):
            memory = [*memory[1 - MEMORY :], (step, change)]
        point = reached
    return point.at


def _quasi_newton(point: Point, memory: list[tuple[Floats, Floats]]) -> Floats:
    """[N] the direction of the next step, by the two loops of L-BFGS."""
    direction = point.gradient.copy()
    shares = []
    for step, change in reversed(memory):
        shares.append((step @ direction) / (step @ change))
        direction -= shares[-1] * change
    direction = point.divide_by_curvature(direction)
    for (step, change), share in zip(memory, reversed(shares), strict=True):
        direction += step * (share - (change @ direction) / (step @ change))
    return direction


def _search_line(
    evaluate: Callable[[Floats], Trial], point: Point, direction: Floats, slope: float, first: int
) -> tuple[Point | None, int]:
    """The first of ever shorter steps that gains enough, and its position in LENGTHS; None if there is none."""
    for position in range(first, len(LENGTHS)):
        trial = evaluate(point.at + LENGTHS[position] * direction)
        if trial.value >= point.value + SUFFICIENT * LENGTHS[position] * slope:
            return trial.derive(), position
    return None, first


def ascend_separately(
    evaluate: Callable[[Floats, Positions], Points], start: Floats, max_steps: int, min_gain: float
) -> tuple[Floats, Floats]:
    """Climb J separate functions by damped Newton steps (Levenberg and Marquardt); returns [R, J], and the values [J].

    `evaluate` is called with the parameters [R, A] of some of the functions and with their positions [A]. A function
    whose step would make its value smaller stays where it is, with a shorter step next time. When half of the functions
    promise less than `min_gain` with their next step, these stay; ends early if no function promises as much.
    """
    all_at = start.copy()
    who: Positions = np.arange(start.shape[1])
    at, now = start, evaluate(start, who)
    all_values, diagonal = now.value.copy(), np.arange(len(start))
    damping: Floats = np.zeros(len(who))
    for _ in range(max_steps):
        curvature = now.curvature.copy()
        curvature[:, diagonal, diagonal] *= 1 + damping[:, None]
        step = np.linalg.solve(curvature, now.gradient.T[:, :, None])[:, :, 0].T
        active = np.flatnonzero((step * now.gradient).sum(0) / 2 >= min_gain)
        if not len(active):
            break
        if len(active) <= len(who) / 2:
            who, at, step, damping = who[active], at[:, active], step[:, active], damping[active]
            now = Points(now.value[active], now.gradient[:, active], now.curvature[active])
        reached = at + np.clip(step, -MAX_STEP, MAX_STEP)
        new = evaluate(reached, who)
        better = new.value >= now.value
        damping = np.where(better, damping / 4, np.maximum(8 * damping, 0.5))
        at = np.where(better, reached, at)
        now = Points(
            np.where(better, new.value, now.value),
            np.where(better, new.gradient, now.gradient),
            np.where(better[:, None, None], new.curvature, now.curvature),
        )
        all_at[:, who], all_values[who] = at, now.value
    return all_at, all_values
