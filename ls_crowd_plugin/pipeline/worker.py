"""A worker: claims projects that are due, runs passes over them, and does duties such as polling."""

from __future__ import annotations

import gc
import logging
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from ..errors import EndPass, LabelStudioError
from ..labelstudio import LabelStudio
from ..log import LOG, line
from ..recipe import Recipe
from ..setting_values import NO_PROJECTS, Projects
from ..store import Claim, Store, duties, heartbeats, leases, queue, tallies
from ..store.heartbeats import ALIVE_SECONDS
from ..store.leases import LEASE_SECONDS
from .context import Pace, PassContext, RunFlags
from .lease import HeldLease, keep_lease, process_name, reap_dead_owners
from .memory import explain_too_large
from .outcome import Kind, Outcome, PassReport
from .poll import poll
from .project_pass import OUTAGE_PAUSE, run_pass
from .remembered import FitMemory
from .upkeep import confirm_candidates, shorten_trail

IDLE_SECONDS = 0.1  # how soon an idle worker notices that something is due
WRITING_SECONDS = 1.0  # a pass may change predictions for this long before a newer request ends it
LOOK_SECONDS = 0.5  # how often it looks for one
STOP_SECONDS = 20.0  # how long a pass may continue after the worker was told to stop
TRAIL_LOOK_SECONDS = 600.0  # how often a worker asks whether it is time to shorten the trail
TRIES = 3  # to tell the database what became of a pass


class Action(Enum):
    """What happens to a project in the queue after a pass."""

    COMPLETE = "complete"  # the request is covered
    PARK = "park"  # so is the request, but something is wrong until the project changes
    RETRY = "retry"  # later
    REMOVE = "remove"
    DEFER = "defer"  # another process has it; nothing is wrong
    LEAVE = "leave"  # it is still due, for this worker or another


@dataclass(frozen=True)
class Reaction:
    """What a worker does about an outcome; `metric` is the label in `ls_crowd_passes_total`."""

    action: Action
    level: int
    metric: str


REACTIONS = {
    Kind.DONE: Reaction(Action.COMPLETE, logging.INFO, "done"),
    Kind.UNCHANGED: Reaction(Action.COMPLETE, logging.INFO, "unchanged"),
    Kind.SUPERSEDED: Reaction(Action.COMPLETE, logging.INFO, "superseded"),
    Kind.NO_ANSWERS: Reaction(Action.PARK, logging.INFO, "parked"),
    Kind.PARKED: Reaction(Action.PARK, logging.WARNING, "parked"),
    Kind.DEFERRED: Reaction(Action.DEFER, logging.WARNING, "deferred"),
    Kind.STOPPED: Reaction(Action.LEAVE, logging.INFO, "stopped"),
    Kind.PROJECT_GONE: Reaction(Action.REMOVE, logging.INFO, "project_gone"),
    Kind.NO_SUCH_PROJECT: Reaction(Action.REMOVE, logging.INFO, "project_gone"),
    Kind.FAILED: Reaction(Action.RETRY, logging.WARNING, "failed"),
}


