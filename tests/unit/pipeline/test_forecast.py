"""What more answers would buy: as many as a simulated crowd then needs, and nothing where all is settled."""

from __future__ import annotations

import numpy as np
import pytest

from ls_crowd_plugin.pipeline import forecast
from ls_crowd_plugin.pipeline.asking import Asked, People, SharedFacts, Steering
from ls_crowd_plugin.pipeline.forecast import describe
from ls_crowd_plugin.policy import MIN_CHECKED, Asking, Policy
from ls_crowd_plugin.records import AnnotatorScore

PEOPLE = frozenset(range(10))
ACCURACY = 0.8
WEIGHT = float(np.log(ACCURACY / (1 - ACCURACY)))


def score(annotator: int, accuracy: float = ACCURACY, weight: float = WEIGHT) -> AnnotatorScore:
    return AnnotatorScore(annotator, 50, 0, 0, 0.0, 0.1, 0.0, weight, accuracy, "ordinary")


SCORES = {who: score(who) for who in PEOPLE}


def asking(confidence: dict[int, float], policy: Policy, answered: int = 2, checked: int = MIN_CHECKED) -> Asking:
    tasks = {task: Asked(frozenset(range(answered)), frozenset(), answered, answered, True) for task in confidence}
    shared = SharedFacts(checked=checked, answers=answered * len(tasks), people=People(PEOPLE))
    decisions = Steering.of(policy, tasks, frozenset(), shared.people, "", shared=shared).decide(confidence)
    return describe(decisions, SCORES, [], fixed=5)


def test_nothing_is_needed_where_everything_is_settled() -> None:
    found = asking(dict.fromkeys(range(50), 0.99), Policy(2, 7)).forecast
    assert (found.needed, found.low, found.high, found.never, found.unsettled) == (0, 0, 0, 0, 0)
    assert found.errors == pytest.approx(0.5)
    assert found.saved == 5 * 50 - 2 * 50


def test_tasks_with_as_many_answers_as_allowed_need_none() -> None:
    found = asking(dict.fromkeys(range(50), 0.6), Policy(2, 7), answered=7).forecast
    assert (found.needed, found.unsettled, found.never) == (0, 50, 50)
    assert found.errors == pytest.approx(20)


def test_every_task_gets_the_least_number_of_answers() -> None:
    found = asking(dict.fromkeys(range(50), 0.999), Policy(3, 7)).forecast
    assert found.low == found.high == 50


def test_before_confidence_is_checked_every_task_gets_the_greatest_number_of_answers() -> None:
    found = asking(dict.fromkeys(range(50), 0.99), Policy(2, 7), checked=MIN_CHECKED - 1).forecast
    assert found.needed == found.low == found.high == 50 * 5
    assert found.saved == 5 * 50 - 7 * 50


def test_tasks_without_a_label_are_not_called_wrong() -> None:
    tasks = {task: Asked(frozenset(), frozenset(), 0, 2, False) for task in range(10)}
    decisions = Steering.of(Policy(2, 7), tasks, frozenset(), People(), "").decide({0: 0.75})
    assert describe(decisions, {}, [], fixed=5).forecast.errors == pytest.approx(0.2)  # with one decimal


def test_many_answers_for_many_tasks_are_forecast_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    confidence = dict.fromkeys(range(4000), 0.7)
    exact = asking(confidence, Policy(2, 20)).forecast
    monkeypatch.setattr(forecast, "MAX_STEPS", 400_000)
    sampled = asking(confidence, Policy(2, 20)).forecast
    assert sampled.needed == pytest.approx(exact.needed, rel=0.1)


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
        found = asking(confidence, policy).forecast
        inside += found.low <= (stops - 2).sum() <= found.high
    assert inside >= 31  # 36 are to be expected; 30 or fewer happen once in two hundred times


def test_people_who_guess_settle_nothing() -> None:
    tasks = {task: Asked(frozenset({0, 1}), frozenset(), 2, 2, True) for task in range(20)}
    shared = SharedFacts(checked=MIN_CHECKED, people=People(PEOPLE))
    steering = Steering.of(Policy(2, 6), tasks, frozenset(), People(PEOPLE), "", shared=shared)
    decisions = steering.decide(dict.fromkeys(tasks, 0.7))
    guessing = {who: score(who, 0.5, 0.0) for who in PEOPLE}
    found = describe(decisions, guessing, [], fixed=5).forecast
    assert (found.needed, found.never) == (20 * 4, 20)
