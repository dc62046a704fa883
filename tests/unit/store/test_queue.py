"""The queue: no request is lost, projects are claimed in order, and failures are retried after pauses."""

from __future__ import annotations

import dataclasses
import time

import pytest
from sqlalchemy import update

from ls_crowd_plugin.store import QueueEntry, Store, leases, queue
from ls_crowd_plugin.store.queue import FIRST_PAUSE, LONGEST_PAUSE, queue_table, retry_pause
from tests.support.queue_steps import claim, claim_project, enqueue, get_entry, set_due
from tests.support.transactions import run


class TestEnqueue:
    def test_makes_a_project_due(self, store: Store) -> None:
        enqueue(store, 3)
        assert claim_project(store) == 3

    def test_waits_until_it_is_quiet(self, store: Store) -> None:
        enqueue(store, 3, quiet=30, max_wait=60)
        assert claim_project(store) is None
        assert -31 < get_entry(store).due < -25

    def test_each_request_starts_the_quiet_time_again(self, store: Store) -> None:
        enqueue(store, 3, quiet=10, max_wait=60)
        enqueue(store, 3, quiet=30, max_wait=60)
        assert -31 < get_entry(store).due < -25

    @pytest.mark.parametrize("requests", [1, 3])
    def test_waits_at_most_the_maximum(self, store: Store, requests: int) -> None:
        for _ in range(requests):
            enqueue(store, 3, quiet=30, max_wait=0)
        assert claim_project(store) == 3

    @pytest.mark.slow
    def test_repeated_faster_than_the_quiet_time_does_not_wait_for_ever(self, store: Store) -> None:
        deadline = time.monotonic() + 20
        while claim_project(store) is None:
            assert time.monotonic() < deadline
            enqueue(store, 3, quiet=10, max_wait=0.5)

    def test_during_a_pass_is_not_lost(self, store: Store) -> None:
        enqueue(store, 3)
        claimed = claim(store)
        enqueue(store, 3)
        assert run(store.work, queue.complete, claimed)
        assert claim_project(store) == 3

    def test_counts_the_maximum_from_the_first_request_that_is_not_covered(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.complete, claim(store))
        enqueue(store, 3, quiet=50, max_wait=100)
        entry = get_entry(store)
        assert -51 < entry.due < -45
        assert entry.waiting is not None
        assert entry.waiting < 5

    def test_keeps_the_snapshot_unless_there_is_a_new_one(self, store: Store) -> None:
        run(store.work, queue.enqueue, 3, snapshot="first")
        run(store.work, queue.enqueue, 3)
        assert run(store.work, queue.read_snapshots) == {3: "first"}
        run(store.work, queue.enqueue, 3, snapshot="second")
        assert run(store.work, queue.read_snapshots) == {3: "second"}


class TestEnqueueKnown:
    def test_requests_a_pass_over_a_project_in_the_queue(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.complete, claim(store))
        assert run(store.work, queue.enqueue_known, 3)
        assert claim_project(store) == 3

    def test_waits_as_any_request_does(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.complete, claim(store))
        assert run(store.work, queue.enqueue_known, 3, quiet=60.0, max_wait=100.0)
        assert -60 <= get_entry(store).due < -50
        assert run(store.work, queue.enqueue_known, 3, quiet=60.0, max_wait=10.0)
        assert -10 <= get_entry(store).due < 0

    def test_does_not_add_a_project(self, store: Store) -> None:
        assert not run(store.work, queue.enqueue_known, 3)
        assert run(store.work, queue.list_entries) == []


class TestEnqueueAll:
    def test_makes_idle_projects_due(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.complete, claim(store))
        assert claim_project(store) is None
        run(store.work, queue.enqueue_all)
        assert claim_project(store) == 3

    def test_leaves_open_requests_where_they_are(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.retry_later, claim(store), "It broke.")
        before = get_entry(store).due
        run(store.work, queue.enqueue_all)
        assert get_entry(store).due == pytest.approx(before, abs=5)
        assert claim_project(store) is None


class TestRequestLater:
    def test_requests_a_pass_in_some_seconds_however_long_the_project_was_idle(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.complete, claim(store))
        run(store.work, queue.request_later, 3, 60.0)
        entry = get_entry(store)
        assert (entry.waiting, -61 < entry.due < -55, claim_project(store)) == (None, True, None)

    def test_never_postpones_an_open_request(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.request_later, 3, 60.0)
        assert claim_project(store) == 3


