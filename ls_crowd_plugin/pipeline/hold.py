"""One pass over a project at a time, whoever does it: a worker on any machine, or a command."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from ..errors import CrowdError
from ..store import WorkList
from ..store.work import LEASE_SECONDS


class Busy(CrowdError):
    """Somebody else is passing over the project."""


def own_name() -> str:
    """A name for this process that no other has, from which its machine and number can be told."""
    return f"{_here()}-{os.getpid()}-{secrets.token_hex(3)}"


@cache
def _here() -> str:
    """This machine since it was last started, and within it this container: where process numbers mean the same."""
    places = (Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid"))
    known = [socket.gethostname()]
    with suppress(OSError):
        known += [places[0].read_text(encoding="utf-8").strip(), str(places[1].stat().st_ino)]
    return f"{known[0]}-{hashlib.sha256(' '.join(known).encode()).hexdigest()[:8]}"


def free_what_the_dead_hold(work: WorkList) -> None:
    """Gives back what processes of this machine held that are no more, instead of waiting for their leases to end."""
    for owner in work.owners():
        where, _, process = owner.rpartition("-")[0].rpartition("-")
        if where == _here() and process.isdecimal() and not _alive(int(process)):
            work.bury(owner)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def holding(
    work: WorkList,
    project: int,
    owner: str,
    *,
    wait: float = 0.0,
    lease: float = LEASE_SECONDS,
    also: Callable[[], object] = lambda: None,
) -> Iterator[Callable[[], bool]]:
    """Holds a project for the length of a block, renewing the lease; gives a function that tells whether it is still
    held. Raises Busy if another holds it for longer than `wait` seconds. `also` is done with each renewal."""
    until = time.monotonic() + wait
    free_what_the_dead_hold(work)
    while not work.hold(project, owner, lease):
        if time.monotonic() >= until:
            raise Busy(f"Project {project} is being worked on by another process; try again later.")
        time.sleep(0.2)
    ended, lost = threading.Event(), threading.Event()
    renewed = time.monotonic()

    def renew() -> None:
        nonlocal renewed
        while not ended.wait(lease / 4):
            with suppress(SQLAlchemyError):  # the lease is longer than one failure
                asked = time.monotonic()
                if work.hold(project, owner, lease):
                    renewed = asked
                else:
                    lost.set()
                also()

    renewing = threading.Thread(target=renew, daemon=True)
    renewing.start()
    try:
        yield lambda: not lost.is_set() and time.monotonic() - renewed < lease
    finally:
        ended.set()
        renewing.join()
        with suppress(SQLAlchemyError):  # it runs out by itself
            work.let_go(project, owner)
