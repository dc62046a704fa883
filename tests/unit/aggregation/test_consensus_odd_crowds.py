"""`aggregate()` gives consistent probabilities for every odd crowd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from ls_crowd_plugin.aggregation import FORMS, METHODS, Consensus
from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.selection import fit_method
from tests.support.crowds import Row, aggregate_rows, answer_tables, ignore_progress, small_crowd
from tests.support.examples import examples

every_method = pytest.mark.parametrize("method", METHODS)


def assert_consistent(consensus: Consensus) -> None:
    """Posteriors are probabilities; the label, unless undecided, is the most probable one, with its probability."""
    for task, label in consensus.labels.items():
        posterior = consensus.posterior(task)
        assert sum(posterior.values()) == pytest.approx(1.0, abs=1e-9)
        assert min(posterior.values()) >= 0
        assert posterior[label] == pytest.approx(consensus.confidence[task], abs=1e-9)
        if not consensus.is_undecided(task):
            assert max(posterior.values()) == pytest.approx(consensus.confidence[task], abs=1e-9)
    for row in consensus.annotators:
        assert all(np.isfinite(value) for value in row.values() if isinstance(value, float))
        assert 0 <= row["accuracy"] <= 1


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=pytest.mark.slow) if name in ("auto", "gem") else name for name in METHODS]
)
@settings(max_examples=examples(5))
@given(answers=answer_tables(max_tasks=4, max_annotators=4))
def test_any_crowd_gets_consistent_probabilities(method: str, answers: Answers) -> None:
    assert_consistent(Consensus(fit_method(answers, method, None, 0, ignore_progress), 0, 0.0))


ODD_CROWDS: dict[str, tuple[list[Row], dict[str, Any]]] = {
    "everything is gold": (small_crowd(), {"gold": dict.fromkeys(range(12), "no")}),
    "a single annotator": ([(task, "ann", task % 3) for task in range(6)], {}),
    "a single answer": ([("t", "ann", "a")], {}),
    "a single answer and many labels": ([("t", "ann", "a")], {"label_set": "abc"}),
    "an annotator with a single answer": ([*small_crowd(), (0, "new", "no")], {}),
    "gold for a task without answers": (small_crowd(), {"gold": {"unanswered": "yes"}}),
    "one label only": ([(task, person, "a") for task in range(4) for person in "xyz"], {}),
    "one of two labels chosen": ([(task, person, "a") for task in range(4) for person in "xyz"], {"label_set": "ab"}),
    "everybody contradicted by gold": (
        [(task, person, "a") for task in range(14) for person in "xyz"],
        {"gold": dict.fromkeys(range(12), "b"), "label_set": "abc"},
    ),
    "one answer per task": ([(task, f"person {task}", task % 2) for task in range(6)], {}),
    "questions with one and with two labels": (
        [(*row, "q") for row in small_crowd()] + [(task, "person 1", "only", "one") for task in range(4)],
        {"gold": {(0, "q"): "yes", (7, "one"): "only"}},
    ),
    "a question without answers": (
        [(*row, "q") for row in small_crowd()],
        {"label_set": {"a": ["u", "v"], "q": ["no", "yes"], "z": ["w"]}},
    ),
}


@pytest.mark.parametrize(("method", "form"), [*((method, None) for method in METHODS), ("gem", "paper")])
@pytest.mark.parametrize("name", ODD_CROWDS)
@pytest.mark.slow
def test_odd_crowds_get_consistent_probabilities(name: str, method: str, form: str | None) -> None:
    rows, options = ODD_CROWDS[name]
    consensus = aggregate_rows(rows, method=method, form=form, **options)
    assert_consistent(consensus)
    assert len(consensus.tasks) == len(consensus.labels) > 0


@pytest.mark.slow
@every_method
def test_if_everything_is_gold_the_labels_are_the_gold(method: str) -> None:
    gold = {task: "no" if task % 3 else "yes" for task in range(12)}
    consensus = aggregate_rows(small_crowd(), method=method, gold=gold)
    assert consensus.labels == gold
    assert set(consensus.confidence.values()) == {1.0}
    assert consensus.doubtful == []


@every_method
def test_the_labels_of_a_single_annotator_are_that_persons_answers(method: str) -> None:
    consensus = aggregate_rows([(task, "ann", task % 3) for task in range(9)], method=method)
    assert consensus.labels == {task: task % 3 for task in range(9)}


@every_method
def test_a_label_chosen_by_all_is_the_consensus(method: str) -> None:
    rows = [(task, person, "a") for task in range(5) for person in "xyz"]
    consensus = aggregate_rows(rows, method=method, label_set="ab")
    assert set(consensus.labels.values()) == {"a"}
    assert min(consensus.confidence.values()) > 0.5


@pytest.mark.parametrize(
    ("method", "form"),
    [
        *((method, None) for method in METHODS),
        *(("gem", form) for form in FORMS),
        *((method, "printed") for method in ("neg", "sw", "hyb")),
    ],
)
@pytest.mark.slow
def test_answers_to_a_question_with_one_label_change_nothing(method: str, form: str | None) -> None:
    """Otherwise, two hundred such answers would turn somebody who guesses into an expert."""
    generator = np.random.default_rng(0)
    rows: list[Row] = []
    for task in range(30):
        for person in range(6):
            right = generator.random() < (0.9 if person else 0.33)
            rows.append((task, person, task % 3 if right else int(generator.integers(3)), "q"))
    more = [*rows, *((task, 0, "only", "one") for task in range(200))]
    without, with_more = (aggregate_rows(part, method=method, form=form) for part in (rows, more))
    assert with_more.annotators[0]["verdict"] == without.annotators[0]["verdict"]
    for task, label in without.labels.items():
        assert with_more.labels[task] == label or task in without.doubtful
        # A fit stops when it gains little per answer, so with more answers it may stop an iteration earlier.
        assert with_more.confidence[task] == pytest.approx(without.confidence[task], abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("with_gold", [False, True])
@every_method
def test_ten_thousand_labels_are_no_more_work_than_two(method: str, with_gold: bool) -> None:
    generator = np.random.default_rng(0)
    truth = {task: task * 97 % 10_000 for task in range(25)}
    rows = [
        (task, person, label if generator.random() < 0.7 else int(generator.integers(10_000)))
        for task, label in truth.items()
        for person in range(7)
    ]
    gold = {task: truth[task] for task in range(12)} if with_gold else None
    consensus = aggregate_rows(rows, method=method, label_set=range(10_000), gold=gold)
    assert consensus.labels == truth
    posterior = consensus.posterior(20)
    assert len(posterior) == 10_000
    assert sum(posterior.values()) == pytest.approx(1.0)
