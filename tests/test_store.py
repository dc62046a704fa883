"""The mirror becomes what Label Studio holds, and its trail tells of everything that was ever said."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, delete, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from ls_crowd_plugin.errors import CrowdError, NoSuchProject, NotThere, Overtaken, ProjectGone, UnusableInput
from ls_crowd_plugin.labelstudio import Http, LabelStudio, client
from ls_crowd_plugin.pipeline.pull import Pulled, pull
from ls_crowd_plugin.store import Annotation, Mirror, Task, open_database, tables
from ls_crowd_plugin.store.database import default_file
from ls_crowd_plugin.store.mirror import CHUNK, upsert

PROJECT = 7
NOON = "2026-01-01T12:00:00.000000Z"
LATER = "2026-01-01T13:00:00.000000Z"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = open_database(f"sqlite:///{tmp_path / 'mirror.db'}")
    yield opened
    opened.dispose()


@pytest.fixture
def known(engine: Engine) -> Engine:
    """A database that knows the project."""
    with engine.begin() as connection:
        Mirror(connection, PROJECT).describe("Moods", "<View/>", NOON, "")
    return engine


def task(number: int) -> Task:
    return Task(number, NOON, 1, False)


def annotation(number: int, of: int = 1, by: int | None = 5, said: str = "good") -> Annotation:
    return Annotation(
        id=number,
        task=of,
        annotator=by,
        result=json.dumps([{"from_name": "mood", "value": {"choices": [said]}}]),
        skipped=False,
        ground_truth=False,
        copied=False,
        created_at=NOON,
        updated_at=NOON,
        updated_by=by,
        lead_time=1.5,
    )


def put(engine: Engine, *seen: tuple[Task, list[Annotation]], project: int = PROJECT) -> int:
    with engine.begin() as connection:
        return Mirror(connection, project).replace(seen, LATER)


def held(engine: Engine, project: int = PROJECT) -> list[Annotation]:
    with engine.connect() as connection:
        return Mirror(connection, project).annotations()


def trail(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(select(tables.trail).order_by(tables.trail.c.id)))


class TestReplacing:
    def test_keeps_what_it_is_given(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        assert held(known) == [annotation(10)]

    def test_keeps_the_tasks(self, known: Engine) -> None:
        put(known, (task(2), []), (task(1), []))
        with known.connect() as connection:
            mirror = Mirror(connection, PROJECT)
            assert (mirror.task_ids(), mirror.task_count()) == ({1, 2}, 2)

    def test_gives_back_the_parsed_result(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10, said="ünï")]))
        assert held(known)[0].items[0]["value"] == {"choices": ["ünï"]}

    def test_takes_the_place_of_what_was_there(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10), annotation(11, by=6)]))
        put(known, (task(1), [annotation(11, by=6, said="bad")]))
        assert held(known) == [annotation(11, by=6, said="bad")]

    def test_leaves_other_tasks_alone(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]), (task(2), [annotation(20, of=2)]))
        put(known, (task(1), []))
        assert held(known) == [annotation(20, of=2)]

    def test_leaves_other_projects_alone(self, known: Engine) -> None:
        with known.begin() as connection:
            Mirror(connection, 8).describe("Other", "<View/>", NOON, "")
        put(known, (task(1), [annotation(10)]))
        put(known, (task(2), [annotation(20, of=2)]), project=8)
        assert held(known) == [annotation(10)]

    def test_counts_what_differs(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10), annotation(11, by=6), annotation(12, by=7)]))
        now = [annotation(10), annotation(11, by=6, said="bad"), annotation(13, by=8)]
        assert put(known, (task(1), now)) == 3

    def test_of_the_same_counts_nothing(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        assert put(known, (task(1), [annotation(10)])) == 0

    def test_of_no_tasks_does_nothing(self, known: Engine) -> None:
        assert put(known) == 0

    def test_takes_more_tasks_than_fit_in_one_statement(self, known: Engine) -> None:
        many = range(1, 2 * CHUNK + 3)
        put(known, *((task(number), [annotation(10_000 + number, of=number)]) for number in many))
        changed = put(known, *((task(number), []) for number in many))
        assert (changed, held(known)) == (len(many), [])


class TestTrail:
    def test_tells_of_a_new_annotation(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        assert [(row.event, row.annotation, row.annotator, row.at) for row in trail(known)] == [
            ("created", 10, 5, NOON)
        ]

    def test_tells_of_a_changed_one_with_what_it_says_now(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        put(known, (task(1), [annotation(10, said="bad")]))
        assert [(row.event, "bad" in row.result) for row in trail(known)] == [("created", False), ("changed", True)]

    def test_tells_of_a_deleted_one_with_what_it_said(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        put(known, (task(1), []))
        assert [(row.event, "good" in row.result) for row in trail(known)] == [("created", True), ("deleted", True)]

    def test_says_nothing_of_what_stayed_the_same(self, known: Engine) -> None:
        for _ in range(3):
            put(known, (task(1), [annotation(10)]))
        assert len(trail(known)) == 1

    def test_shows_an_edit_by_somebody_else(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        put(known, (task(1), [replace(annotation(10, said="bad"), updated_by=9, updated_at=LATER)]))
        last = trail(known)[-1]
        assert (last.event, last.annotator, last.changed_by, last.at) == ("changed", 5, 9, LATER)

    def test_shows_a_change_of_author(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10, by=5)]))
        put(known, (task(1), [replace(annotation(10, by=5), annotator=6)]))
        assert [row.annotator for row in trail(known)] == [5, 6]

    def test_is_in_the_order_of_time(self, known: Engine) -> None:
        put(known, (task(1), [replace(annotation(10), updated_at=LATER), annotation(11, by=6)]))
        assert [row.annotation for row in trail(known)] == [11, 10]

    def test_keeps_what_was_said_on_a_dropped_task(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        with known.begin() as connection:
            Mirror(connection, PROJECT).drop([1], LATER)
        assert [row.event for row in trail(known)] == ["created", "deleted"]

    def test_stays_when_the_project_goes(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        with known.begin() as connection:
            connection.execute(delete(tables.project))
        assert len(trail(known)) == 1


class TestDropping:
    def test_forgets_tasks_and_their_annotations(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]), (task(2), [annotation(20, of=2)]))
        with known.begin() as connection:
            mirror = Mirror(connection, PROJECT)
            mirror.drop([1], LATER)
            assert (mirror.task_ids(), mirror.annotations()) == ({2}, [annotation(20, of=2)])

    def test_forgets_what_was_written_for_them(self, known: Engine) -> None:
        with known.begin() as connection:
            rows = [{"project": PROJECT, "task": number, "digest": "d"} for number in (1, 2)]
            connection.execute(insert(tables.written), rows)
            Mirror(connection, PROJECT).drop([1], LATER)
            assert list(connection.execute(select(tables.written.c.task)).scalars()) == [2]

    def test_of_more_than_fit_in_one_statement(self, known: Engine) -> None:
        many = range(1, 2 * CHUNK + 3)
        put(known, *((task(number), []) for number in many))
        with known.begin() as connection:
            mirror = Mirror(connection, PROJECT)
            mirror.drop(many, LATER)
            assert mirror.task_count() == 0

    def test_of_unknown_tasks_does_nothing(self, known: Engine) -> None:
        with known.begin() as connection:
            Mirror(connection, PROJECT).drop([99], LATER)
        assert trail(known) == []


class TestProject:
    def test_description_is_replaced(self, known: Engine) -> None:
        with known.begin() as connection:
            Mirror(connection, PROJECT).describe("Renamed", "<View><Header/></View>", NOON, "")
            found = list(connection.execute(select(tables.project.c.title, tables.project.c.label_config)))
        assert found == [("Renamed", "<View><Header/></View>")]

    def test_description_leaves_the_cursor(self, known: Engine) -> None:
        with known.begin() as connection:
            mirror = Mirror(connection, PROJECT)
            mirror.set_seen_until(NOON)
            mirror.describe("Renamed", "<View/>", NOON, "")
            assert mirror.seen_until() == NOON

    def test_that_is_new_has_no_cursor(self, known: Engine) -> None:
        with known.connect() as connection:
            assert Mirror(connection, PROJECT).seen_until() is None

    def test_takes_its_rows_with_it(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        with known.begin() as connection:
            connection.execute(delete(tables.project))
            rows = [select(func.count()).select_from(each) for each in (tables.task, tables.annotation)]
            assert [connection.execute(each).scalar() for each in rows] == [0, 0]

    def test_must_be_known_before_its_tasks(self, engine: Engine) -> None:
        with pytest.raises(IntegrityError):
            put(engine, (task(1), []))


class TestUpsert:
    def test_inserts_what_is_new_and_changes_what_is_not(self, known: Engine) -> None:
        with known.begin() as connection:
            for label in ("good", "bad"):
                row = {"project": PROJECT, "task": 1, "question": "mood", "label": label}
                upsert(connection, tables.gold, row, {"label": label})
            assert list(connection.execute(select(tables.gold.c.label)).scalars()) == ["bad"]


class TestDatabase:
    def test_opens_again_with_what_it_held(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        again = open_database(known.url.render_as_string())
        try:
            assert held(again) == [annotation(10)]
        finally:
            again.dispose()

    def test_makes_its_folder(self, tmp_path: Path) -> None:
        open_database(f"sqlite:///{tmp_path / 'a' / 'b' / 'c.db'}").dispose()
        assert (tmp_path / "a" / "b" / "c.db").exists()

    def test_is_by_itself_in_the_users_data_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        open_database().dispose()
        assert (tmp_path / "ls-crowd" / "ls-crowd.db").exists()

    def test_is_in_the_usual_place_without_a_data_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        monkeypatch.setattr(Path, "home", lambda: tmp_path)
        assert default_file() == tmp_path / ".local" / "share" / "ls-crowd" / "ls-crowd.db"

    @pytest.mark.parametrize("url", ["nonsense", "nonsense://host/name", "sqlite+nonsense:///x.db"])
    def test_with_an_address_that_is_none_is_refused_in_a_sentence(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UnusableInput, match="LS_CROWD_DATABASE_URL"):
            open_database(url)
        assert list(tmp_path.iterdir()) == []  # and leaves no file behind

    def test_whose_driver_is_not_installed_is_refused_in_a_sentence(self) -> None:
        with pytest.raises(CrowdError, match="LS_CROWD_DATABASE_URL"):
            open_database("mysql+pymysql://me:hunter2@host/name")

    def test_that_is_some_other_file_is_refused_in_a_sentence(self, tmp_path: Path) -> None:
        (tmp_path / "letter.txt").write_text("Dear all, " * 500, encoding="utf-8")
        with pytest.raises(CrowdError, match="cannot be opened"):
            open_database(f"sqlite:///{tmp_path / 'letter.txt'}")

    def test_in_a_folder_that_is_a_file_is_refused_in_a_sentence(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("", encoding="utf-8")
        with pytest.raises(CrowdError, match="LS_CROWD_DATABASE_URL"):
            open_database(f"sqlite:///{tmp_path / 'file' / 'folder' / 'x.db'}")

    def test_is_read_while_it_is_written(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        with known.begin() as connection:
            Mirror(connection, PROJECT).replace([(task(1), [])], LATER)
            assert held(known) == [annotation(10)]  # over another connection

    def test_a_transaction_that_fails_leaves_nothing(self, known: Engine) -> None:
        def fail_midway() -> None:
            with known.begin() as connection:
                Mirror(connection, PROJECT).replace([(task(1), [annotation(10)])], LATER)
                raise InterruptedError

        with pytest.raises(InterruptedError):
            fail_midway()
        assert (held(known), trail(known)) == ([], [])

    def test_two_writers_wait_for_each_other(self, known: Engine) -> None:
        failures: list[Exception] = []

        def write(first: int) -> None:
            try:
                for number in range(first, first + 20):
                    put(known, (task(number), [annotation(number, of=number)]))
            except Exception as error:
                failures.append(error)

        writers = [threading.Thread(target=write, args=(first,)) for first in (100, 200)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert (failures, len(held(known))) == ([], 40)

    def test_another_program_can_read_it(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        other = sqlite3.connect(str(known.url.database))
        try:
            assert other.execute("SELECT annotator FROM crowd_annotation").fetchall() == [(5,)]
        finally:
            other.close()

    def test_watches_over_references(self, known: Engine) -> None:
        with known.connect() as connection:
            assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1


class TestRevision:
    """Another number whenever a consensus may be another, and only then."""

    def moved(self, engine: Engine, *seen: tuple[Task, list[Annotation]]) -> bool:
        before = self.revision(engine)
        put(engine, *seen)
        return self.revision(engine) != before

    def revision(self, engine: Engine) -> int:
        with engine.connect() as connection:
            return Mirror(connection, PROJECT).revision()

    def test_moves_with_an_annotation(self, known: Engine) -> None:
        assert self.moved(known, (task(1), [annotation(10)]))
        assert self.moved(known, (task(1), [annotation(10, said="bad")]))
        assert self.moved(known, (task(1), []))

    def test_stays_if_what_is_read_again_is_the_same(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        assert not self.moved(known, (task(1), [annotation(10)]))

    def test_stays_if_only_the_time_of_the_task_is_another(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        assert not self.moved(known, (replace(task(1), updated_at=LATER), [annotation(10)]))

    def test_moves_with_the_answers_a_task_asks_for(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        assert self.moved(known, (replace(task(1), overlap=3), [annotation(10)]))

    def test_moves_with_a_known_label(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        assert self.moved(known, (replace(task(1), known='"good"'), [annotation(10)]))

    def test_moves_with_a_task_that_goes(self, known: Engine) -> None:
        put(known, (task(1), []))
        before = self.revision(known)
        with known.begin() as connection:
            Mirror(connection, PROJECT).drop([1], LATER)
        assert self.revision(known) != before


class TestTamperingIsSeen:
    def test_another_author_is_an_event_of_its_own(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10, by=5)]))
        put(known, (task(1), [annotation(10, by=6)]))
        with known.connect() as connection:
            assert Mirror(connection, PROJECT).reassigned() == 1
            rows = connection.execute(select(tables.trail.c.event, tables.trail.c.annotator)).all()
        assert [tuple(row) for row in rows] == [("created", 5), ("reassigned", 6)]

    def test_every_event_has_the_time_it_was_noticed(self, known: Engine) -> None:
        put(known, (task(1), [annotation(10)]))
        put(known, (task(1), []))
        with known.connect() as connection:
            rows = connection.execute(select(tables.trail.c.event, tables.trail.c.noticed)).all()
        assert [tuple(row) for row in rows] == [("created", LATER), ("deleted", LATER)]


class Studio(LabelStudio):
    """Label Studio's list of tasks with its clock and its ways: pages, a filter by time, a count."""

    def __init__(self) -> None:
        super().__init__(Http("http://nowhere.example", "key"))
        self.now = datetime(2026, 1, 1, tzinfo=timezone.utc)
        self.held: dict[int, dict[str, Any]] = {}
        self.since: list[str | None] = []  # of every reading of tasks, what it was asked for
        self.listings = 0  # of nothing but ids
        self.facts: dict[str, Any] = {"created_at": NOON}
        self.deleted = False
        self.others = [8]  # projects beside the one
        self.http.get = self._get  # type: ignore[method-assign]
        self.http.server_time = lambda: self.now  # type: ignore[method-assign]
        self.after_page: list[Any] = []  # what happens on the server once a page is out

    def wait(self, seconds: float = 60) -> None:
        self.now += timedelta(seconds=seconds)

    @property
    def clock(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def say(self, number: int, label: str, of: int, by: Any = 5) -> None:
        """An annotation, new or changed."""
        on = self.held.setdefault(of, {"id": of, "overlap": 1, "is_labeled": False, "annotations": []})
        on["updated_at"] = self.clock
        on["annotations"] = [each for each in on["annotations"] if each["id"] != number]
        result = [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [label]}}]
        on["annotations"].append(
            {"id": number, "completed_by": by, "result": result, "created_at": self.clock, "updated_at": self.clock}
        )

    def forget(self, number: int, of: int) -> None:
        self.held[of]["annotations"] = [each for each in self.held[of]["annotations"] if each["id"] != number]
        self.held[of]["updated_at"] = self.clock

    def _get(self, path: str, **asked: Any) -> Any:
        if path == f"/api/projects/{PROJECT}/":
            if self.deleted:
                raise NotThere("Label Studio has no such project.")
            return {
                "task_number": len(self.held),
                "id": PROJECT,
                "title": "Moods",
                "label_config": "<View/>",
                **self.facts,
            }
        if path == "/api/projects/":
            return {"results": [{"id": each} for each in self.others], "next": None}
        assert path == "/api/tasks"
        since = json.loads(asked["query"])["filters"]["items"][0]["value"] if "query" in asked else None
        if asked["include"] == "id":
            self.listings += 1
        elif asked["page"] == 1:
            self.since.append(since)
        found = [each for _, each in sorted(self.held.items()) if since is None or each["updated_at"] > since]
        size = int(asked["page_size"])
        page = found[size * (asked["page"] - 1) : size * asked["page"]]
        if not page and asked["page"] > 1:
            raise NotThere("Label Studio has nothing at this page.")
        answer = json.loads(json.dumps({"total": len(found), "tasks": page}))
        if self.after_page:
            self.after_page.pop(0)()
        return answer


