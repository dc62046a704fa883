"""Which labels are taken for a scale though nobody said so, and what follows from it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.encoding import encode_answers
from ls_crowd_plugin.aggregation.found_scales import is_scale, with_found_scales
from ls_crowd_plugin.aggregation.types import Lessons
from tests.support.crowds import Row, aggregate_rows, encode_rows
from tests.support.ordered_crowds import rated_crowd

CODES = (2, 4, 0, 3, 1)  # neighbours on the scale are not neighbours in these numbers


def renamed(rows: Sequence[Row], names: Sequence[Any]) -> list[Row]:
    return [(task, person, names[label], *rest) for task, person, label, *rest in rows]


def found(answers: Answers) -> dict[Any, int]:
    """Label → the place that was found."""
    return dict(zip(answers.choices, with_found_scales(answers).place.tolist(), strict=True))


@pytest.mark.parametrize("labels", [5, 6, 10])
@pytest.mark.parametrize("seed", range(5))
def test_ratings_are_a_scale_and_codes_are_not(labels: int, seed: int) -> None:
    rows = rated_crowd(seed, labels=labels).rows
    assert found(encode_rows(rows)) == {label: label for label in range(labels)}
    codes = (
        CODES
        if labels == len(CODES)
        else [(3 * label + 1) % labels if labels == 10 else label ^ 2 for label in range(labels)]
    )
    assert set(found(encode_rows(renamed(rows, codes))).values()) == {-1}


def test_classes_are_seldom_taken_for_a_scale() -> None:
    """Everybody confuses classes at random, each pair as often as chance has it."""
    generator = np.random.default_rng(0)
    count = 0
    for _ in range(200):
        confusion = generator.dirichlet(np.full(5, 0.5), 5) + 1.5 * np.eye(5)
        truth = generator.integers(5, size=100)
        votes = np.stack([generator.multinomial(5, confusion[z] / confusion[z].sum()) for z in truth])
        count += is_scale(sparse.csr_array(votes.astype(float)))
    assert count <= 10  # 200 / 60 are to be expected


@pytest.mark.parametrize("popularity", [(0.35, 0.15, 0.05, 0.15, 0.3), (0.45, 0.08, 0.08, 0.08, 0.08, 0.23)])
def test_classes_that_are_frequent_at_both_ends_are_seldom_taken_for_a_scale(popularity: tuple[float, ...]) -> None:
    """As in lists of codes that begin with "none" and end with "other"; whoever does not know the class guesses."""
    generator = np.random.default_rng(0)
    share = np.array(popularity) / sum(popularity)
    count = 0
    for _ in range(40):
        truth = generator.choice(len(share), 400, p=share)
        guessed = 0.25 / len(share)
        votes = [generator.multinomial(4, guessed + 0.75 * (np.arange(len(share)) == z)) for z in truth]
        count += is_scale(sparse.csr_array(np.array(votes, float)))
    assert count <= 4  # without regard to popularity, a fifth


@pytest.mark.parametrize("groups", [(2, 2, 2), (4, 4), (2, 2, 2, 2, 2), (3, 3, 3)])
def test_codes_of_related_classes_side_by_side_are_seldom_taken_for_a_scale(groups: tuple[int, ...]) -> None:
    """As in 11, 12, 21, 22: people confuse the classes of a group, and hardly ever those of different ones."""
    generator = np.random.default_rng(0)
    group = np.repeat(np.arange(len(groups)), groups)
    related = (group[:, None] == group) / np.array(groups)[group]
    confusion = 0.73 * np.eye(len(group)) + 0.25 * related + 0.02 / len(group)
    count = 0
    for _ in range(40):
        votes = [generator.multinomial(5, confusion[z]) for z in generator.integers(len(group), size=300)]
        count += is_scale(sparse.csr_array(np.array(votes, float)))
    assert count <= 2  # without a look at neighbours, up to all


def seconds_beside(answers: int) -> float:
    """The time to look at 500 questions with five numbers, beside a question with other labels and so many answers."""
    generator = np.random.default_rng(0)
    task = np.append(np.tile(np.arange(9) // 3, 500), np.arange(answers) // 3)
    person = np.append(np.tile(np.arange(9) % 3, 500), np.arange(answers) % 3)
    label = np.append(generator.integers(5, size=9 * 500), generator.integers(2, size=answers))
    question = np.append(np.repeat(np.arange(500), 9), np.full(answers, 500))
    table = encode_answers(task, person, label, questions=question)
    times = []
    for _ in range(3):
        started = time.process_time()
        with_found_scales(table)
        times.append(time.process_time() - started)
    return min(times)


@pytest.mark.slow
def test_a_question_takes_no_longer_beside_another_with_many_answers() -> None:
    assert seconds_beside(1_500_000) < 3 * seconds_beside(3)  # a look at the whole table for each: eight times as long


def test_the_order_is_that_of_the_numbers_whatever_their_form() -> None:
    rows = renamed(rated_crowd(0).rows, ["-1", "2.5", "9", "10", "100"])
    assert found(encode_rows(rows)) == {"-1": 0, "2.5": 1, "9": 2, "10": 3, "100": 4}


@pytest.mark.parametrize(
    "names", ["abcde", ["1", "1.0", "2", "3", "4"], ["1", "2", "3", "4", "nan"], ["1_1", "1_2", "2_1", "2_2", "3_1"]]
)
def test_other_labels_are_no_scale(names: Sequence[str]) -> None:
    assert set(found(encode_rows(renamed(rated_crowd(0).rows, names))).values()) == {-1}


def test_a_label_that_nobody_gave_has_its_place_too() -> None:
    answers = encode_rows(rated_crowd(0).rows, label_set=[0, 1, 1.5, 2, 3, 4])
    assert found(answers) == {0: 0, 1: 1, 1.5: 2, 2: 3, 3: 4, 4: 5}


def test_fewer_than_five_labels_are_too_few_to_tell() -> None:
    assert set(found(encode_rows(rated_crowd(0, labels=4).rows)).values()) == {-1}
    answers = encode_rows(rated_crowd(0, labels=4).rows, label_set=range(6))
    assert set(found(answers).values()) == {-1}


def test_without_disagreement_there_is_nothing_to_see() -> None:
    alone = [(f"t{number}", "a", number % 5) for number in range(20)]
    agreed = [*alone, *((task, "b", label) for task, _, label in alone)]
    for rows in (alone, agreed):
        assert set(found(encode_rows(rows)).values()) == {-1}


def test_each_question_is_looked_at_by_itself() -> None:
    ratings = rated_crowd(0).rows
    codes = renamed(rated_crowd(1).rows, CODES)
    rows = [(task, person, label, "stars") for task, person, label in ratings]
    rows += [(task, person, label, "class") for task, person, label in codes]
    answers = with_found_scales(encode_rows(rows))
    assert dict(zip(answers.questions, answers.is_ordered.tolist(), strict=True)) == {"class": False, "stars": True}


def test_a_scale_is_used_if_nothing_is_said() -> None:
    facts = aggregate_rows(rated_crowd(0).rows, ordered=None).facts
    assert "ordered-1 (50%), leanings (25%) and agreement (25%)" in facts["why"]
    assert facts["why"].startswith("The labels behave like a scale.")


@pytest.mark.parametrize("ordered", [False, [], (), frozenset()])
def test_a_scale_is_not_looked_for_if_the_caller_says_that_there_is_none(ordered: Any) -> None:
    assert "ordered" not in aggregate_rows(rated_crowd(0).rows, ordered=ordered).facts["why"]


def test_other_questions_are_weighed_as_without_it() -> None:
    """Beside a scale, a question without order gets the three members of its average in equal parts."""
    rows: list[Row] = [(task, person, label, "stars") for task, person, label in rated_crowd(0).rows]
    rows += [(task, person, "xyz"[label % 3], "class") for task, person, label in rated_crowd(1, labels=3).rows]
    why = aggregate_rows(rows, ordered=["stars"]).facts["why"]
    assert "ordered-1" in why
    assert "leanings (33%) and agreement (33%)" in why


def test_votes_know_the_scale_that_was_found() -> None:
    rows = rated_crowd(0).rows
    consensus = aggregate_rows(rows)
    tasks, people, labels = (list(column) for column in zip(*[row for row in rows if row[0] == "t0"], strict=True))
    vote = consensus.vote(tasks, people, labels)
    assert vote.confidence["t0"] == pytest.approx(consensus.confidence["t0"])


def test_a_scale_that_was_found_is_treated_as_one_that_was_said() -> None:
    rows = rated_crowd(0).rows
    one, other = (aggregate_rows(rows, ordered=ordered) for ordered in (None, True))
    assert one.labels == other.labels
    assert one.confidence == other.confidence


def test_a_found_scale_makes_labels_better() -> None:
    gain = []
    for seed in range(8):
        crowd = rated_crowd(seed)
        with_it, without = (aggregate_rows(crowd.rows, ordered=ordered).labels for ordered in (None, False))
        gain.append(crowd.accuracy(with_it) - crowd.accuracy(without))
    assert np.mean(gain) > 0.01


def test_lessons_tell_whether_there_is_a_scale() -> None:
    rows = rated_crowd(0).rows
    codes = renamed(rows, CODES)
    for answers, learned, is_found in ((codes, rows, True), (rows, codes, False)):
        tasks, people, labels = (list(column) for column in zip(*learned, strict=True))
        why = aggregate_rows(answers, lessons=Lessons(tasks, people, labels)).facts["why"]
        assert ("ordered-1" in why) == is_found
