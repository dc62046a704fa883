"""Decides which tasks are asked for one more answer. Pure.

Every task first gets the least number of answers, which Label Studio itself asks for. Then as many tasks are open as
the people who work need, and a few more; when one is answered, the next in turn is opened. First comes the task for
which the probability of a wrong label, divided by its answers, is the highest: a task that is not settled after many
answers will probably need as many again.

It knows of no gold label: what it decides about a gold task is what it would decide about any other with the same
answers. Only the tasks that are kept open to check people are chosen because they are gold, and as many others, drawn
at random, are kept open with them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import cached_property

from ..policy import MIN_CHECKED, Policy, Reason
from ..records import parse_time
from ..store import Annotation, Task

ACTIVE = timedelta(days=14)  # whoever answered this long before the newest answer still belongs to the project
WORKING = timedelta(hours=1)  # and whoever answered this long before it is at work
OPEN_PER_PERSON, SPARE = 2, 10  # tasks that are open for everybody who is at work, and for whoever comes
PROBES_PER_PERSON = 3  # gold tasks that everybody should answer who has given some answers
ANSWERS_BEFORE_CHECK = 10  # most people meet so many gold tasks by themselves
KEPT_OPEN = 3  # gold tasks that are kept open for people who did not, and as many others
NO_CONFIDENCE = 0.5  # in the label of a task whose answers do not count


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
    answers: int = 0
    working: int = 0  # people
    open: int = 0  # tasks that Label Studio serves
    waiting: tuple[int, ...] = ()  # tasks that wait for their turn, in that order


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


@dataclass(frozen=True)
class People:
    """Who answers a project's tasks."""

    active: frozenset[int] = frozenset()
    working: int = 0  # how many of them are at work


def people_of(annotations: Sequence[Annotation]) -> People:
    """Whoever answered not long before the newest answer."""
    newest: dict[int, datetime] = {}
    for annotation in annotations:
        when = parse_time(annotation.created_at)
        if when is not None and annotation.annotator is not None:
            newest[annotation.annotator] = max(when, newest.get(annotation.annotator, when))
    last = max(newest.values(), default=datetime.max.replace(tzinfo=timezone.utc))
    active = frozenset(who for who, when in newest.items() if when >= last - ACTIVE)
    return People(active, sum(when >= last - WORKING for when in newest.values()))


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
        people: People,
        salt: str,
        shared: SharedFacts | None = None,
    ) -> Steering:
        """`shared` are facts about all tasks, if `asked` holds only some."""
        facts = shared or SharedFacts(
            checked=sum(bool(asked[task].answered) for task in probes if task in asked),
            answers=sum(len(one.answered) for one in asked.values()),
            working=people.working,
            open=sum(one.is_open for one in asked.values()),
        )
        return cls(policy, asked, probes, people.active, salt, facts, shared is None)

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
        decisions = Decisions(self, confidence, reasons)
        if self.policy.budget is not None:
            self._keep_to_budget(self.policy.budget, decisions)
        if self.policy.acts:
            self._take_turns(decisions)
        if self.is_whole and Reason.BUDGET not in reasons.values():
            reasons |= dict.fromkeys(self._kept_open(reasons), Reason.CHECK)
        return decisions

    @property
    def _enough_open(self) -> int:
        """How many tasks have to be open so that nobody waits for one."""
        return OPEN_PER_PERSON * self.shared.working + SPARE

    def _take_turns(self, decisions: Decisions) -> None:
        """Let tasks wait while enough others are open. Tasks that all people have tried do not count."""
        elsewhere = self.shared.open - sum(one.is_open for one in self.asked.values())
        stuck = set(decisions.stuck)
        is_open = [task for task, one in self.asked.items() if one.is_open and decisions.is_open(task)]
        free = max(self._enough_open - elsewhere - len(set(is_open) - stuck), 0)
        closed = [
            task
            for task, reason in decisions.reasons.items()
            if reason in (Reason.UNSETTLED, Reason.UNCHECKED) and not self.asked[task].is_open
        ]
        in_turn = sorted(closed, key=lambda task: (task in stuck, *decisions.turn(task)))
        decisions.reasons.update(dict.fromkeys(in_turn[free:], Reason.WAITING))

    def _keep_to_budget(self, budget: int, decisions: Decisions) -> None:
        """Close tasks if the budget is nearly used up, and what is asked for exceeds it: first come those with too few
        answers, and among them those that need the fewest more."""
        reasons, left = decisions.reasons, budget - self.shared.answers
        missing = {task: max(self.policy.min_answers - len(one.answered), 1) for task, one in self.asked.items()}
        wanting = sorted(
            (reason is not Reason.FEW, missing[task] if reason is Reason.FEW else 1, *decisions.turn(task))
            for task, reason in reasons.items()
            if reason.is_open
        )
        if left > 2 * self._enough_open:
            return
        for *_, task in wanting:
            if missing[task] > left:
                reasons[task] = Reason.BUDGET
            else:
                left -= missing[task]

    def _kept_open(self, reasons: Mapping[int, Reason]) -> list[int]:
        """Closed gold tasks, and as many others, for people who have met few gold tasks: first those that the most
        people have tried, because Label Studio serves them to nobody else."""
        probes = self.probes & self.asked.keys()
        met = Counter(who for task in probes for who in self.asked[task].tried)
        given = Counter(who for one in self.asked.values() for who in one.answered)
        few = min(PROBES_PER_PERSON, len(probes))
        new = {who for who in self.people if met[who] < few and given[who] >= ANSWERS_BEFORE_CHECK}
        closed = sorted(
            (task for task, one in self.asked.items() if reasons[task].is_final and not new <= one.tried),
            key=lambda task: (
                -len(self.asked[task].tried - new),
                hashlib.sha256(f"{self.salt} {task}".encode()).digest(),
            ),
        )
        gold = [task for task in closed if task in probes][:KEPT_OPEN]
        return [*gold, *[task for task in closed if task not in probes][: len(gold)]]


@dataclass(frozen=True)
class Decisions:
    """Why tasks are to be open or closed, and what that was decided by."""

    steering: Steering
    confidence: Mapping[int, float]
    reasons: dict[int, Reason]  # of every task that the steering is about

    def is_open(self, task: int) -> bool:
        return self.reasons[task].is_open

    def turn(self, task: int) -> tuple[float, int]:
        """The lower, the sooner a task gets an answer: 1 minus confidence, divided by answers, with a minus."""
        answers = max(len(self.steering.asked[task].answered), 1)
        return (self.confidence.get(task, NO_CONFIDENCE) - 1) / answers, task

    @property
    def shared(self) -> SharedFacts:
        """What later decisions about some of the tasks need to know."""
        waiting = [task for task, reason in self.reasons.items() if reason is Reason.WAITING]
        return replace(self.steering.shared, waiting=tuple(sorted(waiting, key=self.turn)))

    @cached_property
    def stuck(self) -> list[int]:
        """Tasks that are asked for an answer that nobody who is active can give: all of them answered or skipped it."""
        people, asked = self.steering.people, self.steering.asked
        return sorted(task for task in asked if people and self.is_open(task) and asked[task].tried.issuperset(people))


def _decide_one(policy: Policy, shared: SharedFacts, one: Asked, confidence: float | None) -> Reason:
    if len(one.tried) >= policy.max_answers:
        return Reason.MOST
    if len(one.answered) < policy.min_answers:
        return Reason.FEW
    is_settled = confidence is not None and confidence >= policy.confidence
    if is_settled and shared.checked >= MIN_CHECKED:
        return Reason.SETTLED
    return Reason.UNCHECKED if is_settled else Reason.UNSETTLED
