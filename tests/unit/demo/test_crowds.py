"""Simulated crowds have the properties they claim; everything that is measured on them relies on that."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ls_crowd_plugin.demo import SimulatedCrowd, oracle, simulate_demo_crowd
from ls_crowd_plugin.demo.crowds import (
    constant_label_crowd,
    generative_crowd,
    hammers_and_spammers_crowd,
    large_crowd,
    rare_answer_crowd,
    skilled_crowd,
)
from tests.unit.demo.tolerance import SIGMAS, share_tolerance

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL_CROWDS: list[Callable[[int], SimulatedCrowd]] = [
    generative_crowd,
    lambda seed: generative_crowd(seed, answers_per_task=20),
    lambda seed: hammers_and_spammers_crowd(seed, spammers=0.3, adversaries=0.1),
    lambda seed: skilled_crowd(seed, low_skilled=0.3, adversaries=0.1),
    lambda seed: rare_answer_crowd(seed, rate=0.08),
    constant_label_crowd,
    simulate_demo_crowd,
]


def share_right(crowd: SimulatedCrowd, kind: str) -> tuple[float, int]:
    """Return the share of true labels among the answers of annotators of a kind, and the number of these answers."""
    rows = zip(crowd.tasks, crowd.annotators, crowd.labels, strict=True)
    right = [label == crowd.truth[task] for task, annotator, label in rows if crowd.kinds[annotator] == kind]
    return float(np.mean(right)), len(right)


def plurality(crowd: SimulatedCrowd) -> dict[Any, Any]:
    votes: dict[Any, Counter[Any]] = defaultdict(Counter)
    for task, label in zip(crowd.tasks, crowd.labels, strict=True):
        votes[task][label] += 1
    return {task: counts.most_common(1)[0][0] for task, counts in votes.items()}


def errors(crowd: SimulatedCrowd, labels: dict[Any, Any]) -> int:
    return sum(labels[task] != crowd.truth[task] for task in labels if task not in crowd.gold)


@pytest.mark.parametrize("make", SMALL_CROWDS)
def test_the_seed_decides_the_crowd(make: Callable[[int], SimulatedCrowd]) -> None:
    first, repeated, other = make(3), make(3), make(4)
    assert (first.tasks, first.annotators, first.labels) == (repeated.tasks, repeated.annotators, repeated.labels)
    assert (first.truth, first.gold, first.kinds) == (repeated.truth, repeated.gold, repeated.kinds)
    assert first.labels != other.labels


@pytest.mark.parametrize("make", SMALL_CROWDS)
def test_ids_labels_and_gold_are_consistent(make: Callable[[int], SimulatedCrowd]) -> None:
    crowd = make(0)
    pairs = list(zip(crowd.tasks, crowd.annotators, strict=True))
    assert len(set(pairs)) == len(pairs)
    assert set(crowd.tasks) <= set(crowd.truth)
    assert set(crowd.annotators) <= set(crowd.kinds)
    assert set(crowd.labels) | set(crowd.truth.values()) <= set(crowd.label_set)
    assert all(crowd.truth[task] == label for task, label in crowd.gold.items())


def test_the_stochastic_model_has_the_papers_parameters() -> None:
    crowds = [generative_crowd(seed, task_variance=500.0) for seed in range(40)]
    skill = np.concatenate([crowd.skill for crowd in crowds if crowd.skill is not None])
    difficulty = np.concatenate([crowd.difficulty for crowd in crowds if crowd.difficulty is not None])
    discrimination = np.concatenate([crowd.discrimination for crowd in crowds if crowd.discrimination is not None])
    # The standard error of a normal sample's mean is √(variance / n), of its variance variance · √(2 / n).
    for values, mean, variance in ((skill, 1.0, 400.0), (difficulty, 8.0, 500.0)):
        assert abs(values.mean() - mean) < SIGMAS * np.sqrt(variance / len(values))
        assert abs(values.var() - variance) < SIGMAS * variance * np.sqrt(2 / len(values))
    # |a| has the second moment of a: 0.3² + 0.2, whose estimate has variance (2 · 0.2² + 4 · 0.3² · 0.2) / n.
    moment_error = np.sqrt((2 * 0.2**2 + 4 * 0.3**2 * 0.2) / len(discrimination))
    assert discrimination.min() >= 0
    assert abs((discrimination**2).mean() - 0.29) < SIGMAS * moment_error
    for crowd in crowds:
        assert Counter(crowd.kinds.values()) == {"honest": 90, "adversary": 10}
        assert (len(crowd.gold), len(crowd.truth), len(crowd.labels)) == (10, 100, 10_000)
        assert crowd.adversary is not None
        assert [kind == "adversary" for kind in crowd.kinds.values()] == crowd.adversary.tolist()


def test_the_number_of_answers_per_task_can_be_chosen() -> None:
    crowd = generative_crowd(0, answers_per_task=20)
    assert set(Counter(crowd.tasks).values()) == {20}
    assert set(Counter(crowd.annotators).values()) == {20}


def test_hammers_are_right_adversaries_wrong_and_spammers_guess() -> None:
    crowd = hammers_and_spammers_crowd(0, spammers=0.3, adversaries=0.2, tasks=2000)
    assert Counter(crowd.kinds.values()) == {"hammer": 50, "spammer": 30, "adversary": 20}
    assert share_right(crowd, "hammer")[0] == 1
    assert share_right(crowd, "adversary")[0] == 0
    guessed, count = share_right(crowd, "spammer")
    assert abs(guessed - 1 / 5) < share_tolerance(1 / 5, count)
    assert set(Counter(crowd.tasks).values()) == set(range(1, 16))
    unanswered = len(crowd.truth) - len(set(crowd.tasks))
    assert abs(unanswered / 2000 - 1 / 16) < share_tolerance(1 / 16, 2000)


def test_the_skilled_crowd_has_the_papers_ranges() -> None:
    crowd = skilled_crowd(0, low_skilled=0.4, adversaries=0.1)
    assert Counter(crowd.kinds.values()) == {"high skilled": 50, "low skilled": 40, "adversary": 10}
    assert crowd.skill is not None
    assert crowd.difficulty is not None
    for skill, kind in zip(crowd.skill, crowd.kinds.values(), strict=True):
        assert 0 <= skill <= (2 if kind == "low skilled" else 8)
    assert 0 <= crowd.difficulty.min() <= crowd.difficulty.max() <= 8
    assert set(Counter(crowd.tasks).values()) == {25}


@pytest.mark.parametrize("rate", [0.4, 0.08, 0.02])
def test_rare_answers_have_the_chosen_rate_and_some_annotators_never_give_them(rate: float) -> None:
    crowd = rare_answer_crowd(1, rate)
    assert Counter(crowd.truth.values())["yes"] == round(rate * 400)
    assert Counter(crowd.kinds.values()) == {"careful": 14, "constant": 6}
    assert set(Counter(crowd.tasks).values()) == {5}
    assert len(crowd.gold) == 40
    labels = {annotator: set[str]() for annotator in crowd.kinds}
    for annotator, label in zip(crowd.annotators, crowd.labels, strict=True):
        labels[annotator].add(label)
    for annotator, kind in crowd.kinds.items():
        assert labels[annotator] == ({"no"} if kind == "constant" else {"no", "yes"})
    right, count = share_right(crowd, "careful")
    assert abs(right - 0.9) < share_tolerance(0.9, count)


def test_one_annotator_always_gives_the_same_label() -> None:
    crowd = constant_label_crowd(0)
    labels_of: dict[Any, set[Any]] = defaultdict(set)
    for annotator, label in zip(crowd.annotators, crowd.labels, strict=True):
        labels_of[annotator].add(label)
    assert [crowd.kinds[annotator] for annotator, labels in labels_of.items() if len(labels) == 1] == ["constant"]
    right, count = share_right(crowd, "careful")
    assert abs(right - 0.8) < share_tolerance(0.8, count)


def test_the_large_crowd_is_integer_arrays_without_repeated_annotators() -> None:
    crowd = large_crowd(0, answers=20_000, labels=7, annotators=50)
    tasks, annotators, labels = np.asarray(crowd.tasks), np.asarray(crowd.annotators), np.asarray(crowd.labels)
    assert all(np.issubdtype(column.dtype, np.integer) for column in (tasks, annotators, labels))
    assert np.bincount(tasks).tolist() == [10] * 2000
    assert len(np.unique(tasks * 50 + annotators)) == 20_000
    truth = np.array(list(crowd.truth.values()))
    assert set(labels.tolist()) == set(range(7))
    for annotator in range(50):
        own = annotators == annotator
        right = float((labels[own] == truth[tasks[own]]).mean())
        tolerance = share_tolerance(0.5, int(own.sum()))  # the largest possible
        assert 0.4 - tolerance < right < 0.95 + tolerance


@pytest.mark.parametrize("seed", range(5))
def test_the_demo_has_readable_tasks_that_are_hard_for_plurality(seed: int) -> None:
    crowd = simulate_demo_crowd(seed)
    assert Counter(crowd.kinds.values()) == {"expert": 5, "sloppy": 6, "spammer": 4, "adversary": 5}
    assert (len(crowd.truth), len(crowd.gold), len(crowd.label_set)) == (150, 15, 4)
    assert set(Counter(crowd.tasks).values()) == {5, 6}
    assert all(task[0].isupper() and task.endswith(".") and " " in task for task in crowd.truth)
    wrong = errors(crowd, plurality(crowd))
    assert wrong > 0.15 * 135
    assert errors(crowd, oracle(crowd)) < wrong / 3


def test_the_demo_reports_that_there_are_not_enough_sentences() -> None:
    with pytest.raises(ValueError, match="fewer tasks"):
        simulate_demo_crowd(0, tasks=400)
