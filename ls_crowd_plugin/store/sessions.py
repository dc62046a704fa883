"""Sessions of people who are logged in: a cookie counts only while its session is here, whatever copies of it exist.

With several services on one database they share their sessions. If the table is lost, everybody has to log in again.
"""

from __future__ import annotations

import hashlib
import secrets

from sqlalchemy import Column, Connection, Float, String, Table, delete, insert, select

from .sql import now, work_tables

MAX_SECONDS = 30 * 86400.0  # after which one has to log in again

session_table = Table(
    "crowd_session",
    work_tables,
    Column("digest", String(64), primary_key=True),  # of the id, so that reading the table opens no page
    Column("opened_at", Float(53), nullable=False),
)


def open_session(connection: Connection) -> str:
    """Open a session and return its id, which nobody can guess."""
    connection.execute(delete(session_table).where(session_table.c.opened_at <= now(connection) - MAX_SECONDS))
    session = secrets.token_urlsafe(32)
    connection.execute(insert(session_table).values(digest=_digest(session), opened_at=now(connection)))
    return session


def is_open(connection: Connection, session: str) -> bool:
    is_fresh = session_table.c.opened_at > now(connection) - MAX_SECONDS
    query = select(session_table.c.digest).where(session_table.c.digest == _digest(session), is_fresh)
    return connection.execute(query).first() is not None


def close_session(connection: Connection, session: str) -> None:
    connection.execute(delete(session_table).where(session_table.c.digest == _digest(session)))


def _digest(session: str) -> str:
    return hashlib.sha256(session.encode()).hexdigest()
