"""People who copy one another are found and counted as one voice; people who agree because they know are not."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ls_crowd_plugin.aggregation import Consensus, Lessons, aggregate
from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.encoding import encode_answers
from ls_crowd_plugin.aggregation.rings import Voices, find_rings
from ls_crowd_plugin.demo.crowds import large_crowd
from tests.support.crowds import Row, aggregate_rows, encode_rows, small_crowd

LABELS = "abcd"
ROUNDING = 1e-9  # sums of probabilities are compared with the same sums in another order
RING = ("ring 0", "ring 1", "ring 2", "ring 3", "ring 4")


def independent_crowd(seed: int, tasks: int, people: int = 20, per_task: int = 5, accuracy: float = 0.8) -> list[Row]:
    """Honest people who are right with the same probability and otherwise choose any wrong label; the truth of a task
    is the label at its number modulo four."""
    generator = np.random.default_rng(seed)
    return [
        (task, f"person {person:02}", answer(generator, task, accuracy))
        for task in range(tasks)
        for person in generator.permutation(people)[:per_task].tolist()
    ]


def answer(generator: np.random.Generator, task: int, accuracy: float) -> str:
    shift = 0 if generator.random() < accuracy else int(generator.integers(1, len(LABELS)))
    return LABELS[(task + shift) % len(LABELS)]


def _votes(seed: int, tasks: int, votes: int) -> list[tuple[int, int, str]]:
    """Task, number of the vote, and label, which is right with a probability of 0.8."""
    generator = np.random.default_rng(seed)
    return [(task, vote, answer(generator, task, 0.8)) for task in range(tasks) for vote in range(votes)]


def ring_rows(seed: int, tasks: int, accuracy: float = 0.3, fidelity: float = 0.95) -> list[Row]:
    """The answers of RING to the first tasks: those of its first account, which the others copy with few exceptions."""
    generator = np.random.default_rng(seed)
    rows: list[Row] = []
    for task in range(tasks):
        leader = answer(generator, task, accuracy)
        for member in RING:
            copies = member == RING[0] or generator.random() < fidelity
            rows.append((task, member, leader if copies else answer(generator, task, 0.25)))
    return rows


def names_of_rings(answers: Answers) -> list[tuple[str, ...]]:
    return [ring.annotators for ring in Voices.search(answers).rings]


def truth_share(consensus: Consensus) -> float:
    return float(np.mean([label == LABELS[task % len(LABELS)] for task, label in consensus.labels.items()]))


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


def test_the_order_of_rows_does_not_matter() -> None:
    rows = [*independent_crowd(8, 200), *ring_rows(8, 80)]
    shuffled = [rows[position] for position in np.random.default_rng(8).permutation(len(rows)).tolist()]
    one, other = (aggregate_rows(some, method="gem", form="skill-0", rings="count") for some in (rows, shuffled))
    assert one.rings
    assert one.rings == other.rings
    assert one.confidence == other.confidence


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


@pytest.mark.parametrize(("method", "form"), [("plu", None), ("neg", "printed"), ("gem", "skill-0")])
def test_a_method_that_is_named_counts_every_answer(method: str, form: str | None) -> None:
    rows = [*independent_crowd(11, 100), *ring_rows(11, 60)]
    assert aggregate_rows(rows, method=method, form=form).rings == ()


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
    told = aggregate_rows(rows, gold={0: "a"}, method="gem", form="skill-0", rings="count")
    assert not any("two explanations" in warning for warning in told.warnings)


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
        assert (search.groups, search.has_second) == ((), False)


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
