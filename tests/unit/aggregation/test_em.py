"""The EM loop: the order of its steps, and when it stops."""

from __future__ import annotations

import numpy as np

from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.em import Convergence, run_em, run_until_converged
from tests.support.crowds import encode_rows, ignore_progress

ANSWERS: Answers = encode_rows([(task, annotator, 0) for task in range(50) for annotator in range(4)])  # 200 answers


class ScriptedModel:
    """A model whose objective takes prescribed values."""

    def __init__(self, *objectives: float) -> None:
        self.objectives, self.calls = list(objectives), ""

    def m_step(self) -> None:
        self.calls += "M"

    def e_step(self) -> float:
        self.calls += "E"
        return self.objectives.pop(0) if len(self.objectives) > 1 else self.objectives[0]


def test_an_iteration_is_an_m_step_and_an_e_step() -> None:
    model = ScriptedModel(-3.0, -2.0, -1.5, -1.5)
    convergence = run_em(model, ANSWERS, ignore_progress, min_iterations=2)
    assert model.calls == "MEMEMEME"
    assert convergence == Convergence((-3.0, -2.0, -1.5, -1.5), converged=True)
    assert convergence.objective == -1.5


def test_it_stops_when_the_gain_per_answer_is_below_the_tolerance() -> None:
    # 200 answers: a gain of 0.3 is more than 0.001 per answer, one of 0.1 is less.
    model = ScriptedModel(0.0, 0.3, 0.4, 0.8)
    assert run_em(model, ANSWERS, ignore_progress, min_iterations=2, tolerance=0.001).history == (0.0, 0.3, 0.4)


def test_it_runs_the_minimum_of_iterations() -> None:
    convergence = run_em(ScriptedModel(0.0), ANSWERS, ignore_progress)
    assert len(convergence.history) == 6
    assert convergence.converged


def test_a_fit_that_goes_on_from_another_stops_earlier() -> None:
    # 200 answers: a gain of 0.003 is more than 3e-6 per answer and less than 2e-5.
    objectives = [0.003 * number for number in range(8)] + [0.021]
    assert len(run_em(ScriptedModel(*objectives), ANSWERS, ignore_progress).history) == 9
    assert len(run_em(ScriptedModel(*objectives), ANSWERS, ignore_progress, resumed=True).history) == 2


def test_it_stops_unconverged_at_the_maximum_of_iterations() -> None:
    fractions: list[float] = []
    model = ScriptedModel(*map(float, range(100)))
    convergence = run_em(model, ANSWERS, fractions.append, max_iterations=10, min_iterations=2)
    assert convergence.history == tuple(map(float, range(10)))
    assert not convergence.converged
    assert fractions == [number / 10 for number in range(1, 11)]


def test_a_fit_that_cannot_reach_the_floor_is_given_up() -> None:
    objectives = [float(number) for number in range(300)]
    hopeless = run_em(ScriptedModel(*objectives), ANSWERS, ignore_progress, floor=1000.0)
    assert len(hopeless.history) == 6
    assert not hopeless.converged
    in_reach = run_em(ScriptedModel(*objectives), ANSWERS, ignore_progress, floor=50.0)
    assert len(in_reach.history) == 300


def test_any_iteration_can_be_run_until_it_converges() -> None:
    objectives = iter([1.0, 2.0, 2.0])
    convergence = run_until_converged(
        lambda: next(objectives), ANSWERS, ignore_progress, tolerance=1e-12, min_iterations=2
    )
    assert convergence == Convergence((1.0, 2.0, 2.0), converged=True)
    assert np.isfinite(convergence.objective)
