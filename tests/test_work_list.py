"""The work list, on SQLite and on Postgres: nothing wanted is lost, nobody gets what another holds."""

from __future__ import annotations

import dataclasses
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, select, text

from ls_crowd_plugin.errors import CrowdError
from ls_crowd_plugin.pipeline.hold import Busy, free_what_the_dead_hold, holding, own_name
from ls_crowd_plugin.store import WorkList, open_database, open_work_list, tables
from ls_crowd_plugin.store.work import LONGEST_PAUSE, PATIENT_ATTEMPTS, pause


@pytest.fixture
def work(database_url: str) -> Iterator[WorkList]:
    engine = open_work_list(database_url)
    yield WorkList(engine)
    engine.dispose()


def claimed(work: WorkList, owner: str = "a", lease: float = 60.0) -> int | None:
    claim = work.claim(owner, lease)
    return None if claim is None else claim.project


class TestWanting:
    def test_makes_a_project_due(self, work: WorkList) -> None:
        work.want(3)
        assert claimed(work) == 3

    def test_waits_until_it_is_quiet(self, work: WorkList) -> None:
        work.want(3, quiet=30, longest=60)
        assert claimed(work) is None

    def test_waits_no_longer_than_the_longest(self, work: WorkList) -> None:
        for _ in range(3):
            work.want(3, quiet=30, longest=0)
        assert claimed(work) == 3

    def test_again_and_again_does_not_put_it_off_for_ever(self, work: WorkList) -> None:
        """Events come faster than the quiet time; it is due the longest wait after the first of them."""
        until = time.monotonic() + 20
        while claimed(work) is None:
            assert time.monotonic() < until
            work.want(3, quiet=10, longest=0.5)

    def test_while_a_pass_runs_is_not_lost(self, work: WorkList) -> None:
        work.want(3)
        claim = work.claim("a")
        assert claim is not None
        work.want(3)
        assert work.finish(claim)
        assert claimed(work) == 3

    def test_counts_the_longest_wait_from_the_first_event_that_is_not_done(self, work: WorkList) -> None:
        work.want(3)
        claim = work.claim("a")
        assert claim is not None
        work.finish(claim)
        work.want(3, quiet=50, longest=100)
        (row,) = work.rows()
        assert (-51 < row.due < -45, row.waiting is not None and row.waiting < 5) == (True, True)

    def test_keeps_the_snapshot_where_none_is_given(self, work: WorkList) -> None:
        work.want(3, snapshot="seen")
        work.want(3)
        assert work.snapshots() == {3: "seen"}


