"""Databases of earlier releases are upgraded: what they hold survives, and the tables are as in a new database."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, inspect, select, text
from sqlalchemy.engine import make_url

from ls_crowd_plugin.records import LabelRegion, ProjectSummary, TrendPoint, Vote
from ls_crowd_plugin.store import Store, duties, heartbeats, leases, mirror, open_store, queue, results, tallies
from ls_crowd_plugin.store.gold import add_gold, gold_table, list_gold
from ls_crowd_plugin.store.passes import get_last_pass
from ls_crowd_plugin.store.predictions import read_predictions, read_task_meta, read_versions
from ls_crowd_plugin.store.project_settings import read_settings_before
from ls_crowd_plugin.store.secrets import get_secret
from ls_crowd_plugin.store.trail import Event, count_reassigned, record_events
from tests.support.mirrored import NOON, read_trail
from tests.support.previous_rows import CHARTS, REGION, SPAN, SUMMARY, fill_data_1, fill_data_3, fill_work_1
from tests.support.queue_steps import claim, claim_project, get_entry
from tests.support.transactions import run

PROJECT = 7

Fill = Callable[[Connection], None]


def fill_data_2(connection: Connection) -> None:
    """Version 3 added results, the names of users, and the texts of tasks."""
    fill_data_3(connection)
    for name in ("crowd_finding", "crowd_label", "crowd_annotator", "crowd_user"):
        connection.execute(text(f"DROP TABLE {name}"))
    connection.execute(text("ALTER TABLE crowd_task DROP COLUMN data"))
    connection.execute(text("UPDATE crowd_schema SET version = 2"))


@contextmanager
def raw_engine(url: str, suffix: str = "") -> Iterator[Engine]:
    """A database before we open it; `suffix` is added to the name of a SQLite file."""
    target = make_url(url)
    if target.get_backend_name() == "sqlite":
        file = Path(str(target.database))
        target = target.set(database=str(file.with_name(f"{file.stem}{suffix}{file.suffix}")))
    else:
        target = target.set(drivername="postgresql+psycopg")
    engine = create_engine(target)
    try:
        yield engine
    finally:
        engine.dispose()


def fill_database(url: str, data: Fill, work: Fill | None = None) -> None:
    with raw_engine(url) as engine:
        run(engine, data)
    if work is not None:
        with raw_engine(url, "-work") as engine:
            run(engine, work)


@pytest.fixture
def upgraded(database_url: str) -> Iterator[Store]:
    """A database of the previous release, opened."""
    fill_database(database_url, fill_data_3, fill_work_1)
    with open_store(database_url) as store:
        yield store


class TestData:
    def test_pulls_all_tasks_again(self, upgraded: Store) -> None:
        """Rows of one project could collide with another's."""
        with upgraded.data.connect() as connection:
            project, tasks = mirror.get_project(connection, PROJECT), mirror.read_tasks(connection, PROJECT)
        assert project == mirror.MirroredProject(
            "Moods", "<View/>", NOON, None, None, 0.0, "gold field: right", 0.0, None, 12
        )
        assert tasks == {}

    def test_lets_gold_belong_to_the_project_that_was_mirrored(self, upgraded: Store) -> None:
        created_at = run(upgraded.data, lambda connection: connection.execute(select(gold_table)).one())
        assert (created_at.project_created_at, created_at.task_created_at) == (NOON, "")

    def test_keeps_what_nobody_else_has(self, upgraded: Store) -> None:
        with upgraded.data.connect() as connection:
            assert list_gold(connection, PROJECT) == {(3, "mood"): "good"}
            assert read_settings_before(connection, PROJECT) == {"model_version": ""}
            assert get_secret(connection, "session key") == "a secret"
            assert count_reassigned(connection, PROJECT) == 1
        assert [row["event"] for row in read_trail(upgraded)] == ["created", "reassigned"]

    def test_remembers_the_version_under_which_it_wrote(self, upgraded: Store) -> None:
        with upgraded.data.connect() as connection:
            assert read_versions(connection, PROJECT) == {"crowd-1"}
            assert read_task_meta(connection, PROJECT) == {2: "b" * 64}
            assert (read_predictions(connection, PROJECT), get_last_pass(connection, PROJECT)) == ({}, None)

    def test_can_be_added_to(self, upgraded: Store) -> None:
        event = Event(1, 10, "deleted", NOON, 5, 5, "[]")
        run(upgraded.data, record_events, PROJECT, [event], NOON)
        assert [row["event"] for row in read_trail(upgraded)] == ["created", "reassigned", "deleted"]


