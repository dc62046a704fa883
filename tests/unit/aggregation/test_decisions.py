"""The most probable label, its lead, and fair draws between tied labels."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ls_crowd_plugin.aggregation import FORMS, METHODS
from ls_crowd_plugin.aggregation.decisions import Decisions
from ls_crowd_plugin.aggregation.fit import Posterior
from tests.support.crowds import Row, aggregate_rows, encode_rows


@pytest.mark.parametrize(
    ("options", "unchosen", "labels", "confidence", "lead"),
    [
        ([0.6, 0.2], 0.1, {0}, 0.6, 0.4),
        ([0.2, 0.6], 0.1, {1}, 0.6, 0.4),
        ([0.5, 0.1], 0.2, {0}, 0.5, 0.3),
        ([0.4, 0.4], 0.1, {0, 1}, 0.4, 0.0),
        ([0.02, 0.02], 0.48, {2, 3}, 0.48, 0.0),  # odds of 24 to 1 against what was said
        ([0.1, 0.1], 0.4, {0, 1}, 0.1, 0.0),  # 4 to 1 are not enough to publish what nobody said
        ([0.25, 0.25], 0.25, {0, 1}, 0.25, 0.0),
    ],
)
def test_the_most_probable_label_that_the_answers_allow_wins(
    options: list[float], unchosen: float, labels: set[int], confidence: float, lead: float
) -> None:
    answers = encode_rows([("t", "a", 0), ("t", "b", 1)], label_set=range(4))
    posterior = Posterior(np.array(options), np.array([unchosen]))
    decisions = [Decisions(answers, posterior, seed) for seed in range(50)]
    assert {answers.choices[decision.choice[0]] for decision in decisions} == labels
    assert decisions[0].confidence.tolist() == [confidence]
    assert decisions[0].lead.tolist() == pytest.approx([lead])


def test_an_item_with_one_label_is_not_doubtful() -> None:
    answers = encode_rows([("t", "a", 0), ("t", "b", 0)])
    assert Decisions(answers, Posterior(np.ones(1), np.zeros(1)), 0).lead.tolist() == [1.0]


def decide_by_distance(scale: str, options: list[float], unchosen: float = 0.0, seed: int = 0) -> tuple[str, float]:
    """The label of least expected distance, and its probability; the options are the labels in alphabetical order."""
    rows: list[Row] = [("t", label, label) for label in sorted(scale)[: len(options)]]
    answers = encode_rows(rows, label_set=list(scale), ordered=True)
    decisions = Decisions(answers, Posterior(np.array(options), np.array([unchosen])), seed, by_distance=True)
    return answers.choices[decisions.choice[0]], float(decisions.confidence[0])


@pytest.mark.parametrize(
    ("scale", "options", "unchosen", "label", "confidence"),
    [
        ("abc", [0.4, 0.25, 0.35], 0.0, "b", 0.25),
        ("bac", [0.4, 0.25, 0.35], 0.0, "a", 0.4),  # another order of the same labels
        ("abc", [0.6, 0.1, 0.3], 0.0, "a", 0.6),
        ("abcd", [0.5, 0.1, 0.0, 0.4], 0.0, "a", 0.5),  # a and b are equally near, a is more probable
        ("abcd", [0.4], 0.2, "b", 0.2),  # b, c and d were not given by anybody
    ],
)
def test_the_label_of_least_expected_distance_wins(
    scale: str, options: list[float], unchosen: float, label: str, confidence: float
) -> None:
    assert decide_by_distance(scale, options, unchosen) == (label, confidence)


def test_labels_that_are_equally_near_and_probable_are_drawn() -> None:
    found = {decide_by_distance("abcd", [0.25, 0.25, 0.25, 0.25], seed=seed)[0] for seed in range(50)}
    assert found == {"b", "c"}


def test_distance_decides_only_where_labels_are_ordered() -> None:
    rows: list[Row] = [("t", label, label, question) for question in ("stars", "letter") for label in "abc"]
    answers = encode_rows(rows, label_set=list("abc"), ordered=["stars"])
    posterior = Posterior(np.array([0.4, 0.25, 0.35] * 2), np.zeros(2))
    choice = Decisions(answers, posterior, 0, by_distance=True).choice.tolist()
    labels = {item: answers.choices[position] for item, position in zip(answers.items, choice, strict=True)}
    assert labels == {("t", "stars"): "b", ("t", "letter"): "a"}


def tied_crowd(tasks: int = 200, labels: str = "ab") -> list[Row]:
    """Two people who always disagree; each gives both labels equally often."""
    return [(task, person, labels[(task // 2 + task + person) % 2]) for task in range(tasks) for person in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "form"),
    [
        *((method, None) for method in METHODS),
        *(("gem", form) for form in FORMS),
        *((method, "printed") for method in ("neg", "sw", "hyb")),
    ],
)
def test_an_exact_tie_is_doubtful_and_no_label_is_favoured(method: str, form: str | None) -> None:
    consensus = aggregate_rows(tied_crowd(), method=method, form=form)
    assert consensus.doubtful == list(range(200))
    assert max(consensus.confidence.values()) <= 0.5 + 1e-9
    # 200 fair draws have a standard deviation of √50 = 7.1; the limit is four of them.
    assert abs(Counter(consensus.labels.values())["a"] - 100) < 4 * 7.1


def test_a_draw_does_not_depend_on_the_order_of_labels_and_rows() -> None:
    rows = tied_crowd()
    one = aggregate_rows(rows, method="plu", label_set=["a", "b"])
    other = aggregate_rows(rows[::-1], method="plu", label_set=["b", "a"])
    assert one.labels == other.labels


def test_the_first_label_of_the_alphabet_wins_no_more_ties_than_the_last() -> None:
    wins: Counter[str] = Counter()
    for last in "bcdefgh":
        wins.update(aggregate_rows(tied_crowd(labels=f"a{last}"), method="plu").labels.values())
    # 1400 fair draws have a standard deviation of √350 = 18.7; the limit is four of them.
    assert abs(wins["a"] - 700) < 4 * 18.7


def test_the_seed_decides_ties_and_nothing_else() -> None:
    rows = [*tied_crowd(40), *((f"sure {task}", person, "a") for task in range(5) for person in range(2))]
    one, same, other = (aggregate_rows(rows, method="plu", seed=seed) for seed in (1, 1, 2))
    assert one.labels == same.labels != other.labels
    assert one.confidence == pytest.approx(other.confidence)
    assert all(other.labels[f"sure {task}"] == "a" for task in range(5))


@pytest.mark.slow
def test_a_clear_task_is_not_doubtful() -> None:
    rows = [(task, person, "a" if task % 2 else "b") for task in range(10) for person in range(5)]
    for method in METHODS:
        assert aggregate_rows(rows, method=method).doubtful == []


@pytest.mark.parametrize("method", METHODS)
def test_a_near_tie_is_doubtful(method: str) -> None:
    rows: list[Row] = [(task, person, "ab"[task % 2]) for task in range(20) for person in range(4)]
    consensus = aggregate_rows([*rows, *(("open", person, "ab"[person % 2]) for person in range(4))], method=method)
    assert consensus.doubtful == ["open"]
