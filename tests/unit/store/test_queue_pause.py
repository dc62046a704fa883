"""After a pass with a pause, a project waits, whatever is requested."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import update

from ls_crowd_plugin.store import Store, queue
from ls_crowd_plugin.store.queue import queue_table
from tests.support.queue_steps import claim, claim_project, enqueue
from tests.support.transactions import run


@pytest.mark.parametrize("requested_during_the_pass", [True, False])
def test_a_pause_holds_a_request_back(requested_during_the_pass: bool, store: Store) -> None:
    enqueue(store, 3)
    claimed = claim(store)
    if requested_during_the_pass:
        enqueue(store, 3)
    run(store.work, queue.complete, claimed, pause=60.0)
    if not requested_during_the_pass:
        run(store.work, queue.enqueue, 3, is_event=True)
    assert claim_project(store) is None


def test_a_pause_ends(store: Store) -> None:
    enqueue(store, 3)
    run(store.work, queue.complete, claim(store), pause=0.2)
    enqueue(store, 3)
    assert claim_project(store) is None
    time.sleep(0.3)
    assert claim_project(store) == 3


def test_a_pause_spares_other_projects(store: Store) -> None:
    enqueue(store, 3)
    run(store.work, queue.complete, claim(store), pause=60.0)
    enqueue(store, 3, 4)
    assert claim_project(store) == 4


def test_a_pause_does_not_last_if_the_clock_is_set_back(store: Store) -> None:
    enqueue(store, 3)
    run(store.work, queue.complete, claim(store), pause=5.0)
    with store.work.begin() as connection:
        ahead = {name: queue_table.c[name] + 3600 for name in ("completed_at", "paused_until")}
        connection.execute(update(queue_table).values(ahead))
    enqueue(store, 3)
    assert claim_project(store) == 3
