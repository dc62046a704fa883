"""Opens the database: makes its folder, brings its tables up to date, sets SQLite up for several processes at once."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from ..errors import CrowdError, UnusableInput
from .schema import bring_up_to_date, lock_schema
from .tables import work_metadata

BUSY_SECONDS = 30.0


def open_database(url: str | None = None) -> Engine:
    """The database at a SQLAlchemy URL, or a SQLite file in the user's data folder."""
    return _open(_target(url), "FULL", BUSY_SECONDS, bring_up_to_date)


def open_work_list(url: str | None = None, busy_seconds: float = BUSY_SECONDS) -> Engine:
    """The work list that belongs to a database: in it, or, with SQLite, in a file beside it.

    Who cannot wait for a busy database says how long is too long.
    """
    target = _target(url)
    if _is_file(target):
        path = Path(str(target.database))
        target = target.set(database=str(path.with_name(f"{path.stem}-work{path.suffix}")))
    # A power cut may cost the last moments of it: every project is looked at when a worker starts.
    return _open(target, "NORMAL", busy_seconds, _make_work_list)


def default_file() -> Path:
    """Where the database lives if nobody says otherwise."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "ls-crowd" / "ls-crowd.db"


def _target(url: str | None) -> URL:
    try:
        target = make_url(url or f"sqlite:///{default_file()}")
    except ArgumentError:
        message = "LS_CROWD_DATABASE_URL is no database address; use something like sqlite:///file.db."
        raise UnusableInput(message) from None
    if target.drivername in ("postgresql", "postgres"):
        return target.set(drivername="postgresql+psycopg")
    return target


def _open(target: URL, synchronous: str, busy_seconds: float, set_up: Callable[[Engine], None]) -> Engine:
    where = target.render_as_string(hide_password=True)
    try:
        if target.get_backend_name() == "sqlite":
            engine = create_engine(target)
            pragmas = [f"synchronous={synchronous}", f"busy_timeout={busy_seconds * 1000:.0f}"]
            event.listen(engine, "connect", partial(_set_up_sqlite, pragmas))
        else:
            engine = create_engine(target, pool_pre_ping=True, connect_args=_patience(busy_seconds))
        if _is_file(target):
            _make_file(Path(str(target.database)))
    except (NoSuchModuleError, ImportError):
        message = (
            f"LS_CROWD_DATABASE_URL {where} needs a driver that is not there; use sqlite, or for Postgres install"
            " ls-crowd-plugin[postgres]."
        )
        raise UnusableInput(message) from None
    except OSError as error:
        raise CrowdError(f"The file of LS_CROWD_DATABASE_URL {where} cannot be made ({error.strerror}).") from None
    try:
        set_up(engine)
    except CrowdError:
        engine.dispose()
        raise
    except SQLAlchemyError as error:
        engine.dispose()
        message = f"The database {where} cannot be opened ({type(error).__name__}); check LS_CROWD_DATABASE_URL."
        raise CrowdError(message) from None
    return engine


def _is_file(target: URL) -> bool:
    return target.get_backend_name() == "sqlite" and target.database not in (None, "", ":memory:")


def _make_file(path: Path) -> None:
    """For nobody else to read: it holds what people said and how they are judged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)


def _patience(seconds: float) -> dict[str, Any]:
    """How long a Postgres may take that is slow, locked or has vanished without a word."""
    locked, vanished = max(int(seconds * 1000), 100), max(int(seconds), 2)
    return {
        "connect_timeout": vanished,
        "keepalives_idle": 10,
        "tcp_user_timeout": 1000 * vanished,
        "options": f"-c lock_timeout={locked} -c statement_timeout={20 * locked}"
        " -c idle_in_transaction_session_timeout=120000",
    }


def _make_work_list(engine: Engine) -> None:
    with engine.begin() as connection:
        lock_schema(connection)
        work_metadata.create_all(connection)


def _set_up_sqlite(pragmas: Sequence[str], connection: sqlite3.Connection, _: Any) -> None:
    """Readers do not wait for a writer, a writer waits for another; rows go with the project they belong to."""
    cursor = connection.cursor()
    for pragma in (*pragmas, "journal_mode=WAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
