"""Measures `sync` against Label Studio's own fastest pull and bulk write of the same data, in one run.

    python -m benchmarks.sync [--tasks 10000] [--meta-tasks 400]

Starts a Label Studio of its own (SQLite), imports two equal projects with five annotations a task, and prints times as
seconds and as ratios. The load of the machine affects seconds more than ratios.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ls_crowd_plugin.demo.server import Server, prepare
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline.context import RunFlags
from ls_crowd_plugin.pipeline.outcome import PassReport
from ls_crowd_plugin.pipeline.pull import IN_FLIGHT
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import open_store

from .one_pass import one_pass
from .text_table import print_table

CONFIG = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="topic" toName="text">
    <Choice value="news"/><Choice value="sport"/><Choice value="science"/><Choice value="opinion"/>
  </Choices>
</View>
"""
LABELS = ("news", "sport", "science", "opinion")
PEOPLE, PER_TASK = 50, 5
MINIMAL_FIELDS = (
    "id,annotations,result,completed_by,was_cancelled,ground_truth,updated_at,lead_time"  # the fastest possible list
)
AT_ONCE = -60.0  # so that task.meta is written without waiting until the tasks are quiet


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tasks", type=int, default=10_000)
    arguments.add_argument("--meta-tasks", type=int, default=400)
    arguments.add_argument("--home", type=Path, default=Path(".label-studio"), help="where Label Studio is installed")
    options = arguments.parse_args()
    prepare(options.home, print)
    with tempfile.TemporaryDirectory() as folder, Server(options.home, Path(folder) / "data") as server:
        http = Http(server.url, server.key)
        people = [make_person(http, number) for number in range(PEOPLE)]
        _first_and_second(http, people, options.tasks, Path(folder))
        if options.meta_tasks:
            _task_meta(http, people, options.meta_tasks, Path(folder))


def _first_and_second(http: Http, people: list[int], tasks: int, folder: Path) -> None:
    ours, bare = (make_project(http, people, tasks) for _ in range(2))
    pulls = [_timed(lambda: _bare_pull(http, ours))]
    recipe = Recipe(task_meta="off")
    with open_store(f"sqlite:///{folder / 'crowd.db'}") as store:
        first = one_pass(http, store, ours, recipe)
        pulls.append(_timed(lambda: _bare_pull(http, ours)))
        bodies = _same_predictions(http, ours, bare)
        bulk = _timed(lambda: _bare_write(http, bare, bodies))
        soon = one_pass(http, store, ours, recipe)
        time.sleep(IN_FLIGHT.total_seconds())
        one_pass(http, store, ours, recipe)
        later = one_pass(http, store, ours, recipe)
    assert first.written.created == tasks
    assert soon.plan.is_empty
    assert later.plan.is_empty
    limit = sum(pulls) / 2 + bulk
    took, again, idle = (sum(_stages(report).values()) for report in (first, soon, later))
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in _stages(first).items())
    print_table(
        f"{tasks:,} tasks, {PER_TASK * tasks:,} annotations, one control",
        ("what", "seconds", "ratio", "at most"),
        [
            ("Label Studio's own: pull (mean of two)", f"{sum(pulls) / 2:.1f}", "", ""),
            ("Label Studio's own: bulk write", f"{bulk:.1f}", "", ""),
            (f"first sync ({stages})", f"{took:.1f}", f"{took / limit:.2f}", "1.25"),
            ("sync right after the import, nothing changed", f"{again:.2f}", f"{again / took:.3f}", ""),
            ("sync later, nothing changed", f"{idle:.2f}", f"{idle / took:.3f}", "0.050"),
        ],
    )


