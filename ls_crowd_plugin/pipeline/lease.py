"""Takes and keeps a project's lease: one process at a time works on a project, whether it is a worker or a command."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from ..errors import LeaseLost, ProjectBusy
from ..store import Lease, Store, leases, queue
from ..store.leases import LEASE_SECONDS

RETRY_SECONDS = 0.2  # while another process has the lease


class HeldLease:
    """A lease that a thread renews as long as the context lasts."""

    def __init__(self, store: Store, lease: Lease, seconds: float) -> None:
        self.lease = lease
        self._store, self._seconds = store, seconds
        self._ended, self._lost = threading.Event(), threading.Event()
        self._renewed_at = time.monotonic()
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self.is_released_at_the_end = True  # else it runs out, as if this process had died

    def check(self) -> None:
        """Raise LeaseLost if the lease was taken over, or may have been because it could not be renewed."""
        if self._lost.is_set() or time.monotonic() - self._renewed_at >= self._seconds:
            project = self.lease.project
            raise LeaseLost(
                f"The lease of project {project} was lost: another process took it, or it could not be renewed. What"
                " was written so far is kept."
            )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _renew(self) -> None:
        while not self._ended.wait(self._seconds / 4):
            with suppress(SQLAlchemyError, MemoryError):  # the lease outlasts a few failures
                asked_at = time.monotonic()
                with self._store.work.begin() as connection:
                    renewed = leases.renew(connection, self.lease, self._seconds)
                if renewed:
                    self._renewed_at = asked_at
                else:
                    self._lost.set()


@contextmanager
def keep_lease(store: Store, lease: Lease, seconds: float = LEASE_SECONDS) -> Iterator[HeldLease]:
    """Renew a lease for the length of a block, and release it at the end."""
    held = HeldLease(store, lease, seconds)
    held.start()
    try:
        yield held
    finally:
        held.stop()
        if held.is_released_at_the_end:
            with suppress(SQLAlchemyError), store.work.begin() as connection:  # it runs out by itself
                leases.release(connection, lease)


@contextmanager
def hold_project(
    store: Store, project: int, owner: str, *, wait: float = 0.0, seconds: float = LEASE_SECONDS
) -> Iterator[HeldLease]:
    """Take a project's lease for the length of a block; raise ProjectBusy if another has it after `wait` seconds."""
    deadline = time.monotonic() + wait
    while True:
        with store.work.begin() as connection:
            reap_dead_owners(connection)
            lease = leases.acquire(connection, project, owner, seconds)
        if lease is not None:
            break
        if time.monotonic() >= deadline:
            raise ProjectBusy(f"Another process is working on project {project}; try again later.")
        time.sleep(RETRY_SECONDS)
    with keep_lease(store, lease, seconds) as held:
        yield held


def process_name() -> str:
    """A unique name for this process, from which its machine and process id can be told."""
    return f"{_machine()}-{os.getpid()}-{secrets.token_hex(3)}"


def reap_dead_owners(connection: Connection) -> None:
    """Expire the leases of processes of this machine that have died, instead of waiting until they run out."""
    for owner in leases.list_owners(connection):
        machine, _, process = owner.rpartition("-")[0].rpartition("-")
        if machine == _machine() and process.isdecimal() and not _is_alive(int(process)):
            queue.expire_leases(connection, owner)
    queue.requeue_abandoned(connection)


@cache
def _machine() -> str:
    """This machine since its last start, and this container within it: where process ids mean the same."""
    places = (Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid"))
    facts = [socket.gethostname()]
    with suppress(OSError):
        facts += [places[0].read_text(encoding="utf-8").strip(), str(places[1].stat().st_ino)]
    return f"{facts[0]}-{hashlib.sha256(' '.join(facts).encode()).hexdigest()[:8]}"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
