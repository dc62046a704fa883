"""Opens the database: makes its folder and tables, and sets SQLite up for several processes at once."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from ..errors import CrowdError, UnusableInput
from .tables import metadata

BUSY_SECONDS = 30


def open_database(url: str | None = None) -> Engine:
    """The database at a SQLAlchemy URL, or a SQLite file in the user's data folder."""
    try:
        target = make_url(url or f"sqlite:///{default_file()}")
    except ArgumentError:
        message = "LS_CROWD_DATABASE_URL is no database address; use something like sqlite:///file.db."
        raise UnusableInput(message) from None
    where = target.render_as_string(hide_password=True)
    try:
        if target.get_backend_name() == "sqlite" and target.database not in (None, "", ":memory:"):
            Path(str(target.database)).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(target)
    except (NoSuchModuleError, ImportError):
        message = f"LS_CROWD_DATABASE_URL {where} needs a driver that is not there; use sqlite, or install it."
        raise UnusableInput(message) from None
    except OSError as error:
        raise CrowdError(f"The folder of LS_CROWD_DATABASE_URL {where} cannot be made ({error.strerror}).") from None
    if target.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
    try:
        metadata.create_all(engine)
    except SQLAlchemyError as error:
        message = f"The database {where} cannot be opened ({type(error).__name__}); check LS_CROWD_DATABASE_URL."
        raise CrowdError(message) from None
    return engine


def default_file() -> Path:
    """Where the database lives if nobody says otherwise."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "ls-crowd" / "ls-crowd.db"


def _set_up_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    """Readers do not wait for a writer, a writer waits for another; rows go with the project they belong to."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()
