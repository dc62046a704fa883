"""Small crowds for the tests of the aggregation, and the answer table read back without trusting its own methods."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.stats import spearmanr

from ls_crowd_plugin.aggregation import Consensus, aggregate
from ls_crowd_plugin.aggregation.answers import Answers, answers_from_triples
from ls_crowd_plugin.demo import SimulatedCrowd

Row = tuple[Any, ...]  # task, annotator, label, and the question where there are several


def silent(fraction: float) -> None:
    """Nobody watches the progress of a test's fit."""


def table(rows: Iterable[Row], **options: Any) -> Answers:
    return answers_from_triples(**_columns(rows), **options)


def consensus(rows: Iterable[Row], **options: Any) -> Consensus:
    return aggregate(**_columns(rows), **options)


def table_of(crowd: SimulatedCrowd, with_gold: bool = False) -> Answers:
    gold = crowd.gold if with_gold else None
    return answers_from_triples(crowd.tasks, crowd.annotators, crowd.labels, gold, crowd.label_set)


def consensus_of(crowd: SimulatedCrowd, method: str, with_gold: bool = False, **options: Any) -> Consensus:
    gold = crowd.gold if with_gold else None
    return aggregate(crowd.tasks, crowd.annotators, crowd.labels, gold, method, crowd.label_set, **options)


def wrong(crowd: SimulatedCrowd, labels: dict[Any, Any]) -> int:
    """How many of the answered tasks outside the gold have a wrong label."""
    return sum(label != crowd.truth[task] for task, label in labels.items() if task not in crowd.gold)


def rank_correlation(one: Any, other: Any) -> float:
    """How alike two columns are ordered: 1 for alike, whatever their scales."""
    return float(spearmanr(one, other).statistic)


def _columns(rows: Iterable[Row]) -> dict[str, Any]:
    names = ("tasks", "annotators", "labels", "questions")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=False)}


def given_labels(answers: Answers) -> dict[tuple[Any, Any], Any]:
    """(item, annotator) → label: all that anybody said."""
    rows = zip(
        answers.answer_item.tolist(), answers.answer_annotator.tolist(), answers.answer_option.tolist(), strict=True
    )
    said = {}
    for item, annotator, option in rows:
        assert answers.option_item[option] == item
        said[answers.items[item], answers.annotators[annotator]] = answers.choices[answers.option_choice[option]]
    assert len(said) == len(answers.answer_item)
    return said


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


def label_probabilities(answers: Answers, option: Any, unchosen: Any) -> dict[tuple[Any, Any], float]:
    """(item, label) → probability, from one number per option and one per label that is no option."""
    found = {
        (item, label): float(unchosen[place])
        for place, (item, labels) in enumerate(possible_labels(answers).items())
        for label in labels
    }
    for place, (item, choice) in enumerate(
        zip(answers.option_item.tolist(), answers.option_choice.tolist(), strict=True)
    ):
        found[answers.items[item], answers.choices[choice]] = float(option[place])
    return found


@st.composite
def tables(draw: st.DrawFn, most_tasks: int = 6, most_annotators: int = 5, most_labels: int = 5) -> Answers:
    """Any small crowd: one to three questions of one to five labels, any subset of answers, some gold.

    A label is drawn by how far it lies from the task's own, so that the simplest crowd is a united one.
    """
    counts = draw(st.lists(st.integers(1, most_labels), min_size=1, max_size=3))
    task, question = st.integers(0, most_tasks - 1), st.integers(0, len(counts) - 1)
    far = st.sampled_from([0, 0, 0, 1, 2, 3])
    said = draw(
        st.dictionaries(st.tuples(task, question, st.integers(0, most_annotators - 1)), far, min_size=1, max_size=40)
    )
    known = draw(st.dictionaries(st.tuples(task, question), far, max_size=4))

    def label(task: int, question: int, far: int) -> int:
        return (task + far) % counts[question]

    return table(
        [(task, annotator, label(task, question, far), question) for (task, question, annotator), far in said.items()],
        gold={key: label(*key, far) for key, far in known.items()},
        label_set={number: list(range(count)) for number, count in enumerate(counts)},
    )


def mixed_crowd(seed: int, tasks: int = 3, annotators: int = 4, gold: bool = True) -> Answers:
    """A tiny crowd with two questions, of three and of two labels, a random subset of answers, and gold on one item."""
    generator = np.random.default_rng(seed)
    counts = {"colour": 3, "size": 2}
    rows = [
        (task, annotator, int(generator.integers(count)), question)
        for task in range(tasks)
        for question, count in counts.items()
        for annotator in range(annotators)
        if annotator == task % annotators or generator.random() < 0.7
    ]
    return table(
        rows,
        gold={(0, "colour"): 1} if gold else None,
        label_set={question: list(range(count)) for question, count in counts.items()},
    )


def permuted_votes() -> tuple[Answers, list[tuple[int, ...]]]:
    """Seven votes on each task, in every order of the labels; and the numbers of votes of each task, sorted."""
    rows: list[Row] = []
    patterns: list[tuple[int, ...]] = []
    for votes in (votes for pattern in ((3, 2, 1, 1), (4, 2, 1, 0), (5, 1, 1, 0)) for votes in permutations(pattern)):
        given = [label for label, count in enumerate(votes) for _ in range(count)]
        rows += [(len(patterns), annotator, label) for annotator, label in enumerate(given)]
        patterns.append(tuple(sorted(votes)))
    return table(rows, label_set=range(4)), patterns
