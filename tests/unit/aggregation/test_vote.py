"""Votes on some tasks by what a consensus has learned: the same as a fit that learns from the rest, in less time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ls_crowd_plugin.aggregation import FORMS, METHODS, Consensus, aggregate
from ls_crowd_plugin.aggregation.rings import Voices
from ls_crowd_plugin.aggregation.selection import fit_method
from ls_crowd_plugin.demo.crowds import large_crowd
from ls_crowd_plugin.errors import UnusableInput
from tests.support.crowds import Row, aggregate_rows, encode_rows, ignore_progress, small_crowd
from tests.unit.aggregation.test_lessons import lessons_of

SAME = 1e-9  # posteriors are computed from the same numbers, summed over tables of different size
GOLD = {0: "yes", 1: "no"}
MORE: list[Row] = [(99, "person 0", "yes"), (99, "person 1", "no"), (0, "person 2", "yes"), (0, "person 3", "no")]


def vote(consensus: Consensus, rows: list[Row], gold: dict[Any, Any] | None = None) -> Consensus:
    tasks, annotators, labels, *questions = (list(column) for column in zip(*rows, strict=True))
    return consensus.vote(tasks, annotators, labels, gold, questions[0] if questions else None)


def assert_same_about(tasks: set[Any], one: Consensus, other: Consensus) -> None:
    for task in tasks:
        for lift_gold in (False, True):
            assert one.posterior(task, lift_gold) == pytest.approx(other.posterior(task, lift_gold), abs=SAME)
            parts, same_parts = one.parts(task, lift_gold), other.parts(task, lift_gold)
            assert [name for name, _ in parts] == [name for name, _ in same_parts]
            for (_, points), (_, same_points) in zip(parts, same_parts, strict=True):
                assert points == pytest.approx(same_points, abs=SAME)
        assert one.labels[task] == other.labels[task]
        assert one.is_undecided(task) == other.is_undecided(task)
    for row, same_row in zip(one.scores, other.scores, strict=True):
        assert row.verdict == same_row.verdict
        assert (row.skill, row.weight) == pytest.approx((same_row.skill, same_row.weight), abs=SAME)


@pytest.mark.slow
@pytest.mark.parametrize("with_gold", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_votes_are_those_of_a_fit_to_the_other_answers(method: str, with_gold: bool) -> None:
    gold = GOLD if with_gold else {}
    rows = [row for row in small_crowd() if row[0] != 0 or row[1] not in ("person 2", "person 3")]
    # The answers that vote are the only ones to their tasks: a vote knows nothing of what else was said there.
    learned = [row for row in rows if row[0] != 0]
    voted = vote(aggregate_rows(learned, gold=gold, method=method), MORE, gold)
    fitted = aggregate_rows([*learned, *MORE], gold=gold, method=method, lessons=lessons_of(learned, gold))
    assert_same_about({0, 99}, voted, fitted)
    assert_same_about({0, 99}, voted.gold_blind, fitted.gold_blind)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_votes_are_the_same_in_every_form_and_with_questions(form: str) -> None:
    rows = [(*row, question) for question in ("size", "colour") for row in small_crowd() if row[0] != 0]
    more = [(*row, "size") for row in MORE]
    options: dict[str, Any] = {"method": "gem", "form": form}
    voted = vote(aggregate_rows(rows, **options), more)
    fitted = aggregate_rows([*rows, *more], lessons=lessons_of(rows), **options)
    assert_same_about({(0, "size"), (99, "size")}, voted, fitted)


def test_a_ring_votes_as_one() -> None:
    rows = [(task, f"person {number}", "yes" if task % 2 else "no") for task in range(8) for number in range(5)]
    consensus = aggregate_rows(rows, method="plu")
    ring = Voices(encode_rows(rows), groups=((0, 1, 2),))
    merged = Consensus(fit_method(ring.table, "plu", None, 0, ignore_progress), 0, 0.0, voices=ring)
    votes = [(99, f"person {number}", "no" if number < 3 else "yes") for number in range(5)]
    assert vote(merged, votes).labels[99] == "yes"
    assert vote(consensus, votes).labels[99] == "no"


@pytest.mark.parametrize(
    ("row", "message"),
    [((99, "somebody", "yes"), "no annotator 'somebody'"), ((99, "person 1", "perhaps"), "not in the label set")],
)
def test_what_the_consensus_does_not_know_is_refused(row: Row, message: str) -> None:
    with pytest.raises(UnusableInput, match=message):
        vote(aggregate_rows(small_crowd(), method="plu"), [row])


def test_labels_and_people_in_another_order_are_refused() -> None:
    """Text and numbers together are ordered by how they are written, so 1 and 1.0 have different places."""
    rows = [(task, person, 1 if (task + person) % 2 else "skip") for task in range(4) for person in (1, 2)]
    consensus = aggregate_rows([*rows, (5, 1, 0)], method="plu")
    with pytest.raises(UnusableInput, match="no order of their own"):
        vote(consensus, [(0, 1, 1.0)])


def test_an_unknown_question_is_refused() -> None:
    rows = [(*row, "size") for row in small_crowd()]
    with pytest.raises(UnusableInput, match="no question 'colour'"):
        vote(aggregate_rows(rows, method="plu"), [(99, "person 1", "yes", "colour")])


@pytest.mark.slow
@pytest.mark.parametrize("with_gold", [False, True])
def test_a_vote_on_one_task_takes_at_most_a_tenth_of_a_fit(with_gold: bool) -> None:
    crowd = large_crowd(0, 20_000)
    gold = {task: label for task, label in crowd.truth.items() if task < 100} if with_gold else {}
    columns = (crowd.tasks, crowd.annotators, crowd.labels)
    started = time.process_time()
    consensus = aggregate(*columns, gold)
    fitted = time.process_time() - started
    last = crowd.tasks == max(crowd.truth)
    tasks, annotators, labels = (column[last] for column in columns)
    times = []
    for _ in range(3):
        started = time.process_time()
        confidence = consensus.vote(tasks, annotators, labels, gold).confidence
        times.append(time.process_time() - started)
    assert min(times) < fitted / 10, (times, fitted)
    assert 0.2 < confidence[max(crowd.truth)] < 1
