"""Decides which tasks are asked for one more answer. Pure.

Every task first gets the least number of answers, which Label Studio itself asks for. Then as many tasks are open as
the people at work need, and a few more; when one is answered, the next in turn is opened. First comes the task for
which the probability of a wrong label, divided by its answers, is the highest: a task that is not settled after many
answers will probably need as many again.

It knows of no gold label: what it decides about a gold task is what it would decide about any other with the same
answers. Only the tasks that are opened again to check people are chosen because they are gold, and as many others with
them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import cached_property

from ..policy import MIN_CHECKED, Policy, Reason
from ..records import parse_time
from ..store import Annotation

ACTIVE = timedelta(days=14)  # whoever answered this long before the newest answer still belongs to the project
WORKING = timedelta(hours=1)  # and whoever answered this long before it is at work
OPEN_PER_PERSON, SPARE = 2, 10  # tasks that are open for everybody who is at work, and for whoever comes
PROBES_PER_PERSON = 3  # gold tasks that everybody should answer who has given some answers
ANSWERS_BEFORE_CHECK = 10  # most people meet so many gold tasks by themselves
KEPT_OPEN = 3  # gold tasks that are opened again for people who did not, and as many others
NO_CONFIDENCE = 0.5  # in the label of a task whose answers do not count


@dataclass(frozen=True)
class Asked:
    """What a task was asked for, and by whom it was answered."""

    answered: frozenset[int]  # people whose answers count
    skipped: frozenset[int]
    taken: int  # answers that Label Studio takes as given, whoever wrote them
    required: int  # answers that Label Studio asks for
    is_labeled: bool

    @property
    def tried(self) -> frozenset[int]:
        return self.answered | self.skipped

    @property
    def is_open(self) -> bool:
        """Whether Label Studio serves it to people who have not answered it."""
        return not self.is_labeled and self.slots > 0

    @property
    def slots(self) -> int:
        """Answers that can still come."""
        return self.required - self.taken


@dataclass(frozen=True)
class People:
    """Who answers a project's tasks."""

    active: frozenset[int] = frozenset()
    working: frozenset[int] = frozenset()  # those of them who are at work


@dataclass(frozen=True)
class SharedFacts:
    """What a decision about some tasks needs to know about all of them."""

    checked: int = 0  # gold tasks that people answered
    answers: int = 0
    people: People = field(default_factory=People)
    open: int = 0  # tasks that Label Studio serves
    open_tried: Mapping[int, int] = field(default_factory=dict)  # person → how many of these they have tried
    waiting: tuple[int, ...] = ()  # tasks that wait for their turn, in that order


def people_of(annotations: Iterable[Annotation]) -> People:
    """Whoever wrote one of these annotations not long before the newest of them."""
    newest: dict[int, datetime] = {}
    for annotation in annotations:
        when = parse_time(annotation.created_at)
        if when is not None and annotation.annotator is not None:
            newest[annotation.annotator] = max(when, newest.get(annotation.annotator, when))
    last = max(newest.values(), default=datetime.max.replace(tzinfo=timezone.utc))
    active, working = (
        frozenset(who for who, when in newest.items() if when >= last - since) for since in (ACTIVE, WORKING)
    )
    return People(active, working)


