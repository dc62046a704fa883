"""Measures what a flood costs people: the time from a submit to the new consensus while events of invented projects and
connections that never finish their request arrive.

    python -m benchmarks.flood [--seconds 60] [--rate 1000] [--half-open 500] [--tasks 300]

The same flood is aimed at a bare server that does nothing, so that the machine is about as busy, and at the service, in
turn, for --seconds each. An annotator submits one annotation after another, each time waiting until Label Studio's API
shows another prediction. The labels are the most frequent answers, so that an answer changes one prediction and all
submits are alike. At the end a project that the service has never heard of gets a webhook under a flood.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ls_crowd_plugin.demo.server import Server, free_port, prepare
from ls_crowd_plugin.demo.service import Service
from ls_crowd_plugin.labelstudio import Http, LabelStudio

from .flood_sender import bare_server, flood
from .latency import SECRET, add_webhook, seconds_until_shown, service_of, submit
from .sync import make_person, make_project
from .text_table import print_table

LIMIT = 2.0
UNCERTAIN = 0.97  # labels with a lower score
NEWCOMERS = 10
FIRST_PASS_SECONDS = 60.0
MAX_SECONDS = 600.0  # after which a flood ends by itself

Submit = tuple[int, int, str]  # task, annotator, label


@dataclass
class Phase:
    """What was measured while the flood was aimed at one of the two."""

    took: list[float] = field(default_factory=list)  # seconds from a submit to the new consensus
    answered: int = 0  # invented events


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
        with service_of(server, Path(folder) / "service", LS_CROWD_METHOD="plu") as service:
            assert service.event(project) == 202
            service.wait_until_idle()
            add_webhook(http, service, project)
            submits = _submits(http, project, newcomers)
            phases = {False: Phase(), True: Phase()}
            for at_service in (False, True, True, False):  # what changes with time affects both
                _run(options, http, service, submits, at_service, phases[at_service])
            with flood(service.port, SECRET, rate=options.rate, half_open=options.half_open, seconds=MAX_SECONDS):
                first_pass = _first_pass(http, service, unknown, newcomers[0])
            metrics = service.metrics()
    _print(options, phases[False], phases[True], first_pass, metrics)


def _run(
    options: argparse.Namespace,
    http: Http,
    service: Service,
    submits: Iterator[Submit],
    at_service: bool,
    phase: Phase,
) -> None:
    """Submit for half of the time of a phase."""
    port = service.port if at_service else free_port()
    with bare_server(port, MAX_SECONDS) if not at_service else nullcontext():
        with flood(port, SECRET, rate=options.rate, half_open=options.half_open, seconds=MAX_SECONDS) as sent:
            until = time.monotonic() + options.seconds / 2
            while time.monotonic() < until and (one := next(submits, None)):
                phase.took.append(seconds_until_shown(http, *one))
                while service.metrics()["ls_crowd_projects_waiting"]:  # or the end of the pass delays the next submit
                    time.sleep(0.1)
        phase.answered += sent.answered


def _submits(http: Http, project: int, newcomers: list[int]) -> Iterator[Submit]:
    """Answers that confirm an uncertain label, one for each task: on a surer one another answer may change nothing."""
    labels = {
        prediction.task: str(prediction.result[0]["value"]["choices"][0])
        for prediction in LabelStudio(http).predictions(project)
        if prediction.score is not None and prediction.score < UNCERTAIN
    }
    tasks = random.Random(1).sample(sorted(labels), len(labels))
    return iter([(task, newcomers[number % NEWCOMERS], labels[task]) for number, task in enumerate(tasks)])


def _first_pass(http: Http, service: Service, project: int, newcomer: int) -> float:
    """Seconds from the first event of a project that nobody has named to its first predictions."""
    add_webhook(http, service, project)
    studio, started = LabelStudio(http), time.monotonic()
    submit(http, min(studio.task_ids(project)), newcomer)
    while not studio.predictions(project) and time.monotonic() - started < FIRST_PASS_SECONDS:
        time.sleep(0.1)
    return time.monotonic() - started


def _print(
    options: argparse.Namespace, bare: Phase, aimed: Phase, first_pass: float, metrics: dict[str, float]
) -> None:
    rows: list[tuple[str, str, str, str, str]] = []
    for name, share in (("median, s", 0.5), ("p95, s", 0.95)):
        before, after = float(np.quantile(bare.took, share)), float(np.quantile(aimed.took, share))
        figures = (f"{before:.2f}", f"{after:.2f}", f"{after / before:.2f}")
        rows.append((f"submit to consensus, {name}", *figures, str(LIMIT)))
    lost = int(metrics['ls_crowd_events_total{outcome="lost"}'])
    rows += [
        ("submits", str(len(bare.took)), str(len(aimed.took)), "", ""),
        ("invented events answered", f"{bare.answered:,}", f"{aimed.answered:,}", "", ""),
        ("events lost", "", str(lost), "", "0"),
        ("first pass of a new project, s", "", f"{first_pass:.1f}", "", ""),
        ("projects in the queue", "", str(int(metrics["ls_crowd_projects"])), "", "2"),
    ]
    title = f"{options.rate} invented events a second and {options.half_open} half-open connections"
    print_table(title, ("what", "at a bare server", "at the service", "ratio", "at most"), rows)


if __name__ == "__main__":
    main()
