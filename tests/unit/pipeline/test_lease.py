"""One process at a time works on a project, and a dead one keeps nobody waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import select, text

from ls_crowd_plugin.errors import LeaseLost, ProjectBusy
from ls_crowd_plugin.pipeline.lease import HeldLease, hold_project, keep_lease, process_name, reap_dead_owners
from ls_crowd_plugin.store import Claim, Lease, Store, leases, queue
from tests.support.waiting import eventually

PROJECT = 3


def acquire(store: Store, owner: str, *, project: int = PROJECT, seconds: float = 60.0) -> Lease | None:
    with store.work.begin() as connection:
        return leases.acquire(connection, project, owner, seconds)


def release(store: Store, lease: Lease) -> None:
    with store.work.begin() as connection:
        leases.release(connection, lease)


def claim(store: Store, owner: str) -> Claim | None:
    with store.work.begin() as connection:
        return queue.claim(connection, owner)


@contextmanager
def locked(store: Store) -> Iterator[None]:
    """Keep the work database locked, as another process may do."""
    with store.work.connect() as connection:
        connection.execute(text("BEGIN IMMEDIATE"))
        yield
        connection.rollback()


class TestHolding:
    def test_excludes_others(self, memory_store: Store) -> None:
        with hold_project(memory_store, PROJECT, "me"):
            assert acquire(memory_store, "another") is None
            assert acquire(memory_store, "another", project=4) is not None

    def test_ends_with_its_block(self, memory_store: Store) -> None:
        with hold_project(memory_store, PROJECT, "me"):
            pass
        assert acquire(memory_store, "another") is not None

    def test_ends_with_an_error_in_its_block(self, memory_store: Store) -> None:
        with pytest.raises(ZeroDivisionError), hold_project(memory_store, PROJECT, "me"):
            raise ZeroDivisionError
        assert acquire(memory_store, "another") is not None

    def test_has_a_larger_token_each_time(self, memory_store: Store) -> None:
        tokens = []
        for _ in range(3):
            with hold_project(memory_store, PROJECT, "me") as held:
                tokens.append(held.lease.token)
        assert sorted(set(tokens)) == tokens

    def test_raises_if_another_process_has_the_project(self, memory_store: Store) -> None:
        acquire(memory_store, "another")
        busy = pytest.raises(ProjectBusy, match="Another process is working on project 3; try again later")
        with busy, hold_project(memory_store, PROJECT, "me"):
            pass

    @pytest.mark.parametrize(
        "owner", ["elsewhere-1-abc", process_name(), "strange"], ids=["another machine", "alive", "strange"]
    )
    def test_respects_a_living_process_and_another_machine(self, owner: str, memory_store: Store) -> None:
        acquire(memory_store, owner)
        with pytest.raises(ProjectBusy), hold_project(memory_store, PROJECT, "me"):
            pass

    def test_waits_for_another_process(self, memory_store: Store) -> None:
        lease = acquire(memory_store, "another")
        assert lease is not None
        timer = threading.Timer(0.3, release, (memory_store, lease))
        timer.start()
        started = time.monotonic()
        with hold_project(memory_store, PROJECT, "me", wait=20.0):
            waited = time.monotonic() - started
        timer.join()
        assert waited > 0.2

    @pytest.mark.slow
    def test_waits_only_so_long(self, memory_store: Store) -> None:
        acquire(memory_store, "another")
        started = time.monotonic()
        with pytest.raises(ProjectBusy), hold_project(memory_store, PROJECT, "me", wait=0.3):
            pass
        assert time.monotonic() - started >= 0.3

    def test_takes_over_from_a_process_whose_lease_ran_out(self, memory_store: Store) -> None:
        acquire(memory_store, "slow", seconds=0.0)
        with hold_project(memory_store, PROJECT, "me"):
            assert acquire(memory_store, "slow") is None

    def test_takes_over_from_a_dead_process_at_once(self, memory_store: Store, dead_owner: str) -> None:
        acquire(memory_store, dead_owner)
        with hold_project(memory_store, PROJECT, "me"):
            pass


class TestKeeping:
    def test_renews_the_lease(self, memory_store: Store) -> None:
        with hold_project(memory_store, PROJECT, "me", seconds=1.0) as held:
            before = expires_at(memory_store)
            eventually(lambda: expires_at(memory_store) > before)
            held.check()

    @pytest.mark.slow
    def test_notices_that_the_lease_was_lost(self, memory_store: Store) -> None:
        with hold_project(memory_store, PROJECT, "slow", seconds=4.0) as held:
            release(memory_store, held.lease)
            acquire(memory_store, "quick")
            eventually(lambda: is_lost(held), seconds=3.5)  # before it would have run out
            with pytest.raises(LeaseLost, match="The lease of project 3 was lost"):
                held.check()

    def test_considers_the_lease_lost_if_it_could_not_be_renewed_in_time(self, memory_store: Store) -> None:
        with hold_project(memory_store, PROJECT, "me", seconds=0.2) as held, locked(memory_store):
            eventually(lambda: is_lost(held))

    def test_leaves_the_lease_of_the_successor(self, memory_store: Store) -> None:
        lease = acquire(memory_store, "slow", seconds=0.0)
        assert lease is not None
        with keep_lease(memory_store, lease, seconds=60.0):
            acquire(memory_store, "quick")
        assert acquire(memory_store, "another") is None


def expires_at(store: Store) -> float:
    with store.work.connect() as connection:
        return float(connection.execute(select(leases.lease_table.c.expires_at)).scalar_one())


def is_lost(held: HeldLease) -> bool:
    try:
        held.check()
    except LeaseLost:
        return True
    return False


class TestReaping:
    def reap(self, store: Store) -> None:
        with store.work.begin() as connection:
            reap_dead_owners(connection)

    def test_makes_the_project_of_a_dead_worker_due_again(self, memory_store: Store, dead_owner: str) -> None:
        with memory_store.work.begin() as connection:
            queue.enqueue(connection, PROJECT)
        claim(memory_store, dead_owner)
        assert claim(memory_store, "b") is None
        self.reap(memory_store)
        claimed = claim(memory_store, "b")
        assert claimed is not None
        assert claimed.project == PROJECT

    def test_leaves_living_processes_alone(self, memory_store: Store) -> None:
        acquire(memory_store, process_name())
        self.reap(memory_store)
        assert acquire(memory_store, "another") is None

    def test_can_be_done_where_nobody_has_a_lease(self, memory_store: Store) -> None:
        self.reap(memory_store)
        assert acquire(memory_store, "me") is not None


def test_a_process_has_a_new_name_each_time_but_one_machine() -> None:
    one, other = process_name(), process_name()
    assert one != other
    assert one.rsplit("-", 1)[0] == other.rsplit("-", 1)[0]
