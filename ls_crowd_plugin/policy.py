"""The policy by which people are asked for one more answer where it helps, and for none where a label is settled."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from .records import SETTLED, Json

MAX_ANSWERS, MAX_CONFIDENCE, MAX_BUDGET = 100, 0.999, 1_000_000_000
MIN_CHECKED = 30  # gold tasks that people answered, to know whether confidence can be trusted: fewer close no task


@dataclass(frozen=True)
class Policy:
    """What `ls-crowd connect --adaptive` asks for."""

    min_answers: int = 2  # that every task gets
    max_answers: int = 7  # that no task is asked to exceed
    confidence: float = SETTLED  # with which a label is settled
    budget: int | None = None  # answers in the whole project, at most
    acts: bool = True  # or it only says what it would do

    @property
    def problem(self) -> str | None:
        """What is wrong with it, as a sentence."""
        if not 1 <= self.min_answers <= self.max_answers:
            return f"A task cannot get at least {self.min_answers} and at most {self.max_answers} answers."
        if self.max_answers > MAX_ANSWERS:
            return f"A task can be asked for at most {MAX_ANSWERS} answers."
        if not 0.5 <= self.confidence <= MAX_CONFIDENCE:
            return f"The confidence {self.confidence} is not between 0.5 and {MAX_CONFIDENCE}, such as 0.95."
        if self.budget is not None and not 1 <= self.budget <= MAX_BUDGET:
            return f"The budget is a number of answers in the whole project, from 1 to {MAX_BUDGET:,}."
        return None

    @property
    def sentence(self) -> str:
        """What it does."""
        budget = "" if self.budget is None else f", and the project at most {self.budget:,}"
        bounds = f"every task gets {self.min_answers} to {self.max_answers} answers{budget}"
        wanted = f"{100 * self.confidence:.3g} %"
        done = f"Tasks are opened for one more answer until they are {wanted} confident"
        advised = f"It is shown which tasks need one more answer to be {wanted} confident"
        return f"{done if self.acts else advised}; {bounds}."


class Reason(str, Enum):
    """Why a task is open or closed."""

    FEW = "too few answers"
    UNSETTLED = "not settled"
    UNCHECKED = "confidence not checked"  # it may be settled, but too little gold was answered to trust that
    CHECK = "kept open to check people"
    SETTLED = "settled"
    MOST = "as many answers as allowed"
    WAITING = "waits for its turn"
    BUDGET = "the budget is used up"

    @property
    def is_open(self) -> bool:
        return self in (Reason.FEW, Reason.UNSETTLED, Reason.UNCHECKED, Reason.CHECK)

    @property
    def is_final(self) -> bool:
        """Whether the task gets no more answers for its own sake."""
        return self in (Reason.SETTLED, Reason.MOST, Reason.BUDGET, Reason.CHECK)


@dataclass(frozen=True)
class Forecast:
    """What more answers would buy, up to the confidence of the policy."""

    answers: int  # given so far
    unsettled: int  # tasks
    needed: int  # answers still needed, in the mean of simulations
    low: int  # 5 % of the simulations need fewer
    high: int  # 5 % need more
    never: int  # tasks that would be unsettled with as many answers as allowed, in the mean
    errors: float  # expected number of wrong tasks, if nobody answered any more
    fixed: int  # answers per task with which the project is compared
    saved: int  # answers, against so many for every task
    seconds: float | None = None  # that one answer takes, in the median


@dataclass(frozen=True)
class Asking:
    """What a policy decides about a project's tasks, in numbers."""

    policy: Policy
    checked: int  # gold tasks that people answered
    tasks: dict[str, int]  # reason → tasks
    forecast: Forecast
    stuck: list[int] = field(default_factory=list)  # tasks that everybody who is active answered or skipped

    @property
    def closes(self) -> bool:
        """Whether confidence closes tasks."""
        return self.checked >= MIN_CHECKED

    @property
    def needed(self) -> str:
        """How many answers are still needed, in words."""
        low, high = self.forecast.low, self.forecast.high
        return f"{low:,} to {high:,}" if high > low else f"{self.forecast.needed:,}"

    def saved(self, price: float = 0.0) -> str:
        """What is saved, or costs more, against a fixed number of answers for every task, in words."""
        number, seconds = abs(self.forecast.saved), self.forecast.seconds
        if not number:
            return "as many answers"
        words = [
            f"{number:,} {'fewer' if self.forecast.saved >= 0 else 'more'} {'answer' if number == 1 else 'answers'}"
        ]
        if seconds:
            hours = number * seconds / 3600
            words.append(f"{hours:,.1f} hours" if hours >= 1 else f"{60 * hours:.0f} minutes")
        if price:
            words.append(f"{number * price:,.2f} in money")
        return ", ".join(words)

    @classmethod
    def from_json(cls, found: Json) -> Asking:
        forecast, policy = Forecast(**found["forecast"]), Policy(**found["policy"])
        return cls(policy, found["checked"], found["tasks"], forecast, found["stuck"])
