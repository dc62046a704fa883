"""`ls-crowd worker`: a worker alone; any number of them, on any number of machines that share a database."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import click

NICENESS = 10  # beside a receiver, whose time is the annotators' time


@click.command(short_help="A worker alone, beside others.")
@click.option("--supervised", is_flag=True, hidden=True, help="Stops when stdin ends, that is, with its parent.")
def worker(supervised: bool) -> None:
    """Keeps the consensus of projects true that webhooks or polling report as changed, until it is stopped."""
    from ..log import log_to_stderr
    from ..pipeline.worker import Worker
    from ..settings import read_settings
    from .parts import databases, label_studio, options_of

    settings = read_settings()
    log_to_stderr()
    with databases(settings) as (engine, work):
        working = Worker(
            label_studio(settings),
            engine,
            work,
            options_of(settings),
            projects=settings.projects,
            all_projects=settings.all_projects,
            poll_seconds=settings.poll_seconds,
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: threading.Thread(target=working.stop).start())  # no lock in a handler
        if supervised:
            os.nice(NICENESS)
            threading.Thread(target=_stop_with_parent, args=(working.stop,), daemon=True).start()
        working.run()


def _stop_with_parent(stop: Callable[[], None]) -> None:
    """stdin is a pipe whose other end the parent holds: it ends when the parent does, however that happens."""
    while os.read(0, 1):  # the unbuffered way: a reader of sys.stdin would abort the process when it ends
        pass
    stop()
    threading.Event().wait(60)  # a pass may still be ended in order
    os._exit(1)
