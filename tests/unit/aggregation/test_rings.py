"""People who copy one another are found; people who agree because they know are not."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ls_crowd_plugin.aggregation import aggregate
from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.encoding import encode_answers
from ls_crowd_plugin.aggregation.rings import Voices, _cliques, find_rings
from ls_crowd_plugin.demo.crowds import large_crowd
from tests.support.crowds import Row, aggregate_rows, encode_rows, small_crowd
from tests.support.ring_crowds import LABELS, RING, answer, independent_crowd, ring_rows, truth_share


def _votes(seed: int, tasks: int, votes: int) -> list[tuple[int, int, str]]:
    """Task, number of the vote, and label, which is right with a probability of 0.8."""
    generator = np.random.default_rng(seed)
    return [(task, vote, answer(generator, task, 0.8)) for task in range(tasks) for vote in range(votes)]


def names_of_rings(answers: Answers) -> list[tuple[str, ...]]:
    return [ring.annotators for ring in Voices.search(answers).rings]


@pytest.mark.parametrize("seed", range(3))
def test_a_ring_is_found_from_few_shared_tasks(seed: int) -> None:
    rows = [*independent_crowd(seed, 200), *ring_rows(seed, 60)]
    (ring,) = Voices.search(encode_rows(rows)).rings
    assert ring.annotators == RING
    given = [{label for at, member, label in rows if at == task and member in RING} for task in range(60)]
    others = [{label for at, member, label in rows if at == task and member not in RING} for task in range(60)]
    same = [task for task in range(60) if len(given[task]) == 1]
    alone = [task for task in same if not given[task] & others[task]]
    assert (ring.shared, ring.same, ring.alone) == (60, len(same), len(alone))
    assert ring.tasks == tuple(alone[: len(ring.tasks)])
    assert ring.tasks


def test_a_ring_that_outnumbers_the_others_on_its_tasks_is_found() -> None:
    assert names_of_rings(encode_rows([*independent_crowd(0, 200, per_task=3), *ring_rows(0, 150)])) == [RING]


@pytest.mark.parametrize("accuracy", [0.5, 0.8, 0.97])
def test_honest_people_are_no_ring(accuracy: float) -> None:
    """Two hundred tasks with ten answers of twelve people: 66 pairs that share about 140 tasks each."""
    assert names_of_rings(encode_rows(independent_crowd(1, 200, people=12, per_task=10, accuracy=accuracy))) == []


def test_experts_among_people_who_guess_are_no_ring() -> None:
    generator = np.random.default_rng(2)
    rows = independent_crowd(2, 200, people=15, per_task=6, accuracy=0.35)
    rows += [
        (task, f"expert {expert}", answer(generator, task, 0.97))
        for task in range(200)
        for expert in range(5)
        if generator.random() < 0.8
    ]
    assert names_of_rings(encode_rows(rows)) == []


@pytest.mark.parametrize("seed", range(3))
def test_experts_among_people_who_guess_are_no_ring_beside_one(seed: int) -> None:
    """A ring in such a crowd is not found: if it were believed, the experts would look like one."""
    generator = np.random.default_rng(seed)
    rows = [*independent_crowd(seed, 300, people=45, per_task=6, accuracy=0.33), *ring_rows(seed, 150, accuracy=0.4)]
    rows += [
        (task, f"expert {expert}", answer(generator, task, 0.9))
        for task in range(300)
        for expert in range(4)
        if generator.random() < 0.5
    ]
    assert not {name for ring in names_of_rings(encode_rows(rows)) for name in ring}.difference(RING)


@pytest.mark.parametrize("seed", range(3))
def test_copies_of_a_person_in_a_small_crowd_that_agrees_are_a_ring(seed: int) -> None:
    """Nine people find the same tasks hard and take the same label there, so that all pairs agree suspiciously."""
    generator = np.random.default_rng(seed)
    hard = generator.random(160) < 0.35
    rows: list[Row] = []
    copied: list[str] = []
    for person in range(9):
        for task in range(160):
            misled = hard[task] and generator.random() < 0.4
            label = LABELS[(task + 1) % 4] if misled else answer(generator, task, 0.75 if hard[task] else 0.95)
            rows.append((task, f"person {person:02}", label))
            copied += [label] if person == 0 else []
    for account in range(4):
        for task, label in enumerate(copied):
            rows.append(
                (task, f"ring {account}", label if generator.random() < 0.95 else answer(generator, task, 0.25))
            )
    assert names_of_rings(encode_rows(rows)) == [("person 00", *RING[:4])]


def test_many_people_with_few_answers_can_judge_a_ring() -> None:
    """Nobody but the ring has more than nine answers that can be compared."""
    crowd = [(task, f"person {(task * 4 + voter) % 160:03}", label) for task, voter, label in _votes(17, 200, 4)]
    assert names_of_rings(encode_rows([*crowd, *ring_rows(17, 100)])) == [RING]


def test_people_who_find_the_same_tasks_hard_are_no_ring() -> None:
    """On a third of the tasks everybody is wrong half of the time, and always with the same wrong label."""
    generator = np.random.default_rng(3)
    rows: list[Row] = []
    for task in range(240):
        for person in generator.permutation(16)[:8].tolist():
            misled = task % 3 == 0 and generator.random() < 0.5
            label = LABELS[(task + 1) % len(LABELS)] if misled else answer(generator, task, 0.95)
            rows.append((task, f"person {person:02}", label))
    assert names_of_rings(encode_rows(rows)) == []


def test_a_small_crowd_has_no_ring() -> None:
    copied = [(task, f"copy {number}", "a") for task in range(12) for number in range(4)]
    assert names_of_rings(encode_rows([*small_crowd(), *copied])) == []


def test_two_people_alone_are_no_ring() -> None:
    """Without others, two who always agree may as well always be right."""
    rows = [(task, person, LABELS[task % 4]) for task in range(100) for person in ("one", "two")]
    assert names_of_rings(encode_rows(rows)) == []


def test_one_question_about_a_task_is_no_more_evidence_when_it_is_asked_often() -> None:
    """Eight tasks with eight questions each are eight tasks, too few to say anything about those who copy."""
    crowd, ring = independent_crowd(4, 400), ring_rows(4, 64)
    rows = [*crowd, *ring]
    answers = encode_answers(
        [task // 8 for task, *_ in rows],
        [annotator for _, annotator, _ in rows],
        [label for *_, label in rows],
        label_set=list(LABELS),
        questions=[f"question {task % 8}" for task, *_ in rows],
    )
    assert names_of_rings(answers) == []


def test_the_order_of_rows_does_not_matter() -> None:
    rows = [*independent_crowd(8, 200), *ring_rows(8, 80)]
    shuffled = [rows[position] for position in np.random.default_rng(8).permutation(len(rows)).tolist()]
    one, other = (aggregate_rows(some, method="gem", form="skill-0", rings="count") for some in (rows, shuffled))
    assert one.rings
    assert one.rings == other.rings
    assert one.confidence == other.confidence


@pytest.mark.parametrize(("method", "form"), [("plu", None), ("neg", "printed"), ("gem", "skill-0")])
def test_a_method_that_is_named_counts_every_answer(method: str, form: str | None) -> None:
    rows = [*independent_crowd(11, 100), *ring_rows(11, 60)]
    assert aggregate_rows(rows, method=method, form=form).rings == ()


def test_new_names_change_nothing_but_the_names() -> None:
    rows = [*independent_crowd(13, 200), *ring_rows(13, 80)]
    names = sorted({annotator for _, annotator, _ in rows})
    new = dict(zip(names, np.random.default_rng(13).permutation(len(names)).tolist(), strict=True))
    one = aggregate_rows(rows, method="gem", form="skill-0", rings="count")
    other = aggregate_rows(
        [(task, new[who], label) for task, who, label in rows], method="gem", form="skill-0", rings="count"
    )
    assert [sorted(new[who] for who in ring.annotators) for ring in one.rings] == [
        sorted(ring.annotators) for ring in other.rings
    ]
    assert one.rings
    assert one.labels == other.labels
    assert list(one.confidence.values()) == pytest.approx(list(other.confidence.values()), abs=1e-6)


def test_the_evidence_is_the_same_whatever_is_gold() -> None:
    rows = [*independent_crowd(14, 200), *ring_rows(14, 80)]
    gold = {task: LABELS[task % 4] for task in range(0, 200, 5)}
    blind, seeing = (
        aggregate_rows(rows, gold=some, method="gem", form="skill-0", rings="count") for some in ({}, gold)
    )
    assert blind.rings == seeing.rings
    assert blind.rings


def test_a_large_group_with_a_rule_of_its_own_is_a_second_explanation() -> None:
    """Nobody can tell which of the two groups is right, so nobody is taken for a ring, and a warning says so."""
    generator = np.random.default_rng(15)
    rows = independent_crowd(15, 200, people=20, per_task=4, accuracy=0.9)
    for task in range(200):
        for member in RING:
            follows = generator.random() < 0.95
            rows.append((task, member, LABELS[(task + 1) % 4] if follows else answer(generator, task, 0.25)))
    consensus = aggregate_rows(rows, method="gem", form="skill-0", rings="count")
    assert (consensus.rings, sum("two explanations" in warning for warning in consensus.warnings)) == ((), 1)
    for gold_tasks, is_told in ((range(0), False), (range(1), False), (range(0, 200, 5), True)):
        gold = {task: LABELS[task % 4] for task in gold_tasks}
        told = aggregate_rows(rows, gold=gold, method="gem", form="skill-0", rings="count")
        assert any("two explanations" in warning for warning in told.warnings) != is_told
        assert (truth_share(told) > 0.8) == is_told


def test_a_crowd_that_is_too_large_for_the_search_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*independent_crowd(0, 200), *ring_rows(0, 60)]
    monkeypatch.setattr("ls_crowd_plugin.aggregation.rings.MAX_TABLE", 100)
    consensus = aggregate_rows(rows, method="plu", rings="show")
    assert [consensus.rings, sum("Nobody looked" in warning for warning in consensus.warnings)] == [(), 1]


@pytest.mark.parametrize("size", [30, 100])
def test_cliques_are_all_who_agree_with_each_other_about_as_much(size: int) -> None:
    """Two groups whose members hardly agree with those of the other; each pair is compared only once."""
    kappa = {
        (a, b): (0.9 if (a < size) == (b < size) else 0.6) - 1e-6 * (a + b)
        for a in range(2 * size)
        for b in range(a + 1, 2 * size)
    }
    ordered = dict(sorted(kappa.items(), key=lambda pair: -pair[1]))
    started = time.process_time()
    assert _cliques(ordered) == (tuple(range(size)), tuple(range(size, 2 * size)))
    assert time.process_time() - started < 1


def test_people_of_whom_a_pair_is_not_suspect_are_no_clique() -> None:
    assert _cliques({(0, 1): 0.9, (1, 2): 0.89}) == ((0, 1),)
    assert _cliques({(0, 1): 0.9, (1, 2): 0.89, (0, 2): 0.88}) == ((0, 1, 2),)


@pytest.mark.slow
def test_ten_thousand_people_are_searched_in_seconds() -> None:
    """500,000 answers, among them those of a ring; the search takes no longer than a few seconds of one core."""
    crowd = large_crowd(0, answers=500_000, annotators=10_000)
    tasks = crowd.tasks[: len(crowd.tasks)]
    generator = np.random.default_rng(0)
    chosen = np.unique(tasks)[:200]
    given = generator.integers(len(crowd.label_set), size=len(chosen))
    answers = encode_answers(
        np.concatenate([tasks, np.tile(chosen, 5)]),
        np.concatenate([crowd.annotators, np.repeat(np.arange(5) + 1_000_000, len(chosen))]),
        np.concatenate([crowd.labels, np.tile(np.asarray(crowd.label_set)[given], 5)]),
        label_set=crowd.label_set,
    )
    started = time.process_time()
    search = find_rings(answers)
    assert time.process_time() - started < 15
    assert [len(members) for members in search.groups] == [5]


@pytest.mark.slow
def test_the_search_takes_no_longer_than_the_fit() -> None:
    crowd = large_crowd(0, answers=100_000)
    columns = crowd.tasks, crowd.annotators, crowd.labels
    answers = encode_answers(*columns)
    started = time.process_time()
    find_rings(answers)
    searched = time.process_time() - started
    started = time.process_time()
    aggregate(*columns, rings="off")
    assert searched <= time.process_time() - started


@pytest.mark.parametrize(
    ("good", "accuracy", "guessing", "labels"), [(10, 0.95, 1, 3), (8, 0.95, 3, 3), (20, 0.97, 10, 2)]
)
def test_good_people_beside_guessing_ones_are_no_ring(good: int, accuracy: float, guessing: int, labels: int) -> None:
    """People who are equally good agree about equally much, as copies do, and those who guess explain nothing."""
    for seed in range(3):
        crowd = everybody_answers(seed, [accuracy] * good + [0.0] * guessing, labels)
        search = find_rings(encode_rows(crowd))
        assert (search.groups, search.disputed) == ((), {})


def test_a_group_that_gold_proves_right_is_no_ring() -> None:
    """Eight people always take label 3 for 2; three experts tell them apart, and so agree against everybody else."""
    generator = np.random.default_rng(0)
    truth = generator.integers(4, size=300)
    rows: list[Row] = []
    for task, right in enumerate(truth.tolist()):
        for person in range(11):
            knows = generator.random() < 0.97
            seen = 2 if person < 8 and right == 3 else right
            rows.append((task, f"person {person:02}", seen if knows else int(generator.integers(4))))
    gold = {task: int(truth[task]) for task in range(0, 300, 10)}
    assert Voices.search(encode_rows(rows)).groups == ((8, 9, 10),)
    assert Voices.search(encode_rows(rows, gold=gold)).groups == ()


@pytest.mark.slow
def test_a_ring_is_found_in_a_long_project() -> None:
    """Each test looks at a part of the shared tasks only, so that all members are tested."""
    rows = everybody_answers(0, [0.8] * 5, 4, tasks=20_000)
    copied = everybody_answers(1, [0.5], 4, tasks=20_000)
    rows += [(task, member, label) for member in RING for task, _, label in copied]
    (ring,) = Voices.search(encode_rows(rows)).rings
    assert ring.annotators == RING


def everybody_answers(seed: int, accuracies: list[float], labels: int, tasks: int = 150) -> list[Row]:
    """People who answer every task, right with their probability and otherwise at random; the truth of a task is its
    number modulo the number of labels."""
    generator = np.random.default_rng(seed)
    rows: list[Row] = []
    for person, accuracy in enumerate(accuracies):
        guess = generator.integers(labels, size=tasks)
        given = np.where(generator.random(tasks) < accuracy, np.arange(tasks) % labels, guess)
        rows += [(task, f"person {person:02}", LABELS[label]) for task, label in enumerate(given.tolist())]
    return rows
