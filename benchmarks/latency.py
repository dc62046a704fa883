"""Measures the time from an annotation to the new consensus in Label Studio, and what the webhook costs annotators.

    python -m benchmarks.latency [--tasks 100,1000,10000] [--submits 40] [--no-rest]

Starts a Label Studio and the service, imports projects with five annotations per task, connects a real webhook, and
submits one annotation after another, each time waiting until Label Studio's API shows another prediction on that task.
Only tasks with an uncertain label are used, and the annotator confirms it: on other tasks one more answer changes
nothing visible, and neither do the answers of an annotator who always gives the same label. `ratio` compares with a
bare submit followed by a bare POST of a prediction, without webhook, which is the least that any plugin could take.
At the end, when nobody works any more, everything that the plugin wrote must equal a fresh sync.
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

from .one_pass import wait_until_equal
from .sync import LABELS, make_person, make_project
from .text_table import print_table

SECRET = "benchmark-secret"
MAX_SECONDS = 300.0
SETTLE = 60  # LS_CROWD_SETTLE_SECONDS


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tasks", default="100,1000,10000")
    arguments.add_argument("--submits", type=int, default=40)
    arguments.add_argument("--no-rest", action="store_true", help="do not wait until everything is written")
    arguments.add_argument("--home", type=Path, default=Path(".label-studio"), help="where Label Studio is installed")
    options = arguments.parse_args()
    prepare(options.home, print)
    rows = []
    with tempfile.TemporaryDirectory() as folder, Server(options.home, Path(folder) / "data") as server:
        http = Http(server.url, server.key)
        people = [make_person(http, number) for number in range(50)]
        newcomer = make_person(http, 50)
        for tasks in map(int, options.tasks.split(",")):
            project = make_project(http, people, tasks)
            settings = {"LS_CROWD_SETTLE_SECONDS": str(SETTLE)}
            with service_of(server, Path(folder) / f"service-{tasks}", **settings) as service:
                row = _measure(http, service, project, newcomer, tasks, options.submits)
                equals = "–" if options.no_rest else _equals_fresh_sync(http, service, project)
                rows.append((*row, equals))
                _print(rows)


def _print(rows: list[tuple[Any, ...]]) -> None:
    print_table(
        "Seconds from submit to the new consensus, and of the submit itself without and with the webhook",
        (
            *("tasks", "submits", "median", "p95", "bare submit and POST", "ratio of medians", "of p95"),
            *("submit without", "with", "writes per answer", "at rest equal to a fresh sync"),
        ),
        rows,
        digits=2,
    )


def _equals_fresh_sync(http: Http, service: Service, project: int) -> str:
    return "yes" if wait_until_equal(http, service, project, SETTLE) else "NO"


def _measure(http: Http, service: Service, project: int, newcomer: int, tasks: int, submits: int) -> tuple[Any, ...]:
    assert service.event(project) == 202
    service.wait_until_idle()
    predictions = LabelStudio(http).predictions(project)
    labels = {prediction.task: str(prediction.result[0]["value"]["choices"][0]) for prediction in predictions}
    by_score = [one.task for one in sorted(predictions, key=lambda one: (one.score or 0.0, one.task))]
    uncertain, others = by_score[: len(by_score) // 2], by_score[len(by_score) // 2 :]
    random = np.random.default_rng(1)
    chosen = random.choice(uncertain, min(submits, len(uncertain)), replace=False)
    hook = add_webhook(http, service, project)
    plain: list[float] = []
    hooked: list[float] = []
    for number, task in enumerate(
        random.choice(others, min(2 * submits, len(others)), replace=False)
    ):  # in turn, so that the machine is equally busy for both
        http.patch(f"/api/webhooks/{hook}/", {"is_active": bool(number % 2)})
        (hooked if number % 2 else plain).append(submit(http, int(task), newcomer, labels[int(task)]))
    service.wait_until_idle()
    http.patch(f"/api/webhooks/{hook}/", {"is_active": True})
    before = _written(service)
    took = [seconds_until_shown(http, int(task), newcomer, labels[int(task)]) for task in chosen]
    service.wait_until_idle()
    writes = (_written(service) - before) / len(took)
    http.patch(f"/api/webhooks/{hook}/", {"is_active": False})
    left = [int(task) for task in uncertain if task not in chosen]
    bare = [_bare(http, task, newcomer, labels[task]) for task in random.choice(left, min(submits, len(left)), False)]
    http.patch(f"/api/webhooks/{hook}/", {"is_active": True})
    assert service.event(project) == 202
    p95, bare_p95 = float(np.quantile(took, 0.95)), float(np.quantile(bare, 0.95))
    median, bare_median = statistics.median(took), statistics.median(bare)
    ratios = (bare_median, median / bare_median, p95 / bare_p95)
    return tasks, len(took), median, p95, *ratios, statistics.median(plain), statistics.median(hooked), writes


def _written(service: Service) -> float:
    """Predictions that the service has written."""
    return sum(value for name, value in service.metrics().items() if name.startswith("ls_crowd_predictions_total"))


def _bare(http: Http, task: int, by: int, label: str) -> float:
    """Submit an annotation and create a prediction, and return the seconds that this takes."""
    found = http.get("/api/predictions/", task=task)[0]
    body = {name: found[name] for name in ("task", "result", "score")}
    started = time.perf_counter()
    submit(http, task, by, label)
    created = http.post("/api/predictions/", {**body, "model_version": "bare"})
    took = time.perf_counter() - started
    http.delete(f"/api/predictions/{created['id']}/")
    return took


def service_of(server: Server, folder: Path, **settings: str) -> Service:
    """Return `ls-crowd serve` without polling, so that only webhooks matter."""
    folder.mkdir()
    settings = {"LS_CROWD_TASK_META": "off", "LS_CROWD_POLL_SECONDS": "3600", **settings}
    return Service(
        server.url,
        server.key,
        f"sqlite:///{folder / 'crowd.db'}",
        folder,
        port=free_port(),
        password="benchmark",
        webhook_secret=SECRET,
        **settings,
    )


def add_webhook(http: Http, service: Service, project: int) -> int:
    """Add a webhook to the service, and return its id."""
    body = {
        "url": f"{service.url}/webhook/{project}",
        "project": project,
        "headers": {"X-LS-Crowd-Secret": SECRET},
        "send_payload": False,  # as `ls-crowd connect` sets it
        "send_for_all_actions": True,
        "is_active": True,
    }
    return int(http.post("/api/webhooks/", body)["id"])


def submit(http: Http, task: int, by: int, label: str = LABELS[0]) -> float:
    result = [{"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": [label]}}]
    started = time.perf_counter()
    http.post(f"/api/tasks/{task}/annotations/", {"result": result, "completed_by": by, "lead_time": 1.0})
    return time.perf_counter() - started


def seconds_until_shown(http: Http, task: int, by: int, label: str) -> float:
    """Submit an annotation, and return the seconds until the task has another prediction."""
    before = _prediction(http, task)
    started = time.perf_counter()
    submit(http, task, by, label)
    while _prediction(http, task) == before:
        if time.perf_counter() - started > MAX_SECONDS:
            raise SystemExit(f"Task {task} has no new consensus after {MAX_SECONDS:.0f} s.")
        time.sleep(0.05)
    return time.perf_counter() - started


def _prediction(http: Http, task: int) -> list[Any]:
    return [
        (prediction["score"], prediction["result"][0]["meta"]["crowd"]["answers"])
        for prediction in http.get("/api/predictions/", task=task)
    ]


if __name__ == "__main__":
    main()