@dataclass
class Worker:
    """Runs until it is told to stop. What it cannot do it leaves for later, and logs why."""

    studio: LabelStudio
    store: Store
    recipe: Recipe
    flags: RunFlags = field(default_factory=RunFlags)
    projects: Projects = NO_PROJECTS
    poll_seconds: float = 60.0
    settle_seconds: float = 300.0
    trail_days: float = 365.0  # how long the trail is kept; 0: for ever
    lease_seconds: float = LEASE_SECONDS
    name: str = field(default_factory=process_name)
    _stop: threading.Event = field(default_factory=threading.Event)
    _stopped_at: float = 0.0
    _problem: str | None = None
    _just_did_duty: bool = False
    _trail_looked_at: float = -TRAIL_LOOK_SECONDS
    _fits: FitMemory = field(default_factory=FitMemory)
    _warnings: dict[int, list[str]] = field(default_factory=dict)  # project → what was last logged

    def stop(self) -> None:
        self._stopped_at = time.monotonic()
        self._stop.set()

    def run(self) -> None:
        LOG.info(line("worker starts", worker=self.name))
        heartbeat = threading.Thread(target=self._send_heartbeats, daemon=True)
        heartbeat.start()
        try:
            self._try("reap dead owners", reap_dead_owners)
            self._try("request a pass over every project", queue.enqueue_all)  # events may have been missed
            while not self._stop.is_set():
                if not self.step():
                    self._stop.wait(IDLE_SECONDS)
        finally:
            self._stop.set()
            heartbeat.join(5)
            self._try("release leases", self._sign_off)
            LOG.info(line("worker stops", worker=self.name))

    def step(self) -> bool:
        """Do one thing that is due; return whether there was one.

        Duties and passes take turns, so that neither waits for ever.
        """
        try:
            with self.store.work.begin() as connection:
                reap_dead_owners(connection)
            claim = self._claim() if self._just_did_duty else None
            self._just_did_duty = claim is None and self._do_duty()
            if self._just_did_duty:
                return True
            claim = claim or self._claim()
            if claim is not None:
                self._process(claim)
        except SQLAlchemyError as error:
            self._note_problem(_database_problem(error))
            self._stop.wait(1.0)
            return False
        except Exception:
            LOG.exception(line("internal error in the worker", worker=self.name))
            self._stop.wait(1.0)
            return False
        return claim is not None

    def _claim(self) -> Claim | None:
        with self.store.work.begin() as connection:
            return queue.claim(connection, self.name, self.lease_seconds)

    def _do_duty(self) -> bool:
        """Do one duty that is due; return whether there was one."""
        return self._confirm_if_due() or self._poll_if_due() or self._shorten_trail_if_due()

    def _confirm_if_due(self) -> bool:
        found = self._ask(lambda: confirm_candidates(self.studio, self.store))
        if found:
            LOG.info(line("events named new projects", projects=",".join(map(str, found))))
        return found is not None

    def _poll_if_due(self) -> bool:
        with self.store.work.begin() as connection:
            if not duties.claim_duty(connection, "poll", self.poll_seconds):
                return False
        changed = self._ask(lambda: poll(self.studio, self.store, self.projects))
        if changed:
            LOG.info(line("poll found changes", projects=",".join(map(str, changed))))
        with self.store.work.begin() as connection:  # a poll may take longer than the interval
            duties.postpone_duty(connection, "poll", self.poll_seconds)
        return True

    def _ask(self, ask: Callable[[], list[int] | None]) -> list[int] | None:
        """Ask Label Studio something that is not about one project; what fails is noted as trouble."""
        try:
            answer = ask()
        except (LabelStudioError, SQLAlchemyError) as error:
            self._note_problem(str(error) if isinstance(error, LabelStudioError) else _database_problem(error))
            return []
        if answer is not None:
            self._problem = None
        return answer

    def _shorten_trail_if_due(self) -> bool:
        if not self.trail_days or time.monotonic() - self._trail_looked_at < TRAIL_LOOK_SECONDS:
            return False
        removed = shorten_trail(self.studio, self.store, self.trail_days)
        if removed:
            LOG.info(line("trail shortened", events=removed))
            return True  # there may be more
        self._trail_looked_at = time.monotonic()
        return False

    def _process(self, claim: Claim) -> None:
        """Run a pass over a claimed project, and record what became of it."""
        run = secrets.token_hex(4)
        LOG.info(line("pass starts", project=claim.project, run=run, attempt=claim.attempts))
        started = time.monotonic()
        with keep_lease(self.store, claim.lease, self.lease_seconds) as held:
            outcome = self._run(claim, held, run)
            is_recorded = self._try("record the outcome", lambda connection: self._settle(connection, claim, outcome))
            held.is_released_at_the_end = is_recorded
        reaction, report = REACTIONS[outcome.kind], outcome.report
        if report is not None:
            self._log_warnings(report, run)
        seconds = time.monotonic() - started
        facts = line(
            f"pass {reaction.metric}", project=claim.project, run=run, seconds=seconds, why=outcome.reason or None
        )
        LOG.log(reaction.level, facts)
        amounts = {("passes", reaction.metric): 1.0, **(report.amounts if report else {})}
        self._try("update the tallies", lambda connection: tallies.add(connection, amounts))

    def _run(self, claim: Claim, held: HeldLease, run: str) -> Outcome:
        checkpoint = _WorkerCheckpoint(self, claim, held)
        context = PassContext(
            self.studio,
            self.store,
            claim.project,
            self.recipe,
            claim.lease,
            replace(self.flags, pace=self._pace(claim)),
            checkpoint=checkpoint,
            is_superseded=checkpoint.is_superseded,
            fits=self._fits,
        )
        try:
            outcome = _run_within_memory(context)
        except Exception as error:
            LOG.exception(line("internal error in a pass", project=claim.project, run=run))
            return Outcome(Kind.FAILED, f"Internal error ({type(error).__name__}: {error}); see the worker's log.")
        if outcome is None:
            return Outcome(Kind.PARKED, explain_too_large(self.store, claim.project))
        if outcome.kind is Kind.FAILED:
            self._note_problem(outcome.reason)
        elif outcome.report is not None:
            self._problem = None
        return outcome

    def _pace(self, claim: Claim) -> Pace:
        """People's work goes first: everything is written only when nobody has worked on the project for a while."""
        return Pace.SETTLE if claim.idle >= self.settle_seconds else Pace.LIVE

    def _log_warnings(self, report: PassReport, run: str) -> None:
        """Log a project's warnings that are not the same as after its last pass."""
        for warning in report.warnings:
            if warning not in self._warnings.get(report.project, ()):
                LOG.warning(line("pass warns", project=report.project, run=run, warning=warning))
        self._warnings[report.project] = report.warnings

    def _settle(self, connection: Connection, claim: Claim, outcome: Outcome) -> None:
        """Tell the queue what became of a pass."""
        action = REACTIONS[outcome.kind].action
        if action is Action.COMPLETE:
            queue.complete(connection, claim)
            report = outcome.report
            if report is not None and report.pulled.annotations_changed:
                queue.mark_active(connection, claim.project)
            if report is not None and report.rest_due_in:
                queue.request_later(connection, claim.project, report.rest_due_in)
            elif report is not None and report.pace is Pace.LIVE:
                queue.request_when_idle(connection, claim.project, self.settle_seconds)
            elif report is not None and report.ask_again_in:
                queue.request_later(connection, claim.project, report.ask_again_in)
        elif action is Action.PARK:
            queue.complete(connection, claim, outcome.reason)
        elif action is Action.RETRY:
            queue.retry_later(connection, claim, outcome.reason, outcome.max_pause)
        elif action is Action.DEFER:
            queue.retry_later(connection, claim, None, OUTAGE_PAUSE)
        elif action is Action.REMOVE:
            queue.remove(connection, claim.project)

    def is_overdue(self) -> bool:
        """Whether the worker was told to stop so long ago that a pass must not continue."""
        return self._stop.is_set() and time.monotonic() - self._stopped_at > STOP_SECONDS

    def _sign_off(self, connection: Connection) -> None:
        leases.release_all(connection, self.name)
        heartbeats.deregister(connection, self.name)

    def _send_heartbeats(self) -> None:
        while True:
            self._try("send a heartbeat", lambda connection: heartbeats.beat(connection, self.name, self._problem))
            if self._stop.wait(ALIVE_SECONDS / 6):
                return

    def _note_problem(self, sentence: str) -> None:
        if sentence != self._problem:
            LOG.warning(line("problem", worker=self.name, why=sentence))
        self._problem = sentence

    def _try(self, what: str, do: Callable[[Connection], object]) -> bool:
        """Write to the work database, trying more than once; return whether that worked."""
        for tries_left in reversed(range(TRIES)):
            try:
                with self.store.work.begin() as connection:
                    do(connection)
                return True
            except (SQLAlchemyError, MemoryError) as error:  # a pass beside it may take all memory for a moment
                why = type(error).__name__
                LOG.warning(line(f"could not {what}", worker=self.name, why=why, tries_left=tries_left))
            if tries_left:
                self._stop.wait(1.0)
        return False


