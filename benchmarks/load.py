"""Measures the receiver under load: how long answers take while events arrive at a steady rate and passes run.

At the end the consensus must equal that of a fresh sync.

    python -m benchmarks.load [--rate 200] [--seconds 60] [--tasks 2000]

Everything runs on this machine: a Label Studio, the service with its worker, and the senders. Events are sent at fixed
times, whether or not earlier answers were quick, so that a slow moment is not hidden by sending less.
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from ls_crowd_plugin.demo.server import Server, prepare
from ls_crowd_plugin.errors import LabelStudioError
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline.context import RunFlags
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import open_store

from .latency import SECRET, service_of, submit
from .one_pass import one_pass
from .sync import make_person, make_project
from .text_table import print_table

SENDERS = 8
SETTLE = 5  # seconds without events after which everything is written
MAX_SETTLE = 900.0  # seconds that this may take


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rate", type=int, default=200)
    arguments.add_argument("--seconds", type=int, default=60)
    arguments.add_argument("--tasks", type=int, default=2000)
    arguments.add_argument("--home", type=Path, default=Path(".label-studio"), help="where Label Studio is installed")
    options = arguments.parse_args()
    prepare(options.home, print)
    with tempfile.TemporaryDirectory() as folder, Server(options.home, Path(folder) / "data") as server:
        studio = Http(server.url, server.key)
        people = [make_person(studio, number) for number in range(50)]
        newcomer = make_person(studio, 50)
        project = make_project(studio, people, options.tasks)
        with service_of(server, Path(folder) / "service", LS_CROWD_SETTLE_SECONDS=str(SETTLE)) as service:
            assert service.event(project) == 202
            service.wait_until_idle()
            tasks = sorted(LabelStudio(studio).task_ids(project))[: options.seconds]
            answers, seconds = _send(service.url, project, options.rate, options.seconds, studio, tasks, newcomer)
            assert service.event(project) == 202  # an annotation may have followed the last event
            outcomes = ("done", "superseded")
            metrics = service.metrics()
            passes = sum(metrics.get(f'ls_crowd_passes_total{{outcome="{outcome}"}}', 0.0) for outcome in outcomes)
            service.wait_until_idle()
            equal = _becomes_a_fresh_sync(studio, project)
    milliseconds = np.array(seconds) * 1000
    rows = [
        ("events sent", options.rate * options.seconds, None),
        (
            "answered 2xx",
            sum(count for status, count in answers.items() if 200 <= status < 300),
            options.rate * options.seconds,
        ),
        ("median, ms", float(np.median(milliseconds)), None),
        ("p99, ms", float(np.quantile(milliseconds, 0.99)), 50),
        ("longest, ms", float(milliseconds.max()), None),
        ("passes with a fit meanwhile", int(passes), None),
        ("consensus equal to a fresh sync", "yes" if equal else "NO", None),
    ]
    print_table(f"{options.rate} events a second for {options.seconds} s", ("what", "measured", "wanted"), rows)


def _send(
    url: str, project: int, rate: int, seconds: int, studio: Http, tasks: list[int], newcomer: int
) -> tuple[Counter[int], list[float]]:
    """Return the statuses and times of all answers; meanwhile an annotator submits about once a second."""
    statuses: Counter[int] = Counter()
    times: list[float] = []
    start = time.perf_counter() + 1.0

    def sender(number: int) -> None:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
        body = json.dumps({"action": "ANNOTATION_CREATED", "project": {"id": project}})
        headers = {"X-LS-Crowd-Secret": SECRET, "Content-Type": "application/json"}
        for event in range(number, rate * seconds, SENDERS):
            due = start + event / rate
            time.sleep(max(due - time.perf_counter(), 0.0))
            connection.request("POST", "/webhook", body, headers)
            answer = connection.getresponse()
            answer.read()
            statuses[answer.status] += 1
            times.append(time.perf_counter() - due)

    def annotator() -> None:
        for number, task in enumerate(tasks):
            time.sleep(max(start + number - time.perf_counter(), 0.0))
            with suppress(LabelStudioError):  # Label Studio's own database may be too busy for a moment
                submit(studio, task, newcomer)

    threads = [threading.Thread(target=sender, args=(number,)) for number in range(SENDERS)]
    threads.append(threading.Thread(target=annotator))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses, times


def _becomes_a_fresh_sync(studio: Http, project: int) -> bool:
    """Whether everything equals a fresh sync once the service has written what could wait while people worked."""
    deadline = time.monotonic() + MAX_SETTLE
    while not (equal := _as_a_fresh_sync(studio, project)) and time.monotonic() < deadline:
        time.sleep(5.0)
    return equal


def _as_a_fresh_sync(studio: Http, project: int) -> bool:
    with open_store("sqlite:///:memory:") as store:
        return one_pass(studio, store, project, Recipe(task_meta="off"), RunFlags(dry_run=True)).plan.is_empty


if __name__ == "__main__":
    main()
