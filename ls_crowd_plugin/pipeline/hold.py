"""One pass over a project at a time, whoever does it: a worker on any machine, or a command."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sqlalchemy.exc import SQLAlchemyError

from ..errors import CrowdError
from ..store import WorkList
from ..store.work import LEASE_SECONDS


class Busy(CrowdError):
    """Somebody else is passing over the project."""


def own_name() -> str:
    """A name for this process that no other has."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


def free_what_the_dead_hold(work: WorkList) -> None:
    """Gives back what processes of this machine held that are no more, instead of waiting for their leases to end."""
    here = socket.gethostname()
    for owner in work.owners():
        host, _, process = owner.rpartition("-")[0].rpartition("-")
        if host == here and process.isdecimal() and not _alive(int(process)):
            work.release(owner)


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

    def renew() -> None:
        while not ended.wait(lease / 4):
            with suppress(SQLAlchemyError):  # the lease is longer than one failure
                if not work.hold(project, owner, lease):
                    lost.set()
                also()

    renewing = threading.Thread(target=renew, daemon=True)
    renewing.start()
    try:
        yield lambda: not lost.is_set()
    finally:
        ended.set()
        renewing.join()
        with suppress(SQLAlchemyError):  # it runs out by itself
            work.let_go(project, owner)
