"""What is said about people and tasks does not contradict itself, whatever the crowd."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.aggregation import Consensus
from ls_crowd_plugin.aggregation.reliability import Standing, consistent_verdict
from ls_crowd_plugin.records import SETTLED, VERDICTS
from tests.support.crowds import Row, aggregate_rows
from tests.support.examples import examples

pytestmark = pytest.mark.slow

ROUNDING = 1e-9  # sums of probabilities are compared with the same sums in another order
MIN_COMPARABLE, MIN_CONTRARY = 5, 10  # answers, as in the guide
METHODS = ("auto", "gem", "neg", "plu")

# How a kind of person answers: the probability to give the right label, and the probability to guess; else a wrong one.
KINDS = {"good": (0.9, 0.1), "fair": (0.5, 0.5), "guessing": (0.0, 1.0), "contrary": (0.0, 0.1), "constant": (0.0, 0.0)}


@st.composite
def crowds(draw: st.DrawFn, overlap: bool = True) -> tuple[list[Row], dict[Any, Any], dict[Any, list[int]]]:
    """Rows, gold and label set of a crowd of people of some kinds; without `overlap` each task has one answer."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    questions = {f"q{number}": draw(st.integers(2, 6)) for number in range(draw(st.integers(1, 3)))}
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=8))
    tasks, share = draw(st.sampled_from([1, 3, 10, 40])), draw(st.sampled_from([0.1, 0.5, 1.0]))
    common = draw(st.sampled_from([0.0, 0.8]))  # the share of tasks, beyond chance, whose label is the first one
    rows: list[Row] = []
    truth: dict[Any, int] = {}
    for task in range(tasks):
        for question, labels in questions.items():
            right = truth[task, question] = 0 if generator.random() < common else int(generator.integers(labels))
            people = np.flatnonzero(generator.random(len(kinds)) < share).tolist() if overlap else []
            people = people or [int(generator.integers(len(kinds)))]
            rows += [(task, one, _answer(generator, kinds[one], right, labels), question) for one in people]
    gold = {key: label for key, label in truth.items() if generator.random() < 0.3}
    gold = gold if overlap and draw(st.booleans()) else {}
    return rows, gold, {question: list(range(labels)) for question, labels in questions.items()}


def _answer(generator: np.random.Generator, kind: str, right: int, labels: int) -> int:
    if kind == "constant":
        return labels - 1
    knows, guesses = KINDS[kind]
    chance = generator.random()
    if chance < knows:
        return right
    return int(
        generator.integers(labels) if chance < knows + guesses else (right + generator.integers(1, labels)) % labels
    )


def said_about(rows: list[Row]) -> dict[Any, list[Any]]:
    said: dict[Any, list[Any]] = {}
    for task, _, label, question in rows:
        said.setdefault((task, question), []).append(label)
    return said


def assert_verdicts_fit(
    consensus: Consensus, rows: list[Row], gold: dict[Any, Any], label_set: dict[Any, list[int]]
) -> None:
    """The inequalities in `reliability`, from the rows and the published scores alone."""
    said = said_about(rows)
    chances: dict[Any, list[float]] = {}
    for task, person, _, question in rows:
        if len(said[task, question]) > 1 or (task, question) in gold:
            chances.setdefault(person, []).append(1 / len(label_set[question]))
    for score in consensus.scores:
        assert score.verdict in VERDICTS
        own = chances.get(score.annotator, [])
        if len(own) < MIN_COMPARABLE:
            assert score.verdict == "too little to say"
            continue
        chance = sum(own) / len(own)
        assert score.accuracy is not None
        assert score.weight is not None
        if score.verdict == "trusted":
            assert score.accuracy >= chance + (1 - chance) / 2 - ROUNDING
            assert score.weight > 0
        elif score.verdict == "ordinary":
            assert score.accuracy > chance - ROUNDING
            assert score.weight > 0
        elif score.verdict == "random":
            assert abs(score.weight) <= log(1 + 1 / (4 * chance)) + ROUNDING
        elif score.verdict == "contrary":
            assert score.accuracy < chance + ROUNDING
            assert score.weight <= 0
            assert len(own) >= MIN_CONTRARY


def assert_labels_come_from_answers(consensus: Consensus, rows: list[Row], gold: dict[Any, Any], method: str) -> None:
    """A label that nobody gave needs answers that exclude all others; for neg and plu the weights themselves say so."""
    said, weight = said_about(rows), {score.annotator: score.weight or 0.0 for score in consensus.scores}
    votes: dict[Any, dict[Any, float]] = {}
    for task, person, label, question in rows:
        of_task = votes.setdefault((task, question), {})
        of_task[label] = of_task.get(label, 0.0) + weight[person]
    for row in consensus.tasks:
        key = (row["task"], row["question"])
        if key in gold:
            assert row["state"] == "settled"
            continue
        assert (row["state"] == "settled") == (row["confidence"] >= SETTLED)
        if row["label"] not in said[key]:
            assert consensus.excludes_what_was_said(key)
            if method in ("neg", "plu"):
                assert max(votes[key].values()) <= -3.0 + ROUNDING


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=pytest.mark.slow) if name in ("auto", "gem") else name for name in METHODS]
)
@settings(max_examples=examples(25))
@given(crowd=crowds())
def test_no_verdict_contradicts_its_numbers_and_no_label_comes_from_nowhere(method: str, crowd: Any) -> None:
    rows, gold, label_set = crowd
    consensus = aggregate_rows(rows, gold=gold, label_set=label_set, method=method)
    assert_verdicts_fit(consensus, rows, gold, label_set)
    assert_labels_come_from_answers(consensus, rows, gold, method)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=examples(10))