class TestResults:
    def test_of_the_project_are_readable(self, upgraded: Store) -> None:
        stored = run(upgraded.data, results.load_results, PROJECT)
        assert stored is not None
        assert (stored.at, stored.summary) == (1.25, ProjectSummary.from_json(SUMMARY))
        figures = asdict(stored.figures)
        for name, value in CHARTS.items():
            assert json.dumps(figures[name]) == json.dumps(value), name

    def test_of_tasks_are_readable(self, upgraded: Store) -> None:
        tasks, total = run(upgraded.data, results.list_tasks, PROJECT)
        assert ([task.task for task in tasks], total) == ([2, 1, 3], 3)
        span, (box, mood), (gold,) = tasks[0].labels[0], tasks[1].labels, tasks[2].labels
        assert (box.region, span.region) == (LabelRegion(**REGION), LabelRegion(**SPAN))
        assert mood.votes == (Vote(5, "good"), Vote(6, "good"), Vote(7, "bad"))
        assert (mood.posterior, mood.region, mood.explanation) == ({"good": 0.986, "bad": 0.014}, None, None)
        assert (gold.gold, gold.is_settled) == ("good", True)

    def test_of_annotators_are_readable(self, upgraded: Store) -> None:
        annotators, total = run(upgraded.data, results.list_annotators, PROJECT, order="answers")
        rows = [(annotator.annotator, annotator.name, annotator.verdict, annotator.skill) for annotator in annotators]
        assert (rows, total) == ([(5, "Ada", "trusted", 1.927), (7, "user 7", "random", None)], 2)
        loaded = run(upgraded.data, results.load_annotator, PROJECT, 7)
        assert loaded is not None
        annotator, detail = loaded
        assert (annotator.weight, annotator.seconds, detail.differs) == (0.204, None, 4)
        assert detail.trend[1] == TrendPoint("2026-03-01T09:03:00Z", 1.0, 2)
        assert detail.against[0].is_gold
        assert detail.regions is not None
        assert (detail.regions.missed, detail.regions.extra) == (1.0, None)


class TestQueue:
    def test_lets_waiting_projects_be_claimed(self, upgraded: Store) -> None:
        """Also those that a worker of the earlier release held."""
        assert [claim_project(upgraded) for _ in range(3)] == [7, 10, None]

    def test_keeps_its_rows(self, upgraded: Store) -> None:
        parked, failed, held = (get_entry(upgraded, project) for project in (8, 9, 10))
        assert (parked.waiting, parked.error) == (None, "Project 8 has no answers yet that count.")
        assert (failed.attempts, failed.error) == (3, "It broke.")
        assert -501 < failed.due < -400
        assert (held.attempts, held.held_by, held.completed) == (1, "", None)
        assert run(upgraded.work, queue.read_snapshots)[7] == "digest"

    def test_works_as_before(self, upgraded: Store) -> None:
        claimed = claim(upgraded)
        assert run(upgraded.work, leases.acquire, claimed.project, "command") is None
        assert run(upgraded.work, queue.complete, claimed)
        run(upgraded.work, queue.enqueue, claimed.project)
        assert get_entry(upgraded, claimed.project).waiting is not None

    def test_keeps_tallies_under_their_new_labels(self, upgraded: Store) -> None:
        renamed = {"unchanged": 4, "deferred": 3, "parked": 2, "project_gone": 1}
        expected = {("passes", label): value for label, value in {"done": 5, "failed": 6, "superseded": 7}.items()}
        expected |= {("passes", label): value for label, value in renamed.items()}
        assert run(upgraded.work, tallies.read) == {**expected, ("labels", "gone"): 9}

    def test_keeps_workers_and_duties(self, upgraded: Store) -> None:
        assert run(upgraded.work, heartbeats.alive_workers) == {"host-1-abc": "Label Studio does not answer."}
        assert not run(upgraded.work, duties.claim_duty, "poll", 60)


class TestSharedDatabase:
    """Label Studio's own tables are in the same database."""

    def test_keeps_the_queue(self, database_url: str) -> None:
        def fill_work(connection: Connection) -> None:
            fill_work_1(connection)
            connection.execute(text("CREATE TABLE django_migrations (id INTEGER)"))

        fill_database(database_url, fill_data_3, fill_work)
        with open_store(database_url) as store:
            assert get_entry(store, 7).waiting is not None


