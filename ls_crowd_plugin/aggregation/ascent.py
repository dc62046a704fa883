"""Maximisation with derivatives, because the fit of the paper's GEM does little else and must not take long.

There are two tasks: one function of many parameters, and many small functions at once. Both algorithms are told the
approximate curvature, never make a value smaller, and cost little more than the evaluations of the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .types import Floats

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


class Points(NamedTuple):
    """J separate functions of R parameters each."""

    value: Floats  # [J]
    gradient: Floats  # [R, J]
    curvature: Floats  # [J, R, R] approximate and positive definite


def ascend(evaluate: Callable[[Floats], Point], start: Floats, max_steps: int, min_gain: float) -> Floats:
    """Climb by L-BFGS steps; returns the parameters [N] that it reaches.

    L-BFGS corrects the given curvature by what the last steps have shown of the gradient. Ends early if the next step
    promises less than `min_gain`, or gains nothing because the function is too far from a quadratic one.
    """
    point = evaluate(start)
    memory: list[tuple[Floats, Floats]] = []  # of each step: the step, and how much the gradient became smaller
    for _ in range(max_steps):
        direction = _quasi_newton(point, memory)
        direction *= MAX_STEP / max(np.abs(direction).max(initial=0.0), MAX_STEP)
        slope = float(point.gradient @ direction)
        if slope / 2 < min_gain:  # what a quadratic function gains
            break
        reached = _search_line(evaluate, point, direction, slope)
        if reached is None:
            break
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


def _search_line(evaluate: Callable[[Floats], Point], point: Point, direction: Floats, slope: float) -> Point | None:
    """The first of ever shorter steps that gains enough; None if there is none."""
    for length in LENGTHS:
        reached = evaluate(point.at + length * direction)
        if reached.value >= point.value + SUFFICIENT * length * slope:
            return reached
    return None


def ascend_separately(
    evaluate: Callable[[Floats], Points], start: Floats, max_steps: int, min_gain: float
) -> tuple[Floats, Floats]:
    """Climb J separate functions by damped Newton steps (Levenberg and Marquardt); returns [R, J], and the values [J].

    A function whose step would make its value smaller stays where it is, with a shorter step next time. Ends early if
    no function's next step promises as much as `min_gain`.
    """
    at, now = start, evaluate(start)
    rows = len(start)
    damping: Floats = np.zeros(start.shape[1])
    for _ in range(max_steps):
        curvature = now.curvature.copy()
        diagonal = np.arange(rows)
        curvature[:, diagonal, diagonal] *= 1 + damping[:, None]
        step = np.linalg.solve(curvature, now.gradient.T[:, :, None])[:, :, 0].T
        if (step * now.gradient).sum(0).max(initial=0.0) / 2 < min_gain:
            break
        reached = at + np.clip(step, -MAX_STEP, MAX_STEP)
        new = evaluate(reached)
        better = new.value >= now.value
        damping = np.where(better, damping / 4, np.maximum(8 * damping, 0.5))
        at = np.where(better, reached, at)
        now = Points(
            np.where(better, new.value, now.value),
            np.where(better, new.gradient, now.gradient),
            np.where(better[:, None, None], new.curvature, now.curvature),
        )
    return at, now.value