def _task_meta(http: Http, people: list[int], tasks: int, folder: Path) -> None:
    ours, bare = (make_project(http, people, tasks) for _ in range(2))
    with open_store(f"sqlite:///{folder / 'meta.db'}") as store:
        one_pass(http, store, ours, Recipe(task_meta="off"))
        half = sorted(LabelStudio(http).task_ids(bare))
        bodies = _same_predictions(http, ours, bare)
        before = _timed(lambda: _bare_patches(http, half[::2], bodies))
        report = one_pass(http, store, ours, Recipe(task_meta="on"), RunFlags(quiet_seconds=AT_ONCE))
        after = _timed(lambda: _bare_patches(http, half[1::2], bodies))
    assert report.copied.written == tasks
    took = report.seconds["meta"]
    print_table(
        f"task.meta of {tasks:,} tasks",
        ("what", "seconds", "ratio", "at most"),
        [
            ("as many bare PATCH requests", f"{before + after:.1f}", "", ""),
            ("the stage", f"{took:.1f}", f"{took / (before + after):.2f}", "1.10"),
        ],
    )


def make_project(http: Http, people: list[int], tasks: int) -> int:
    """Create a project with annotations by people; four in five of them are mostly right."""
    random = np.random.default_rng(0)
    body = {"title": "Benchmark", "label_config": CONFIG, "maximum_annotations": PER_TASK}
    project = int(http.post("/api/projects/", body)["id"])
    skill = random.choice([0.25, 0.85], len(people), p=[0.2, 0.8])
    for start in range(0, tasks, 1000):
        batch = [_task(random, people, skill, number) for number in range(start, min(start + 1000, tasks))]
        http.post(f"/api/projects/{project}/import", batch)
    return project


def _task(random: np.random.Generator, people: list[int], skill: Any, number: int) -> dict[str, Any]:
    truth = int(random.integers(len(LABELS)))
    annotations = []
    for person in random.choice(len(people), PER_TASK, replace=False):
        label = truth if random.random() < skill[person] else int(random.integers(len(LABELS)))
        value = {"choices": [LABELS[label]]}
        result = [{"from_name": "topic", "to_name": "text", "type": "choices", "value": value}]
        annotations.append({"completed_by": people[person], "ground_truth": False, "result": result})
    return {"data": {"text": f"Something about number {number}."}, "annotations": annotations}


def make_person(http: Http, number: int) -> int:
    body = {"email": f"person{number}@example.com", "username": f"person{number}", "first_name": "P", "last_name": "Q"}
    return int(http.post("/api/users/", body)["id"])


def _bare_pull(http: Http, project: int) -> None:
    page, read, total = 1, 0, 1
    while read < total:
        answer = http.get(
            "/api/tasks/",
            project=project,
            fields="all",
            page_size=1000,
            page=page,
            include=MINIMAL_FIELDS,
            review="true",
        )
        page, read, total = page + 1, read + len(answer["tasks"]), int(answer["total"])


def _same_predictions(http: Http, ours: int, bare: int) -> list[dict[str, Any]]:
    """The predictions of one project, for the tasks of the other, which were imported in the same order."""
    studio = LabelStudio(http)
    twin = dict(zip(sorted(studio.task_ids(ours)), sorted(studio.task_ids(bare)), strict=True))
    names = ("result", "score", "model_version")
    return [
        {"task": twin[one.task], **{name: getattr(one, name) for name in names}} for one in studio.predictions(ours)
    ]


def _bare_write(http: Http, project: int, bodies: list[dict[str, Any]]) -> None:
    assert http.post(f"/api/projects/{project}/import/predictions", bodies)["created"] == len(bodies)
    change = {"model_version": bodies[0]["model_version"], "show_collab_predictions": False}
    http.patch(f"/api/projects/{project}/", change)


def _bare_patches(http: Http, tasks: list[int], bodies: list[dict[str, Any]]) -> None:
    metas = {body["task"]: body["result"][0]["meta"] for body in bodies}
    for task in tasks:
        http.patch(f"/api/tasks/{task}/", {"meta": metas[task]})


def _stages(report: PassReport) -> dict[str, float]:
    return {stage: seconds for stage, seconds in report.seconds.items() if stage != "meta"}


def _timed(do: Callable[[], None]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
