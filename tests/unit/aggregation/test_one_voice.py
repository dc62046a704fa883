"""A ring that is counted as one voice is one annotator of the fit, and its members keep their own names and counts."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.aggregation import Lessons
from ls_crowd_plugin.aggregation.rings import Voices
from tests.support.crowds import aggregate_rows, encode_rows
from tests.support.ring_crowds import LABELS, RING, independent_crowd, ring_rows, truth_share

ROUNDING = 1e-9  # sums of probabilities are compared with the same sums in another order


@pytest.mark.parametrize(("method", "form"), [("auto", None), ("gem", "skill-0"), ("gem", "habits-2"), ("neg", None)])
def test_labels_are_those_of_the_crowd_in_which_the_ring_is_one_annotator(method: str, form: str | None) -> None:
    crowd, ring = independent_crowd(5, 200), ring_rows(5, 150)
    speaker = [row for row in ring if row[1] == RING[0]]
    with_ring = aggregate_rows([*crowd, *ring], method=method, form=form, rings="count")
    merged = aggregate_rows([*crowd, *speaker], method=method, form=form)
    deceived = aggregate_rows([*crowd, *ring], method=method, form=form, rings="off")
    # The most frequent answer of five is the leader's on nearly all tasks, so at most two of 200 labels may differ.
    assert truth_share(with_ring) >= truth_share(merged) - 0.01
    assert truth_share(with_ring) >= truth_share(deceived)
    assert [set(found.annotators) for found in with_ring.rings] == [set(RING)]


@pytest.mark.parametrize("form", ["skill-0", "habits-2", None])
def test_silent_members_change_nothing(form: str | None) -> None:
    crowd, ring = independent_crowd(16, 200), ring_rows(16, 100, fidelity=1.0)
    with_ring = aggregate_rows([*crowd, *ring], method="gem", form=form, rings="count")
    merged = aggregate_rows([*crowd, *(row for row in ring if row[1] == RING[0])], method="gem", form=form)
    assert with_ring.rings
    assert with_ring.confidence == merged.confidence
    assert with_ring.facts["history"] == merged.facts["history"]


def test_members_have_the_numbers_of_the_ring_and_their_own_counts() -> None:
    rows = [*independent_crowd(6, 200), *ring_rows(6, 100)]
    consensus = aggregate_rows(
        [row for row in rows if row[1] != RING[4] or row[0] < 70], method="gem", form="skill-0", rings="count"
    )
    members = [score for score in consensus.scores if score.annotator in RING]
    assert [score.answers for score in members] == [100, 100, 100, 100, 70]
    assert len({(score.skill, score.weight, score.accuracy, score.verdict) for score in members}) == 1
    assert consensus.tasks[0]["answers"] == 10
    assert [ring["annotators"] for ring in consensus.facts["rings"]] == [RING]


def test_copies_of_a_good_annotator_cost_no_more_than_the_mistakes_that_are_copied() -> None:
    """Nobody can tell five who copy somebody good from five who are good, before there are enough mistakes."""
    crowd, ring = independent_crowd(7, 300), ring_rows(7, 200, accuracy=0.95)
    copied = {task: label for task, member, label in ring if member == RING[0]}
    mistakes = sum(label != LABELS[task % 4] for task, label in copied.items())
    clean = truth_share(aggregate_rows(crowd, method="gem", form="skill-0", rings="count"))
    with_copies = truth_share(aggregate_rows([*crowd, *ring], method="gem", form="skill-0", rings="count"))
    assert with_copies >= clean - mistakes / 300


def test_parts_add_up_with_a_ring_and_gold() -> None:
    rows = [*independent_crowd(9, 200), *ring_rows(9, 100)]
    gold = {task: LABELS[task % 4] for task in range(0, 200, 10)}
    consensus = aggregate_rows(rows, gold=gold, rings="count")
    assert consensus.rings
    for view in (consensus, consensus.gold_blind):
        for task in range(200):
            parts, posterior = view.parts(task, lift_gold=True), view.posterior(task, lift_gold=True)
            sums = {label: sum(points[label] for _, points in parts) for label in posterior}
            assert sums == pytest.approx(posterior, abs=ROUNDING)
    assert len({row["annotator"]: row for row in consensus.annotators}) == 25


def test_rings_are_found_in_the_lessons_and_hold_for_all_answers() -> None:
    crowd, ring = independent_crowd(10, 200), ring_rows(10, 100)
    learned = [row for row in [*crowd, *ring] if row[0] % 2 == 0 or row[0] >= 100]
    tasks, annotators, labels = zip(*learned, strict=True)
    lessons = Lessons(tasks, annotators, labels)
    consensus = aggregate_rows([*crowd, *ring], method="gem", form="skill-0", lessons=lessons, rings="count")
    assert [found.annotators for found in consensus.rings] == [RING]
    alone = aggregate_rows([*crowd, *ring], method="gem", form="skill-0", lessons=lessons, rings="off")
    assert truth_share(consensus) >= truth_share(alone)


def test_the_ring_answers_what_most_members_answer() -> None:
    rows = [*independent_crowd(12, 200), *ring_rows(12, 100)]
    answers = encode_rows(rows)
    table = Voices.search(answers).table
    given = dict(
        zip(
            zip(table.answer_item.tolist(), table.answer_annotator.tolist(), strict=True),
            table.answer_choice.tolist(),
            strict=True,
        )
    )
    speaker = list(table.annotators).index(RING[0])
    for task in range(100):
        labels = [label for at, member, label in rows if at == task and member in RING]
        most = {label for label in labels if labels.count(label) == max(map(labels.count, labels))}
        assert LABELS[given[answers.items.index(task), speaker]] in most
    assert set(answers.annotators) - set(table.annotators) == set(RING[1:])
