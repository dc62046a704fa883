"""`ls-crowd worker`: a worker alone; any number of them, on any number of machines that share a database."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import click

NICENESS = 10  # beside a receiver, whose time is the annotators' time
LAST_SECONDS = 60.0  # a pass may take this long to end after the parent has died


@click.command(short_help="Run another worker.")
@click.option("--supervised", is_flag=True, hidden=True, help="Stop when stdin ends, that is, with the parent process.")
def worker(supervised: bool) -> None:
    """Process projects that webhooks or polling report as changed, until stopped."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # one core is enough, and each thread takes memory
        os.environ.setdefault(name, "1")
    from ..log import log_to_stderr
    from ..pipeline.context import RunFlags
    from ..pipeline.memory import limit_memory
    from ..pipeline.worker import Worker
    from ..settings import read_settings
    from .setup import label_studio, store_of

    settings = read_settings()
    log_to_stderr()
    limit_memory(settings.memory_mb)
    with store_of(settings) as store:
        process = Worker(
            label_studio(settings),
            store,
            settings.recipe,
            RunFlags(audit_seconds=settings.audit_seconds),
            projects=settings.projects,
            poll_seconds=settings.poll_seconds,
            settle_seconds=settings.settle_seconds,
            trail_days=settings.trail_days,
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: threading.Thread(target=process.stop).start())  # no lock in a handler
        if supervised:
            os.nice(NICENESS)
            threading.Thread(target=_stop_with_parent, args=(process.stop,), daemon=True).start()
        process.run()


def _stop_with_parent(stop: Callable[[], None]) -> None:
    """Wait until stdin ends: it is a pipe whose other end the parent holds, so it ends however the parent ends."""
    while os.read(0, 1):  # unbuffered: a thread reading sys.stdin would abort the process at its exit
        pass
    stop()
    threading.Event().wait(LAST_SECONDS)
    os._exit(1)