class TestRequestWhenIdle:
    def test_requests_a_pass_for_when_the_project_has_been_idle(self, store: Store) -> None:
        run(store.work, queue.enqueue, 3, is_event=True)
        run(store.work, queue.complete, claim(store))
        run(store.work, queue.request_when_idle, 3, 60.0)
        entry = get_entry(store)
        assert (entry.waiting, -61 < entry.due < -55, claim_project(store)) == (None, True, None)

    def test_is_due_at_once_if_it_has_been_idle_long_enough(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.complete, claim(store))
        run(store.work, queue.request_when_idle, 3, 60.0)
        assert claim_project(store) == 3

    def test_is_overtaken_by_an_event(self, store: Store) -> None:
        run(store.work, queue.enqueue, 3, is_event=True)
        run(store.work, queue.complete, claim(store))
        run(store.work, queue.request_when_idle, 3, 60.0)
        run(store.work, queue.enqueue, 3, quiet=0.0, max_wait=15.0, is_event=True)
        assert claim_project(store) == 3

    def test_never_postpones_an_open_request(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.request_when_idle, 3, 60.0)
        assert claim_project(store) == 3

    def test_never_postpones_a_request_that_came_during_the_pass(self, store: Store) -> None:
        enqueue(store, 3)
        claimed = claim(store)
        enqueue(store, 3)
        with store.work.begin() as connection:
            queue.complete(connection, claimed)
            queue.mark_active(connection, 3)
            queue.request_when_idle(connection, 3, 60.0)
        assert claim_project(store) == 3

    def test_does_not_add_a_project(self, store: Store) -> None:
        run(store.work, queue.request_when_idle, 3, 60.0)
        assert run(store.work, queue.list_entries) == []


class TestIdleTime:
    def test_is_counted_from_the_last_event(self, store: Store) -> None:
        run(store.work, queue.enqueue, 3, is_event=True)
        assert 0 <= claim(store).idle < 10

    def test_is_counted_from_the_last_changed_answer(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.mark_active, 3)
        assert 0 <= claim(store).idle < 10

    def test_is_long_if_there_was_neither(self, store: Store) -> None:
        enqueue(store, 3)
        assert claim(store).idle > 1e6


class TestClaim:
    def test_takes_what_has_been_due_longest(self, store: Store) -> None:
        enqueue(store, 4, 5, 6)
        for project, seconds in ((5, 30.0), (4, 20.0), (6, 10.0)):
            set_due(store, project, seconds)
        assert [claim_project(store) for _ in range(4)] == [5, 4, 6, None]

    def test_finds_nothing_in_an_empty_queue(self, store: Store) -> None:
        assert claim_project(store) is None

    def test_counts_attempts(self, store: Store) -> None:
        enqueue(store, 3)
        first = claim(store)
        run(store.work, leases.release, first.lease)
        assert (first.attempts, claim(store).attempts, get_entry(store).attempts) == (1, 2, 2)

    def test_is_fair_to_a_project_that_waits_beside_a_busy_one(self, store: Store) -> None:
        enqueue(store, 1, 2)
        claimed_projects = []
        for _ in range(4):
            claimed = claim(store)
            claimed_projects.append(claimed.project)
            enqueue(store, 1)  # never quiet
            run(store.work, queue.complete, claimed)
        assert 2 in claimed_projects[:2]

    def test_shows_who_holds_a_project(self, store: Store) -> None:
        enqueue(store, 3)
        assert get_entry(store).held_by == ""
        claimed = claim(store, "worker")
        assert get_entry(store).held_by == "worker"
        run(store.work, queue.complete, claimed)
        assert get_entry(store).held_by == ""

    def test_shows_no_holder_once_the_lease_has_run_out(self, store: Store) -> None:
        enqueue(store, 3)
        claim(store, "dead", seconds=0.0)
        assert get_entry(store).held_by == ""


class TestNewerRequest:
    def test_is_one_that_came_after_the_claim(self, store: Store) -> None:
        enqueue(store, 3)
        claimed = claim(store)
        assert not run(store.work, queue.has_newer_request, claimed)
        enqueue(store, 3)
        assert run(store.work, queue.has_newer_request, claimed)

    def test_counts_only_when_it_is_due(self, store: Store) -> None:
        enqueue(store, 3)
        claimed = claim(store)
        enqueue(store, 3, quiet=30, max_wait=60)
        assert not run(store.work, queue.has_newer_request, claimed)


