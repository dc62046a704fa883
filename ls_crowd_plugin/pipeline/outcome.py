"""The outcome of a pass as a value, and the report of what it found and did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ..records import ProjectSummary
from ..store.queue import LONGEST_PAUSE
from .context import Pace
from .plan import Plan
from .pull import Pulled
from .steer import Steered
from .task_meta import Copied
from .write import Written


class Kind(str, Enum):
    """What became of a pass."""

    DONE = "done"
    UNCHANGED = "unchanged"
    NO_ANSWERS = "no_answers"  # nothing to aggregate yet
    PARKED = "parked"  # it would fail again until something changes
    SUPERSEDED = "superseded"  # a newer request is due; the next pass does the rest
    DEFERRED = "deferred"  # another process has taken over the project
    STOPPED = "stopped"  # the worker was told to stop
    PROJECT_GONE = "project_gone"
    NO_SUCH_PROJECT = "no_such_project"
    FAILED = "failed"


@dataclass(frozen=True)
class PassReport:
    """What a pass found and did."""

    project: int
    title: str
    pulled: Pulled
    plan: Plan
    summary: ProjectSummary
    written: Written = field(default_factory=Written)
    steered: Steered = field(default_factory=Steered)
    copied: Copied = field(default_factory=Copied)
    warnings: list[str] = field(default_factory=list)
    pace: Pace = Pace.AT_ONCE
    rest_due_in: float = 0.0  # seconds until tasks that were not answered get their turn; 0: they had it
    ask_again_in: float = 0.0  # seconds until an open task is to be offered once more; 0: none is
    seconds: Mapping[str, float] = field(default_factory=dict)  # by stage

    @property
    def amounts(self) -> dict[tuple[str, str], float]:
        """What a pass adds to the tallies."""
        amounts = {("pass_seconds", stage): seconds for stage, seconds in self.seconds.items()}
        amounts |= {("pass_stages", stage): 1.0 for stage in self.seconds}
        written = self.written
        for what, number in (("created", written.created), ("changed", written.updated), ("deleted", written.deleted)):
            amounts["predictions", what] = float(number)
        steered = self.steered
        for what, number in (("opened", steered.opened), ("closed", steered.closed), ("repaired", steered.repaired)):
            amounts["steered", what] = float(number)
        amounts["labels", "changed"] = float(self.plan.relabelled)
        return amounts


@dataclass(frozen=True)
class Outcome:
    kind: Kind
    reason: str = ""
    report: PassReport | None = None  # of a pass that is done, unchanged or superseded
    max_pause: float = LONGEST_PAUSE  # seconds before a failed pass is tried again, at most
