"""`aggregate()` and its consensus: the contract, for every method and form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ls_crowd_plugin.aggregation import FORMS, METHODS, Lessons, aggregate
from ls_crowd_plugin.demo import simulate_demo_crowd
from ls_crowd_plugin.errors import UnusableInput
from ls_crowd_plugin.records import ANNOTATOR_COLUMNS, AnnotatorScore
from tests.support.crowds import Row, aggregate_crowd, aggregate_rows, small_crowd

# Every method with its default form, and every form that can be requested.
CASES = [
    *((method, None) for method in METHODS),
    *(("gem", form) for form in FORMS),
    *((method, "printed") for method in ("neg", "sw", "hyb")),
]
every_method = pytest.mark.parametrize("method", METHODS)


@pytest.mark.parametrize(("method", "form"), CASES)
@pytest.mark.slow
def test_tables_have_the_promised_columns(method: str, form: str | None) -> None:
    consensus = aggregate_rows(small_crowd(), method=method, form=form, gold={0: "yes"})
    for task in consensus.tasks:
        assert list(task) == ["task", "label", "confidence", "difficulty", "answers", "state"]
    names = "annotator answers gold_answers gold_correct skill skill_se adversary_probability weight accuracy verdict"
    may_be_empty = {"skill_se"} | ({"adversary_probability"} if method == "plu" else set())
    for annotator in consensus.annotators:
        assert list(annotator) == names.split() == list(ANNOTATOR_COLUMNS)
        assert {name for name, value in annotator.items() if value is None} <= may_be_empty
    facts = {"method", "form", "why", "objective", "iterations", "converged", "seconds", "versions", "seed", "warnings"}
    assert facts <= set(consensus.facts)
    assert consensus.facts["iterations"] == len(consensus.facts["history"])
    assert list(consensus.facts["calibration"]) == ["sharpness", "divided", "misled", "gold"]


@pytest.mark.slow
def test_annotators_are_the_scores_as_rows() -> None:
    consensus = aggregate_rows(small_crowd(), gold={0: "yes"})
    assert all(isinstance(score, AnnotatorScore) for score in consensus.scores)
    assert [AnnotatorScore(**row) for row in consensus.annotators] == consensus.scores
    assert [score.annotator for score in consensus.scores] == [f"person {number}" for number in range(5)]


def test_plurality_leaves_columns_empty_that_it_cannot_fill() -> None:
    consensus = aggregate_rows(small_crowd(), method="plu")
    assert {row["adversary_probability"] for row in consensus.annotators} == {None}
    assert {row["difficulty"] for row in consensus.tasks} == {None}


def test_rows_count_answers_and_gold() -> None:
    rows: list[Row] = [("t", "ann", "a"), ("t", "bob", "b"), ("u", "bob", "b")]
    consensus = aggregate_rows(rows, method="plu", gold={"t": "a", "v": "b"})
    assert [(row["task"], row["label"], row["answers"]) for row in consensus.tasks] == [
        ("t", "a", 2),
        ("u", "b", 1),
        ("v", "b", 0),
    ]
    counts = [(score.annotator, score.answers, score.gold_answers, score.gold_correct) for score in consensus.scores]
    assert counts == [("ann", 1, 1, 1), ("bob", 2, 1, 0)]


def test_questions_are_part_of_the_keys_and_of_the_rows() -> None:
    rows = [
        (task, person, task % count, question)
        for task in range(4)
        for person in "abc"
        for question, count in (("x", 2), ("y", 4))
    ]
    consensus = aggregate_rows(rows, method="neg", gold={(0, "x"): 1, (9, "y"): 3})
    assert set(consensus.labels) == {(task, question) for task in range(4) for question in "xy"} | {(9, "y")}
    assert consensus.labels[0, "x"] == 1
    assert consensus.labels[9, "y"] == 3
    assert set(consensus.posterior((1, "x"))) == {0, 1}
    assert set(consensus.posterior((1, "y"))) == {0, 1, 2, 3}
    assert list(consensus.tasks[0])[:3] == ["task", "question", "label"]


def test_arrays_of_numbers_give_plain_numbers() -> None:
    rows = np.array(small_crowd(), dtype=object)
    labels = np.array([label == "yes" for label in rows[:, 2]], np.int64)
    people = np.array([int(name.split()[1]) for name in rows[:, 1]], np.int32)
    consensus = aggregate(rows[:, 0].astype(np.int64), people, labels, gold={np.int64(0): np.int64(1)}, method="neg")
    assert {type(task) for task in consensus.labels} == {int}
    assert {type(label) for label in consensus.labels.values()} == {int}
    assert {type(row["annotator"]) for row in consensus.annotators} == {int}
    assert {type(value) for value in consensus.confidence.values()} == {float}
    assert consensus.labels[np.int64(2)] == 1
    assert consensus.posterior(np.int64(2)).keys() == {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("names", [[("a", 1), ("b", 2)], [True, False], [1, "one"], [b"a", b"b"], [0.5, 1.5]])
def test_labels_come_back_with_their_own_type(names: list[Any]) -> None:
    rows = [(task, person, names[task % 2]) for task in range(4) for person in "abc"]
    consensus = aggregate_rows(rows, gold={0: names[0]})
    assert consensus.labels == {task: names[task % 2] for task in range(4)}
    assert {type(label) for label in consensus.labels.values()} == {type(name) for name in names}
    assert {type(label) for label in consensus.posterior(1)} == {type(name) for name in names}


def test_text_with_commas_quotes_and_newlines_survives() -> None:
    odd = ["with, comma", 'with "quotes"', "with\nnewline", "ünïcödé 🙂", " "]
    consensus = aggregate_rows([(task, person, task) for task in odd for person in odd])
    assert consensus.labels == {text: text for text in odd}
    assert {row["annotator"] for row in consensus.annotators} == set(odd)


@every_method
@pytest.mark.slow
def test_gold_labels_are_certain_and_can_be_lifted(method: str) -> None:
    consensus = aggregate_rows(small_crowd(), method=method, gold={0: "no"})  # the crowd says yes
    assert consensus.labels[0] == "no"
    assert consensus.confidence[0] == 1.0
    assert consensus.posterior(0) == {"no": 1.0, "yes": 0.0}
    lifted = consensus.posterior(0, lift_gold=True)
    assert sum(lifted.values()) == pytest.approx(1.0)
    assert lifted["yes"] > lifted["no"]
    assert consensus.posterior(2) == consensus.posterior(2, lift_gold=True)
    assert consensus.gold_agreement == (1, 0)
    label, confidence = consensus.crowd_label(0)
    assert label == "yes"
    assert confidence == pytest.approx(lifted["yes"])


@pytest.mark.slow
def test_the_crowd_label_of_a_gold_task_does_not_depend_on_its_gold_label() -> None:
    """The task has one answer, and the gold label contradicts it; still, the answer counts for more than nothing."""
    rows = [*small_crowd(), ("probe", "person 0", "yes")]
    for method in METHODS:
        consensus = aggregate_rows(rows, method=method, gold={"probe": "no"})
        assert consensus.posterior("probe", lift_gold=True)["yes"] > 0.5


@pytest.mark.slow
@every_method
def test_the_gold_blind_consensus_differs_only_in_what_it_says_about_gold_tasks(method: str) -> None:
    crowd = simulate_demo_crowd(0, tasks=60, probes=12)
    consensus = aggregate_crowd(crowd, method, with_gold=True)
    blind = consensus.gold_blind
    assert blind.gold_blind is blind
    assert blind.labels == consensus.labels
    for task in consensus.labels:
        if task not in crowd.gold:
            assert blind.crowd_label(task) == consensus.crowd_label(task)


def test_without_gold_the_consensus_is_gold_blind() -> None:
    consensus = aggregate_rows(small_crowd(), method="neg")
    assert consensus.gold_blind is consensus


@pytest.mark.parametrize("ask", ["posterior", "crowd_label"])
def test_an_unknown_task_is_named(ask: str) -> None:
    with pytest.raises(KeyError, match="no task 'nowhere'"):
        getattr(aggregate_rows(small_crowd(), method="plu"), ask)("nowhere")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "magic"}, "There is no method 'magic'; choose one of auto, gem, neg, sw, hyb, plu"),
        ({"method": "gem", "form": "printed"}, "Method 'gem' has no form 'printed'; choose one of paper, "),
        ({"method": "neg", "form": "paper"}, "Method 'neg' has no form 'paper'; choose one of printed"),
        ({"method": "plu", "form": "printed"}, "Method 'plu' has no form 'printed'; leave the form out"),
        ({"method": "auto", "form": "paper"}, "Method 'auto' has no form 'paper'; leave the form out"),
    ],
)
def test_unknown_methods_and_forms_are_refused_in_a_sentence(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(UnusableInput, match=sentence):
        aggregate_rows(small_crowd(), **options)


def test_warnings_about_the_crowd_and_the_fit_are_passed_on() -> None:
    consensus = aggregate_rows([("t", "ann", "a"), ("u", "ann", "b")])
    assert any("single annotator" in warning for warning in consensus.facts["warnings"])
    rows = [(task, f"one {number}", task % 2) for task in range(30) for number in range(5)]
    rows += [(task, f"other {number}", 1 - task % 2) for task in range(30) for number in range(3)]
    assert any("mirror image" in warning for warning in aggregate_rows(rows, method="neg").warnings)


def test_labels_that_differ_from_the_most_frequent_answer_are_counted() -> None:
    rows = [("t", "ann", "a"), ("t", "bob", "b"), ("t", "cy", "b"), ("u", "ann", "a"), ("u", "bob", "a")]
    consensus = aggregate_rows(rows, method="plu", gold={"t": "a", "u": "a", "unanswered": "b"})
    assert consensus.plurality_disagreements == 1


def test_the_least_distance_needs_a_scale_and_a_known_decision() -> None:
    with pytest.raises(UnusableInput, match="say which questions are ordered"):
        aggregate_rows(small_crowd(), decide="distance")
    with pytest.raises(UnusableInput, match="no decision 'mean'; choose one of label, distance"):
        aggregate_rows(small_crowd(), decide="mean")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["gem", "plu"])
def test_the_label_of_least_distance_has_its_own_probability(method: str) -> None:
    rows: list[Row] = [(task, person, task % 5) for task in range(20) for person in range(5)]
    rows += [("open", person, label) for person, label in enumerate([0, 0, 3, 4, 4])]
    likely = aggregate_rows(rows, method=method, ordered=True)
    near = aggregate_rows(rows, method=method, ordered=True, decide="distance")
    assert near.posterior("open") == likely.posterior("open")
    assert near.confidence["open"] == pytest.approx(near.posterior("open")[near.labels["open"]])
    assert near.labels["open"] == near.crowd_label("open")[0] == near.gold_blind.labels["open"]

    def expected_distance(label: int) -> float:
        return float(sum(share * abs(label - other) for other, share in near.posterior("open").items()))

    assert expected_distance(near.labels["open"]) == pytest.approx(min(map(expected_distance, range(5))))


def test_what_was_learned_on_a_scale_decides_by_distance_too() -> None:
    rows: list[Row] = [(task, person, str(task % 11)) for task in range(33) for person in range(5)]
    tasks, people, labels = (list(column) for column in zip(*rows, strict=True))
    lessons = Lessons(tasks, people, labels)
    consensus = aggregate(tasks, people, labels, method="gem", ordered=True, decide="distance", lessons=lessons)
    assert consensus.labels == {task: str(task % 11) for task in range(33)}
    assert consensus.facts["decide"] == "distance"