class TestComplete:
    def test_leaves_nothing_to_do(self, store: Store) -> None:
        enqueue(store, 3)
        assert run(store.work, queue.complete, claim(store))
        entry = get_entry(store)
        assert (entry.waiting, entry.attempts, entry.error, claim_project(store)) == (None, 0, None, None)
        assert entry.completed is not None
        assert 0 <= entry.completed < 5

    def test_with_an_error_parks_the_project_until_something_changes(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.complete, claim(store), "There is nothing to aggregate.")
        assert (get_entry(store).error, claim_project(store)) == ("There is nothing to aggregate.", None)
        enqueue(store, 3)
        assert claim_project(store) == 3

    @pytest.mark.parametrize("error", ["It broke.", None])
    def test_replaces_the_error_of_the_pass_before(self, store: Store, error: str | None) -> None:
        enqueue(store, 3)
        run(store.work, queue.complete, claim(store), "An older error.")
        enqueue(store, 3)
        run(store.work, queue.complete, claim(store), error)
        assert get_entry(store).error == error

    def test_lets_a_newer_request_wait_from_now_on(self, store: Store) -> None:
        """It queues up behind those of other projects, and may be debounced for the whole maximum again."""
        enqueue(store, 3)
        claimed = claim(store)
        enqueue(store, 3)
        with store.work.begin() as connection:
            connection.execute(update(queue_table).values(requested_at=queue_table.c.requested_at - 100))
        run(store.work, queue.complete, claimed)
        waiting = get_entry(store).waiting
        assert waiting is not None
        assert waiting < 5

    def test_does_not_make_a_deferred_request_due_earlier(self, store: Store) -> None:
        enqueue(store, 3)
        claimed = claim(store)
        enqueue(store, 3, quiet=30, max_wait=60)
        run(store.work, queue.complete, claimed)
        assert get_entry(store).due < -25


class TestRetryLater:
    def test_pauses_the_project_and_keeps_the_error(self, store: Store) -> None:
        enqueue(store, 3)
        assert run(store.work, queue.retry_later, claim(store), "It broke.")
        entry = get_entry(store)
        assert (entry.error, entry.held_by, entry.due < -1, claim_project(store)) == ("It broke.", "", True, None)

    def test_without_an_error_only_defers(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.retry_later, claim(store), None, 60.0)
        entry = get_entry(store)
        assert (entry.error, entry.waiting is not None, entry.due < 0) == (None, True, True)

    def test_ends_with_a_new_request(self, store: Store) -> None:
        enqueue(store, 3)
        run(store.work, queue.retry_later, claim(store), "It broke.")
        enqueue(store, 3)
        assert claim(store).attempts == 1

    def test_pauses_longer_each_time(self, store: Store) -> None:
        enqueue(store, 3)
        pauses = []
        for _ in range(3):
            run(store.work, queue.retry_later, claim(store), "It broke.")
            pauses.append(-get_entry(store).due)
            set_due(store, 3, 0.0)
        assert pauses == [pytest.approx(seconds, abs=1) for seconds in (2, 4, 8)]

    def test_pauses_at_most_as_long_as_the_caller_wants(self, store: Store) -> None:
        enqueue(store, 3)
        claimed = dataclasses.replace(claim(store), attempts=20)
        run(store.work, queue.retry_later, claimed, "Label Studio does not answer.", 60.0)
        assert -61 < get_entry(store).due < -55

    def test_does_not_make_a_newer_request_wait_long(self, store: Store) -> None:
        enqueue(store, 3)
        claimed = dataclasses.replace(claim(store), attempts=20)
        enqueue(store, 3)
        run(store.work, queue.retry_later, claimed, "It broke.")
        assert get_entry(store).due > -5

    def test_of_a_busy_project_does_not_block_another(self, store: Store) -> None:
        enqueue(store, 1, 2)
        claimed_projects = []
        for _ in range(3):
            claimed = claim(store)
            claimed_projects.append(claimed.project)
            run(store.work, queue.retry_later, claimed, "It broke.")
            enqueue(store, 1, quiet=0, max_wait=15)
        assert 2 in claimed_projects


def test_retry_pauses_double_up_to_an_hour() -> None:
    pauses = [retry_pause(attempts) for attempts in range(1, 30)]
    assert pauses[:4] == [FIRST_PAUSE, 4.0, 8.0, 16.0]
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE


class TestEntries:
    def test_are_listed_by_project(self, store: Store) -> None:
        enqueue(store, 5, 4)
        entries = run(store.work, queue.list_entries)
        assert [entry.project for entry in entries] == [4, 5]
        assert run(store.work, queue.get_entry, 6) is None

    def test_of_a_project_that_was_never_processed(self, store: Store) -> None:
        enqueue(store, 3)
        entry = get_entry(store)
        assert entry == QueueEntry(3, entry.waiting, entry.due, "", 0, None, None)

    def test_are_removed_with_the_project(self, store: Store) -> None:
        enqueue(store, 3, 4)
        run(store.work, queue.remove, 3)
        assert [entry.project for entry in run(store.work, queue.list_entries)] == [4]
