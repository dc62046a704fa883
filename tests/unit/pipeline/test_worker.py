"""What a worker does about each outcome, and how it lives through failures."""

from __future__ import annotations

import logging

import pytest
from sqlalchemy.exc import OperationalError, StatementError

from ls_crowd_plugin.errors import Unreachable
from ls_crowd_plugin.pipeline import project_pass
from ls_crowd_plugin.pipeline import worker as worker_module
from ls_crowd_plugin.pipeline.context import PassContext
from ls_crowd_plugin.pipeline.outcome import Kind, Outcome
from ls_crowd_plugin.pipeline.plan import Plan
from ls_crowd_plugin.pipeline.worker import REACTIONS, Action, Worker
from ls_crowd_plugin.pipeline.write import Written
from ls_crowd_plugin.setting_values import Projects
from ls_crowd_plugin.store import Store, leases, queue
from ls_crowd_plugin.store.gold import add_gold
from ls_crowd_plugin.store.heartbeats import alive_workers
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import agreed_studio, answer_together
from tests.support.predictions import FEW
from tests.support.waiting import eventually
from tests.support.workers import RunPass, enqueue, entry_of, is_idle, make_report, make_worker, running, tally_of


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "ls_crowd")
    return caplog


@pytest.fixture
def worker(memory_store: Store) -> Worker:
    """A worker with one project that is due."""
    enqueue(memory_store)
    return make_worker(MemoryStudio(FEW), memory_store)


def replace_pass(monkeypatch: pytest.MonkeyPatch, run_pass: RunPass) -> None:
    monkeypatch.setattr(worker_module, "run_pass", run_pass)


def fail(*_: object, **__: object) -> None:
    raise OperationalError("SELECT", {}, Exception("disk I/O error"))


def problems(store: Store) -> dict[str, str | None]:
    with store.work.connect() as connection:
        return alive_workers(connection)


