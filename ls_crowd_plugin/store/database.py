"""Opens the store: creates its folder, upgrades its tables, and sets SQLite up for several processes at once."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from ..errors import CrowdError, UnusableInput
from .schema import DATA_SCHEMA, WORK_SCHEMA, Schema, upgrade

BUSY_SECONDS = 30.0
RETRY_SECONDS = 0.01


@dataclass(frozen=True)
class Store:
    """Our two databases: with Postgres both are in one; with SQLite each has a file of its own, so that recording an
    event never waits for the mirror.

    The functions of the store take a connection, and the caller decides about the transaction:
    `with store.data.begin() as connection: ...`.
    """

    data: Engine  # mirror, trail, gold, results, secrets
    work: Engine  # queue, candidates, leases, heartbeats, duties, tallies, sessions

    def close(self) -> None:
        self.data.dispose()
        self.work.dispose()


@contextmanager
def open_store(url: str | None = None, busy_seconds: float = BUSY_SECONDS) -> Iterator[Store]:
    """Open the store at a SQLAlchemy URL, or in the user's data folder, and close it at the end.

    `busy_seconds` is how long a caller of the work database can wait while it is locked.
    """
    data = open_data(url)
    try:
        store = Store(data, open_work(url, busy_seconds))
    except BaseException:
        data.dispose()
        raise
    try:
        yield store
    finally:
        store.close()


def open_data(url: str | None = None) -> Engine:
    """Open the data database alone."""
    return _open(_target(url), "FULL", BUSY_SECONDS, DATA_SCHEMA)


def open_work(url: str | None = None, busy_seconds: float = BUSY_SECONDS) -> Engine:
    """Open the work database alone."""
    target = _target(url)
    if _is_file(target):
        path = Path(str(target.database))
        target = target.set(database=str(path.with_name(f"{path.stem}-work{path.suffix}")))
    # A power cut may cost its last moments; every project is checked when a worker starts.
    return _open(target, "NORMAL", busy_seconds, WORK_SCHEMA)


def default_file() -> Path:
    """Where the database is if nothing is configured."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "ls-crowd" / "ls-crowd.db"


def _target(url: str | None) -> URL:
    try:
        target = make_url(url or f"sqlite:///{default_file()}")
    except ArgumentError:
        message = "LS_CROWD_DATABASE_URL is not a database address; use something like sqlite:///file.db."
        raise UnusableInput(message) from None
    if target.drivername in ("postgresql", "postgres"):
        return target.set(drivername="postgresql+psycopg")
    return target


def _open(target: URL, synchronous: str, busy_seconds: float, schema: Schema) -> Engine:
    address = target.set(query={}).render_as_string(hide_password=True)  # a password may stand in the query as well
    engine = _connect(target, address, synchronous, busy_seconds)
    try:
        upgrade(engine, schema)
    except CrowdError:
        engine.dispose()
        raise
    except SQLAlchemyError as error:
        engine.dispose()
        message = f"The database {address} cannot be opened ({type(error).__name__}); check LS_CROWD_DATABASE_URL."
        raise CrowdError(message) from None
    return engine


def _connect(target: URL, address: str, synchronous: str, busy_seconds: float) -> Engine:
    try:
        if target.get_backend_name() == "sqlite":
            engine = create_engine(target)
            pragmas = [f"synchronous={synchronous}", f"busy_timeout={busy_seconds * 1000:.0f}"]
            event.listen(engine, "connect", partial(_set_up_sqlite, pragmas, busy_seconds))
        else:
            engine = create_engine(target, pool_pre_ping=True, connect_args=_timeouts(busy_seconds))
        if _is_file(target):
            _create_file(Path(str(target.database)))
    except (NoSuchModuleError, ImportError):
        message = (
            f"LS_CROWD_DATABASE_URL {address} needs a driver that is not installed; use sqlite, or for Postgres install"
            " ls-crowd-plugin[postgres]."
        )
        raise UnusableInput(message) from None
    except OSError as error:
        message = f"The file of LS_CROWD_DATABASE_URL {address} cannot be created ({error.strerror})."
        raise CrowdError(message) from None
    return engine


def _is_file(target: URL) -> bool:
    return target.get_backend_name() == "sqlite" and target.database not in (None, "", ":memory:")


def _create_file(path: Path) -> None:
    """Create a file that nobody else can read: it holds what people answered and how they are judged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)


def _timeouts(seconds: float) -> dict[str, str | int]:
    """How long to wait for a Postgres that is slow, locked or has vanished."""
    locked, vanished = max(int(seconds * 1000), 100), max(int(seconds), 2)
    return {
        "connect_timeout": vanished,
        "keepalives_idle": 10,
        "tcp_user_timeout": 1000 * vanished,
        "options": f"-c lock_timeout={locked} -c statement_timeout={20 * locked}"
        " -c idle_in_transaction_session_timeout=120000",
    }


def _set_up_sqlite(pragmas: Sequence[str], busy_seconds: float, connection: sqlite3.Connection, _: object) -> None:
    """Let readers go on during a write, let a writer wait for another, and enforce foreign keys."""
    cursor = connection.cursor()
    for pragma in (*pragmas, "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    _use_write_ahead_log(cursor, busy_seconds)
    cursor.close()


def _use_write_ahead_log(cursor: sqlite3.Cursor, busy_seconds: float) -> None:
    """Change the journal mode; where several processes do so at once, SQLite fails instead of waiting."""
    deadline = time.monotonic() + busy_seconds
    while time.monotonic() < deadline:
        with suppress(sqlite3.OperationalError):
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        time.sleep(RETRY_SECONDS)
    cursor.execute("PRAGMA journal_mode=WAL")
