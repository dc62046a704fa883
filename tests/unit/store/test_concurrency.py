"""Several processes at one queue: nobody gets what another holds, and nobody waits for ever."""

from __future__ import annotations

import secrets
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, select, text

from ls_crowd_plugin.errors import LeaseLost
from ls_crowd_plugin.store import Store, leases, open_store, queue
from ls_crowd_plugin.store.queue import queue_table
from tests.support.queue_steps import claim, enqueue
from tests.support.transactions import run

PROJECTS = range(40)

CLAIM_EVERYTHING = """
import sys
from ls_crowd_plugin.store import open_store, queue

url, owner = sys.argv[1:]
with open_store(url) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    while True:
        with store.work.begin() as connection:
            claim = queue.claim(connection, owner)
        if claim is None:
            break
        print(claim.project)
"""


def claim_everything(url: str, owner: str, start: threading.Barrier) -> list[int]:
    """Claim projects over connections of one's own until there are none left."""
    projects = []
    with open_store(url) as store:
        start.wait()
        while (claimed := run(store.work, queue.claim, owner)) is not None:
            projects.append(claimed.project)
    return projects


class TestClaims:
    @pytest.mark.slow
    def test_of_many_threads_give_each_project_once(self, database_url: str, store: Store) -> None:
        enqueue(store, *PROJECTS)
        start = threading.Barrier(4)
        with ThreadPoolExecutor() as threads:
            claims = [threads.submit(claim_everything, database_url, f"worker {number}", start) for number in range(4)]
            claimed = [project for worker in claims for project in worker.result()]
        assert Counter(claimed) == Counter(PROJECTS)

    @pytest.mark.slow
    def test_of_two_processes_give_each_project_once(self, database_url: str, store: Store) -> None:
        enqueue(store, *PROJECTS)
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", CLAIM_EVERYTHING, database_url, owner],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for owner in "ab"
        ]
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        outputs = [worker.communicate("go\n", timeout=60)[0] for worker in workers]
        assert Counter(map(int, " ".join(outputs).split())) == Counter(PROJECTS)

    def test_and_commands_never_hold_a_project_together(self, database_url: str, store: Store) -> None:
        """All of them compete for every project; each project goes to a worker or to a command."""
        enqueue(store, *PROJECTS)
        start = threading.Barrier(4)

        def acquire_everything(owner: str) -> list[int]:
            with open_store(database_url) as own:
                start.wait()
                return [project for project in PROJECTS if run(own.work, leases.acquire, project, owner) is not None]

        with ThreadPoolExecutor() as threads:
            holders = [threads.submit(acquire_everything, f"command {number}") for number in range(2)]
            holders += [threads.submit(claim_everything, database_url, f"worker {n}", start) for n in range(2)]
            held = [project for holder in holders for project in holder.result()]
        assert Counter(held) == Counter(PROJECTS)


@pytest.mark.postgres
class TestLocks:
    """Postgres locks rows one by one: whoever needs the row of the queue and that of the lease takes them in this
    order, or two processes would each wait for what the other has."""

    @pytest.fixture
    def store(self, postgres: Callable[[str], str]) -> Iterator[Store]:
        with open_store(postgres(f"locks_{secrets.token_hex(6)}")) as opened:
            yield opened

    @pytest.mark.parametrize("ending", ["complete", "retry", "requeue"])
    def test_are_taken_in_one_order(self, store: Store, ending: str) -> None:
        """A pass ends in the moment in which another worker claims the project, because the lease has run out."""
        enqueue(store, 3)
        late = claim(store, "late", seconds=0.0)

        def end(connection: Connection) -> bool:
            if ending == "complete":
                return queue.complete(connection, late)
            if ending == "retry":
                return queue.retry_later(connection, late, "It broke.")
            queue.requeue_abandoned(connection)
            return False

        with ThreadPoolExecutor(1) as thread:
            with store.work.begin() as connection:
                row = select(queue_table).where(queue_table.c.project == 3)
                connection.execute(row.with_for_update()).one()  # what a claim does first
                ended = thread.submit(run, store.work, end)
                wait_for_blocked(store)
                lease = leases.acquire(connection, 3, "quick")  # and then
            assert not ended.result(timeout=60)
        assert lease is not None
        assert run(store.work, leases.renew, lease)

    def test_let_a_claim_wait_for_a_command_that_is_just_taking_the_lease(self, store: Store) -> None:
        enqueue(store, 3)
        with ThreadPoolExecutor(1) as thread:
            with store.work.begin() as connection:
                lease = leases.acquire(connection, 3, "command")
                claimed = thread.submit(run, store.work, queue.claim, "worker")
                wait_for_blocked(store)
            assert claimed.result(timeout=60) is None
        assert lease is not None
        assert run(store.work, leases.renew, lease)


def wait_for_blocked(store: Store) -> None:
    """Wait until another connection waits for a lock."""
    deadline = time.monotonic() + 20
    while True:
        with store.work.connect() as connection:
            if connection.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar_one():
                return
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_late_holder_that_waits_for_the_fence_is_stopped(store: Store) -> None:
    """The later holder is in the middle of a transaction when the late one wants to write."""
    late, current = (run(store.work, leases.acquire, 3, owner, 0.0) for owner in ("late", "current"))
    assert late is not None
    assert current is not None
    with ThreadPoolExecutor(1) as thread:
        with store.data.begin() as connection:
            leases.check_fence(connection, current)
            check = thread.submit(run, store.data, leases.check_fence, late)
            time.sleep(0.1)
            assert not check.done()
        with pytest.raises(LeaseLost):
            check.result(timeout=60)