class TestEarlierVersions:
    def test_1_may_know_already_when_events_were_noticed(self, database_url: str) -> None:
        def fill_data(connection: Connection) -> None:
            fill_data_1(connection)
            connection.execute(text("ALTER TABLE trail ADD COLUMN noticed VARCHAR(40) NOT NULL DEFAULT 'then'"))

        fill_database(database_url, fill_data)
        with open_store(database_url) as store:
            assert [row["noticed"] for row in read_trail(store)] == ["then"]

    def test_1_keeps_what_nobody_else_has(self, database_url: str) -> None:
        fill_database(database_url, fill_data_1)
        for _ in range(2):
            with open_store(database_url) as store:
                assert run(store.data, list_gold, PROJECT) == {(3, "mood"): "good"}
                assert run(store.data, read_settings_before, PROJECT) == {"model_version": ""}
                assert [(row["event"], row["noticed"]) for row in read_trail(store)] == [("created", "")]
                assert run(store.data, mirror.get_project, PROJECT) is None  # it is pulled again

    def test_1_can_be_added_to(self, database_url: str) -> None:
        """Ids may be larger than those of the first release."""
        fill_database(database_url, fill_data_1)
        large = 2**40
        with open_store(database_url) as store:
            run(store.data, record_events, large, [Event(large, large, "created", NOON, large, large, "[]")], NOON)
            assert [row["annotation"] for row in read_trail(store)] == [10, large]

    def test_2_keeps_what_nobody_else_has_and_pulls_all_tasks_again(self, database_url: str) -> None:
        fill_database(database_url, fill_data_2, fill_work_1)
        with open_store(database_url) as store, store.data.connect() as connection:
            assert list_gold(connection, PROJECT) == {(3, "mood"): "good"}
            assert get_last_pass(connection, PROJECT) is None
            project, tasks = mirror.get_project(connection, PROJECT), mirror.read_tasks(connection, PROJECT)
        assert project is not None
        assert (project.pulled_until, project.revision, tasks) == (None, 12, {})

    def test_5_keeps_gold_which_the_next_pull_gives_to_the_tasks_that_are_there(self, database_url: str) -> None:
        with open_store(database_url) as store:
            run(store.data, add_gold, PROJECT, {(3, "mood"): "good"})
            expected = layout(store)
            with store.data.begin() as connection:
                connection.execute(text("ALTER TABLE crowd_gold DROP COLUMN task_created_at"))
                connection.execute(text("UPDATE crowd_schema SET version = 5"))
        with open_store(database_url) as store:
            assert run(store.data, list_gold, PROJECT) == {(3, "mood"): "good"}
            assert layout(store) == expected


def layout(store: Store) -> dict[str, object]:
    """Table → its columns, keys and indexes."""
    found: dict[str, object] = {}
    for engine in (store.data, store.work):
        with engine.connect() as connection:
            tables = inspect(connection)
            for name in tables.get_table_names():
                found[name] = {
                    "columns": {(c["name"], c["nullable"], str(c["type"])) for c in tables.get_columns(name)},
                    "key": tables.get_pk_constraint(name)["constrained_columns"],
                    "references": {
                        (*key["constrained_columns"], key["referred_table"]) for key in tables.get_foreign_keys(name)
                    },
                    "indexes": {tuple(index["column_names"]) for index in tables.get_indexes(name)},
                }
    return found


class TestTables:
    @pytest.mark.slow
    @pytest.mark.parametrize("data", [fill_data_1, fill_data_2, fill_data_3], ids=["1", "2", "3"])
    def test_are_as_in_a_new_database(self, database_url: str, request: pytest.FixtureRequest, data: Fill) -> None:
        new_url = database_url.replace("crowd.db", "new.db")
        if new_url == database_url:
            new_url = request.getfixturevalue("postgres")(f"new_{secrets.token_hex(6)}")
        fill_database(database_url, data, fill_work_1)
        with open_store(database_url) as upgraded, open_store(new_url) as new:
            assert layout(upgraded) == layout(new)

    def test_are_upgraded_once_if_many_processes_start_together(self, database_url: str) -> None:
        fill_database(database_url, fill_data_3, fill_work_1)

        def start(_: int) -> int | None:
            with open_store(database_url) as store, store.data.connect() as connection:
                return connection.execute(select(mirror.project_table.c.id)).scalar()

        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(start, range(4))) == [PROJECT] * 4
