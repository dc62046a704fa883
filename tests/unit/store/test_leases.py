"""Leases: a project has one holder at a time, worker or command, and a holder that lost its lease can do nothing."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import select, update

from ls_crowd_plugin.errors import LeaseLost
from ls_crowd_plugin.store import Lease, Store, leases, queue
from ls_crowd_plugin.store.leases import lease_table
from tests.support.queue_steps import claim, claim_project, enqueue
from tests.support.transactions import run


def acquire(store: Store, project: int = 3, owner: str = "command", seconds: float = 60.0) -> Lease:
    """Take a lease; fail if another has it."""
    lease = run(store.work, leases.acquire, project, owner, seconds)
    assert lease is not None
    return lease


def can_acquire(store: Store, project: int = 3, owner: str = "another") -> bool:
    return run(store.work, leases.acquire, project, owner) is not None


def set_token(store: Store, token: int) -> None:
    with store.work.begin() as connection:
        connection.execute(update(lease_table).values(token=token))


class TestExclusion:
    def test_a_command_excludes_another(self, store: Store) -> None:
        acquire(store, 3)
        assert (can_acquire(store, 3), can_acquire(store, 4)) == (False, True)

    def test_a_worker_excludes_another(self, store: Store) -> None:
        enqueue(store, 3)
        assert (claim_project(store, "a"), claim_project(store, "b")) == (3, None)

    def test_a_worker_excludes_a_command(self, store: Store) -> None:
        enqueue(store, 3)
        claimed = claim(store)
        assert not can_acquire(store)
        run(store.work, queue.complete, claimed)
        assert can_acquire(store)

    def test_a_command_excludes_workers(self, store: Store) -> None:
        enqueue(store, 3, 4)
        lease = acquire(store, 3)
        assert (claim_project(store), claim_project(store)) == (4, None)
        run(store.work, leases.release, lease)
        assert claim_project(store) == 3

    def test_excludes_the_same_owner_too(self, store: Store) -> None:
        acquire(store, 3, "a")
        assert not can_acquire(store, 3, "a")

    def test_ends_when_the_lease_runs_out(self, store: Store) -> None:
        enqueue(store, 3)
        acquire(store, 3, seconds=0.0)
        assert claim_project(store, "worker", seconds=0.0) == 3
        assert can_acquire(store)


class TestToken:
    def test_is_larger_after_a_release(self, store: Store) -> None:
        first = acquire(store)
        run(store.work, leases.release, first)
        assert acquire(store).token > first.token

    def test_is_larger_after_the_lease_ran_out(self, store: Store) -> None:
        first = acquire(store, seconds=0.0)
        assert acquire(store).token > first.token

    def test_is_larger_from_command_to_worker_and_back(self, store: Store) -> None:
        enqueue(store, 3)
        tokens = [acquire(store, seconds=0.0).token, claim(store, seconds=0.0).lease.token, acquire(store).token]
        assert tokens == sorted(set(tokens))

    def test_is_larger_after_the_project_was_removed_from_the_queue(self, store: Store) -> None:
        enqueue(store, 3)
        first = claim(store)
        with store.work.begin() as connection:
            queue.remove(connection, 3)
            leases.release(connection, first.lease)
        enqueue(store, 3)
        assert claim(store).lease.token > first.lease.token

    def test_is_larger_even_if_the_clock_was_set_back(self, store: Store) -> None:
        ahead = 2**62  # far beyond the present time in microseconds
        acquire(store, seconds=0.0)
        set_token(store, ahead)
        assert acquire(store, seconds=0.0).token == ahead + 1
        enqueue(store, 3)
        assert claim(store).lease.token == ahead + 2

    def test_is_larger_even_if_the_work_database_was_lost(self, store: Store) -> None:
        """The first token of a new database is the time, so the fence in the data database lets it pass."""
        before = acquire(store)
        run(store.data, leases.check_fence, before)
        with store.work.begin() as connection:
            connection.execute(lease_table.delete())
        time.sleep(0.002)  # SQLite's clock counts in milliseconds
        after = acquire(store)
        assert after.token > before.token
        run(store.data, leases.check_fence, after)

    def test_is_the_time_in_microseconds_unless_it_has_to_be_larger(self, store: Store) -> None:
        lease = acquire(store, seconds=0.0)
        set_token(store, 1)
        assert acquire(store).token >= lease.token

    def test_of_one_project_does_not_raise_that_of_another(self, store: Store) -> None:
        acquire(store, 3, seconds=0.0)
        set_token(store, 2**62)
        assert acquire(store, 4).token < 2**62


class TestKeeping:
    def test_is_possible_by_renewing(self, store: Store) -> None:
        lease = acquire(store, seconds=0.0)
        assert run(store.work, leases.renew, lease, 60.0)
        assert not can_acquire(store)

    def test_is_possible_for_a_claim(self, store: Store) -> None:
        enqueue(store, 3)
        claimed = claim(store, seconds=0.0)
        assert run(store.work, leases.renew, claimed.lease, 60.0)
        assert claim_project(store, "b") is None

    def test_a_pass_can_end_after_its_lease_ran_out_if_nobody_took_over(self, store: Store) -> None:
        enqueue(store, 3)
        assert run(store.work, queue.complete, claim(store, seconds=0.0))
        assert claim_project(store) is None


class TestLosing:
    @pytest.mark.parametrize("successor", ["a", "b"], ids=["same owner", "another owner"])
    def test_a_command_can_neither_renew_nor_release(self, store: Store, successor: str) -> None:
        late = acquire(store, owner="a", seconds=0.0)
        current = acquire(store, owner=successor)
        assert not run(store.work, leases.renew, late)
        assert not run(store.work, leases.release, late)
        assert run(store.work, leases.renew, current)

    @pytest.mark.parametrize("successor", ["a", "b"], ids=["same owner", "another owner"])
    def test_a_worker_can_neither_renew_nor_end_the_pass(self, store: Store, successor: str) -> None:
        enqueue(store, 3)
        late = claim(store, "a", seconds=0.0)
        current = claim(store, successor)
        assert not run(store.work, leases.renew, late.lease)
        assert not run(store.work, queue.complete, late)
        assert not run(store.work, queue.complete, late, "An error.")
        assert not run(store.work, queue.retry_later, late, "An error.")
        entry = run(store.work, queue.get_entry, 3)
        assert entry is not None
        assert (entry.held_by, entry.error, entry.attempts) == (successor, None, 2)
        assert run(store.work, queue.complete, current)

    def test_a_worker_cannot_end_a_pass_twice(self, store: Store) -> None:
        enqueue(store, 3)
        claimed = claim(store)
        assert run(store.work, queue.complete, claimed)
        assert not run(store.work, queue.retry_later, claimed, "An error.")

    def test_to_a_command_stops_the_worker(self, store: Store) -> None:
        enqueue(store, 3)
        late = claim(store, seconds=0.0)
        acquire(store)
        assert not run(store.work, queue.complete, late)


class TestOwners:
    def test_give_back_all_their_leases_when_they_stop(self, store: Store) -> None:
        enqueue(store, 3)
        claim(store, "a")
        acquire(store, 4, "a")
        acquire(store, 5, "b")
        run(store.work, leases.release_all, "a")
        assert run(store.work, leases.list_owners) == {"b"}
        assert (claim_project(store, "c"), can_acquire(store, 4), can_acquire(store, 5)) == (3, True, False)

    def test_that_died_lose_their_leases_at_once(self, store: Store) -> None:
        acquire(store, 3, "dead")
        acquire(store, 4, "alive")
        run(store.work, queue.expire_leases, "dead")
        assert run(store.work, leases.list_owners) == {"alive", "dead"}
        assert (can_acquire(store, 3), can_acquire(store, 4)) == (True, False)

    def test_are_listed_while_they_hold_a_lease(self, store: Store) -> None:
        lease = acquire(store, owner="a")
        assert run(store.work, leases.list_owners) == {"a"}
        run(store.work, leases.release, lease)
        assert run(store.work, leases.list_owners) == set()


class TestFence:
    def test_lets_the_holder_write_repeatedly(self, store: Store) -> None:
        lease = acquire(store)
        for _ in range(3):
            run(store.data, leases.check_fence, lease)

    def test_stops_a_holder_once_a_later_one_has_written(self, store: Store) -> None:
        late = acquire(store, seconds=0.0)
        run(store.data, leases.check_fence, late)
        run(store.data, leases.check_fence, acquire(store))
        with pytest.raises(LeaseLost, match="Another process has taken over project 3"):
            run(store.data, leases.check_fence, late)

    def test_stops_a_worker_that_a_command_has_overtaken(self, store: Store) -> None:
        enqueue(store, 3)
        late = claim(store, seconds=0.0).lease
        run(store.data, leases.check_fence, acquire(store))
        with pytest.raises(LeaseLost):
            run(store.data, leases.check_fence, late)

    def test_keeps_the_largest_token(self, store: Store) -> None:
        late = acquire(store, seconds=0.0)
        current = acquire(store)
        run(store.data, leases.check_fence, current)
        with pytest.raises(LeaseLost), store.data.begin() as connection:
            leases.check_fence(connection, late)
        with store.data.connect() as connection:
            assert connection.execute(select(leases.fence_table.c.token)).scalars().all() == [current.token]

    def test_of_one_project_does_not_stop_another(self, store: Store) -> None:
        first = acquire(store, 3)
        run(store.data, leases.check_fence, acquire(store, 4))
        run(store.data, leases.check_fence, first)
