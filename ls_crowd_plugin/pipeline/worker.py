"""A worker: claims a project that has something to do, passes over it, and polls Label Studio when that is due."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from ..errors import CrowdError, LabelStudioError, NoSuchProject, Overtaken, ProjectGone
from ..labelstudio import LabelStudio
from ..log import LOG, line
from ..store import Claim, WorkList
from ..store.work import ALIVE_SECONDS, LEASE_SECONDS
from .hold import Busy, free_what_the_dead_hold, holding, own_name
from .poll import poll
from .sync import Options, Report, Superseded, sync

IDLE_SECONDS = 0.1  # how soon an idle worker sees that something is due
WRITING_SECONDS = 3.0  # that a pass may change predictions before something newer gets its turn
OUTAGE_SECONDS = 60.0  # at most until a project is tried again that failed because of Label Studio
GRACE_SECONDS = 20.0  # how long a pass may go on after the worker was told to stop


class Stopped(CrowdError):
    """The worker was told to stop while a pass was running; the next worker does it again."""


@dataclass
class Worker:
    """Runs until told to stop. What it cannot do it leaves for later, and says why."""

    studio: LabelStudio
    engine: Engine
    work: WorkList
    options: Options
    projects: Collection[int] = ()
    all_projects: bool = False
    poll_seconds: float = 60.0
    lease: float = LEASE_SECONDS
    name: str = field(default_factory=own_name)
    _stop: threading.Event = field(default_factory=threading.Event)
    _stopped_at: float = 0.0
    _trouble: str | None = None
    _just_polled: bool = False

    def stop(self) -> None:
        self._stopped_at = time.monotonic()
        self._stop.set()

    def run(self) -> None:
        LOG.info(line("worker starts", worker=self.name))
        beating = threading.Thread(target=self._beat, daemon=True)
        beating.start()
        try:
            self._catch_up()
            while not self._stop.is_set():
                if not self._step():
                    self._stop.wait(IDLE_SECONDS)
        finally:
            self._stop.set()
            beating.join(5)
            self._quietly("release", self._release)
            LOG.info(line("worker stops", worker=self.name))

    def _catch_up(self) -> None:
        """After any gap, whatever was missed: every project on the list has its turn."""

        def want_all() -> None:
            free_what_the_dead_hold(self.work)
            self.work.want_all()

        self._quietly("catch up", want_all)

    def _release(self) -> None:
        self.work.release(self.name)
        self.work.gone(self.name)

    def _step(self) -> bool:
        """Does one thing that is due; whether there was one."""
        try:
            self.work.set_back()
            claim = self.work.claim(self.name, self.lease) if self._just_polled else None
            if claim is None and self.work.take_duty("poll", self.poll_seconds):
                self._just_polled = True
                self._poll()
                self.work.put_off("poll", self.poll_seconds)  # a poll may take longer than the time between two
                return True
            self._just_polled = False
            claim = claim or self.work.claim(self.name, self.lease)
            if claim is not None:
                self._pass(claim)
        except SQLAlchemyError as error:
            self._in_trouble(f"The database does not answer ({type(error).__name__}).")
            self._stop.wait(1.0)
            return False
        except Exception:
            LOG.exception(line("worker met an error of its own", worker=self.name))
            self._stop.wait(1.0)
            return False
        return claim is not None

    def _poll(self) -> None:
        try:
            changed = poll(self.studio, self.engine, self.work, projects=self.projects, all_projects=self.all_projects)
        except (LabelStudioError, SQLAlchemyError) as error:
            self._in_trouble(str(error) if isinstance(error, LabelStudioError) else type(error).__name__)
            return
        self._trouble = None
        if changed:
            LOG.info(line("poll found changes", projects=",".join(map(str, changed))))

    def _pass(self, claim: Claim) -> None:
        run = secrets.token_hex(4)
        LOG.info(line("pass starts", project=claim.project, run=run, attempt=claim.attempts))
        started = time.monotonic()
        outcome, why = self._outcome(claim, run)
        seconds = time.monotonic() - started
        log = LOG.info if outcome in ("done", "nothing to do", "gone") else LOG.warning
        log(line(f"pass {outcome}", project=claim.project, run=run, seconds=seconds, why=why))
        self._quietly("tally", lambda: self.work.add({("passes", outcome): 1.0}))

    def _outcome(self, claim: Claim, run: str) -> tuple[str, str | None]:
        """Does the pass; what became of it, and why."""
        renew = partial(self.work.renew, claim, self.lease)
        try:
            with holding(self.work, claim.project, self.name, lease=self.lease, also=renew) as held:
                report = sync(
                    self.studio,
                    self.engine,
                    claim.project,
                    self.options,
                    partial(self._watch, held),
                    self._newer(claim),
                )
        except Superseded:
            self._quietly("finish", lambda: self.work.finish(claim))
            return "superseded", None
        except (Busy, Overtaken) as busy:
            self._quietly("put off", lambda: self.work.fail(claim, None, OUTAGE_SECONDS))
            return "put off", str(busy)
        except (ProjectGone, NoSuchProject) as gone:
            self._quietly("forget", lambda: self.work.forget(claim.project))
            return "gone", str(gone)
        except Stopped:
            return "stopped", None
        except LabelStudioError as error:
            self._in_trouble(str(error))
            sentence = str(error)
            self._quietly("fail", lambda: self.work.fail(claim, sentence, OUTAGE_SECONDS))
            return "failed", sentence
        except CrowdError as error:  # it will be the same until something changes
            sentence = str(error)
            self._quietly("finish", lambda: self.work.finish(claim, sentence))
            return "set aside", sentence
        except SQLAlchemyError as error:
            sentence = f"The database did not do what it should ({type(error).__name__})."
            self._in_trouble(sentence)
            self._quietly("fail", lambda: self.work.fail(claim, sentence))
            return "failed", sentence
        except Exception as error:
            LOG.exception(line("pass met an error of its own", project=claim.project, run=run))
            sentence = f"The pass met an error of its own ({type(error).__name__}: {error})."
            self._quietly("fail", lambda: self.work.fail(claim, sentence))
            return "failed", sentence
        self._trouble = None
        self._quietly("finish", lambda: self.work.finish(claim))
        if report.copied.soon:  # tasks that are finished, but not yet quiet: their turn comes when they are
            wait = self.options.quiet_seconds
            self._quietly("want", lambda: self.work.want(claim.project, quiet=wait, longest=wait))
        self._quietly("tally", lambda: self.work.add(_sums(report)))
        for warning in report.warnings:
            LOG.warning(line("pass warns", project=claim.project, run=run, warning=warning))
        return ("nothing to do" if report.findings is None and report.plan.empty else "done"), None

    def _newer(self, claim: Claim) -> Callable[[], None]:
        """Ends a pass that has been writing for a while once something newer is to be done: changes come in the order
        of their importance, so what is left is small, and the next pass does it or better."""
        since = time.monotonic()  # of the last look, once there was one
        first = None

        def look() -> None:
            nonlocal since, first
            now = time.monotonic()
            first = first or now
            if now - first > WRITING_SECONDS and now - since > 1.0:
                since = now
                if self.work.is_due_again(claim):
                    raise Superseded("Something newer is to be done.")

        return look

    def _watch(self, held: Callable[[], bool], stage: str, done: int, total: int) -> None:
        """Called by the pass as it goes on: ends it if the worker was told to stop a while ago, or another has taken
        the project over because this one was too slow to keep it."""
        if not held() or (self._stop.is_set() and time.monotonic() - self._stopped_at > GRACE_SECONDS):
            raise Stopped(f"Stopped in stage {stage} at {done} of {total}.")

    def _beat(self) -> None:
        while True:
            self._quietly("beat", lambda: self.work.alive(self.name, self._trouble))
            if self._stop.wait(ALIVE_SECONDS / 6):
                return

    def _in_trouble(self, sentence: str) -> None:
        if sentence != self._trouble:
            LOG.warning(line("trouble", worker=self.name, why=sentence))
        self._trouble = sentence

    def _quietly(self, what: str, do: Callable[[], object]) -> None:
        """Does what the list needs to know, trying more than once: what it does not get to know it finds out when the
        lease ends, and the worker goes on."""
        for left in (2, 1, 0):
            try:
                do()
                return
            except SQLAlchemyError as error:
                LOG.warning(line(f"could not {what}", worker=self.name, why=type(error).__name__, tries_left=left))
            if left:
                self._stop.wait(1.0)


def _sums(report: Report) -> dict[tuple[str, str], float]:
    """What a pass adds to the tallies."""
    sums = {("pass_seconds", stage): seconds for stage, seconds in report.seconds.items()}
    sums |= {("pass_stages", stage): 1.0 for stage in report.seconds}
    written = report.written
    for what, number in (("created", written.created), ("changed", written.updated), ("deleted", written.deleted)):
        sums["predictions", what] = float(number)
    sums["labels", "changed"] = float(report.plan.relabelled)
    return sums