class TestClaiming:
    def test_takes_what_has_been_due_longest(self, work: WorkList) -> None:
        for project in (5, 4, 6):
            work.want(project)
            time.sleep(0.002)  # SQLite's clock counts in milliseconds
        assert [claimed(work) for _ in range(4)] == [5, 4, 6, None]

    def test_is_fair_to_a_project_that_waits_beside_a_busy_one(self, work: WorkList) -> None:
        work.want(1)
        work.want(2)
        served = []
        for _ in range(4):
            claim = work.claim("a")
            assert claim is not None
            served.append(claim.project)
            work.want(1)  # never quiet
            work.finish(claim)
        assert 2 in served[:2]

    def test_gives_a_project_to_one_worker_only(self, work: WorkList) -> None:
        work.want(3)
        assert (claimed(work, "a"), claimed(work, "b")) == (3, None)

    def test_of_many_workers_at_once_gives_each_project_once(self, database_url: str, work: WorkList) -> None:
        for project in range(40):
            work.want(project)
        got: list[int] = []

        def take(owner: str) -> None:
            engine = open_work_list(database_url)
            mine = WorkList(engine)
            while (claim := mine.claim(owner)) is not None:
                got.append(claim.project)
            engine.dispose()

        threads = [threading.Thread(target=take, args=(f"w{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert Counter(got) == Counter(range(40))

    def test_gives_what_a_dead_worker_held_to_another_when_its_lease_is_over(self, work: WorkList) -> None:
        work.want(3)
        assert claimed(work, "dead", lease=0.0) == 3
        assert claimed(work, "alive") == 3

    def test_is_kept_by_renewing(self, work: WorkList) -> None:
        work.want(3)
        claim = work.claim("a", lease=0.0)
        assert claim is not None
        assert work.renew(claim, 60)
        assert claimed(work, "b") is None

    def test_that_another_has_taken_over_cannot_be_renewed_or_ended(self, work: WorkList) -> None:
        work.want(3)
        late = work.claim("late", lease=0.0)
        assert late is not None
        assert claimed(work, "quick") == 3
        assert (work.renew(late), work.finish(late), work.fail(late, "x")) == (False, False, False)

    def test_is_given_back_by_a_worker_that_stops(self, work: WorkList) -> None:
        work.want(3)
        claimed(work, "a")
        work.release("a")
        claim = work.claim("b")
        assert claim is not None
        assert claim.project == 3


class TestHolding:
    """A project is passed over by one at a time, also where it is not on the list."""

    def test_is_for_one(self, work: WorkList) -> None:
        assert (work.hold(3, "a"), work.hold(3, "b"), work.hold(4, "b")) == (True, False, True)

    def test_is_kept_by_holding_again(self, work: WorkList) -> None:
        assert (work.hold(3, "a", lease=0.0), work.hold(3, "a"), work.hold(3, "b")) == (True, True, False)

    def test_ends_with_its_lease(self, work: WorkList) -> None:
        assert (work.hold(3, "a", lease=0.0), work.hold(3, "b")) == (True, True)

    def test_ends_by_letting_go(self, work: WorkList) -> None:
        work.hold(3, "a")
        work.let_go(3, "b")
        assert not work.hold(3, "b")
        work.let_go(3, "a")
        assert work.hold(3, "b")

    def test_by_a_dead_process_of_this_machine_ends_at_once(self, work: WorkList) -> None:
        process = subprocess.Popen(["true"])
        process.wait()
        dead = f"{own_name().rsplit('-', 2)[0]}-{process.pid}-abc"
        work.hold(3, dead)
        work.want(4)
        claimed(work, dead)
        with holding(work, 3, own_name()):
            assert claimed(work, "b") == 4

    @pytest.mark.parametrize("owner", ["elsewhere-1-abc", own_name(), "strange"], ids=["elsewhere", "alive", "strange"])
    def test_by_a_living_process_or_another_machine_is_respected(self, work: WorkList, owner: str) -> None:
        work.hold(3, owner)
        with pytest.raises(Busy, match="Project 3 is being worked on"), holding(work, 3, "me"):
            pass

    def test_that_was_lost_is_told(self, work: WorkList) -> None:
        with holding(work, 3, "slow", lease=0.2) as held:
            work.let_go(3, "slow")
            work.hold(3, "quick")
            until = time.monotonic() + 20
            while held():
                assert time.monotonic() < until
                time.sleep(0.01)


class TestFailing:
    def test_that_is_only_a_putting_off_is_no_error(self, work: WorkList) -> None:
        work.want(3)
        claim = work.claim("a")
        assert claim is not None
        work.fail(claim, None, 60.0)
        (row,) = work.rows()
        assert (row.error, row.waiting is not None, row.due < 0) == (None, True, True)

    def test_is_tried_again_later(self, work: WorkList) -> None:
        work.want(3)
        claim = work.claim("a")
        assert claim is not None
        work.fail(claim, "It broke.")
        (row,) = work.rows()
        assert (row.error, row.held_by, row.due < -1, claimed(work)) == ("It broke.", "", True, None)

    def test_is_tried_at_once_when_something_changes(self, work: WorkList) -> None:
        work.want(3)
        claim = work.claim("a")
        assert claim is not None
        work.fail(claim, "It broke.")
        work.want(3)
        assert claimed(work) == 3

    def test_is_forgotten_with_the_next_success(self, work: WorkList) -> None:
        for outcome in ("It broke.", None):
            work.want(3)
            claim = work.claim("a")
            assert claim is not None
            work.finish(claim, outcome)
            assert work.rows()[0].error == outcome

    def test_waits_longer_each_time(self) -> None:
        waits = [pause(attempts) for attempts in range(1, 30)]
        assert waits == sorted(waits)
        assert (waits[0], waits[-1]) == (2.0, LONGEST_PAUSE)

    def test_while_events_go_on_coming_keeps_no_other_project_back(self, work: WorkList) -> None:
        work.want(1)
        work.want(2)
        served = []
        for _ in range(3):
            claim = work.claim("a")
            assert claim is not None
            served.append(claim.project)
            work.fail(claim, "It broke.")
            work.want(1, quiet=0, longest=15)
        assert 2 in served

    def test_because_of_an_outage_is_tried_again_soon_after(self, work: WorkList) -> None:
        work.want(3)
        claim = work.claim("a")
        assert claim is not None
        work.fail(dataclasses.replace(claim, attempts=20), "Label Studio is away.", longest=60)
        assert work.rows()[0].due > -61

    def test_does_not_make_what_came_meanwhile_wait_long(self, work: WorkList) -> None:
        work.want(3)
        claim = work.claim("a")
        assert claim is not None
        work.want(3)
        work.fail(dataclasses.replace(claim, attempts=20), "It broke.")
        assert work.rows()[0].due > -5

    def test_of_workers_on_one_project_keeps_no_other_back(self, work: WorkList) -> None:
        """Each worker that starts frees what the dead one held and wants everything anew, as real ones do."""
        process = subprocess.Popen(["true"])
        process.wait()
        dead = f"{own_name().rsplit('-', 2)[0]}-{process.pid}-abc"
        work.want(1)
        work.want(2)
        served: list[int | None] = []
        for _ in range(2 * PATIENT_ATTEMPTS + 4):
            free_what_the_dead_hold(work)
            work.want_all()
            claim = work.claim(dead)
            if claim is not None and claim.project == 2:
                work.finish(claim)
            served.append(None if claim is None else claim.project)
        assert 2 in served[:2]
        assert served.count(1) == PATIENT_ATTEMPTS + 1
        assert "ended without a word" in str(work.rows()[0].error)

    def test_of_workers_that_die_sets_a_project_back(self, work: WorkList) -> None:
        work.want(3)
        for _ in range(PATIENT_ATTEMPTS + 1):
            assert claimed(work, "dying", lease=0.0) == 3
        work.set_back()
        assert claimed(work) is None
        assert "ended without a word" in str(work.rows()[0].error)
        work.want(3)
        assert claimed(work) == 3


class TestDuties:
    def test_are_done_by_one(self, work: WorkList) -> None:
        assert [work.take_duty("poll", 60) for _ in range(3)] == [True, False, False]

    def test_are_due_again(self, work: WorkList) -> None:
        assert [work.take_duty("poll", 0) for _ in range(2)] == [True, True]


class TestWorkers:
    def test_that_were_just_seen_are_alive(self, work: WorkList) -> None:
        work.alive("a")
        work.alive("b", "Label Studio does not answer.")
        assert work.workers() == {"a": None, "b": "Label Studio does not answer."}

    def test_that_said_goodbye_are_not(self, work: WorkList) -> None:
        work.alive("a")
        work.gone("a")
        assert work.workers() == {}


def test_tallies_add_up(work: WorkList) -> None:
    work.add({("passes", "done"): 1, ("seconds", "pull"): 0.5})
    work.add({("passes", "done"): 2})
    assert work.tallies() == {("passes", "done"): 3, ("seconds", "pull"): 0.5}


def test_of_sqlite_has_a_file_of_its_own_for_nobody_else_to_read(tmp_path: Path) -> None:
    open_work_list(f"sqlite:///{tmp_path}/crowd.db").dispose()
    assert [(path.name, path.stat().st_mode & 0o777) for path in tmp_path.iterdir()] == [("crowd-work.db", 0o600)]


# The first schema, as it was before releases had numbers.
FIRST_SCHEMA = (
    "CREATE TABLE project (id INTEGER PRIMARY KEY, title TEXT NOT NULL, label_config TEXT NOT NULL,"
    " seen_until VARCHAR(40))",
    "CREATE TABLE task (id INTEGER PRIMARY KEY, project INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,"
    " updated_at VARCHAR(40) NOT NULL, overlap INTEGER NOT NULL, is_labeled BOOLEAN NOT NULL)",
    "CREATE TABLE annotation (id INTEGER PRIMARY KEY, project INTEGER NOT NULL REFERENCES project (id),"
    " task INTEGER NOT NULL REFERENCES task (id), annotator INTEGER, result TEXT NOT NULL)",
    "CREATE TABLE trail (id INTEGER PRIMARY KEY, project INTEGER NOT NULL, task INTEGER NOT NULL,"
    " annotation INTEGER NOT NULL, event VARCHAR(20) NOT NULL, at VARCHAR(40) NOT NULL, annotator INTEGER,"
    " changed_by INTEGER, result TEXT NOT NULL)",
    "CREATE TABLE gold (project INTEGER NOT NULL, task INTEGER NOT NULL, question VARCHAR(500) NOT NULL,"
    " label TEXT NOT NULL, PRIMARY KEY (project, task, question))",
    "CREATE TABLE written (project INTEGER NOT NULL, task INTEGER NOT NULL, digest VARCHAR(64) NOT NULL,"
    " PRIMARY KEY (project, task))",
    "CREATE TABLE setting_before (project INTEGER NOT NULL, name VARCHAR(100) NOT NULL, value TEXT NOT NULL,"
    " PRIMARY KEY (project, name))",
    "INSERT INTO project VALUES (7, 'Moods', '<View/>', NULL)",
    "INSERT INTO task VALUES (1, 7, '2026', 1, FALSE)",
    "INSERT INTO annotation VALUES (10, 7, 1, 5, '[]')",
    "INSERT INTO trail VALUES (1, 7, 1, 10, 'created', '2026', 5, 5, '[]')",
    "INSERT INTO gold VALUES (7, 1, 'mood', 'good')",
    "INSERT INTO setting_before VALUES (7, 'model_version', '\"\"')",
)


class TestSchema:
    def count(self, url: str, *names: str) -> list[int]:
        engine = open_database(url)
        with engine.connect() as connection:
            found = [len(connection.execute(select(tables.metadata.tables[f"crowd_{name}"])).all()) for name in names]
        engine.dispose()
        return found

    def test_of_the_first_kind_is_brought_up_to_date_and_keeps_what_nobody_else_has(self, database_url: str) -> None:
        engine = open_work_list(database_url)  # makes the file, or on Postgres nothing that is in the way
        engine.dispose()
        raw = _raw(database_url)
        with raw.begin() as connection:
            for statement in FIRST_SCHEMA:
                connection.execute(text(statement))
        raw.dispose()
        assert self.count(database_url, "gold", "trail", "setting_before", "annotation", "run") == [1, 1, 1, 0, 0]
        assert self.count(database_url, "gold", "trail") == [1, 1]

    def test_of_a_newer_release_is_refused(self, database_url: str) -> None:
        open_database(database_url).dispose()
        raw = _raw(database_url)
        with raw.begin() as connection:
            connection.execute(text("UPDATE crowd_schema SET version = 99"))
        raw.dispose()
        with pytest.raises(CrowdError, match=r"schema 99, .*; install a newer one"):
            open_database(database_url)

    def test_is_made_once_by_many_who_start_together(self, database_url: str) -> None:
        failures: list[Exception] = []

        def start() -> None:
            try:
                open_database(database_url).dispose()
                open_work_list(database_url).dispose()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=start) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []


def _raw(url: str) -> Engine:
    return create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
