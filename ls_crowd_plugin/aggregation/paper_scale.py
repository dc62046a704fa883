"""Origin, scale and prior widths of the paper's GEM: what the likelihood does not determine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .answers import Answers
from .paper_answers import Parameters
from .types import Floats

WIDTH_PRIOR = 4.0  # a prior's width is learned as if this many values of width 1 had been seen before


def at_best_scale(
    parameters: Parameters, widths: Floats, answers: Answers, complex_adversaries: bool
) -> tuple[Parameters, Floats]:
    """Shift and scale Λ and learn the widths [3] of d, D and log a; this changes the prior, but not the likelihood.

    EM alone would approach the best shift and scale in many small steps. The width of log a stays, because it sets
    the scale. With d, D and their widths multiplied by e^u and a divided by it, the log prior changes by

        −(J + I) u − sum_j (log a_j − u)² / 2 − WIDTH_PRIOR · sum_widths (u + e^(−2u) / (2 width²))

    up to a constant, and for complex adversaries by −sum_j ((log gap_j + u)² + (log b_j − u)²) / 2; it is concave.
    """
    from scipy.optimize import brentq  # here, because to import it takes as long as all the rest of a command

    informative = answers.is_informative
    difficulty = parameters.difficulty[informative]
    widths = widths.copy()
    by_skill, by_difficulty, _ = 1 / widths**2
    people, items = len(parameters.skill), len(difficulty)
    total = parameters.skill.sum() * by_skill + difficulty.sum() * by_difficulty
    shift = -total / (people * by_skill + items * by_difficulty)
    for position, values in enumerate((parameters.skill + shift, difficulty + shift)):
        widths[position] = np.sqrt((values @ values + WIDTH_PRIOR) / (len(values) + WIDTH_PRIOR))
    logs = parameters.log_discrimination / widths[2] ** 2
    pull = people / widths[2] ** 2
    if complex_adversaries:
        logs = logs + parameters.log_craft - parameters.log_gap
        pull += 2 * people
    narrowness = (1 / widths[:2] ** 2).sum()

    def slope(u: float) -> float:
        by_width = WIDTH_PRIOR * (np.exp(-2 * u) * narrowness - 2)
        return float(logs.sum() - pull * u - people - items + by_width)

    log_scale = float(brentq(slope, -20.0, 20.0))
    moved = parameters.moved(float(shift), log_scale)
    widths[:2] *= np.exp(log_scale)
    return replace(moved, difficulty=np.where(informative, moved.difficulty, 0.0)), widths
