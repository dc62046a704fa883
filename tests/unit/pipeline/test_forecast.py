"""What more answers would buy: as many as a simulated crowd then needs, and nothing where all is settled."""

from __future__ import annotations

import numpy as np
import pytest

from ls_crowd_plugin.pipeline.asking import Asked, People, Steering
from ls_crowd_plugin.pipeline.forecast import describe
from ls_crowd_plugin.policy import Asking, Policy
from ls_crowd_plugin.records import AnnotatorScore

PEOPLE = frozenset(range(10))
ACCURACY = 0.8
WEIGHT = float(np.log(ACCURACY / (1 - ACCURACY)))


def score(annotator: int, accuracy: float = ACCURACY, weight: float = WEIGHT) -> AnnotatorScore:
    return AnnotatorScore(annotator, 50, 0, 0, 0.0, 0.1, 0.0, weight, accuracy, "ordinary")


SCORES = {who: score(who) for who in PEOPLE}


def asking(confidence: dict[int, float], policy: Policy, answered: int = 2) -> Asking:
    tasks = {task: Asked(frozenset(range(answered)), frozenset(), answered, True) for task in confidence}
    decisions = Steering.of(policy, tasks, frozenset(), People(PEOPLE), "").decide(confidence)
    return describe(decisions, SCORES, [], fixed=5)


def test_nothing_is_needed_where_everything_is_settled() -> None:
    forecast = asking(dict.fromkeys(range(50), 0.99), Policy(2, 7)).forecast
    assert (forecast.needed, forecast.low, forecast.high, forecast.never, forecast.unsettled) == (0, 0, 0, 0, 0)
    assert forecast.errors == pytest.approx(0.5)
    assert forecast.saved == 5 * 50 - 2 * 50


def test_tasks_with_as_many_answers_as_allowed_need_none() -> None:
    forecast = asking(dict.fromkeys(range(50), 0.6), Policy(2, 7), answered=7).forecast
    assert (forecast.needed, forecast.unsettled, forecast.never) == (0, 50, 50)
    assert forecast.errors == pytest.approx(20)


def test_every_task_gets_the_least_number_of_answers() -> None:
    forecast = asking(dict.fromkeys(range(50), 0.999), Policy(3, 7)).forecast
    assert forecast.low == forecast.high == 50


def test_a_higher_confidence_needs_more_answers() -> None:
    confidence = dict.fromkeys(range(50), 0.7)
    needed = [asking(confidence, Policy(2, 20, wanted)).forecast.needed for wanted in (0.8, 0.9, 0.99)]
    assert needed == sorted(set(needed))


def test_nine_of_ten_crowds_need_as_many_as_is_said() -> None:
    """People are right with a probability of 0.8 on two labels; the posterior after each answer is exact."""
    policy = Policy(2, 15)
    goal = np.log(policy.confidence / (1 - policy.confidence)) - 1e-9
    inside = 0
    for seed in range(40):
        generator = np.random.default_rng(seed)
        odds = np.where(generator.random((100, 15)) < ACCURACY, WEIGHT, -WEIGHT).cumsum(axis=1)  # of the truth
        reached = np.abs(odds[:, 1:]) >= goal
        stops = np.where(reached.any(axis=1), reached.argmax(axis=1) + 2, 15)
        confidence = {task: float(1 / (1 + np.exp(-abs(odds[task, 1])))) for task in range(100)}
        forecast = asking(confidence, policy).forecast
        inside += forecast.low <= (stops - 2).sum() <= forecast.high
    assert inside >= 31  # 36 are to be expected; 30 or fewer happen once in two hundred times


def test_people_who_guess_settle_nothing() -> None:
    tasks = {task: Asked(frozenset({0, 1}), frozenset(), 2, True) for task in range(20)}
    decisions = Steering.of(Policy(2, 6), tasks, frozenset(), People(PEOPLE), "").decide(dict.fromkeys(tasks, 0.7))
    guessing = {who: score(who, 0.5, 0.0) for who in PEOPLE}
    forecast = describe(decisions, guessing, [], fixed=5).forecast
    assert (forecast.needed, forecast.never) == (20 * 4, 20)