class TestReactions:
    def test_exist_for_every_kind_of_outcome(self) -> None:
        assert set(REACTIONS) == set(Kind)

    @pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
    def test_are_what_the_table_says(
        self,
        kind: Kind,
        worker: Worker,
        memory_store: Store,
        monkeypatch: pytest.MonkeyPatch,
        log: pytest.LogCaptureFixture,
    ) -> None:
        report = make_report() if kind in (Kind.DONE, Kind.UNCHANGED) else None
        replace_pass(monkeypatch, lambda _: Outcome(kind, "Because.", report))
        assert worker.step()
        reaction = REACTIONS[kind]
        assert tally_of(memory_store, "passes") == {reaction.metric: 1.0}
        (level,) = (one.levelno for one in log.records if one.message.startswith(f"pass {reaction.metric} "))
        assert level == reaction.level
        self.check_queue(memory_store, reaction.action)

    def check_queue(self, store: Store, action: Action) -> None:
        with store.work.connect() as connection:
            entry = queue.get_entry(connection, PROJECT)
        if action is Action.REMOVE:
            assert entry is None
            return
        assert entry is not None
        assert entry.held_by == ""
        assert entry.error == ("Because." if action in (Action.PARK, Action.RETRY) else None)
        assert (entry.waiting is None) == (action in (Action.COMPLETE, Action.PARK))
        if action is Action.RETRY:
            assert entry.due < 0
        if action is Action.LEAVE:
            assert entry.due >= 0

    def test_to_a_failure_wait_no_longer_than_the_outcome_says(
        self, worker: Worker, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        replace_pass(monkeypatch, lambda _: Outcome(Kind.FAILED, "Because.", max_pause=0.5))
        worker.step()
        assert entry_of(memory_store).due >= -0.5

    def test_add_what_a_pass_did_to_the_tallies(
        self, worker: Worker, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        report = make_report(written=Written(1, 2, 3), plan=Plan(relabelled=4), seconds={"pull": 0.5, "fit": 0.25})
        replace_pass(monkeypatch, lambda _: Outcome(Kind.DONE, report=report))
        worker.step()
        assert tally_of(memory_store, "predictions") == {"created": 1, "changed": 2, "deleted": 3}
        assert tally_of(memory_store, "labels") == {"changed": 4}
        assert tally_of(memory_store, "pass_seconds") == {"pull": 0.5, "fit": 0.25}
        assert tally_of(memory_store, "pass_stages") == {"pull": 1, "fit": 1}

    def test_log_a_warning_once(
        self, worker: Worker, memory_store: Store, monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture
    ) -> None:
        report = make_report(warnings=["Something is odd."])
        replace_pass(monkeypatch, lambda _: Outcome(Kind.DONE, report=report))
        for _ in range(2):
            enqueue(memory_store)
            worker.step()
        (warning,) = (one.message for one in log.records if one.levelno == logging.WARNING)
        assert warning.startswith("pass warns project=7 ")
        assert warning.endswith('warning="Something is odd."')


class TestTurns:
    def test_are_taken_by_polling_and_passes(self, memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        worker = make_worker(MemoryStudio(FEW), memory_store, poll_seconds=0.0)
        enqueue(memory_store)
        order: list[str] = []

        def run_pass(_: PassContext) -> Outcome:
            order.append("pass")
            return Outcome(Kind.STOPPED)  # the project is still due

        def poll(*_: object) -> list[int]:
            order.append("poll")
            return []

        monkeypatch.setattr(worker_module, "poll", poll)
        replace_pass(monkeypatch, run_pass)
        for _ in range(5):
            worker.step()
        assert order == ["poll", "pass", "poll", "pass", "poll"]

    def test_are_taken_by_projects(self, worker: Worker, memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        order: list[int] = []

        def run_pass(context: PassContext) -> Outcome:
            order.append(context.project)
            enqueue(memory_store, context.project)
            return Outcome(Kind.DONE, report=make_report())

        enqueue(memory_store, 8)
        replace_pass(monkeypatch, run_pass)
        for _ in range(4):
            worker.step()
        assert order == [PROJECT, 8, PROJECT, 8]

    def test_have_nothing_to_do_if_nothing_is_due(self, memory_store: Store) -> None:
        assert not make_worker(MemoryStudio(FEW), memory_store).step()


class TestPolling:
    def test_enqueues_what_changed(self, memory_store: Store, log: pytest.LogCaptureFixture) -> None:
        projects = Projects(False, frozenset({PROJECT}))
        worker = make_worker(MemoryStudio(FEW), memory_store, poll_seconds=3600.0, projects=projects)
        assert worker.step()
        assert entry_of(memory_store).waiting is not None
        assert "poll found changes projects=7" in log.messages

    def test_that_fails_is_reported_once_and_keeps_no_pass_back(
        self, memory_store: Store, log: pytest.LogCaptureFixture
    ) -> None:
        studio = agreed_studio(FEW)
        studio.failing["projects"] = Unreachable("Label Studio did not answer.")
        worker = make_worker(studio, memory_store, poll_seconds=0.0)
        worker.step()
        worker.step()
        assert log.text.count("Label Studio did not answer.") == 1
        enqueue(memory_store)
        worker.step()
        assert len(studio.labels()) == len(FEW)


class TestFailures:
    def test_inside_a_pass_are_logged_and_retried(
        self, worker: Worker, memory_store: Store, monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture
    ) -> None:
        replace_pass(monkeypatch, lambda _: 1 // 0)  # type: ignore[arg-type, return-value]
        assert worker.step()
        entry = entry_of(memory_store)
        assert entry.error is not None
        assert entry.error.startswith("Internal error (ZeroDivisionError: ")
        assert (entry.waiting is not None, entry.due < 0) == (True, True)
        assert "internal error in a pass project=7" in log.text
        assert "Traceback" in log.text
        assert tally_of(memory_store, "passes") == {"failed": 1.0}

    def test_of_the_worker_itself_are_logged(
        self, memory_store: Store, monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture
    ) -> None:
        worker = make_worker(MemoryStudio(FEW), memory_store, poll_seconds=0.0)
        monkeypatch.setattr(worker_module, "poll", lambda *_: 1 // 0)
        worker.stop()  # or it would wait for a second
        assert not worker.step()
        assert "internal error in the worker" in log.text

    @pytest.mark.slow
    def test_of_the_database_show_as_a_problem_and_the_worker_goes_on(
        self, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(worker_module, "ALIVE_SECONDS", 0.1)
        studio = agreed_studio(FEW)
        enqueue(memory_store)
        with running(make_worker(studio, memory_store)):
            with monkeypatch.context() as broken:
                broken.setattr(queue, "claim", fail)
                sentence = "The database does not answer (OperationalError)."
                eventually(lambda: problems(memory_store) == {"worker": sentence})
            eventually(lambda: len(studio.labels()) == len(FEW))
            eventually(lambda: problems(memory_store) == {"worker": None})

    def test_of_the_database_after_a_pass_are_tried_again(
        self, worker: Worker, memory_store: Store, monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture
    ) -> None:
        complete, calls = queue.complete, []

        def flaky(*arguments: object) -> object:
            calls.append(arguments)
            if len(calls) < 3:
                fail()
            return complete(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(queue, "complete", flaky)
        replace_pass(monkeypatch, lambda _: Outcome(Kind.DONE, report=make_report()))
        worker.stop()  # or it would wait for a second after each failure
        worker.step()
        assert entry_of(memory_store).waiting is None
        assert log.text.count("could not record the outcome") == 2

    def test_of_the_database_after_a_pass_that_go_on_leave_the_project_due(
        self, worker: Worker, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        replace_pass(monkeypatch, lambda _: Outcome(Kind.DONE, report=make_report()))
        monkeypatch.setattr(queue, "complete", fail)
        worker.stop()  # or it would wait for a second after each failure
        assert worker.step()
        assert entry_of(memory_store).waiting is not None

    def test_of_label_studio_show_as_a_problem_until_a_pass_succeeds(
        self, worker: Worker, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        worker.stop()  # so that one heartbeat is sent
        outcomes = iter([Outcome(Kind.FAILED, "Label Studio is away."), Outcome(Kind.DONE, report=make_report())])
        replace_pass(monkeypatch, lambda _: next(outcomes))
        for expected in ("Label Studio is away.", None):
            enqueue(memory_store)
            worker.step()
            worker._send_heartbeats()
            assert problems(memory_store) == {"worker": expected}


class TestMemory:
    @pytest.mark.parametrize("wrapped", [False, True])
    def test_that_does_not_suffice_parks_the_project_after_a_second_try(
        self, wrapped: bool, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """SQLAlchemy wraps the error where it happens in a statement. The second try is without remembered fits."""
        tries: list[int] = []

        def use_too_much(*arguments: object, **options: object) -> None:
            del arguments, options
            tries.append(1)
            raise (StatementError("no memory", "INSERT", {}, MemoryError()) if wrapped else MemoryError)

        worker = make_worker(agreed_studio(FEW), sqlite_store)
        enqueue(sqlite_store)
        assert worker.step()
        monkeypatch.setattr(project_pass, "desired_predictions", use_too_much)
        enqueue(sqlite_store)
        with sqlite_store.data.begin() as connection:
            add_gold(connection, PROJECT, {(FEW[0], "mood"): "bad"})
        assert worker.step()
        assert len(tries) == 2
        assert "needs more memory" in str(entry_of(sqlite_store).error)


class TestLife:
    def test_from_an_event_to_a_prediction(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        worker = make_worker(studio, memory_store)
        with running(worker):
            eventually(lambda: "worker" in problems(memory_store))
            enqueue(memory_store)
            eventually(lambda: len(studio.labels()) == len(FEW) and is_idle(memory_store))
            studio.wait()
            answer_together(studio, 1, "bad")
            enqueue(memory_store)
            eventually(lambda: studio.labels()[1] == ["bad"] and is_idle(memory_store))
        assert problems(memory_store) == {}
        assert tally_of(memory_store, "passes")["done"] == 2

    def test_begins_with_all_projects(self, memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """Events may have been missed."""
        seen: list[int] = []

        def run_pass(context: PassContext) -> Outcome:
            seen.append(context.project)
            return Outcome(Kind.DONE, report=make_report())

        replace_pass(monkeypatch, run_pass)
        for project in (1, 2, 3):
            enqueue(memory_store, project)
            with memory_store.work.begin() as connection:
                claim = queue.claim(connection, "before")
                assert claim is not None
                queue.complete(connection, claim)
        with running(make_worker(MemoryStudio(), memory_store)):
            eventually(lambda: len(seen) == 3 and is_idle(memory_store))
        assert sorted(seen) == [1, 2, 3]

    def test_begins_with_the_leases_of_dead_processes(self, memory_store: Store, dead_owner: str) -> None:
        enqueue(memory_store)
        with memory_store.work.begin() as connection:
            assert queue.claim(connection, dead_owner) is not None
        studio = agreed_studio(FEW)
        with running(make_worker(studio, memory_store)):
            eventually(lambda: len(studio.labels()) == len(FEW))

    def test_ends_without_a_lease(self, memory_store: Store) -> None:
        worker = make_worker(MemoryStudio(), memory_store)
        with memory_store.work.begin() as connection:
            leases.acquire(connection, PROJECT, worker.name)
        with running(worker):
            pass
        with memory_store.work.begin() as connection:
            assert leases.acquire(connection, PROJECT, "another") is not None
