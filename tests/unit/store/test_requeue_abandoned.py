"""Projects whose holder died: they become free, do not block others, and pause if that happens repeatedly."""

from __future__ import annotations

from ls_crowd_plugin.store import Store, leases, queue
from ls_crowd_plugin.store.queue import PATIENT_ATTEMPTS
from tests.support.queue_steps import claim, claim_project, enqueue, get_entry, set_due
from tests.support.transactions import run


class TestAbandonedByAWorker:
    def test_becomes_due_again(self, store: Store) -> None:
        enqueue(store, 3)
        claim(store, "dead", seconds=0.0)
        run(store.work, queue.requeue_abandoned)
        assert run(store.work, leases.list_owners) == set()
        assert claim(store).attempts == 2

    def test_is_lost_to_the_worker_that_was_only_slow(self, store: Store) -> None:
        enqueue(store, 3)
        late = claim(store, "late", seconds=0.0)
        run(store.work, queue.requeue_abandoned)
        assert not run(store.work, leases.renew, late.lease)
        assert not run(store.work, queue.complete, late)
        assert claim_project(store) == 3

    def test_queues_up_behind_others(self, store: Store) -> None:
        enqueue(store, 1, 2)
        set_due(store, 1, 60.0)
        claim(store, "dead", seconds=0.0)
        run(store.work, queue.requeue_abandoned)
        assert [claim_project(store) for _ in range(2)] == [2, 1]

    def test_does_not_become_due_earlier(self, store: Store) -> None:
        enqueue(store, 3)
        claim(store, "dead", seconds=0.0)
        enqueue(store, 3, quiet=30, max_wait=60)
        run(store.work, queue.requeue_abandoned)
        assert get_entry(store).due < -25

    def test_repeatedly_pauses_until_something_changes(self, store: Store) -> None:
        enqueue(store, 3)
        for _ in range(PATIENT_ATTEMPTS + 1):
            claim(store, "dying", seconds=0.0)
        run(store.work, queue.requeue_abandoned)
        assert claim_project(store) is None
        assert "4 passes died without logging an error" in str(get_entry(store).error)
        enqueue(store, 3)
        assert claim_project(store) == 3

    def test_repeatedly_does_not_block_another_project(self, store: Store) -> None:
        """Each worker that starts finds what the dead one held, and enqueues everything, as real ones do."""
        enqueue(store, 1, 2)
        claimed_projects = []
        for _ in range(2 * PATIENT_ATTEMPTS + 4):
            run(store.work, queue.expire_leases, "dead")
            run(store.work, queue.requeue_abandoned)
            run(store.work, queue.enqueue_all)
            claimed = run(store.work, queue.claim, "dead")
            claimed_projects.append(None if claimed is None else claimed.project)
            if claimed is not None and claimed.project == 2:
                run(store.work, queue.complete, claimed)
        assert 2 in claimed_projects[:2]
        assert claimed_projects.count(1) == PATIENT_ATTEMPTS + 1
        assert "died without logging an error" in str(get_entry(store, 1).error)

    def test_is_left_alone_while_its_lease_lasts(self, store: Store) -> None:
        enqueue(store, 3)
        claimed = claim(store)
        run(store.work, queue.requeue_abandoned)
        assert run(store.work, leases.renew, claimed.lease)


class TestAbandonedByACommand:
    def test_becomes_free(self, store: Store) -> None:
        assert run(store.work, leases.acquire, 3, "command", 0.0)
        run(store.work, queue.requeue_abandoned)
        assert run(store.work, leases.list_owners) == set()
        assert run(store.work, leases.acquire, 3, "another")

    def test_is_not_added_to_the_queue(self, store: Store) -> None:
        run(store.work, leases.acquire, 3, "command", 0.0)
        run(store.work, queue.requeue_abandoned)
        assert run(store.work, queue.list_entries) == []

    def test_stays_due_if_it_was(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, leases.acquire, 3, "command", 0.0)
        run(store.work, queue.requeue_abandoned)
        entry = get_entry(store)
        assert (entry.attempts, entry.error, claim_project(store)) == (0, None, 3)

    def test_stays_idle_if_it_was(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.complete, claim(store))
        run(store.work, leases.acquire, 3, "command", 0.0)
        run(store.work, queue.requeue_abandoned)
        assert (get_entry(store).waiting, claim_project(store)) == (None, None)

    def test_stays_paused_if_it_was(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.retry_later, claim(store), "It broke.")
        run(store.work, leases.acquire, 3, "command", 0.0)
        run(store.work, queue.requeue_abandoned)
        assert (get_entry(store).error, claim_project(store)) == ("It broke.", None)
