"""Both ways to climb reach the summit, and never go down."""

from __future__ import annotations

import numpy as np
import pytest

from ls_crowd_plugin.aggregation.ascent import Point, Points, Trial, ascend, ascend_separately
from ls_crowd_plugin.aggregation.types import Floats, Positions

SUMMIT = np.array([1.0, -2.0, 0.5])
CURVATURE = np.array([[400.0, 30.0, 0.0], [30.0, 4.0, 0.1], [0.0, 0.1, 0.02]])  # of very unequal directions


def quadratic(at: Floats) -> Trial:
    """A quadratic function, of whose curvature only the diagonal is told."""
    away = at - SUMMIT
    value = float(-away @ CURVATURE @ away / 2)
    return Trial(value, lambda: Point(at, value, -CURVATURE @ away, lambda vector: vector / np.diag(CURVATURE)))


def test_one_function_is_climbed_to_its_summit() -> None:
    reached = ascend(quadratic, np.zeros(3), max_steps=60, min_gain=1e-12)
    # What remains to be gained is about min_gain, and a distance x in the flattest direction costs 0.01 x².
    assert reached == pytest.approx(SUMMIT, abs=1e-4)


def test_a_climb_ends_when_little_is_to_be_gained() -> None:
    assert ascend(quadratic, np.zeros(3), max_steps=60, min_gain=1e9).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("seed", range(5))
def test_a_climb_never_ends_lower_than_it_began(seed: int) -> None:
    """On sums of waves, with a curvature that is too small, so that steps are too long."""
    generator = np.random.default_rng(seed)
    directions, start = generator.normal(0, 3, (20, 6)), generator.normal(0, 1, 6)

    def waves(at: Floats) -> Trial:
        angle = directions @ at
        value = float(np.sin(angle).sum())
        return Trial(value, lambda: Point(at, value, np.cos(angle) @ directions, lambda vector: vector))

    reached = ascend(waves, start, max_steps=30, min_gain=0.0)
    assert waves(reached).value >= waves(start).value


def test_separate_functions_are_climbed_to_their_own_summits() -> None:
    summits = np.array([[1.0, -3.0, 0.0], [0.5, 0.2, -1.0]])  # [R, J]

    def evaluate(at: Floats, who: Positions) -> Points:
        """−log cosh, with a curvature that is too small far from the summit, where Newton's method diverges."""
        away = at - summits[:, who]
        curvature = np.zeros((len(who), 2, 2))
        curvature[:, [0, 1], [0, 1]] = (1 / np.cosh(away) ** 2).T + 1e-3
        return Points(-np.log(np.cosh(away)).sum(0), -np.tanh(away), curvature)

    reached, value = ascend_separately(evaluate, np.zeros((2, 3)), max_steps=40, min_gain=1e-12)
    # Near its summit, a function loses half of the square of the distance.
    assert reached == pytest.approx(summits, abs=1e-5)
    assert value == pytest.approx(np.zeros(3), abs=1e-10)


def test_a_function_whose_step_leads_down_stays_where_it_is() -> None:
    def evaluate(at: Floats, _: Positions) -> Points:
        """−x⁴ with a curvature that is far too small, beside one that is a parabola."""
        gradient = np.stack([-4 * at[0, :1] ** 3, -2 * at[0, 1:]], axis=1)
        return Points(np.append(-(at[0, :1] ** 4), -(at[0, 1:] ** 2)), gradient, np.array([0.5, 2.0])[:, None, None])

    reached, _ = ascend_separately(evaluate, np.ones((1, 2)), max_steps=1, min_gain=0.0)
    assert reached.tolist() == [[1.0, 0.0]]


def test_functions_that_are_at_their_summit_are_not_evaluated_again() -> None:
    asked: list[list[int]] = []

    def evaluate(at: Floats, who: Positions) -> Points:
        """−x² / 2, told a curvature that is right for the first two and four times too large for the third."""
        asked.append(who.tolist())
        curvature = np.array([1.0, 1.0, 4.0])[who][:, None, None]
        return Points(-(at[0] ** 2) / 2, -at, curvature)

    reached, value = ascend_separately(evaluate, np.ones((1, 3)), max_steps=4, min_gain=1e-6)
    assert asked == [[0, 1, 2], [0, 1, 2], [2], [2], [2]]
    assert reached[0] == pytest.approx([0, 0, 0.75**4])
    assert value == pytest.approx([0, 0, -(0.75**8) / 2])
