"""What all stages of a pass share: where to read and write, how to compute, and where to report progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol

from sqlalchemy import Connection

from ..labelstudio import LabelStudio
from ..recipe import Recipe
from ..store import Lease, Store
from ..store.leases import check_fence
from .remembered import FitMemory

MAX_PAUSE = 5.0  # seconds between two requests
LARGE_PROJECT = 1000  # tasks; in a smaller one everything has its turn at once, unless the next pass is due

OnProgress = Callable[[str, int, int], None]  # stage, done, total


class Checkpoint(Protocol):
    """Called wherever a pass can end early; raises EndPass if it should."""

    def __call__(self, *, rest_can_wait: bool = False) -> None:
        """`rest_can_wait`: what is left to do can be done as well, or better, by the next pass."""


class Pace(Enum):
    """How much of what has changed is written, and how fast."""

    AT_ONCE = "at once"  # everything, by the cheapest calls: a person waits for it
    LIVE = "live"  # what people wait for, in single requests: people work
    SETTLE = "settle"  # everything, in single requests with pauses: nobody has worked on the project for a while


# How long to wait after a request, as a multiple of the time it took: the busier Label Studio is with people's work,
# the longer that is. Submitting an answer takes less than two of our requests, so it meets one of them at most.
PAUSES = {Pace.AT_ONCE: 0.0, Pace.LIVE: 2.0, Pace.SETTLE: 2.0}


@dataclass(frozen=True)
class RunFlags:
    """How a pass is run, as opposed to what it computes."""

    dry_run: bool = False
    from_scratch: bool = False  # read all tasks again and compare all predictions
    take_over: bool = False  # show the consensus where the project shows another model's predictions
    pace: Pace = Pace.AT_ONCE
    audit_seconds: float = 600.0  # how often the mirror is compared with a list of all tasks
    quiet_seconds: float = 60.0  # how long nobody may have annotated a task before its `meta` is changed


def _never(*, rest_can_wait: bool = False) -> None:
    del rest_can_wait


@dataclass(frozen=True)
class PassContext:
    studio: LabelStudio
    store: Store
    project: int
    recipe: Recipe
    lease: Lease
    flags: RunFlags = field(default_factory=RunFlags)
    on_progress: OnProgress = lambda *_: None
    checkpoint: Checkpoint = _never
    is_superseded: Callable[[], bool] = lambda: False  # whether the next pass is due already
    fits: FitMemory = field(default_factory=FitMemory)
    seconds: dict[str, float] = field(default_factory=dict)  # stage → how long it took

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - started

    def pause_after(self, seconds: float) -> float:
        """How long to wait, in seconds, after a request that took this long."""
        return min(PAUSES[self.flags.pace] * seconds, MAX_PAUSE)

    @contextmanager
    def followed_by_pause(self) -> Iterator[None]:
        """One request, and a pause after it, so that people's requests get in between."""
        started = time.monotonic()
        yield
        time.sleep(self.pause_after(time.monotonic() - started))

    def progress(self, stage: str) -> Callable[[int, int], None]:
        """A function that reports how far a stage is, and ends the pass there if it should end."""

        def report(done: int, total: int) -> None:
            self.on_progress(stage, done, total)
            self.checkpoint()

        return report

    def to_the_end(self) -> PassContext:
        """This context for work of which nothing can be left to the next pass."""

        def checkpoint(*, rest_can_wait: bool = False) -> None:
            del rest_can_wait
            self.checkpoint()

        return replace(self, checkpoint=checkpoint)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction that writes to the data database, if the lease has not been lost."""
        with self.store.data.begin() as connection:
            check_fence(connection, self.lease)
            yield connection
