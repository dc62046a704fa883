"""Measures what a flood costs people: the time from a submit to the new consensus while events of invented projects and
connections that never finish their request arrive.

    python -m benchmarks.flood [--seconds 60] [--rate 1000] [--half-open 500] [--tasks 300]

The same flood is first aimed at a bare server that does nothing, so that the machine is about as busy, and then at the
service. An annotator submits one annotation after another, each time waiting until Label Studio's API shows another
prediction. At the end a project that the service has never heard of gets a webhook, while the flood goes on.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ls_crowd_plugin.demo.server import Server, free_port, prepare
from ls_crowd_plugin.demo.service import Service
from ls_crowd_plugin.labelstudio import Http, LabelStudio

from .flood_sender import Flood, bare_server, flood
from .latency import SECRET, UNCERTAIN, add_webhook, seconds_until_shown, service_of, submit
from .sync import make_person, make_project
from .text_table import print_table

LIMIT = 2.0
NEWCOMERS = 10
FIRST_PASS_SECONDS = 60.0

Submit = tuple[int, int, str]  # task, annotator, label


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=60.0)
    arguments.add_argument("--rate", type=int, default=1000)
    arguments.add_argument("--half-open", type=int, default=500)
    arguments.add_argument("--tasks", type=int, default=300)
    arguments.add_argument("--home", type=Path, default=Path(".label-studio"), help="where Label Studio is installed")
    options = arguments.parse_args()
    prepare(options.home, print)
    with tempfile.TemporaryDirectory() as folder, Server(options.home, Path(folder) / "data") as server:
        http = Http(server.url, server.key)
        people = [make_person(http, number) for number in range(50)]
        newcomers = [make_person(http, number) for number in range(50, 50 + NEWCOMERS)]
        project, unknown = (make_project(http, people, tasks) for tasks in (options.tasks, 10))
        with service_of(server, Path(folder) / "service") as service:
            assert service.event(project) == 202
            service.wait_until_idle()
            add_webhook(http, service, project)
            submits = _submits(http, project, newcomers)
            bare_port, seconds = free_port(), options.seconds
            shape = {"rate": options.rate, "half_open": options.half_open, "seconds": seconds + 2 * FIRST_PASS_SECONDS}
            with bare_server(bare_port, shape["seconds"]), flood(bare_port, SECRET, **shape) as bare:
                beside = _submit_for(http, submits, seconds)
            with flood(service.port, SECRET, **shape) as aimed:
                under = _submit_for(http, submits, seconds)
                first_pass = _first_pass(http, service, unknown, newcomers[0])
            rows = service.metrics()["ls_crowd_projects"]
    _print(options, [(bare, beside), (aimed, under)], first_pass, int(rows))


def _submits(http: Http, project: int, newcomers: list[int]) -> Iterator[Submit]:
    """Answers that confirm an uncertain label, each of which changes a prediction."""
    labels = {
        prediction.task: str(prediction.result[0]["value"]["choices"][0])
        for prediction in LabelStudio(http).predictions(project)
        if prediction.score is not None and prediction.score < UNCERTAIN
    }
    submits = [(task, person, label) for person in newcomers for task, label in labels.items()]
    random.Random(1).shuffle(submits)
    return iter(submits)


def _submit_for(http: Http, submits: Iterator[Submit], seconds: float) -> list[float]:
    """Submit one after another for some time, and return how long each took until it was shown."""
    until, took = time.monotonic() + seconds, []
    while time.monotonic() < until and (one := next(submits, None)):
        took.append(seconds_until_shown(http, *one))
    return took


def _first_pass(http: Http, service: Service, project: int, newcomer: int) -> float:
    """Seconds from the first event of a project that nobody has named to its first predictions."""
    add_webhook(http, service, project)
    studio, started = LabelStudio(http), time.monotonic()
    submit(http, min(studio.task_ids(project)), newcomer)
    while not studio.predictions(project) and time.monotonic() - started < FIRST_PASS_SECONDS:
        time.sleep(0.1)
    return time.monotonic() - started


def _print(
    options: argparse.Namespace, phases: list[tuple[Flood, list[float]]], first_pass: float, projects: int
) -> None:
    (bare, beside), (aimed, under) = phases
    rows: list[tuple[str, str, str, str, str]] = []
    for name, share in (("median, s", 0.5), ("p95, s", 0.95)):
        before, after = float(np.quantile(beside, share)), float(np.quantile(under, share))
        figures = (f"{before:.2f}", f"{after:.2f}", f"{after / before:.2f}")
        rows.append((f"submit to consensus, {name}", *figures, str(LIMIT)))
    rows += [
        ("submits", str(len(beside)), str(len(under)), "", ""),
        ("invented events answered", f"{bare.answered:,}", f"{aimed.answered:,}", "", ""),
        ("first pass of a new project, s", "", f"{first_pass:.1f}", "", ""),
        ("projects in the queue", "", str(projects), "", "2"),
    ]
    title = f"{options.rate} invented events a second and {options.half_open} half-open connections"
    print_table(title, ("what", "at a bare server", "at the service", "ratio", "at most"), rows)


if __name__ == "__main__":
    main()
