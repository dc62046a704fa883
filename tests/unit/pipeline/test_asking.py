"""Which tasks are asked for one more answer, by what is known about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from ls_crowd_plugin.pipeline.asking import (
    KEPT_OPEN,
    OPEN_PER_PERSON,
    PROBES_PER_PERSON,
    SPARE,
    Asked,
    People,
    SharedFacts,
    Steering,
)
from ls_crowd_plugin.policy import MIN_CHECKED, Policy, Reason

POLICY = Policy(min_answers=2, max_answers=5)
WORKING = frozenset({1, 2, 3})
THREE = People(WORKING, WORKING)
CHECKED = SharedFacts(checked=MIN_CHECKED, people=THREE)


def asked(*people: int, skipped: tuple[int, ...] = (), required: int = 1) -> Asked:
    return Asked(frozenset(people), frozenset(skipped), len(people), required, len(people) >= required)


def decide(
    one: Asked, confidence: float | None = None, policy: Policy = POLICY, shared: SharedFacts = CHECKED
) -> Reason:
    steering = Steering.of(policy, {1: one}, frozenset(), THREE, "salt", shared=shared)
    return steering.decide({} if confidence is None else {1: confidence}).reasons[1]


@pytest.mark.parametrize(
    ("one", "confidence", "reason"),
    [
        (asked(), None, Reason.FEW),
        (asked(1), 0.99, Reason.FEW),
        (asked(1, 2), 0.9499, Reason.UNSETTLED),
        (asked(1, 2), 0.95, Reason.SETTLED),
        (asked(1, 2, 3, 4, 5), 0.6, Reason.MOST),
        (asked(1, skipped=(2, 3, 4, 5)), 0.6, Reason.MOST),  # whoever is asked skips it
        (asked(1, skipped=(2,)), 0.99, Reason.FEW),  # a skip is no answer
        (asked(1, 2), None, Reason.UNSETTLED),  # answers that do not count
    ],
)
def test_a_task_is_open_until_its_label_is_settled(one: Asked, confidence: float | None, reason: Reason) -> None:
    assert decide(one, confidence) is reason


def test_confidence_closes_nothing_before_enough_gold_was_answered() -> None:
    unchecked = SharedFacts(checked=MIN_CHECKED - 1, people=THREE)
    assert decide(asked(1, 2), 0.999, shared=unchecked) is Reason.UNCHECKED
    assert Reason.UNCHECKED.is_open


class TestTurns:
    """A hundred tasks that are closed and not settled; people 1 and 2 have answered all of them, and person 9 none."""

    tasks: ClassVar = {task: asked(*range(1, 3 + task % 3)) for task in range(100)}
    confidence: ClassVar = {task: 0.5 + task / 250 for task in range(100)}

    def opened(self, tasks: Mapping[int, Asked], working: tuple[int, ...] = (9,), **shared: Any) -> list[int]:
        facts = SharedFacts(checked=MIN_CHECKED, people=People(WORKING, frozenset(working)), **shared)
        steering = Steering.of(Policy(2, 9), tasks, frozenset(), facts.people, "salt", shared=facts)
        return [task for task, reason in steering.decide(self.confidence).reasons.items() if reason.is_open]

    def test_are_for_as_many_tasks_as_people_at_work_need(self) -> None:
        assert len(self.opened(self.tasks, ())) == SPARE
        assert len(self.opened(self.tasks, (9,))) == SPARE + OPEN_PER_PERSON
        assert len(self.opened(self.tasks, tuple(range(10, 17)))) == SPARE + 7 * OPEN_PER_PERSON

    def test_begin_where_a_label_is_least_sure_for_its_answers(self) -> None:
        opened = self.opened(self.tasks)
        urgency = {task: (1 - self.confidence[task]) / len(one.answered) for task, one in self.tasks.items()}
        assert min(urgency[task] for task in opened) > max(urgency[task] for task in self.tasks.keys() - opened)

    def test_come_when_fewer_tasks_are_open_elsewhere(self) -> None:
        enough = SPARE + OPEN_PER_PERSON
        assert len(self.opened(self.tasks, open=enough - 3)) == 3
        assert self.opened(self.tasks, open=enough) == []

    def test_are_not_taken_from_tasks_that_are_open(self) -> None:
        tasks = {**self.tasks, **{task: asked(1, 2, required=3) for task in range(50, 100)}}
        assert self.opened(tasks, open=50) == list(range(50, 100))

    def test_are_given_to_tasks_that_a_person_at_work_can_answer(self) -> None:
        """Twelve tasks are open, and person 9, who works alone, has tried them all."""
        tasks = {**self.tasks, **{task: asked(1, 2, 9, required=4) for task in range(12)}}
        opened = [task for task in self.opened(tasks, open=12, open_tried={9: 12}) if task >= 12]
        assert len(opened) == SPARE
        elsewhere = self.opened(self.tasks, open=50, open_tried={9: 45})
        assert len(elsewhere) == SPARE - 5

    def test_are_had_by_tasks_with_too_few_answers_at_once(self) -> None:
        assert len(self.opened({task: asked(1, required=2) for task in range(100)})) == 100

    def test_leave_the_others_waiting_in_order(self) -> None:
        steering = Steering.of(Policy(2, 9), self.tasks, frozenset(), THREE, "salt", shared=CHECKED)
        decisions = steering.decide(self.confidence)
        waiting = decisions.shared.waiting
        assert {decisions.reasons[task] for task in waiting} == {Reason.WAITING}
        assert sorted(waiting, key=lambda task: (self.confidence[task] - 1) / (2 + task % 3)) == list(waiting)

    def test_are_not_kept_by_a_task_that_somebody_took_and_left(self) -> None:
        tasks = {**self.tasks, **{task: asked(1, 2, required=3) for task in range(SPARE + OPEN_PER_PERSON)}}
        people = People(WORKING, frozenset({9}))
        for overdue, more in ((frozenset[int](), 0), (frozenset({0, 1, 2, 3}), 4)):
            steering = Steering.of(Policy(2, 9), tasks, frozenset(), people, "salt", overdue=overdue)
            decisions = steering.decide(self.confidence)
            assert sum(decisions.is_open(task) and not tasks[task].is_open for task in tasks) == more


def steering_of(tasks: Mapping[int, Asked], policy: Policy, probes: frozenset[int] = frozenset()) -> Steering:
    return Steering.of(policy, tasks, probes, THREE, "salt")


def test_a_budget_goes_to_tasks_with_too_few_answers_and_then_to_the_least_confident() -> None:
    tasks = {1: asked(1, 2), 2: asked(1, 2), 3: asked(1), 4: asked(1, 2), 5: asked()}
    confidence = {1: 0.6, 2: 0.5, 3: 0.9, 4: 0.7}
    for budget, is_open in ((7, []), (8, [3]), (9, [2, 3]), (10, [3, 5]), (11, [2, 3, 5]), (13, [1, 2, 3, 4, 5])):
        reasons = steering_of(tasks, Policy(2, 5, budget=budget)).decide(confidence).reasons
        assert [task for task, reason in reasons.items() if reason.is_open] == is_open, budget
        assert {reason for reason in reasons.values() if not reason.is_open} <= {Reason.BUDGET}


class TestProbes:
    """A hundred settled tasks, of which forty are gold; person 3 has answered many of the others, and no gold."""

    tasks: ClassVar = {task: asked(1, 2, 3) if 50 <= task < 60 else asked(1, 2) for task in range(100)}
    probes = frozenset(range(40))
    confidence: ClassVar = dict.fromkeys(range(100), 0.99)

    def kept(
        self,
        tasks: Mapping[int, Asked],
        policy: Policy = POLICY,
        probes: frozenset[int] = probes,
        people: People = THREE,
    ) -> set[int]:
        reasons = Steering.of(policy, tasks, probes, people, "salt").decide(self.confidence).reasons
        return {task for task, reason in reasons.items() if reason is Reason.CHECK}

    def test_are_kept_open_with_as_many_others_for_people_who_met_few(self) -> None:
        kept = self.kept(self.tasks)
        assert (len(kept & self.probes), len(kept - self.probes)) == (KEPT_OPEN, KEPT_OPEN)
        assert not any(3 in self.tasks[task].tried for task in kept)

    def test_are_first_those_that_only_such_people_have_not_tried(self) -> None:
        tasks = {**self.tasks, **dict.fromkeys((7, 8, 9, 97, 98, 99), asked(1, 2, 4, 5))}
        assert self.kept(tasks) == {7, 8, 9, 97, 98, 99}

    def test_are_not_kept_open_for_people_who_have_hardly_begun(self) -> None:
        assert self.kept({**self.tasks, 50: asked(1, 2)}) == set()

    def test_are_closed_when_everybody_has_answered_some(self) -> None:
        met = dict.fromkeys(range(PROBES_PER_PERSON), asked(1, 2, 3))
        assert self.kept({**self.tasks, **met}) == set()

    def test_are_never_more_than_the_others(self) -> None:
        tasks = {task: asked(1, 2, 3) if task >= 40 else one for task, one in self.tasks.items()}
        assert self.kept({**tasks, 99: asked(1, 2)}) & self.probes != set()
        assert len(self.kept({**tasks, 99: asked(1, 2)})) == 2
        assert self.kept(tasks) == set()

    def test_are_not_kept_open_for_people_who_are_not_at_work(self) -> None:
        assert self.kept(self.tasks, people=People(WORKING, frozenset({1, 2}))) == set()

    def test_get_no_more_answers_than_are_allowed(self) -> None:
        tasks = {task: asked(1, 2, 4, 5, 6) if task not in range(50, 60) else one for task, one in self.tasks.items()}
        assert self.kept(tasks) == set()

    def test_are_not_kept_open_beyond_a_budget(self) -> None:
        assert self.kept({**self.tasks, 100: asked(1)}, Policy(2, 5, budget=210)) == set()

    def test_are_otherwise_open_and_closed_as_if_they_were_none(self) -> None:
        tasks = {task: asked(*range(1, 2 + task % 4)) for task in range(60)}
        confidence = {task: (task % 11) / 10 for task in tasks}
        one, other = (
            Steering.of(POLICY, tasks, probes, THREE, "salt", shared=CHECKED).decide(confidence).reasons
            for probes in (frozenset[int](), frozenset(range(30)))
        )
        assert one == other


def test_tasks_that_nobody_who_is_active_can_answer_are_named() -> None:
    tasks = {1: asked(1, 2, skipped=(3,)), 2: asked(1, 2), 3: asked(1, 2, 3)}
    decisions = steering_of(tasks, POLICY).decide({1: 0.6, 2: 0.6, 3: 0.99})
    assert decisions.stuck == [1, 3]  # without enough gold, 3 is open, too
