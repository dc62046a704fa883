"""Sessions: open until they are closed, or too old."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from ls_crowd_plugin.store import Store, sessions
from tests.support.transactions import run


def test_are_open_until_they_are_closed(store: Store) -> None:
    one, two = (run(store.work, sessions.open_session) for _ in range(2))
    assert (run(store.work, sessions.is_open, one), run(store.work, sessions.is_open, two)) == (True, True)
    run(store.work, sessions.close_session, one)
    assert (run(store.work, sessions.is_open, one), run(store.work, sessions.is_open, two)) == (False, True)


@pytest.mark.parametrize("session", ["", "guess"])
def test_that_nobody_opened_are_not_open(store: Store, session: str) -> None:
    run(store.work, sessions.open_session)
    assert not run(store.work, sessions.is_open, session)


def test_end_after_their_time_and_are_forgotten(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    old = run(store.work, sessions.open_session)
    monkeypatch.setattr(sessions, "MAX_SECONDS", 0.0)
    assert not run(store.work, sessions.is_open, old)
    run(store.work, sessions.open_session)
    monkeypatch.setattr(sessions, "MAX_SECONDS", 60.0)
    assert not run(store.work, sessions.is_open, old)


def test_cannot_be_opened_with_what_is_stored(store: Store) -> None:
    session = run(store.work, sessions.open_session)
    with store.work.connect() as connection:
        (stored,) = connection.execute(select(sessions.session_table.c.digest)).scalars()
    assert session not in stored
    assert not run(store.work, sessions.is_open, stored)
