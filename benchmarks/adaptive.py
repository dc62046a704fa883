"""Measures how many answers `connect --adaptive` saves with people who work through Label Studio's own queue.

    python -m benchmarks.adaptive [--tasks 300] [--people 20] [--gold 30] [--fixed 5] [--faults 5] [--kills 10]

Starts a Label Studio and the service. Simulated people ask for the next task, think, and submit, each with a token of
their own, first in a project in which every task gets a fixed number of answers, then in the same one with a policy; in
both, a person gives the same answer to the same task. A few of the people guess. Whoever finds no task looks again
after as long as an answer takes. Then accuracy on tasks that are not gold is compared, and whether everything is in
order: counters, people who were served a task that they had answered, and whoever got fewest answers to give.

`--faults` lets this percentage of the service's requests to Label Studio fail, `--kills` kills the service so often.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ls_crowd_plugin.demo.server import Server, prepare
from ls_crowd_plugin.demo.service import Service
from ls_crowd_plugin.errors import LabelStudioError, NotFound
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline.counters import COUNTERS, corrected_counters
from ls_crowd_plugin.store import open_store
from ls_crowd_plugin.store.gold import add_gold
from tests.support.proxy import ProxiedRequest, Proxy
from tests.support.sign_up import sign_up

from .latency import add_webhook, service_of
from .sync import CONFIG, LABELS
from .text_table import Cell, print_table

GUESSING = 0.2  # of the people
PATIENCE = 20.0  # seconds without an open task after which a project is finished
MAX_SECONDS = 1800.0  # that people work at most


@dataclass
class Person:
    user: int
    http: Http
    knows: float  # probability of knowing the answer to a task of average difficulty


@dataclass
class Work:
    """What happened in one project."""

    answers: Counter[int] = field(default_factory=Counter)  # by person
    served_again: int = 0  # tasks that were served to somebody who had answered them
    lock: threading.Lock = field(default_factory=threading.Lock)


class Crowd:
    def __init__(self, server: Server, options: argparse.Namespace) -> None:
        self.http, self.options = Http(server.url, server.key), options
        generator = np.random.default_rng(options.seed)
        skills = generator.uniform(0.55, 0.95, options.people)
        skills[: round(GUESSING * options.people)] = 0.0
        people = [sign_up(server.url, f"person{number}") for number in range(options.people)]
        self.people = [Person(user, http, float(skill)) for (user, http), skill in zip(people, skills, strict=True)]
        self.truth = [LABELS[code] for code in generator.integers(len(LABELS), size=options.tasks)]
        self.ease = generator.uniform(0.5, 1.2, options.tasks)
        self.gold = sorted(generator.choice(options.tasks, options.gold, replace=False).tolist())

    def make_project(self, required: int) -> tuple[int, list[int]]:
        """A project without answers, and its tasks in order."""
        body = {"title": "Benchmark", "label_config": CONFIG, "maximum_annotations": required}
        project = int(self.http.post("/api/projects/", body)["id"])
        tasks = [{"data": {"text": f"Something, number {number}."}} for number in range(self.options.tasks)]
        self.http.post(f"/api/projects/{project}/import", tasks)
        return project, sorted(LabelStudio(self.http).task_ids(project))

    def work(self, project: int, tasks: list[int]) -> Work:
        """Let everybody work until nothing is left to do."""
        work, end = Work(), threading.Event()
        threads = [
            threading.Thread(target=self._work_as, args=(person, project, tasks, work, end)) for person in self.people
        ]
        for thread in threads:
            thread.start()
        quiet_since = time.monotonic()
        until = quiet_since + MAX_SECONDS
        while quiet_since + PATIENCE > time.monotonic() < until:
            time.sleep(1.0)
            if self._open_tasks(project):
                quiet_since = time.monotonic()
        end.set()
        for thread in threads:
            thread.join()
        return work

    def _open_tasks(self, project: int) -> bool:
        pages = LabelStudio(self.http).listed_pages(project)
        return any(not task["is_labeled"] for page in pages for task in page)

    def _work_as(self, person: Person, project: int, tasks: list[int], work: Work, end: threading.Event) -> None:
        number_of = {task: number for number, task in enumerate(tasks)}
        pace = random.Random(person.user)
        done: set[int] = set()
        while not end.is_set():
            try:
                task = int(person.http.get(f"/api/projects/{project}/next/")["id"])
            except NotFound:
                end.wait(pace.expovariate(1 / self.options.think))
                continue
            except LabelStudioError:
                continue
            end.wait(pace.expovariate(1 / self.options.think))
            label = self._answer(person, number_of[task])
            result = [{"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": [label]}}]
            try:
                person.http.post(f"/api/tasks/{task}/annotations/", {"result": result, "lead_time": self.options.think})
            except LabelStudioError:
                continue
            with work.lock:
                work.answers[person.user] += 1
                work.served_again += task in done
            done.add(task)

    def _answer(self, person: Person, number: int) -> str:
        generator = random.Random(f"{self.options.seed} {person.user} {number}")
        knows = generator.random() < person.knows * self.ease[number]
        return self.truth[number] if knows else generator.choice(LABELS)

    def accuracy(self, project: int, tasks: list[int]) -> tuple[float, float]:
        """On tasks that are not gold, in percent, with its standard error."""
        predictions = {one.task: one for one in LabelStudio(self.http).predictions(project)}
        judged = [number for number in range(len(tasks)) if number not in self.gold]
        right = [
            predictions[tasks[number]].result[0]["value"]["choices"] == [self.truth[number]]
            for number in judged
            if tasks[number] in predictions
        ]
        share = sum(right) / len(judged)
        return 100 * share, 100 * float(np.sqrt(share * (1 - share) / len(judged)))

    def wrong_counters(self, project: int, tasks: list[int]) -> int:
        found = LabelStudio(self.http).tasks(project, tasks, COUNTERS)
        return sum(bool(corrected_counters(task, False, is_closed=False)) for task in found)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("tasks", 300), ("people", 20), ("gold", 30), ("fixed", 5), ("seed", 0)):
        arguments.add_argument(f"--{name}", type=int, default=default)
    arguments.add_argument("--kills", type=int, default=0, help="how often the service is killed")
    arguments.add_argument("--faults", type=float, default=0.0, help="percentage of requests that fail")
    arguments.add_argument("--think", type=float, default=8.0, help="seconds that an answer takes, in the mean")
    arguments.add_argument("--min-answers", type=int, default=2)
    arguments.add_argument("--max-answers", type=int, default=8)
    arguments.add_argument("--confidence", type=float, default=0.95)
    arguments.add_argument("--share", type=float, default=0.8, help="of the fixed number of answers, as the budget")
    arguments.add_argument("--home", type=Path, default=Path(".label-studio"), help="where Label Studio is installed")
    options = arguments.parse_args()
    prepare(options.home, print)
    with tempfile.TemporaryDirectory() as folder, Server(options.home, Path(folder) / "data") as server:
        crowd = Crowd(server, options)
        rows = [_fixed(crowd, server, Path(folder) / "fixed"), _adaptive(crowd, server, Path(folder) / "adaptive")]
        header = (
            "",
            "answers",
            "accuracy %",
            "± se",
            "seconds",
            "wrong counters",
            "served again",
            "left open",
            "fewest / mean",
        )
        print_table(f"{options.people} people, {options.tasks} tasks", header, rows)
        fixed, adaptive = (float(row[1] or 0) for row in rows)
        print(f"adaptive used {adaptive / fixed:.0%} of the answers")


def _fixed(crowd: Crowd, server: Server, folder: Path) -> list[Cell]:
    """Everybody works, and the consensus is computed at the end."""
    project, tasks = crowd.make_project(crowd.options.fixed)
    started = time.monotonic()
    work = crowd.work(project, tasks)
    seconds = time.monotonic() - started - PATIENCE
    service = service_of(server, folder)
    _add_gold(service, crowd, project, tasks)
    service.run("sync", str(project))
    return ["fixed", *_measure(crowd, project, tasks, work, seconds)]


def _adaptive(crowd: Crowd, server: Server, folder: Path) -> list[Cell]:
    options = crowd.options
    project, tasks = crowd.make_project(options.fixed)
    proxy = Proxy(server.url)
    faults = random.Random(1)
    kinds = ("500", "reset", "lost", "truncated")

    def fault(_: ProxiedRequest) -> str:
        return faults.choice(kinds) if faults.random() < options.faults / 100 else ""

    with proxy.running():
        settings = {"LS_CROWD_SETTLE_SECONDS": "30", "LS_CROWD_POLL_SECONDS": "20", "LABEL_STUDIO_URL": proxy.url}
        service = service_of(server, folder, **settings)
        _add_gold(service, crowd, project, tasks)
        limits = {name: getattr(options, name) for name in ("min_answers", "max_answers", "confidence")}
        limits["budget"] = round(options.share * options.fixed * options.tasks)
        arguments = [f"--{name.replace('_', '-')}={value}" for name, value in limits.items()]
        service.run("connect", str(project), "--adaptive", *arguments)
        with service:
            for hook in crowd.http.get("/api/webhooks/", project=project):
                crowd.http.delete(f"/api/webhooks/{hook['id']}/")
            add_webhook(crowd.http, service, project)
            proxy.fault = fault
            started = time.monotonic()
            with _killed(service, options.kills):
                work = crowd.work(project, tasks)
            seconds = time.monotonic() - started - PATIENCE
            proxy.fault = lambda _: ""
            assert service.event(project) == 202
            time.sleep(45)
            service.wait_until_idle()
            return ["adaptive", *_measure(crowd, project, tasks, work, seconds)]


def _add_gold(service: Service, crowd: Crowd, project: int, tasks: list[int]) -> None:
    gold = {(tasks[number], "topic"): crowd.truth[number] for number in crowd.gold}
    with open_store(service.environment["LS_CROWD_DATABASE_URL"]) as store, store.data.begin() as connection:
        add_gold(connection, project, gold)


def _measure(crowd: Crowd, project: int, tasks: list[int], work: Work, seconds: float) -> list[Cell]:
    accuracy, error = crowd.accuracy(project, tasks)
    found = LabelStudio(crowd.http).tasks(project, tasks, COUNTERS)
    left = sum(not task["is_labeled"] for task in found)
    answers = sum(len(task["annotations"]) for task in found)
    fewest = min(work.answers[person.user] for person in crowd.people) * len(crowd.people) / work.answers.total()
    return [answers, accuracy, error, seconds, crowd.wrong_counters(project, tasks), work.served_again, left, fewest]


@contextmanager
def _killed(service: Service, times: int) -> Iterator[None]:
    """Kill the service and start it again, now and then, as long as the block lasts."""
    end = threading.Event()

    def kill() -> None:
        for _ in range(times):
            if end.wait(random.uniform(5.0, 25.0)):
                return
            service.kill()
            service.start()

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


if __name__ == "__main__":
    main()
