"""Measures what the plugin costs people who are working: their submits in a large project, and in another one.

    python -m benchmarks.harm [--tasks 5000] [--people 8] [--seconds 180] [--rounds 3] [--settle 60]

Starts a Label Studio (SQLite) with a project of three answers per task. An answer every two seconds arrives there, and
one in a small project that the plugin does not know, at random moments: in each round first and last without the
service, in between with it. Quantiles are those of all rounds together, because a quantile of one varies by a quarter.
When a prediction appears is read from Label Studio's database, because polling Label Studio would add to its load. The
least that any plugin could do is measured, too: one bare request for each answer, which writes a prediction. At the
end, when nobody works any more, everything that the plugin wrote must equal a fresh sync.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ls_crowd_plugin.demo.server import Server, free_port, prepare
from ls_crowd_plugin.demo.service import Service
from ls_crowd_plugin.labelstudio import Http, LabelStudio, Prediction

from .latency import SECRET, submit
from .one_pass import wait_until_equal
from .sync import CONFIG, LABELS, make_person
from .text_table import Cell, print_table

PER_TASK = 3
EVERY = 2.0  # seconds between two answers in a project, in the mean
POLL = 0.25  # seconds between two looks at a prediction
SMALL = 200  # tasks of the other project


@dataclass
class Times:
    large: list[float] = field(default_factory=list)  # of submits, in seconds
    other: list[float] = field(default_factory=list)
    consensus: list[float] = field(default_factory=list)  # from submit to the new prediction on the task
    answers: int = 0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tasks", type=int, default=5000)
    arguments.add_argument("--people", type=int, default=8)
    arguments.add_argument("--seconds", type=int, default=180)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--settle", type=int, default=60, help="LS_CROWD_SETTLE_SECONDS of the service")
    arguments.add_argument("--home", type=Path, default=Path(".label-studio"), help="where Label Studio is installed")
    options = arguments.parse_args()
    prepare(options.home, print)
    with tempfile.TemporaryDirectory() as folder, Server(options.home, Path(folder) / "data") as server:
        http = Http(server.url, server.key)
        crowd = _Crowd(http, Path(folder) / "data" / "label_studio.sqlite3", options.people, options.tasks)
        without, with_it, least = Times(), Times(), Times()
        service = _service(server, Path(folder), options.settle)
        passes = _Passes()
        for _ in range(options.rounds):
            crowd.work(without, options.seconds / 2)
            with service, _webhook(http, service, crowd.large):
                assert service.event(crowd.large) == 202
                service.wait_until_idle()
                before = service.metrics()
                crowd.work(with_it, options.seconds)
                passes.add(before, service.metrics())
            crowd.work(without, options.seconds / 2)
            crowd.work(least, options.seconds, rewrites=True)
            _print(options.seconds, without, least, with_it, passes.written)
        passes.print()
        with service:
            started = time.monotonic()
            is_equal = wait_until_equal(http, service, crowd.large, options.settle)
            settled = time.monotonic() - started
    rows: list[tuple[Cell, ...]] = [("equal to a fresh sync", "yes" if is_equal else "NO", "yes")]
    print_table("At rest", ("what", "measured", "wanted"), [*rows, ("seconds until then", settled, None)])


class _Crowd:
    """Two projects, and the people who answer in them."""

    def __init__(self, http: Http, database: Path, people: int, tasks: int) -> None:
        self._http, self._database, self._random = http, database, np.random.default_rng(5)
        self._people = [make_person(http, number) for number in range(people)]
        self._skill = self._random.choice([0.3, 0.85], people, p=[0.25, 0.75])
        self.large, self._large_open = self._make(tasks)
        self._other, self._other_open = self._make(SMALL)

    def _make(self, tasks: int) -> tuple[int, dict[int, list[int]]]:
        """A project, and its tasks → people who have not answered yet; tasks in random order."""
        body = {"title": "Benchmark", "label_config": CONFIG, "maximum_annotations": len(self._people)}
        project = int(self._http.post("/api/projects/", body)["id"])
        answered = []
        for start in range(0, tasks, 1000):
            batch = [self._task() for _ in range(start, min(start + 1000, tasks))]
            answered += [who for _, who in batch]
            self._http.post(f"/api/projects/{project}/import", [task for task, _ in batch])
        ids = sorted(LabelStudio(self._http).task_ids(project))
        left = {task: [one for one in self._people if one not in who] for task, who in zip(ids, answered, strict=True)}
        return project, {int(task): left[int(task)] for task in self._random.permutation(ids)}

    def _task(self) -> tuple[dict[str, object], list[int]]:
        truth, annotations, answered = int(self._random.integers(len(LABELS))), [], []
        for person in self._random.choice(len(self._people), PER_TASK, replace=False):
            label = truth if self._random.random() < self._skill[person] else int(self._random.integers(len(LABELS)))
            value = {"choices": [LABELS[label]]}
            result = [{"from_name": "topic", "to_name": "text", "type": "choices", "value": value}]
            annotations.append({"completed_by": self._people[person], "ground_truth": False, "result": result})
            answered.append(self._people[person])
        return {"data": {"text": f"Something about {self._random.random():.6f}."}, "annotations": annotations}, answered

    def work(self, times: Times, seconds: float, *, rewrites: bool = False) -> None:
        """Answer in both projects, and note when predictions appear; if asked to, rewrite as many predictions."""
        written = LabelStudio(self._http).predictions(self.large) if rewrites else []
        start, waiting = time.monotonic() + 1.0, _Waiting(self._database, times)
        looking = threading.Thread(target=waiting.look, args=(start + seconds,))
        threads = [
            looking,
            threading.Thread(target=self._answer, args=(self._large_open, times.large, start, seconds, waiting)),
            threading.Thread(target=self._answer, args=(self._other_open, times.other, start, seconds, None)),
        ]
        if rewrites:
            threads.append(threading.Thread(target=self._rewrite, args=(written, start, seconds)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        times.answers += len(waiting.submitted)

    def _answer(
        self,
        open_tasks: dict[int, list[int]],
        took: list[float],
        start: float,
        seconds: float,
        waiting: _Waiting | None,
    ) -> None:
        http, random = Http(self._http.url, self._http._key), np.random.default_rng(len(open_tasks) + len(took))
        for number in range(int(seconds / EVERY)):
            task = next(iter(open_tasks))
            (person, *others) = open_tasks.pop(task)
            if others:
                open_tasks[task] = others
            time.sleep(max(start + EVERY * (number + random.random()) - time.monotonic(), 0.0))
            began = time.monotonic()
            took.append(submit(http, task, person, LABELS[int(self._random.integers(len(LABELS)))]))
            if waiting is not None:
                waiting.submitted[task] = began

    def _rewrite(self, written: list[Prediction], start: float, seconds: float) -> None:
        """Write one prediction for each answer, at any moment between two answers."""
        studio, random = LabelStudio(Http(self._http.url, self._http._key)), np.random.default_rng(0)
        for number, one in zip(range(int(seconds / EVERY)), written, strict=False):
            time.sleep(max(start + EVERY * (number + random.random()) - time.monotonic(), 0.0))
            changes = {"result": one.result, "score": one.score, "model_version": one.model_version}
            studio.change_prediction(one.id, changes)


class _Waiting:
    """Submitted tasks, and until when their prediction counts one answer less."""

    def __init__(self, database: Path, times: Times) -> None:
        self.submitted: dict[int, float] = {}
        self._database, self._times = database, times

    def look(self, until: float) -> None:
        """Look at the submitted tasks until each has its new prediction, or some seconds after people stop."""
        shown: set[int] = set()
        with closing(sqlite3.connect(f"file:{self._database}?mode=ro", uri=True, timeout=60.0)) as connection:
            while time.monotonic() < until + 15.0:
                left = [task for task in self.submitted if task not in shown]
                if not left and time.monotonic() > until:
                    return
                for task in left:
                    found = connection.execute("SELECT result FROM prediction WHERE task_id = ?", (task,)).fetchall()
                    answers = [json.loads(result)[0]["meta"]["crowd"]["answers"] for (result,) in found]
                    if any(number > PER_TASK for number in answers):
                        self._times.consensus.append(time.monotonic() - self.submitted[task])
                        shown.add(task)
                time.sleep(POLL)


def _service(server: Server, folder: Path, settle: int) -> Service:
    return Service(
        server.url,
        server.key,
        f"sqlite:///{folder / 'crowd.db'}",
        folder,
        port=free_port(),
        password="benchmark",
        webhook_secret=SECRET,
        LS_CROWD_SETTLE_SECONDS=str(settle),
    )


@contextmanager
def _webhook(http: Http, service: Service, project: int) -> Iterator[None]:
    """While this lasts, Label Studio tells the service what happens in a project."""
    body = {
        "url": f"{service.url}/webhook/{project}",
        "project": project,
        "headers": {"X-LS-Crowd-Secret": SECRET},
        "send_payload": False,  # as `ls-crowd connect` sets it
        "send_for_all_actions": True,
    }
    webhook = int(http.post("/api/webhooks/", body)["id"])
    yield
    http.delete(f"/api/webhooks/{webhook}/")


def _print(seconds: int, without: Times, least: Times, with_it: Times, written: int) -> None:
    rows: list[tuple[Cell, ...]] = []
    for name in ("large", "other"):
        for share in (0.5, 0.95):
            bare, one, ours = (float(np.quantile(getattr(times, name), share)) for times in (without, least, with_it))
            limit = 1.3 if share == 0.95 else None
            what = f"submit, {name} project, p{share * 100:.0f}, s"
            rows.append((what, bare, one, one / bare, ours, ours / bare, limit))
    p95 = float(np.quantile(with_it.consensus, 0.95)) if with_it.consensus else float("nan")
    rows.append(("submit to consensus of the task, p95, s", None, None, None, p95, None, 8.0))
    rows.append(("answers whose consensus was seen", None, None, None, len(with_it.consensus), None, with_it.answers))
    rows.append(("predictions written per answer", None, 1.0, None, written / max(with_it.answers, 1), None, 10.0))
    columns = ("what", "without", "one bare write an answer", "ratio", "with", "ratio", "wanted")
    print_table(f"{seconds} s of work", columns, rows, digits=2)


class _Passes:
    """What the passes of all rounds consisted of, and how much they wrote, by the metrics before and after."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}

    def add(self, before: Mapping[str, float], after: Mapping[str, float]) -> None:
        for name, value in after.items():
            self._sums[name] = self._sums.get(name, 0.0) + value - before.get(name, 0.0)

    @property
    def written(self) -> int:
        return int(sum(value for name, value in self._sums.items() if name.startswith("ls_crowd_predictions_total")))

    def print(self) -> None:
        rows: list[tuple[Cell, ...]] = []
        for name, seconds in self._sums.items():
            if name.startswith("ls_crowd_pass_seconds_total"):
                number = self._sums[name.replace("seconds", "stages")]
                rows.append((name.partition('"')[2].rstrip('"}'), number, seconds / max(number, 1.0)))
        print_table("Passes meanwhile", ("stage", "number", "mean, s"), rows, digits=2)


if __name__ == "__main__":
    main()
