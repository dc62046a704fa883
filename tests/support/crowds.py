"""Small crowds for the tests of the aggregation, and plain readers of the answer table that use none of its methods."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.stats import spearmanr

from ls_crowd_plugin.aggregation import Consensus, aggregate
from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.em import Model
from ls_crowd_plugin.aggregation.encoding import encode_answers
from ls_crowd_plugin.aggregation.fit import Posterior
from ls_crowd_plugin.demo import SimulatedCrowd

Row = tuple[Any, ...]  # task, annotator, label, and the question if there are several


def ignore_progress(*_: object) -> None:
    """A progress callback that does nothing."""


def encode_rows(rows: Iterable[Row], **options: Any) -> Answers:
    return encode_answers(**_columns(rows), **options)


def aggregate_rows(rows: Iterable[Row], **options: Any) -> Consensus:
    return aggregate(**_columns(rows), **options)


def encode_crowd(crowd: SimulatedCrowd, with_gold: bool = False) -> Answers:
    gold = crowd.gold if with_gold else None
    return encode_answers(crowd.tasks, crowd.annotators, crowd.labels, gold, crowd.label_set)


def aggregate_crowd(crowd: SimulatedCrowd, method: str, with_gold: bool = False, **options: Any) -> Consensus:
    gold = crowd.gold if with_gold else None
    return aggregate(crowd.tasks, crowd.annotators, crowd.labels, gold, method, crowd.label_set, **options)


def crowd_rows(crowd: SimulatedCrowd) -> list[Row]:
    columns = (np.asarray(column, object).tolist() for column in (crowd.tasks, crowd.annotators, crowd.labels))
    return list(zip(*columns, strict=True))


def _columns(rows: Iterable[Row]) -> dict[str, Any]:
    names = ("tasks", "annotators", "labels", "questions")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=False)}


def count_errors(crowd: SimulatedCrowd, labels: dict[Any, Any]) -> int:
    """How many of the answered tasks without gold have a wrong label."""
    return sum(label != crowd.truth[task] for task, label in labels.items() if task not in crowd.gold)


def rank_correlation(one: Any, other: Any) -> float:
    """1 if two columns have the same order, whatever their scales."""
    return float(spearmanr(one, other).statistic)


def answer_labels(answers: Answers) -> dict[tuple[Any, Any], Any]:
    """(item, annotator) → label, of all answers."""
    rows = zip(
        answers.answer_item.tolist(), answers.answer_annotator.tolist(), answers.answer_option.tolist(), strict=True
    )
    labels = {}
    for item, annotator, option in rows:
        assert answers.option_item[option] == item
        labels[answers.items[item], answers.annotators[annotator]] = answers.choices[answers.option_choice[option]]
    assert len(labels) == len(answers.answer_item)
    return labels


def gold_labels(answers: Answers) -> dict[Any, Any]:
    """Item → gold label."""
    return {
        item: answers.choices[answers.option_choice[option]]
        for item, option in zip(answers.items, answers.gold_option.tolist(), strict=True)
        if option >= 0
    }


def possible_labels(answers: Answers) -> dict[Any, list[Any]]:
    """Item → all labels of its question."""
    start = answers.choice_start.tolist()
    return {
        item: list(answers.choices[start[question] : start[question + 1]])
        for item, question in zip(answers.items, answers.item_question.tolist(), strict=True)
    }


def label_probabilities(answers: Answers, posterior: Posterior) -> dict[tuple[Any, Any], float]:
    """(item, label) → probability."""
    probability = {
        (item, label): float(posterior.unchosen[position])
        for position, (item, labels) in enumerate(possible_labels(answers).items())
        for label in labels
    }
    for position, (item, choice) in enumerate(
        zip(answers.option_item.tolist(), answers.option_choice.tolist(), strict=True)
    ):
        probability[answers.items[item], answers.choices[choice]] = float(posterior.options[position])
    return probability


@st.composite
def answer_tables(draw: st.DrawFn, max_tasks: int = 6, max_annotators: int = 5, max_labels: int = 5) -> Answers:
    """Any small crowd: one to three questions with one to five labels, any subset of answers, some gold.

    A label is drawn as its distance from the task's own label, so the simplest crowd is one that agrees.
    """
    counts = draw(st.lists(st.integers(1, max_labels), min_size=1, max_size=3))
    task, question = st.integers(0, max_tasks - 1), st.integers(0, len(counts) - 1)
    annotator = st.integers(0, max_annotators - 1)
    distance = st.sampled_from([0, 0, 0, 1, 2, 3])
    answers = draw(st.dictionaries(st.tuples(task, question, annotator), distance, min_size=1, max_size=40))
    gold = draw(st.dictionaries(st.tuples(task, question), distance, max_size=4))

    def label(task: int, question: int, distance: int) -> int:
        return (task + distance) % counts[question]

    return encode_rows(
        [
            (task, annotator, label(task, question, distance), question)
            for (task, question, annotator), distance in answers.items()
        ],
        gold={key: label(*key, distance) for key, distance in gold.items()},
        label_set={number: list(range(count)) for number, count in enumerate(counts)},
    )


def small_crowd(tasks: int = 12, people: int = 5) -> list[Row]:
    """Yes/no tasks; all people are right except on every fifth answer."""
    return [
        (task, f"person {number}", "yes" if (task % 2 == 0) != ((task * people + number) % 5 == 4) else "no")
        for task in range(tasks)
        for number in range(people)
    ]


def mixed_crowd(seed: int, tasks: int = 3, annotators: int = 4, gold: bool = True) -> Answers:
    """A tiny crowd: two questions with three and two labels, a random subset of answers, and gold on one item."""
    generator = np.random.default_rng(seed)
    counts = {"colour": 3, "size": 2}
    rows = [
        (task, annotator, int(generator.integers(count)), question)
        for task in range(tasks)
        for question, count in counts.items()
        for annotator in range(annotators)
        if annotator == task % annotators or generator.random() < 0.7
    ]
    return encode_rows(
        rows,
        gold={(0, "colour"): 1} if gold else None,
        label_set={question: list(range(count)) for question, count in counts.items()},
    )


def permuted_votes() -> tuple[Answers, list[tuple[int, ...]]]:
    """Seven votes on each task, in every order of the labels; and the sorted numbers of votes of each task."""
    rows: list[Row] = []
    patterns: list[tuple[int, ...]] = []
    for votes in (votes for pattern in ((3, 2, 1, 1), (4, 2, 1, 0), (5, 1, 1, 0)) for votes in permutations(pattern)):
        labels = [label for label, count in enumerate(votes) for _ in range(count)]
        rows += [(len(patterns), annotator, label) for annotator, label in enumerate(labels)]
        patterns.append(tuple(sorted(votes)))
    return encode_rows(rows, label_set=range(4)), patterns


def run_iterations(model: Model, count: int) -> float:
    """Run some iterations of EM; returns the last objective."""
    for _ in range(count):
        model.m_step()
        objective = model.e_step()
    return objective
