"""When a worker ends a pass early: told to stop, overtaken, or because the rest can wait for a newer request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ls_crowd_plugin.errors import EndPass, LeaseLost
from ls_crowd_plugin.pipeline import project_pass
from ls_crowd_plugin.pipeline import worker as worker_module
from ls_crowd_plugin.pipeline.context import PassContext
from ls_crowd_plugin.pipeline.outcome import Kind, Outcome
from ls_crowd_plugin.pipeline.worker import LOOK_SECONDS, STOP_SECONDS, WRITING_SECONDS, Worker
from ls_crowd_plugin.store import Store, leases
from ls_crowd_plugin.store.leases import lease_table
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import agreed_studio
from tests.support.predictions import FEW
from tests.support.waiting import eventually
from tests.support.workers import enqueue, entry_of, make_report, make_worker, tally_of


class Clock:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(worker_module, "time", clock)
    return clock


@pytest.fixture
def worker(memory_store: Store) -> Worker:
    enqueue(memory_store)
    return make_worker(MemoryStudio(FEW), memory_store)


def outcome_of(worker: Worker, monkeypatch: pytest.MonkeyPatch, during: Callable[[PassContext], object]) -> str:
    """Run a pass that does nothing but `during`; return its metric."""

    def run_pass(context: PassContext) -> Outcome:
        try:
            during(context)
        except EndPass as end:
            return Outcome(Kind(end.kind), str(end))
        return Outcome(Kind.DONE, report=make_report())

    monkeypatch.setattr(worker_module, "run_pass", run_pass)
    worker.step()
    (metric,) = tally_of(worker.store, "passes")
    return metric


class TestStopping:
    def test_lets_a_pass_go_on_for_a_while(self, worker: Worker, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        def during(context: PassContext) -> None:
            worker.stop()
            clock.now += STOP_SECONDS
            context.checkpoint()

        assert outcome_of(worker, monkeypatch, during) == "done"

    def test_ends_a_pass_after_the_grace_period(
        self, worker: Worker, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def during(context: PassContext) -> None:
            worker.stop()
            clock.now += STOP_SECONDS + 0.1
            context.checkpoint()

        assert outcome_of(worker, monkeypatch, during) == "stopped"
        assert entry_of(worker.store).due >= 0

    def test_leaves_the_rest_to_the_next_worker(self, memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(worker_module, "STOP_SECONDS", -1.0)
        studio = agreed_studio(FEW)
        enqueue(memory_store)
        worker = make_worker(studio, memory_store)
        studio.after_write[2] = worker.stop
        worker.step()
        assert (tally_of(memory_store, "passes"), len(studio.labels())) == ({"stopped": 1.0}, 2)
        studio.repair()
        make_worker(studio, memory_store, name="next").step()
        assert len(studio.labels()) == len(FEW)


class TestNewerRequest:
    def write_for(self, clock: Clock, context: PassContext, seconds: float) -> None:
        """Begin to write what can wait, and come to the next checkpoint after some seconds."""
        context.checkpoint(rest_can_wait=True)
        clock.now += seconds
        context.checkpoint(rest_can_wait=True)

    def test_supersedes_a_pass_that_has_been_writing_for_a_while(
        self, worker: Worker, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def during(context: PassContext) -> None:
            enqueue(worker.store)
            self.write_for(clock, context, WRITING_SECONDS + 0.1)

        assert outcome_of(worker, monkeypatch, during) == "superseded"
        entry = entry_of(worker.store)
        assert (entry.waiting is not None, entry.due >= 0, entry.error) == (True, True, None)

    def test_lets_a_pass_write_for_a_while(self, worker: Worker, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        def during(context: PassContext) -> None:
            enqueue(worker.store)
            self.write_for(clock, context, WRITING_SECONDS)

        assert outcome_of(worker, monkeypatch, during) == "done"

    def test_does_not_end_a_pass_where_the_rest_cannot_wait(
        self, worker: Worker, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def during(context: PassContext) -> None:
            enqueue(worker.store)
            context.checkpoint()
            clock.now += 100.0
            context.checkpoint()
            context.checkpoint(rest_can_wait=True)  # only now it begins to write

        assert outcome_of(worker, monkeypatch, during) == "done"

    def test_that_is_not_due_yet_does_not_end_a_pass(
        self, worker: Worker, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def during(context: PassContext) -> None:
            enqueue(worker.store, quiet=30.0, max_wait=60.0)
            self.write_for(clock, context, WRITING_SECONDS + 0.1)

        assert outcome_of(worker, monkeypatch, during) == "done"

    def test_is_looked_for_now_and_then(self, worker: Worker, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        def during(context: PassContext) -> None:
            self.write_for(clock, context, WRITING_SECONDS + 0.1)  # looks, and finds nothing
            enqueue(worker.store)
            clock.now += LOOK_SECONDS - 0.1
            context.checkpoint(rest_can_wait=True)
            clock.now += 0.2
            with pytest.raises(EndPass):
                context.checkpoint(rest_can_wait=True)

        assert outcome_of(worker, monkeypatch, during) == "done"

    def test_does_not_exist(self, worker: Worker, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        assert outcome_of(worker, monkeypatch, lambda context: self.write_for(clock, context, 100.0)) == "done"


@pytest.mark.slow
def test_a_lost_lease_defers_the_pass_and_nothing_more_is_written(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio = agreed_studio(FEW)
    enqueue(memory_store)
    contexts: list[PassContext] = []

    def run_pass(context: PassContext) -> Outcome:
        contexts.append(context)
        return project_pass.run_pass(context)

    def is_lost() -> bool:
        try:
            contexts[0].checkpoint()
        except LeaseLost:
            return True
        return False

    def overtake() -> None:
        """Another worker takes over the project, and this one notices when it renews its lease."""
        with memory_store.work.begin() as connection:
            connection.execute(lease_table.update().values(expires_at=0.0))
            assert leases.acquire(connection, PROJECT, "another") is not None
        eventually(is_lost)

    monkeypatch.setattr(worker_module, "run_pass", run_pass)
    studio.after_write[2] = overtake
    make_worker(studio, memory_store, lease_seconds=2.0).step()
    entry = entry_of(memory_store)
    assert (tally_of(memory_store, "passes"), studio.writes) == ({"deferred": 1.0}, ["create", "create"])
    assert (entry.held_by, entry.waiting is not None, entry.error) == ("another", True, None)


def test_a_worker_takes_over_from_a_process_that_dies_while_it_runs(memory_store: Store, dead_owner: str) -> None:
    """Such as a command that somebody killed: its lease would block the project for a minute."""
    studio = agreed_studio([1])
    worker = make_worker(studio, memory_store)
    enqueue(memory_store)
    with memory_store.work.begin() as connection:
        leases.acquire(connection, PROJECT, dead_owner)
    assert worker.step()
    assert studio.labels()
