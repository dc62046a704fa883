"""The simulated crowds have the properties they are said to have: whatever is measured on them rests on that."""

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
from ls_crowd_plugin.demo.drawing import ability, assign, model_answers

if TYPE_CHECKING:
    from collections.abc import Callable

# Five standard errors: a right simulator fails one such comparison in two million.
SIGMAS = 5.0

SMALL_CROWDS: list[Callable[[int], SimulatedCrowd]] = [
    generative_crowd,
    lambda seed: generative_crowd(seed, answers_per_task=20),
    lambda seed: hammers_and_spammers_crowd(seed, spammers=0.3, adversaries=0.1),
    lambda seed: skilled_crowd(seed, low_skilled=0.3, adversaries=0.1),
    lambda seed: rare_answer_crowd(seed, rate=0.08),
    constant_label_crowd,
    simulate_demo_crowd,
]


def share_tolerance(probability: float, count: int) -> float:
    """How far a share of `count` independent draws may lie from its probability."""
    return SIGMAS * float(np.sqrt(probability * (1 - probability) / count))


def share_right(crowd: SimulatedCrowd, kind: str) -> tuple[float, int]:
    """How often annotators of a kind gave the true label, and how many answers they gave."""
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
    first, again, other = make(3), make(3), make(4)
    assert (first.tasks, first.annotators, first.labels) == (again.tasks, again.annotators, again.labels)
    assert (first.truth, first.gold, first.kinds) == (again.truth, again.gold, again.kinds)
    assert first.labels != other.labels


@pytest.mark.parametrize("make", SMALL_CROWDS)
def test_ids_labels_and_gold_belong_together(make: Callable[[int], SimulatedCrowd]) -> None:
    crowd = make(0)
    pairs = list(zip(crowd.tasks, crowd.annotators, strict=True))
    assert len(set(pairs)) == len(pairs)
    assert set(crowd.tasks) <= set(crowd.truth)
    assert set(crowd.annotators) <= set(crowd.kinds)
    assert set(crowd.labels) | set(crowd.truth.values()) <= set(crowd.label_set)
    assert all(crowd.truth[task] == label for task, label in crowd.gold.items())


@pytest.mark.parametrize("degree", [1, 20, 50, 80, 100])
def test_equal_degrees_make_a_regular_graph(degree: int) -> None:
    task, annotator = assign(np.random.default_rng(degree), np.full(100, degree), 100)
    assert len(set(zip(task.tolist(), annotator.tolist(), strict=True))) == 100 * degree
    assert set(np.bincount(task, minlength=100).tolist()) == {degree}
    assert set(np.bincount(annotator, minlength=100).tolist()) == {degree}


def test_uneven_degrees_are_kept_and_the_work_is_spread_evenly() -> None:
    generator = np.random.default_rng(0)
    degrees = generator.integers(0, 16, 90)
    task, annotator = assign(generator, degrees, 40)
    assert np.bincount(task, minlength=90).tolist() == degrees.tolist()
    loads = np.bincount(annotator, minlength=40)
    assert loads.max() - loads.min() <= 1


@pytest.mark.parametrize("degree", [3, 7])
def test_every_annotator_is_equally_likely_to_answer_a_task(degree: int) -> None:
    generator = np.random.default_rng(degree)
    graphs = 2000
    present = np.zeros((10, 10))
    for _ in range(graphs):
        present[assign(generator, np.full(10, degree), 10)] += 1
    assert np.abs(present / graphs - degree / 10).max() < share_tolerance(degree / 10, graphs)


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


def test_the_number_of_answers_per_task_is_as_asked() -> None:
    crowd = generative_crowd(0, answers_per_task=20)
    assert set(Counter(crowd.tasks).values()) == {20}
    assert set(Counter(crowd.annotators).values()) == {20}


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("adversary", [False, True])
def test_answers_follow_the_probabilities_of_the_model(labels: int, adversary: bool) -> None:
    count, solves, truth = 40_000, 0.6, 1
    generator = np.random.default_rng(labels)
    solved = generator.random(count) < solves
    answers = model_answers(generator, np.full(count, truth), solved, np.full(count, adversary), labels)
    guess = (1 - solves) / labels
    hit = guess if adversary else solves + guess
    miss = guess + solves / (labels - 1) if adversary else guess
    assert hit + (labels - 1) * miss == pytest.approx(1)
    for label in range(labels):
        expected = hit if label == truth else miss
        assert abs((answers == label).mean() - expected) < share_tolerance(expected, count)


