"""Heartbeats: workers that were seen lately are alive, with what keeps them from working."""

from __future__ import annotations

from sqlalchemy import select, update

from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.heartbeats import ALIVE_SECONDS, alive_workers, beat, deregister, worker_table
from tests.support.transactions import run


def age(store: Store, seconds: float) -> None:
    """Make all heartbeats older."""
    with store.work.begin() as connection:
        connection.execute(update(worker_table).values(seen=worker_table.c.seen - seconds))


def test_workers_that_were_just_seen_are_alive(store: Store) -> None:
    run(store.work, beat, "a")
    run(store.work, beat, "b", "Label Studio does not answer.")
    assert run(store.work, alive_workers) == {"a": None, "b": "Label Studio does not answer."}


def test_the_last_heartbeat_says_whether_there_is_a_problem(store: Store) -> None:
    run(store.work, beat, "a", "Label Studio does not answer.")
    run(store.work, beat, "a")
    assert run(store.work, alive_workers) == {"a": None}


def test_workers_that_have_deregistered_are_not_alive(store: Store) -> None:
    run(store.work, beat, "a")
    run(store.work, deregister, "a")
    assert run(store.work, alive_workers) == {}


def test_workers_without_a_heartbeat_are_considered_dead(store: Store) -> None:
    run(store.work, beat, "a")
    age(store, ALIVE_SECONDS + 1)
    run(store.work, beat, "b")
    assert run(store.work, alive_workers) == {"b": None}


def test_workers_that_died_long_ago_are_forgotten(store: Store) -> None:
    run(store.work, beat, "a")
    age(store, 101 * ALIVE_SECONDS)
    run(store.work, beat, "b")
    with store.work.connect() as connection:
        assert connection.execute(select(worker_table.c.name)).scalars().all() == ["b"]
