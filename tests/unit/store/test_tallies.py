"""Tallies: sums over all passes of all workers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ls_crowd_plugin.store import Store, tallies
from tests.support.transactions import run


def test_add_up(store: Store) -> None:
    run(store.work, tallies.add, {("passes", "done"): 1, ("seconds", "pull"): 0.5})
    run(store.work, tallies.add, {("passes", "done"): 2})
    assert run(store.work, tallies.read) == {("passes", "done"): 3, ("seconds", "pull"): 0.5}


def test_are_empty_at_first(store: Store) -> None:
    assert run(store.work, tallies.read) == {}


def test_of_several_workers_at_once_lose_nothing(store: Store) -> None:
    amounts = {("passes", "done"): 1.0, ("labels", "changed"): 2.0}
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: run(store.work, tallies.add, amounts), range(20)))
    assert run(store.work, tallies.read) == {("passes", "done"): 20, ("labels", "changed"): 40}