class _WorkerCheckpoint:
    """Ends a pass if the worker has to stop, if the lease was lost, or if the rest can wait and a newer request is due:
    changes are made in the order of their importance, so what is left is small, and the next pass does it or better."""

    def __init__(self, worker: Worker, claim: Claim, held: HeldLease) -> None:
        self._worker, self._claim, self._held = worker, claim, held
        self._writing_since: float | None = None
        self._looked_at = time.monotonic()

    def __call__(self, *, rest_can_wait: bool = False) -> None:
        self._held.check()
        if self._worker.is_overdue():
            raise EndPass("stopped", "The worker was told to stop.")
        if not rest_can_wait:
            return
        now = time.monotonic()
        self._writing_since = self._writing_since or now
        if now - self._writing_since > WRITING_SECONDS and now - self._looked_at > LOOK_SECONDS:
            self._looked_at = now
            if self.is_superseded():
                raise EndPass("superseded")

    def is_superseded(self) -> bool:
        """Whether a newer request is due."""
        with self._worker.store.work.connect() as connection:
            return queue.has_newer_request(connection, self._claim)


def _run_within_memory(context: PassContext) -> Outcome | None:
    """Run a pass, if need be without what is remembered of earlier ones; None if it needs more memory than there is."""
    for _ in range(1 if context.fits.is_empty else 2):
        with suppress(MemoryError):
            return run_pass(context)
        context.fits.clear()
        gc.collect()  # what the pass held
    return None


def _database_problem(error: SQLAlchemyError) -> str:
    return f"The database does not answer ({type(error).__name__})."
