"""What several test files need: CSV files, the command as a process of its own, and a real Label Studio."""

from __future__ import annotations

import csv
import os
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings
from sqlalchemy import event

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.store import Store, open_store
from tests.support.examples import MAX_QUICK_EXAMPLES
from tests.support.proxy import Proxy

WriteCsv = Callable[[str, Iterable[Sequence[str]]], Path]
RunCommand = Callable[..., "subprocess.CompletedProcess[str]"]

# A busy machine does not make a test fail. `make quick` tries fewer examples.
settings.register_profile("patient", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=MAX_QUICK_EXAMPLES)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "patient"))

# Label Studio is installed here once; the first time takes minutes, so it begins before the first test.
STUDIO_HOME = Path(__file__).parent.parent / ".label-studio"
_preparing: list[subprocess.Popen[str]] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files go to two processes one after another: the first waits for Label Studio while the other process does those
    that need none, and the rest come when these are done."""
    items.sort(key=_turn)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begins to install Label Studio in a process of its own, if any test needs it."""
    if any(map(_needs_studio, session.items)) and not session.config.option.collectonly:
        command = [sys.executable, "-m", "ls_crowd_plugin.demo.server", str(STUDIO_HOME)]
        _preparing.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how many steps of each kind the walks took."""
    for name in ("steps", "refused steps"):
        taken: Counter[str] = Counter()
        for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
            taken.update(dict(report.user_properties).get(name, {}) if report.when == "call" else {})
        if taken:
            listed = ", ".join(f"{action} {number}" for action, number in taken.most_common())
            terminalreporter.write_line(f"{taken.total()} {name} of walks: {listed}")


def _turn(item: pytest.Item) -> int:
    if not _needs_studio(item):
        return 1
    return 0 if item.path.name == "test_service.py" else 2


def _needs_studio(item: pytest.Item) -> bool:
    return "label_studio" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def label_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real Label Studio of its own on a free port, with nothing in it but its owner."""
    preparing = _preparing[0]
    _, errors = preparing.communicate()
    assert preparing.returncode == 0, errors
    memory = Path("/dev/shm")  # where there is one, Label Studio does not wait for a disk
    folder = tmp_path_factory.mktemp("label-studio")
    if memory.is_dir() and os.access(memory, os.W_OK):
        folder = Path(tempfile.mkdtemp(prefix="ls-crowd-tests-", dir=memory))
    try:
        with Server(STUDIO_HOME, folder / "data") as server:
            yield server
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def owner(label_studio: Server) -> Http:
    """Requests as Label Studio's owner."""
    return Http(label_studio.url, label_studio.key)


@pytest.fixture(scope="session")
def proxy_server(label_studio: Server) -> Iterator[Proxy]:
    """Label Studio, seen through a proxy that counts and breaks requests."""
    with Proxy(label_studio.url).running() as running:
        yield running


@pytest.fixture
def proxy(proxy_server: Proxy) -> Proxy:
    """The proxy, as if nothing had ever gone through it."""
    proxy_server.fault, proxy_server.after = (lambda _: ""), (lambda _: None)
    proxy_server.requests.clear()
    return proxy_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[str], str]]:
    """A real Postgres of the tests' own; makes an empty database of a name and gives its URL.

    Under root it runs as another user, who cannot reach a folder of pytest's: any other pytest that starts closes them.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says where it puts its files
        from pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="postgres-") as folder:
        server = get_server(Path(folder) / "data")
        server.psql("ALTER SYSTEM SET fsync = off")  # it does not have to survive a power cut
        server.psql("SELECT pg_reload_conf()")

        def make(name: str) -> str:
            server.psql(f"CREATE DATABASE {name}")
            return str(server.get_uri(name))

        yield make
        server.cleanup()


@pytest.fixture
def store(request: pytest.FixtureRequest, database_url: str) -> Iterator[Store]:
    """An empty store in a database of either kind."""
    if database_url.startswith("sqlite"):
        yield request.getfixturevalue("sqlite_store")
        return
    with open_store(database_url) as opened:
        yield opened


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'crowd.db'}"
    return str(request.getfixturevalue("postgres")(f"test_{secrets.token_hex(6)}"))


@dataclass
class ReusedStore:
    """A store in SQLite that is opened once and then moves from folder to folder: to compile its statements again for
    every test would take longer than most tests."""

    store: Store
    empty: Path  # a folder with the two files of an empty store: they are copied faster than created
    folder: Path  # that of the present test

    def move(self, folder: Path) -> Store:
        shutil.copytree(self.empty, folder, dirs_exist_ok=True)
        self.store.close()
        self.folder = folder
        return self.store

    def redirect(self, _: object, __: object, arguments: list[str], ___: object) -> None:
        """Called before a connection is made, with its arguments."""
        arguments[0] = str(self.folder / Path(arguments[0]).name)


@pytest.fixture(scope="session")
def reused_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReusedStore]:
    empty = tmp_path_factory.mktemp("empty-store")
    with open_store(f"sqlite:///{empty / 'crowd.db'}") as store:
        store.close()  # the last connection leaves nothing but the two files
        reused = ReusedStore(store, empty, empty)
        for engine in (store.data, store.work):
            event.listen(engine, "do_connect", reused.redirect)
            event.listen(engine, "connect", _do_not_wait)
        yield reused


@pytest.fixture
def sqlite_store(reused_store: ReusedStore, tmp_path: Path) -> Iterator[Store]:
    """An empty store in SQLite that does not wait for the disk."""
    yield reused_store.move(tmp_path)
    reused_store.store.close()


def _do_not_wait(connection: sqlite3.Connection, _: object) -> None:
    connection.execute("PRAGMA synchronous=OFF")


# Seven tasks, four annotators; `d` answers against the others. Gold knows two tasks.
ANSWERS = [
    ("task", "annotator", "label"),
    *(
        (f"t{number}", who, "cat" if (number % 2 == 0) != (who == "d") else "dog")
        for number in range(7)
        for who in "abcd"
    ),
]
GOLD = [("task", "label"), ("t0", "cat"), ("t1", "dog")]


@pytest.fixture
def write_csv(tmp_path: Path) -> WriteCsv:
    def write(name: str, rows: Iterable[Sequence[str]]) -> Path:
        path = tmp_path / name
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
        return path

    return write


@pytest.fixture
def answers_csv(write_csv: WriteCsv) -> Path:
    return write_csv("answers.csv", ANSWERS)


@pytest.fixture
def gold_csv(write_csv: WriteCsv) -> Path:
    return write_csv("gold.csv", GOLD)


@pytest.fixture(scope="session")
def run_command() -> RunCommand:
    """Runs `ls-crowd` with the given arguments; keyword arguments are environment variables."""

    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "ls_crowd_plugin", *map(str, arguments)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, **environment},
            check=False,
        )

    return run