def test_ability_is_the_logistic_function_even_at_infinite_skill() -> None:
    skill, discrimination = np.array([2.0, np.inf, -np.inf]), np.array([0.5, 1.0, 1.0])
    found = ability(skill, discrimination, np.array([1.0]), np.zeros(3, int), np.arange(3))
    assert found.tolist() == pytest.approx([1 / (1 + np.exp(-0.5)), 1.0, 0.0])


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
def test_rare_answers_are_as_rare_as_asked_and_some_never_give_them(rate: float) -> None:
    crowd = rare_answer_crowd(1, rate)
    assert Counter(crowd.truth.values())["yes"] == round(rate * 400)
    assert Counter(crowd.kinds.values()) == {"careful": 14, "constant": 6}
    assert set(Counter(crowd.tasks).values()) == {5}
    assert len(crowd.gold) == 40
    said = {annotator: set[str]() for annotator in crowd.kinds}
    for annotator, label in zip(crowd.annotators, crowd.labels, strict=True):
        said[annotator].add(label)
    for annotator, kind in crowd.kinds.items():
        assert said[annotator] == ({"no"} if kind == "constant" else {"no", "yes"})
    right, count = share_right(crowd, "careful")
    assert abs(right - 0.9) < share_tolerance(0.9, count)


def test_one_annotator_always_picks_the_same_of_five_labels() -> None:
    crowd = constant_label_crowd(0)
    said: dict[Any, set[Any]] = defaultdict(set)
    for annotator, label in zip(crowd.annotators, crowd.labels, strict=True):
        said[annotator].add(label)
    assert [crowd.kinds[annotator] for annotator, labels in said.items() if len(labels) == 1] == ["constant"]
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
        tolerance = share_tolerance(0.5, int(own.sum()))  # the widest there is
        assert 0.4 - tolerance < right < 0.95 + tolerance


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
    found = oracle(crowd)
    for task in crowd.truth:
        best = max(likelihood[task, label] for label in crowd.label_set)
        assert likelihood[task, found[task]] == pytest.approx(best)


def test_the_oracle_needs_the_parameters_of_the_model() -> None:
    with pytest.raises(ValueError, match="no oracle"):
        oracle(rare_answer_crowd(0, 0.2))


def test_nobody_does_better_than_the_oracle() -> None:
    crowds = [generative_crowd(seed) for seed in range(10)]
    of_oracle = sum(errors(crowd, oracle(crowd)) for crowd in crowds)
    of_plurality = sum(errors(crowd, plurality(crowd)) for crowd in crowds)
    assert of_oracle < of_plurality / 1.5


@pytest.mark.parametrize("seed", range(5))
def test_the_demo_is_readable_and_hard_for_plurality_alone(seed: int) -> None:
    crowd = simulate_demo_crowd(seed)
    assert Counter(crowd.kinds.values()) == {"expert": 5, "sloppy": 6, "spammer": 4, "adversary": 5}
    assert (len(crowd.truth), len(crowd.gold), len(crowd.label_set)) == (150, 15, 4)
    assert set(Counter(crowd.tasks).values()) == {5, 6}
    assert all(task[0].isupper() and task.endswith(".") and " " in task for task in crowd.truth)
    wrong = errors(crowd, plurality(crowd))
    assert wrong > 0.15 * 135
    assert errors(crowd, oracle(crowd)) < wrong / 3


def test_the_demo_says_when_there_are_not_enough_sentences() -> None:
    with pytest.raises(ValueError, match="fewer tasks"):
        simulate_demo_crowd(0, tasks=400)
