"""The draws behind simulated crowds have the probabilities they claim."""

from __future__ import annotations

import numpy as np
import pytest

from ls_crowd_plugin.demo.sampling import assign_annotators, draw_answers, solve_probability
from tests.unit.demo.tolerance import share_tolerance


@pytest.mark.parametrize("degree", [1, 20, 50, 80, 100])
def test_equal_degrees_make_a_regular_graph(degree: int) -> None:
    task, annotator = assign_annotators(np.random.default_rng(degree), np.full(100, degree), 100)
    assert len(set(zip(task.tolist(), annotator.tolist(), strict=True))) == 100 * degree
    assert set(np.bincount(task, minlength=100).tolist()) == {degree}
    assert set(np.bincount(annotator, minlength=100).tolist()) == {degree}


def test_different_degrees_are_kept_and_loads_are_equal() -> None:
    generator = np.random.default_rng(0)
    degrees = generator.integers(0, 16, 90)
    task, annotator = assign_annotators(generator, degrees, 40)
    assert np.bincount(task, minlength=90).tolist() == degrees.tolist()
    loads = np.bincount(annotator, minlength=40)
    assert loads.max() - loads.min() <= 1


@pytest.mark.parametrize("degree", [3, 7])
@pytest.mark.slow
def test_every_annotator_is_equally_likely_to_answer_a_task(degree: int) -> None:
    generator = np.random.default_rng(degree)
    graphs = 2000
    present = np.zeros((10, 10))
    for _ in range(graphs):
        present[assign_annotators(generator, np.full(10, degree), 10)] += 1
    assert np.abs(present / graphs - degree / 10).max() < share_tolerance(degree / 10, graphs)


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("adversary", [False, True])
def test_answers_follow_the_probabilities_of_the_model(labels: int, adversary: bool) -> None:
    count, solves, truth = 40_000, 0.6, 1
    generator = np.random.default_rng(labels)
    solved = generator.random(count) < solves
    answers = draw_answers(generator, np.full(count, truth), solved, np.full(count, adversary), labels)
    guess = (1 - solves) / labels
    hit = guess if adversary else solves + guess
    miss = guess + solves / (labels - 1) if adversary else guess
    assert hit + (labels - 1) * miss == pytest.approx(1)
    for label in range(labels):
        expected = hit if label == truth else miss
        assert abs((answers == label).mean() - expected) < share_tolerance(expected, count)


def test_the_probability_to_solve_a_task_is_logistic_even_for_infinite_skill() -> None:
    skill, discrimination = np.array([2.0, np.inf, -np.inf]), np.array([0.5, 1.0, 1.0])
    probability = solve_probability(skill, discrimination, np.array([1.0]), np.zeros(3, int), np.arange(3))
    assert probability.tolist() == pytest.approx([1 / (1 + np.exp(-0.5)), 1.0, 0.0])