@given(crowd=crowds(overlap=False))
def test_where_nobody_overlaps_nobody_is_judged_and_confidence_is_the_priors(method: str, crowd: Any) -> None:
    rows, _, label_set = crowd
    consensus = aggregate_rows(rows, label_set=label_set, method=method)
    assert {score.verdict for score in consensus.scores} == {"too little to say"}
    assert {score.skill for score in consensus.scores} == {None}
    for task, _, label, question in rows:
        assert consensus.labels[task, question] == label
        prior = 1 / 2 + 1 / (2 * len(label_set[question]))
        assert consensus.confidence[task, question] == pytest.approx(prior, abs=ROUNDING)


@pytest.mark.parametrize("method", METHODS)
def test_one_annotator_alone_is_neither_judged_nor_believed_beyond_the_prior(method: str) -> None:
    consensus = aggregate_rows([(task, "ann", "ab"[task % 2]) for task in range(50)], method=method)
    assert [score.verdict for score in consensus.scores] == ["too little to say"]
    assert list(consensus.confidence.values()) == pytest.approx([0.75] * 50)


@pytest.mark.parametrize("method", METHODS)
def test_four_overlapping_answers_among_hundreds_judge_nobody(method: str) -> None:
    """Eight people with thirty tasks each, then one more answer to each of four tasks."""
    generator = np.random.default_rng(1)
    rows: list[Row] = [(task, task % 8, int(generator.integers(2))) for task in range(240)]
    rows += [(task, (task + 1) % 8, int(generator.integers(2))) for task in range(4)]
    consensus = aggregate_rows(rows, method=method)
    assert {score.verdict for score in consensus.scores} == {"too little to say"}
    # Nobody has more than two comparable answers, so a model counts for at most 2/7 beside the prior's 75 %.
    unopposed = [consensus.confidence[task] for task in range(4, 240)]
    assert max(unopposed) <= 2 / 7 + 5 / 7 * 0.75


@pytest.mark.parametrize(("form", "state"), [("habits-1", "undecided"), (None, "open")])
def test_what_everybody_ticked_is_not_published_as_no_because_no_is_common(form: str | None, state: str) -> None:
    """Three people tick at random; twelve careful people say that ticks are rare. All three tick one more task."""
    generator = np.random.default_rng(3)
    rows: list[Row] = []
    for task in range(120):
        truth = "yes" if task % 12 == 0 else "no"
        other = {"yes": "no", "no": "yes"}[truth]
        careful = generator.choice(12, 3, replace=False)
        rows += [(task, f"careful {person}", truth if generator.random() < 0.95 else other) for person in careful]
        rows += [(task, f"ticks {person}", str(generator.choice(["yes", "no"]))) for person in range(3)]
    rows += [("asked", f"ticks {person}", "yes") for person in range(3)]
    consensus = aggregate_rows(rows, method="gem", form=form)
    (asked,) = (row for row in consensus.tasks if row["task"] == "asked")
    assert (asked["label"], asked["state"]) == ("yes", state)
    assert asked["confidence"] == consensus.posterior("asked")["yes"] < 0.7  # the votes alone would say 100 %


@pytest.mark.parametrize("method", ["auto", "gem", "neg"])
def test_adversaries_can_exclude_what_they_say(method: str) -> None:
    """Four people who are always wrong, on their own: the label that is left is right, and is published."""
    rows: list[Row] = []
    for task in range(80):
        rows += [(task, f"good {person}", task % 2) for person in range(5)]
        rows += [(task, f"contrary {person}", 1 - task % 2) for person in range(4)]
    rows += [("asked", f"contrary {person}", 1) for person in range(4)]
    consensus = aggregate_rows(rows, method=method, label_set=[0, 1])
    assert consensus.labels["asked"] == 0
    assert not consensus.is_undecided("asked")


STANDING = {"comparable": 50, "chance": 0.5, "accuracy": 0.9, "agreement": 0.95, "weight": 2.0}


@pytest.mark.parametrize(
    ("verdict", "changes", "milder"),
    [
        ("trusted", {}, "trusted"),
        ("trusted", {"accuracy": 0.7}, "ordinary"),
        ("trusted", {"agreement": 0.7}, "ordinary"),
        ("trusted", {"accuracy": 0.07, "weight": -4.0}, "unreliable"),
        ("ordinary", {"weight": 0.0}, "unreliable"),
        ("random", {}, "unreliable"),
        ("random", {"weight": 0.1}, "random"),
        ("contrary", {}, "unreliable"),
        ("contrary", {"accuracy": 0.1, "agreement": 0.1, "weight": -2.0}, "contrary"),
        ("contrary", {"accuracy": 0.1, "agreement": 0.1, "weight": 0.1}, "unreliable"),
        ("contrary", {"accuracy": 0.1, "agreement": 0.1, "weight": -2.0, "comparable": 9}, "unreliable"),
        ("trusted", {"comparable": 4}, "too little to say"),
        ("random", {"accuracy": None, "agreement": None, "weight": None}, "random"),
    ],
)
def test_a_verdict_that_contradicts_a_number_becomes_milder(verdict: str, changes: dict[str, Any], milder: str) -> None:
    assert consistent_verdict(verdict, Standing(**{**STANDING, **changes})) == milder
