"""Upkeep: projects that events name get a pass if they exist, and the trail does not grow for ever."""

from __future__ import annotations

import logging
import time
from datetime import timedelta

import pytest

from ls_crowd_plugin.errors import Unreachable
from ls_crowd_plugin.pipeline import upkeep
from ls_crowd_plugin.pipeline import worker as worker_module
from ls_crowd_plugin.pipeline.pull import TIME_FORMAT
from ls_crowd_plugin.pipeline.upkeep import confirm_candidates, shorten_trail
from ls_crowd_plugin.store import Store, candidates, duties, queue
from ls_crowd_plugin.store.trail import Event, record_events
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.mirrored import read_trail
from tests.support.passes import agreed_studio
from tests.support.predictions import FEW
from tests.support.queue_steps import candidates_in
from tests.support.transactions import run
from tests.support.workers import make_worker


@pytest.fixture
def studio() -> MemoryStudio:
    return agreed_studio(FEW)


def queued(store: Store) -> list[int]:
    with store.work.connect() as connection:
        return [entry.project for entry in queue.list_entries(connection)]


def name_projects(store: Store, *projects: int) -> None:
    for project in projects:
        run(store.work, candidates.add, project)
    time.sleep(0.002)  # the database's clock has milliseconds, and what was named in the present one is kept


def let_time_pass(store: Store, duty: str) -> None:
    run(store.work, duties.postpone_duty, duty, 0.0)


class TestCandidates:
    def test_that_exist_are_enqueued_and_the_others_forgotten(self, studio: MemoryStudio, memory_store: Store) -> None:
        name_projects(memory_store, 5, PROJECT, 987654)
        assert confirm_candidates(studio, memory_store) == [PROJECT]
        assert (queued(memory_store), candidates_in(memory_store)) == ([PROJECT], [])

    def test_cost_one_request_however_many_there_are(self, studio: MemoryStudio, memory_store: Store) -> None:
        name_projects(memory_store, *range(1000, 1200), PROJECT)
        confirm_candidates(studio, memory_store)
        assert studio.reads == ["projects"]

    def test_cost_nothing_if_there_are_none(self, studio: MemoryStudio, memory_store: Store) -> None:
        assert confirm_candidates(studio, memory_store) is None
        assert studio.reads == []

    def test_are_asked_about_at_intervals(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However quickly others are named."""
        monkeypatch.setattr(upkeep, "ASK_SECONDS", 60.0)
        monkeypatch.setattr(upkeep, "MAX_ASK_SECONDS", 60.0)
        for number in range(3):
            name_projects(memory_store, 1000 + number)
            confirm_candidates(studio, memory_store)
        assert studio.reads == ["projects"]
        name_projects(memory_store, PROJECT)
        let_time_pass(memory_store, "confirm")
        assert confirm_candidates(studio, memory_store) == [PROJECT]

    def test_are_kept_while_label_studio_does_not_answer(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.failing["projects"] = Unreachable("Label Studio did not answer.")
        name_projects(memory_store, PROJECT)
        with pytest.raises(Unreachable):
            confirm_candidates(studio, memory_store)
        assert candidates_in(memory_store) == [PROJECT]
        studio.failing.clear()
        let_time_pass(memory_store, "confirm")
        assert confirm_candidates(studio, memory_store) == [PROJECT]

    def test_created_while_the_question_is_answered_wait_for_the_next(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Somebody named the number before; the event of the new project comes after the answer was made."""
        name_projects(memory_store, PROJECT)
        answer = studio.projects

        def answer_slowly() -> list[dict[str, object]]:
            before = [entry for entry in answer() if entry["id"] != PROJECT]
            name_projects(memory_store, PROJECT)
            return before

        monkeypatch.setattr(studio, "projects", answer_slowly)
        assert confirm_candidates(studio, memory_store) == []
        assert candidates_in(memory_store) == [PROJECT]

    def test_get_their_first_pass_from_a_worker_beside_a_flood(
        self, studio: MemoryStudio, memory_store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "ls_crowd")
        worker = make_worker(studio, memory_store)
        name_projects(memory_store, *range(1000, 1500))
        name_projects(memory_store, PROJECT)
        name_projects(memory_store, *range(1500, 2000))
        assert worker.step()
        assert worker.step()
        assert len(studio.labels()) == len(FEW)
        assert f"events named new projects projects={PROJECT}" in caplog.messages

    def test_that_cannot_be_asked_about_are_trouble_and_keep_no_pass_back(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        studio.failing["projects"] = Unreachable("Label Studio did not answer.")
        worker = make_worker(studio, memory_store)
        name_projects(memory_store, 1000)
        run(memory_store.work, queue.enqueue, PROJECT)
        worker.step()
        worker.step()
        assert len(studio.labels()) == len(FEW)


class TestTrail:
    @pytest.fixture
    def events(self, studio: MemoryStudio, memory_store: Store) -> None:
        """One event a day, the last one now."""
        for days in range(9, -1, -1):
            noticed = (studio.now - timedelta(days=days)).strftime(TIME_FORMAT)
            event = Event(1, 10, "changed", "2020-01-01T00:00:00.000000Z", 5, 5, str(days))
            run(memory_store.data, record_events, PROJECT, [event], noticed)

    def ages(self, store: Store) -> list[int]:
        return [int(row["result"]) for row in read_trail(store)]

    @pytest.mark.usefixtures("events")
    def test_loses_what_was_noticed_too_long_ago(self, studio: MemoryStudio, memory_store: Store) -> None:
        assert shorten_trail(studio, memory_store, 6.5) == 3
        assert self.ages(memory_store) == [6, 5, 4, 3, 2, 1, 0]

    @pytest.mark.usefixtures("events")
    def test_is_shortened_a_little_at_a_time(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The first events first; what is left is not put off until the next time."""
        monkeypatch.setattr(upkeep, "TRAIL_BATCH", 2)
        monkeypatch.setattr(upkeep, "TRAIL_BATCHES", 2)
        assert shorten_trail(studio, memory_store, 2.5) == 4
        assert self.ages(memory_store) == [5, 4, 3, 2, 1, 0]
        assert shorten_trail(studio, memory_store, 2.5) == 3
        assert shorten_trail(studio, memory_store, 2.5) is None

    @pytest.mark.usefixtures("events")
    def test_is_shortened_by_a_worker(
        self, studio: MemoryStudio, memory_store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "ls_crowd")
        worker = make_worker(studio, memory_store, trail_days=3.5)
        for _ in range(3):
            worker.step()
        assert self.ages(memory_store) == [3, 2, 1, 0]
        assert caplog.messages.count("trail shortened events=6") == 1

    @pytest.mark.usefixtures("events")
    def test_is_kept_for_ever_if_so_configured(self, studio: MemoryStudio, memory_store: Store) -> None:
        make_worker(studio, memory_store, trail_days=0.0).step()
        assert len(self.ages(memory_store)) == 10

    def test_is_looked_at_now_and_then(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looks: list[float] = []
        monkeypatch.setattr(worker_module, "shorten_trail", lambda *_: looks.append(1.0))
        worker = make_worker(studio, memory_store)
        for _ in range(5):
            worker.step()
        assert len(looks) == 1