@dataclass(frozen=True)
class Steering:
    """What a policy decides by, about all tasks of a project or about some."""

    policy: Policy
    asked: Mapping[int, Asked]
    probes: frozenset[int]  # gold tasks
    overdue: frozenset[int]  # open tasks that somebody may have taken and left
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
        *,
        overdue: Collection[int] = (),
        shared: SharedFacts | None = None,
    ) -> Steering:
        """`shared` are facts about all tasks, if `asked` holds only some."""
        is_open = [one for task, one in asked.items() if one.is_open and task not in overdue]
        facts = shared or SharedFacts(
            checked=sum(bool(asked[task].answered) for task in probes if task in asked),
            answers=sum(len(one.answered) for one in asked.values()),
            people=people,
            open=len(is_open),
            open_tried=Counter(who for one in is_open for who in one.tried),
        )
        return cls(policy, asked, probes, frozenset(overdue), salt, facts, shared is None)

    def decide(self, confidence: Mapping[int, float]) -> Decisions:
        """`confidence` is that of each task's least confident label, blind to gold."""
        reasons = {
            task: _decide_one(self.policy, self.shared, one, confidence.get(task)) for task, one in self.asked.items()
        }
        in_turn = sorted(reasons, key=lambda task: (self._turn(task, confidence), task))
        if self.policy.budget is not None:
            reasons |= dict.fromkeys(self._over_budget(self.policy.budget, reasons, in_turn), Reason.BUDGET)
        if self.policy.acts:
            reasons |= dict.fromkeys(self._not_yet(reasons, in_turn), Reason.WAITING)
        if self.is_whole and Reason.BUDGET not in reasons.values():
            reasons |= dict.fromkeys(self._opened_again(reasons), Reason.CHECK)
        return Decisions(self, confidence, reasons, tuple(in_turn))

    @property
    def enough_open(self) -> int:
        """How many tasks have to be open so that nobody waits for one."""
        return OPEN_PER_PERSON * len(self.shared.people.working) + SPARE

    def _turn(self, task: int, confidence: Mapping[int, float]) -> float:
        """The lower, the sooner a task gets an answer: 1 minus confidence, divided by answers, with a minus."""
        return (confidence.get(task, NO_CONFIDENCE) - 1) / max(len(self.asked[task].answered), 1)

    def _not_yet(self, reasons: Mapping[int, Reason], in_turn: Iterable[int]) -> list[int]:
        """The tasks that wait, because enough others are open: enough for all together, and some that each person at
        work has not tried."""
        here = {task: one for task, one in self.asked.items() if one.is_open and task not in self.overdue}
        tried_here = Counter(who for one in here.values() for who in one.tried)
        free: dict[int | None, int] = {None: self.shared.open - len(here)}  # open tasks that somebody could answer
        for who in self.shared.people.working:
            tried_elsewhere = self.shared.open_tried.get(who, 0) - tried_here[who]
            free[who] = self.shared.open - len(here) - tried_elsewhere
        wanted = {taker: self.enough_open if taker is None else SPARE for taker in free}
        for task, one in here.items():
            if reasons[task].is_open:
                for taker in free.keys() - one.tried:
                    free[taker] += 1
        waiting = []
        for task in in_turn:
            one = self.asked[task]
            if reasons[task] not in (Reason.UNSETTLED, Reason.UNCHECKED) or one.is_open:
                continue
            takers = free.keys() - one.tried
            if all(free[taker] >= wanted[taker] for taker in takers):
                waiting.append(task)
                continue
            for taker in takers:
                free[taker] += 1
        return waiting

    def _over_budget(self, budget: int, reasons: Mapping[int, Reason], in_turn: Iterable[int]) -> list[int]:
        """The tasks for which no answers are left, once the budget is nearly used up: first come those with too few
        answers, and among them those that need the fewest more."""
        left = budget - self.shared.answers
        if left > 2 * self.enough_open:
            return []
        missing = {
            task: max(self.policy.min_answers - len(self.asked[task].answered), 1)
            for task in in_turn
            if reasons[task].is_open
        }
        over = []
        for task in sorted(missing, key=lambda task: missing[task] if reasons[task] is Reason.FEW else budget):
            if missing[task] > left:
                over.append(task)
            else:
                left -= missing[task]
        return over

    def _opened_again(self, reasons: Mapping[int, Reason]) -> list[int]:
        """Settled gold tasks, and as many others, for people at work who have met few gold tasks: first those that the
        most people have tried, because Label Studio serves them to nobody else."""
        probes = self.probes & self.asked.keys()
        met = Counter(who for task in probes for who in self.asked[task].tried)
        given = Counter(who for one in self.asked.values() for who in one.answered)
        few = min(PROBES_PER_PERSON, len(probes))
        new = {who for who in self.shared.people.working if met[who] < few and given[who] >= ANSWERS_BEFORE_CHECK}
        settled = sorted(
            (task for task, one in self.asked.items() if reasons[task] is Reason.SETTLED and not new <= one.tried),
            key=lambda task: (
                -len(self.asked[task].tried - new),
                hashlib.sha256(f"{self.salt} {task}".encode()).digest(),
            ),
        )
        gold, others = ([task for task in settled if (task in probes) == is_gold] for is_gold in (True, False))
        number = min(len(gold), len(others), KEPT_OPEN)
        return gold[:number] + others[:number]


@dataclass(frozen=True)
class Decisions:
    """Why tasks are to be open or closed, and what that was decided by."""

    steering: Steering
    confidence: Mapping[int, float]
    reasons: Mapping[int, Reason]  # of every task that the steering is about
    in_turn: tuple[int, ...]  # these tasks, those that should be answered first at the beginning

    def is_open(self, task: int) -> bool:
        return self.reasons[task].is_open

    @property
    def shared(self) -> SharedFacts:
        """What later decisions about some of the tasks need to know."""
        waiting = tuple(task for task in self.in_turn if self.reasons[task] is Reason.WAITING)
        return replace(self.steering.shared, waiting=waiting)

    @cached_property
    def stuck(self) -> list[int]:
        """Tasks that are asked for an answer that nobody who is active can give: all of them answered or skipped it."""
        people, asked = self.steering.shared.people.active, self.steering.asked
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
