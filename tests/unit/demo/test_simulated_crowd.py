"""The oracle is the best possible decision for anybody who knows all parameters."""

from __future__ import annotations

import numpy as np
import pytest

from ls_crowd_plugin.demo import oracle
from ls_crowd_plugin.demo.crowds import generative_crowd, rare_answer_crowd
from tests.unit.demo.test_crowds import errors, plurality


def test_the_oracle_is_the_brute_force_maximum() -> None:
    crowd = generative_crowd(5, task_variance=400.0, annotators=6, tasks=12, labels=3, probes=0, adversaries=1 / 3)
    assert crowd.skill is not None
    assert crowd.discrimination is not None
    assert crowd.difficulty is not None
    likelihood = {(task, label): 1.0 for task in crowd.truth for label in crowd.label_set}
    for task, annotator, answer in zip(crowd.tasks, crowd.annotators, crowd.labels, strict=True):
        exponent = crowd.discrimination[annotator] * (crowd.skill[annotator] - crowd.difficulty[task])
        solves = 1 / (1 + np.exp(-exponent))
        for label in crowd.label_set:
            if crowd.kinds[annotator] == "adversary":
                probability = (1 - solves) / 3 + (answer != label) * solves / 2
            else:
                probability = (1 - solves) / 3 + (answer == label) * solves
            likelihood[task, label] *= probability
    labels = oracle(crowd)
    for task in crowd.truth:
        best = max(likelihood[task, label] for label in crowd.label_set)
        assert likelihood[task, labels[task]] == pytest.approx(best)


def test_the_oracle_needs_the_parameters_of_the_model() -> None:
    with pytest.raises(ValueError, match="no oracle"):
        oracle(rare_answer_crowd(0, 0.2))


def test_the_oracle_makes_far_fewer_errors_than_plurality() -> None:
    crowds = [generative_crowd(seed) for seed in range(10)]
    errors_of_oracle = sum(errors(crowd, oracle(crowd)) for crowd in crowds)
    errors_of_plurality = sum(errors(crowd, plurality(crowd)) for crowd in crowds)
    assert errors_of_oracle < errors_of_plurality / 1.5
