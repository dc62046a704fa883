"""Decides which tasks are asked for one more answer. Pure.

It knows of no gold label: what it decides about a gold task is what it would decide about any other with the same
answers. Only the tasks that are kept open to check people are chosen because they are gold, and as many others, drawn
at random, are kept open with them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..policy import MIN_CHECKED, Policy, Reason
from ..records import parse_time
from ..store import Annotation, Task

ACTIVE = timedelta(days=14)  # whoever answered this long before the newest answer still works on the project
PROBES_PER_PERSON = 5  # gold tasks that a new person should answer
KEPT_OPEN = 10  # gold tasks that are kept open for new people, and as many others


@dataclass(frozen=True)
class Asked:
    """What a task was asked for, and by whom it was answered."""

    answered: frozenset[int]  # people
    skipped: frozenset[int]
    required: int  # answers that Label Studio asks for
    is_labeled: bool
    skips_count: bool = False  # a skip counts as an answer, for Label Studio
    updated_at: str = ""  # when Label Studio last changed it

    @property
    def tried(self) -> frozenset[int]:
        return self.answered | self.skipped

    @property
    def counted(self) -> int:
        """People whom Label Studio counts."""
        return len(self.tried if self.skips_count else self.answered)

    @property
    def is_open(self) -> bool:
        """Whether Label Studio serves it to people who have not answered it."""
        return not self.is_labeled and self.required > self.counted


@dataclass(frozen=True)
class SharedFacts:
    """What a decision about one task needs to know about all of them."""

    checked: int = 0  # gold tasks that people answered
    few: int = 0  # tasks with too few answers
    people: int = 0  # who are active
    answers: int = 0


def asked_of(tasks: Mapping[int, Task], annotations: Sequence[Annotation], skips_count: bool) -> dict[int, Asked]:
    """Task → what it was asked for."""
    answered: dict[int, set[int]] = {task: set() for task in tasks}
    skipped: dict[int, set[int]] = {task: set() for task in tasks}
    for annotation in annotations:
        if annotation.annotator is not None and annotation.task in tasks:
            (skipped if annotation.skipped else answered)[annotation.task].add(annotation.annotator)
    return {
        number: Asked(
            frozenset(answered[number]),
            frozenset(skipped[number] - answered[number]),
            task.required_annotators,
            task.is_labeled,
            skips_count,
            task.updated_at,
        )
        for number, task in tasks.items()
    }


def active_people(annotations: Sequence[Annotation]) -> frozenset[int]:
    """Whoever answered not long before the newest answer."""
    newest: dict[int, datetime] = {}
    for annotation in annotations:
        when = parse_time(annotation.created_at)
        if when is not None and annotation.annotator is not None:
            newest[annotation.annotator] = max(when, newest.get(annotation.annotator, when))
    last = max(newest.values(), default=None)
    return frozenset(who for who, when in newest.items() if last is not None and when >= last - ACTIVE)


@dataclass(frozen=True)
class Steering:
    """What a policy decides by, about all tasks of a project or about some."""

    policy: Policy
    asked: Mapping[int, Asked]
    probes: frozenset[int]  # gold tasks
    people: frozenset[int]  # who are active
    salt: str
    shared: SharedFacts
    is_whole: bool  # whether these are all tasks

    @classmethod
    def of(
        cls,
        policy: Policy,
        asked: Mapping[int, Asked],
        probes: frozenset[int],
        people: frozenset[int],
        salt: str,
        shared: SharedFacts | None = None,
    ) -> Steering:
        """`shared` are facts about all tasks, if `asked` holds only some."""
        facts = shared or SharedFacts(
            checked=sum(bool(asked[task].answered) for task in probes if task in asked),
            few=sum(_has_few(policy, one) for one in asked.values()),
            people=len(people),
            answers=sum(len(one.answered) for one in asked.values()),
        )
        return cls(policy, asked, probes, people, salt, facts, shared is None)

    def about(self, tasks: Collection[int] | None) -> Steering:
        """The same about some tasks; None: all."""
        if tasks is None:
            return self
        asked = {task: one for task, one in self.asked.items() if task in tasks}
        return replace(self, asked=asked, is_whole=False)

    def decide(self, confidence: Mapping[int, float]) -> Decisions:
        """`confidence` is that of each task's least confident label, blind to gold."""
        reasons = {
            task: _decide_one(self.policy, self.shared, one, confidence.get(task)) for task, one in self.asked.items()
        }
        if self.policy.budget is not None:
            self._keep_to_budget(self.policy.budget, reasons, confidence)
        if self.is_whole and Reason.BUDGET not in reasons.values():
            reasons |= dict.fromkeys(self._kept_open(reasons), Reason.CHECK)
        return Decisions(self, confidence, reasons)

    def _keep_to_budget(self, budget: int, reasons: dict[int, Reason], confidence: Mapping[int, float]) -> None:
        """Close tasks if the answers that are asked for would exceed the budget: first come those with too few answers,
        and among them those that need the fewest more, and then the least confident."""
        missing = {task: max(self.policy.min_answers - len(one.answered), 1) for task, one in self.asked.items()}
        wanting = sorted(
            (reason is not Reason.FEW, missing[task] if reason is Reason.FEW else 1, confidence.get(task, 0.0), task)
            for task, reason in reasons.items()
            if reason.is_open
        )
        left = budget - self.shared.answers
        for *_, task in wanting:
            if missing[task] > left:
                reasons[task] = Reason.BUDGET
            else:
                left -= missing[task]

    def _kept_open(self, reasons: Mapping[int, Reason]) -> list[int]:
        """Closed gold tasks, and as many others, that people who answered few gold tasks could answer."""
        probes = self.probes & self.asked.keys()
        met = {who: sum(who in self.asked[task].tried for task in probes) for who in self.people}
        new = {who for who, number in met.items() if number < min(PROBES_PER_PERSON, len(probes))}
        closed = sorted(
            (task for task, one in self.asked.items() if not reasons[task].is_open and not new <= one.tried),
            key=lambda task: hashlib.sha256(f"{self.salt} {task}".encode()).digest(),
        )
        gold = [task for task in closed if task in probes][:KEPT_OPEN]
        return [*gold, *[task for task in closed if task not in probes][: len(gold)]]


@dataclass(frozen=True)
class Decisions:
    """Why tasks are to be open or closed, and what that was decided by."""

    steering: Steering
    confidence: Mapping[int, float]
    reasons: Mapping[int, Reason]  # of every task that the steering is about

    def is_open(self, task: int) -> bool:
        return self.reasons[task].is_open

    @property
    def stuck(self) -> list[int]:
        """Tasks that are asked for an answer that nobody who is active can give: all of them answered or skipped it."""
        people, asked = self.steering.people, self.steering.asked
        return sorted(task for task in asked if people and self.is_open(task) and asked[task].tried.issuperset(people))


def _has_few(policy: Policy, one: Asked) -> bool:
    return len(one.answered) < policy.min_answers and len(one.tried) < policy.max_answers


def _decide_one(policy: Policy, shared: SharedFacts, one: Asked, confidence: float | None) -> Reason:
    if len(one.tried) >= policy.max_answers:
        return Reason.MOST
    if _has_few(policy, one):
        return Reason.FEW
    is_settled = confidence is not None and confidence >= policy.confidence
    if is_settled and shared.checked >= MIN_CHECKED:
        return Reason.SETTLED
    if shared.few > shared.people and not one.is_open:
        return Reason.WAITING
    return Reason.UNCHECKED if is_settled else Reason.UNSETTLED
