"""Opening the store: where its files are, what is refused, and several processes at once."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from ls_crowd_plugin.errors import CrowdError, UnusableInput
from ls_crowd_plugin.store import Store, heartbeats, mirror, open_store
from ls_crowd_plugin.store.database import default_file, open_data, open_work
from tests.support.mirrored import (
    LATER,
    PROJECT,
    make_annotation,
    make_task,
    read_annotations,
    read_trail,
    replace_tasks,
    save_project,
)
from tests.support.transactions import run


@pytest.fixture
def sqlite_mirror(sqlite_store: Store) -> Store:
    """A SQLite store with one task and one annotation."""
    save_project(sqlite_store)
    replace_tasks(sqlite_store, (make_task(1), [make_annotation(10)]))
    return sqlite_store


class TestOpening:
    def test_finds_what_was_stored_before(self, database_url: str) -> None:
        with open_store(database_url) as store:
            save_project(store)
            replace_tasks(store, (make_task(1), [make_annotation(10)]))
            run(store.work, heartbeats.beat, "a")
        with open_store(database_url) as store:
            assert read_annotations(store) == [make_annotation(10)]
            assert run(store.work, heartbeats.alive_workers) == {"a": None}

    def test_creates_the_folder(self, tmp_path: Path) -> None:
        open_data(f"sqlite:///{tmp_path / 'a' / 'b' / 'c.db'}").dispose()
        assert (tmp_path / "a" / "b" / "c.db").exists()

    def test_creates_two_sqlite_files_that_nobody_else_can_read(self, tmp_path: Path) -> None:
        with open_store(f"sqlite:///{tmp_path}/crowd.db"):
            pass
        files = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        assert files == {"crowd.db": 0o600, "crowd-work.db": 0o600}

    def test_uses_the_users_data_folder_by_default(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        open_data().dispose()
        assert (tmp_path / "ls-crowd" / "ls-crowd.db").exists()

    def test_has_a_default_without_a_data_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        monkeypatch.setattr(Path, "home", lambda: tmp_path)
        assert default_file() == tmp_path / ".local" / "share" / "ls-crowd" / "ls-crowd.db"


class TestRefusals:
    @pytest.mark.parametrize("url", ["nonsense", "nonsense://host/name", "sqlite+nonsense:///x.db"])
    def test_of_what_is_not_a_database_address(self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UnusableInput, match="LS_CROWD_DATABASE_URL"):
            open_data(url)
        assert list(tmp_path.iterdir()) == []  # it leaves no file behind

    @pytest.mark.parametrize("address", ["me:hunter2@host/name", "me@host/name?password=hunter2"])
    def test_of_a_database_whose_driver_is_not_installed(self, address: str) -> None:
        with pytest.raises(CrowdError, match="LS_CROWD_DATABASE_URL") as caught:
            open_data(f"mysql+pymysql://{address}")
        assert "hunter2" not in str(caught.value)

    def test_of_a_file_that_is_not_a_database(self, tmp_path: Path) -> None:
        (tmp_path / "letter.txt").write_text("Dear all, " * 500, encoding="utf-8")
        with pytest.raises(CrowdError, match="cannot be opened"):
            open_data(f"sqlite:///{tmp_path / 'letter.txt'}")

    def test_of_a_folder_that_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("", encoding="utf-8")
        with pytest.raises(CrowdError, match="LS_CROWD_DATABASE_URL"):
            open_data(f"sqlite:///{tmp_path / 'file' / 'folder' / 'x.db'}")


class TestSeveralConnections:
    def test_can_read_during_a_write(self, sqlite_mirror: Store) -> None:
        with sqlite_mirror.data.begin() as connection:
            mirror.replace_tasks(connection, PROJECT, [(make_task(1), [])], LATER)
            assert read_annotations(sqlite_mirror) == [make_annotation(10)]  # over another connection

    def test_wait_for_each_other_to_write(self, mirror_store: Store) -> None:
        failures: list[Exception] = []

        def write(first: int) -> None:
            try:
                for number in range(first, first + 20):
                    replace_tasks(mirror_store, (make_task(number), [make_annotation(number, task=number)]))
            except Exception as error:
                failures.append(error)

        writers = [threading.Thread(target=write, args=(first,)) for first in (100, 200)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert (failures, len(read_annotations(mirror_store))) == ([], 40)

    def test_can_record_events_while_the_mirror_is_being_written(self, store: Store) -> None:
        save_project(store)
        with store.data.begin() as connection:
            mirror.replace_tasks(connection, PROJECT, [(make_task(1), [])], LATER)
            run(store.work, heartbeats.beat, "a")
        assert run(store.work, heartbeats.alive_workers) == {"a": None}

    def test_give_up_on_a_locked_work_database_after_the_chosen_time(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path / 'crowd.db'}"
        patient, hasty = open_work(url), open_work(url, busy_seconds=0.01)
        with patient.begin() as connection:
            heartbeats.beat(connection, "a")
            with pytest.raises(OperationalError, match="locked"):
                run(hasty, heartbeats.beat, "b")
        patient.dispose()
        hasty.dispose()

    def test_waits_for_another_process_that_makes_its_tables_at_the_same_time(self, tmp_path: Path) -> None:
        path = tmp_path / "crowd.db"
        with sqlite3.connect(path, isolation_level=None, check_same_thread=False) as other:
            other.execute("CREATE TABLE theirs (id INTEGER)")  # the journal mode is still that of a new file
            other.execute("BEGIN IMMEDIATE")
            threading.Timer(0.2, other.execute, ("COMMIT",)).start()
            with open_data(f"sqlite:///{path}").connect() as connection:
                assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        other.close()


class TestTransactions:
    def test_that_fail_leave_nothing(self, mirror_store: Store) -> None:
        def fail_midway() -> None:
            with mirror_store.data.begin() as connection:
                mirror.replace_tasks(connection, PROJECT, [(make_task(1), [make_annotation(10)])], LATER)
                raise InterruptedError

        with pytest.raises(InterruptedError):
            fail_midway()
        assert (read_annotations(mirror_store), read_trail(mirror_store)) == ([], [])


class TestSqlite:
    @pytest.mark.usefixtures("sqlite_mirror")
    def test_can_be_read_by_another_program(self, tmp_path: Path) -> None:
        other = sqlite3.connect(tmp_path / "crowd.db")
        try:
            assert other.execute("SELECT annotator FROM crowd_annotation").fetchall() == [(5,)]
        finally:
            other.close()

    def test_enforces_foreign_keys(self, sqlite_store: Store) -> None:
        with sqlite_store.data.connect() as connection:
            assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