@pytest.fixture
def studio() -> Studio:
    return Studio()


def labels(engine: Engine) -> dict[int, str]:
    return {each.id: each.items[0]["value"]["choices"][0] for each in held(engine)}


class TestPulling:
    def pull(self, studio: Studio, engine: Engine, from_scratch: bool = False) -> Pulled:
        pulled = pull(studio, engine, PROJECT, from_scratch=from_scratch)
        studio.wait()
        return pulled

    def test_reads_everything_the_first_time(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        studio.say(20, "bad", of=2)
        self.pull(studio, engine)
        assert labels(engine) == {10: "good", 20: "bad"}

    def test_reads_nothing_if_nothing_changed(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        studio.wait()
        self.pull(studio, engine)
        again = self.pull(studio, engine)
        assert (again.tasks_read, again.annotations_changed, again.tasks_gone) == (0, 0, 0)

    def test_reads_only_what_changed(self, studio: Studio, engine: Engine) -> None:
        for number in range(1, 6):
            studio.say(number * 10, "good", of=number)
        studio.wait()
        self.pull(studio, engine)
        studio.say(30, "bad", of=3)
        again = self.pull(studio, engine)
        assert (again.tasks_read, again.annotations_changed, labels(engine)[30]) == (1, 1, "bad")

    def test_finds_a_deleted_annotation(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        self.pull(studio, engine)
        studio.forget(10, of=1)
        self.pull(studio, engine)
        assert labels(engine) == {}

    def test_finds_a_deleted_task(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        studio.say(20, "bad", of=2)
        self.pull(studio, engine)
        del studio.held[1]
        again = self.pull(studio, engine)
        assert (again.tasks_gone, labels(engine)) == (1, {20: "bad"})

    def test_lists_ids_only_if_the_counts_differ(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        self.pull(studio, engine)
        self.pull(studio, engine)
        assert studio.listings == 0

    def test_reads_everything_again_if_tasks_are_missing(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        studio.wait()
        old = studio.now
        self.pull(studio, engine)
        studio.now, now = old - timedelta(days=1), studio.now
        studio.say(20, "bad", of=2)  # as from a backup: with an older time than the mirror has seen
        studio.now = now
        self.pull(studio, engine)
        assert (labels(engine), studio.since[-1]) == ({10: "good", 20: "bad"}, None)

    def test_from_scratch_reads_everything(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        studio.wait()
        self.pull(studio, engine)
        assert self.pull(studio, engine, from_scratch=True).tasks_read == 1

    def test_sees_a_change_that_showed_a_moment_after_its_time(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        pull(studio, engine, PROJECT)
        studio.now -= timedelta(seconds=3)  # committed after the pull with a time before it
        studio.say(10, "bad", of=1)
        studio.wait()
        self.pull(studio, engine)
        assert labels(engine) == {10: "bad"}

    def test_asks_in_the_servers_time(self, studio: Studio, engine: Engine) -> None:
        self.pull(studio, engine)
        self.pull(studio, engine)
        assert studio.since == [None, "2025-12-31T23:59:55.000000Z"]

    def test_that_broke_off_is_done_anew(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)

        def fail() -> None:
            raise NotThere("gone")

        studio.after_page = [fail]
        with pytest.raises(NotThere):
            self.pull(studio, engine)
        self.pull(studio, engine)
        assert (labels(engine), studio.since) == ({10: "good"}, [None, None])

    @pytest.mark.parametrize("person", [5, {"id": 5, "email": "somebody@example.com"}])
    def test_knows_a_person_in_both_forms(self, person: Any, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1, by=person)
        self.pull(studio, engine)
        assert held(engine)[0].annotator == 5

    @pytest.mark.parametrize("parent", ["parent_prediction", "parent_annotation"])
    def test_notes_copies(self, parent: str, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        studio.held[1]["annotations"][0][parent] = 3
        self.pull(studio, engine)
        assert held(engine)[0].copied

    def test_notes_skipped_ones_and_ground_truth(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        studio.held[1]["annotations"][0] |= {"was_cancelled": True, "ground_truth": True, "result": []}
        self.pull(studio, engine)
        (found,) = held(engine)
        assert (found.skipped, found.ground_truth, found.result) == (True, True, "[]")

    def test_a_task_deleted_between_two_pages_hides_no_change_of_another(
        self, studio: Studio, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(client, "PAGE", 2)
        for number in range(1, 6):
            studio.say(number * 10, "good", of=number)
        studio.wait()
        self.pull(studio, engine)
        for number in range(1, 6):
            studio.say(number * 10, "bad", of=number)
        studio.wait()
        studio.after_page = [lambda: studio.held.pop(1)]
        self.pull(studio, engine)
        self.pull(studio, engine)
        assert labels(engine) == {20: "bad", 30: "bad", 40: "bad", 50: "bad"}

    def test_that_was_overtaken_changes_nothing_any_more(self, studio: Studio, engine: Engine) -> None:
        """A process that was asleep with a page in its hands wakes after another has read the project anew."""
        studio.say(10, "good", of=1)

        def overtake() -> None:
            studio.wait()
            studio.say(10, "bad", of=1)
            pull(studio, engine, PROJECT)

        studio.after_page = [overtake]
        with pytest.raises(Overtaken, match="Another process"):
            pull(studio, engine, PROJECT)
        assert labels(engine) == {10: "bad"}

    def test_of_a_project_that_is_gone_forgets_it_but_not_its_trail(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        self.pull(studio, engine)
        studio.deleted = True
        with pytest.raises(ProjectGone, match="no longer in Label Studio"):
            self.pull(studio, engine)
        assert (held(engine), len(trail(engine))) == ([], 1)

    @pytest.mark.parametrize("others", [[], [7, 8]], ids=["none", "itself"])
    def test_of_a_project_that_only_seems_gone_forgets_nothing(
        self, studio: Studio, engine: Engine, others: list[int]
    ) -> None:
        """A key that may see no project at all, or a gateway that answers 404 in Label Studio's place."""
        studio.say(10, "good", of=1)
        self.pull(studio, engine)
        studio.deleted, studio.others = True, others
        with pytest.raises(NotThere):
            self.pull(studio, engine)
        assert len(held(engine)) == 1

    def test_reads_everything_again_when_the_answers_wanted_for_tasks_change(
        self, studio: Studio, engine: Engine
    ) -> None:
        """Label Studio changes the tasks' overlap without moving their time."""
        studio.say(10, "good", of=1)
        studio.wait()
        self.pull(studio, engine)
        studio.held[1]["overlap"] = 5
        studio.facts = {**studio.facts, "maximum_annotations": 5}
        assert self.pull(studio, engine).tasks_read == 1
        assert self.pull(studio, engine).tasks_read == 0

    def test_of_a_project_that_never_was_says_so(self, studio: Studio, engine: Engine) -> None:
        studio.deleted = True
        with pytest.raises(NoSuchProject, match="no project 7 in Label Studio that the key may see"):
            self.pull(studio, engine)

    def test_of_another_servers_project_of_the_same_number_is_refused(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        self.pull(studio, engine)
        studio.facts = {"created_at": LATER}
        with pytest.raises(UnusableInput, match="LS_CROWD_DATABASE_URL"):
            self.pull(studio, engine)
        assert len(held(engine)) == 1

    def test_with_another_field_of_known_labels_reads_everything(self, studio: Studio, engine: Engine) -> None:
        studio.say(10, "good", of=1)
        studio.held[1]["data"] = {"right": "bad", "blank": ""}
        for field_, known in (("", {}), ("right", {1: '"bad"'}), ("blank", {})):
            studio.wait()
            pull(studio, engine, PROJECT, gold_field=field_)
            with engine.connect() as connection:
                assert Mirror(connection, PROJECT).known() == known
