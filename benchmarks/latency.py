"""From an annotator's submit to the new consensus in Label Studio, and what the webhook costs the annotator.

    python -m benchmarks.latency [--tasks 100,10000] [--submits 15]

Starts a Label Studio and the service, imports projects with five annotations a task, connects a real webhook, and
submits one annotation after another, each time until Label Studio's API shows another prediction on that task. The
tasks are such whose label is not quite sure yet, and the annotator says what it seems to be: of other tasks another
answer changes nothing that shows, and so it is with the answers of somebody who always says the same.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ls_crowd_plugin.demo.server import Server, free_port, prepare
from ls_crowd_plugin.demo.service import Service
from ls_crowd_plugin.labelstudio import Http, LabelStudio

from .sync import LABELS, make_person, make_project
from .text_table import print_table

SECRET = "benchmark-secret"
LONGEST = 300.0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tasks", default="100,10000")
    arguments.add_argument("--submits", type=int, default=15)
    arguments.add_argument("--home", type=Path, default=Path(".label-studio"), help="where Label Studio is installed")
    given = arguments.parse_args()
    prepare(given.home, print)
    rows = []
    with tempfile.TemporaryDirectory() as folder, Server(given.home, Path(folder) / "data") as server:
        http = Http(server.url, server.key)
        people = [make_person(http, number) for number in range(50)]
        newcomer = make_person(http, 50)
        for tasks in map(int, given.tasks.split(",")):
            project = make_project(http, people, tasks)
            with service_of(server, Path(folder) / f"service-{tasks}") as service:
                rows.append(_measure(http, service, project, newcomer, tasks, given.submits))
    print_table(
        "Seconds from submit to the new consensus, and of the submit itself without and with the webhook",
        ("tasks", "submits", "median", "p95", "submit without", "with"),
        rows,
        digits=2,
    )


def _measure(http: Http, service: Service, project: int, newcomer: int, tasks: int, submits: int) -> tuple[Any, ...]:
    service.event(project)
    service.wait_until_idle()
    standing = LabelStudio(http).predictions(project)
    said = {int(each["task"]): str(each["result"][0]["value"]["choices"][0]) for each in standing}
    unsure = sorted(int(each["task"]) for each in standing if each["score"] < 0.97)
    others = sorted(said.keys() - set(unsure))
    random = np.random.default_rng(1)
    chosen = random.choice(unsure, min(submits, len(unsure)), replace=False)
    body = {
        "url": f"{service.url}/webhook/{project}",
        "project": project,
        "headers": {"X-LS-Crowd-Secret": SECRET},
        "send_payload": False,  # as `ls-crowd connect` has it
        "send_for_all_actions": True,
        "is_active": False,
    }
    hook = int(http.post("/api/webhooks/", body)["id"])
    plain: list[float] = []
    hooked: list[float] = []
    for number, task in enumerate(random.choice(others, 2 * submits, replace=False)):  # by turns: the same machine
        http.patch(f"/api/webhooks/{hook}/", {"is_active": bool(number % 2)})
        (hooked if number % 2 else plain).append(submit(http, int(task), newcomer, said[int(task)]))
    service.wait_until_idle()
    http.patch(f"/api/webhooks/{hook}/", {"is_active": True})
    took = [_until_seen(http, int(task), newcomer, said[int(task)]) for task in chosen]
    p95 = float(np.quantile(took, 0.95))
    return tasks, len(took), statistics.median(took), p95, statistics.median(plain), statistics.median(hooked)


def service_of(server: Server, folder: Path) -> Service:
    """`ls-crowd serve` without polling, so that only webhooks count."""
    folder.mkdir()
    settings = {"LS_CROWD_TASK_META": "off", "LS_CROWD_POLL_SECONDS": "3600"}
    return Service(server, folder, free_port(), "benchmark", SECRET, **settings)


def submit(http: Http, task: int, by: int, label: str = LABELS[0]) -> float:
    result = [{"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": [label]}}]
    started = time.perf_counter()
    http.post(f"/api/tasks/{task}/annotations/", {"result": result, "completed_by": by, "lead_time": 1.0})
    return time.perf_counter() - started


def _until_seen(http: Http, task: int, by: int, label: str) -> float:
    before = _prediction(http, task)
    started = time.perf_counter()
    submit(http, task, by, label)
    while _prediction(http, task) == before:
        if time.perf_counter() - started > LONGEST:
            raise SystemExit(f"Task {task} has no new consensus after {LONGEST:.0f} s.")
        time.sleep(0.05)
    return time.perf_counter() - started


def _prediction(http: Http, task: int) -> list[Any]:
    return [
        (each["score"], each["result"][0]["meta"]["crowd"]["answers"])
        for each in http.get("/api/predictions/", task=task)
    ]


if __name__ == "__main__":
    main()
