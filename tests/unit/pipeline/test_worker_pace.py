"""When a worker writes everything, and when only what people wait for."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.pipeline import worker as worker_module
from ls_crowd_plugin.pipeline.context import Pace, PassContext
from ls_crowd_plugin.pipeline.outcome import Kind, Outcome
from ls_crowd_plugin.pipeline.worker import Worker
from ls_crowd_plugin.store import Store
from tests.support.memory_studio import MemoryStudio
from tests.support.predictions import FEW
from tests.support.workers import RunPass, enqueue, entry_of, make_report, make_worker


@pytest.fixture
def worker(memory_store: Store) -> Worker:
    """A worker with one project that is due."""
    enqueue(memory_store)
    return make_worker(MemoryStudio(FEW), memory_store)


def replace_pass(monkeypatch: pytest.MonkeyPatch, run_pass: RunPass) -> None:
    monkeypatch.setattr(worker_module, "run_pass", run_pass)


class TestSmallChanges:
    """They are written when nobody has worked on a project for a while."""

    REPORT = make_report(pace=Pace.LIVE)

    def test_are_left_to_a_later_pass(
        self, worker: Worker, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        enqueue(memory_store, is_event=True)
        replace_pass(monkeypatch, lambda _: Outcome(Kind.DONE, report=self.REPORT))
        worker.step()
        entry = entry_of(memory_store)
        assert (entry.waiting, -300 <= entry.due < -270) == (None, True)

    def test_wait_less_if_the_pass_wrote_only_answered_tasks(
        self, worker: Worker, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        enqueue(memory_store, is_event=True)
        replace_pass(monkeypatch, lambda _: Outcome(Kind.DONE, report=make_report(pace=Pace.LIVE, rest_due_in=40.0)))
        worker.step()
        entry = entry_of(memory_store)
        assert (entry.waiting, -40 <= entry.due < -20) == (None, True)

    @pytest.mark.parametrize(("is_event", "pace"), [(True, Pace.LIVE), (False, Pace.SETTLE)])
    def test_are_written_only_if_there_was_no_event(
        self, is_event: bool, pace: Pace, worker: Worker, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        paces: list[Pace] = []

        def run_pass(context: PassContext) -> Outcome:
            paces.append(context.flags.pace)
            return Outcome(Kind.DONE, report=make_report(pace=context.flags.pace))

        enqueue(memory_store, is_event=is_event)
        replace_pass(monkeypatch, run_pass)
        worker.step()
        assert paces == [pace]

    def test_are_not_requested_again_once_they_are_written(
        self, worker: Worker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        replace_pass(monkeypatch, lambda _: Outcome(Kind.DONE, report=make_report(pace=Pace.SETTLE)))
        worker.step()
        assert not worker.step()

    def test_do_not_postpone_an_event_that_came_meanwhile(
        self, worker: Worker, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An answer that arrives during a pass is processed at once, and not after a minute."""

        def run_pass(_: PassContext) -> Outcome:
            enqueue(memory_store)
            return Outcome(Kind.DONE, report=self.REPORT)

        replace_pass(monkeypatch, run_pass)
        worker.step()
        assert entry_of(memory_store).due >= 0
        assert worker.step()
