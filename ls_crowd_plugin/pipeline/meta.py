"""Copies what a prediction's metadata say into `task.meta["crowd"]`, which is what Label Studio exports.

A stage of its own after the predictions, because changing a task while somebody submits an annotation to it makes Label
Studio write its counters back as they were before. So only tasks are changed that have been quiet for a while, each is
read again just before, other keys of `meta` are kept, and the counters are read again afterwards and put right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from sqlalchemy import Engine

from ..errors import NotThere
from ..labelstudio import LabelStudio
from ..store import Mirror, passes
from .plan import META, about, digest
from .write import is_ours, objects

BATCH = 50  # tasks read together, and so the longest that a reading is old when a task is changed: about ten seconds
LARGEST_PROJECT = 2000  # tasks, up to which `auto` does it
COUNTERS = "id,is_labeled,overlap,total_annotations,cancelled_annotations,annotations,was_cancelled,completed_by"
FIELDS = f"{COUNTERS},meta,updated_at,predictions,model_version,result,score"


@dataclass(frozen=True)
class Copied:
    """What the stage did."""

    written: int = 0
    waiting: int = 0  # tasks not finished or not quiet yet: for a later pass
    soon: int = 0  # those of them that only lack quiet
    repaired: int = 0  # tasks whose counters had to be put right


def copy_into_tasks(
    studio: LabelStudio,
    engine: Engine,
    project: int,
    *,
    unfinished_too: bool,
    copied_only: bool,
    skips_finish: bool,
    quiet: timedelta,
    may_end: Callable[[], None] = lambda: None,
    told: Callable[[int, int], None] = lambda *_: None,
) -> Copied:
    """Brings `task.meta` of quiet tasks up to date with their predictions, and removes it where there is none.

    `copied_only`: only of tasks that have it already.
    """
    outstanding = _outstanding(engine, project, copied_only)
    finished, ready = _ready(engine, project, outstanding, unfinished_too, studio.http.server_time() - quiet)
    written = repaired = 0
    for done in range(0, len(ready), BATCH):
        batch = ready[done : done + BATCH]
        quiet_since = studio.http.server_time() - quiet
        now = [
            task
            for task in studio.tasks(project, batch, FIELDS)
            if is_quiet(task, quiet_since) and (unfinished_too or task["is_labeled"])
        ]
        right = [task for task in now if is_about(task, outstanding[int(task["id"])])]
        changed = _change(studio, right)
        repaired += _check(studio, project, changed, skips_finish)
        with engine.begin() as connection:
            for task in right:
                passes.remember_task_meta(connection, project, int(task["id"]), outstanding[int(task["id"])])
        written += len(changed)
        told(done + len(batch), len(ready))
        may_end()
    return Copied(written, len(outstanding) - len(ready), finished - len(ready), repaired)


def remove_from_tasks(studio: LabelStudio, engine: Engine, project: int) -> int:
    """Takes what is ours out of `task.meta` again; of how many tasks."""
    with engine.connect() as connection:
        copied = sorted(passes.task_meta(connection, project))
    removed = 0
    for start in range(0, len(copied), BATCH):
        for task in studio.tasks(project, copied[start : start + BATCH], "id,meta"):
            meta = task["meta"] if isinstance(task["meta"], dict) else {}
            if META in meta:
                studio.change_task(int(task["id"]), {"meta": {key: meta[key] for key in meta if key != META}})
                removed += 1
            with engine.begin() as connection:
                passes.remember_task_meta(connection, project, int(task["id"]), None)
    return removed


def is_about(task: Mapping[str, Any], wanted: str | None) -> bool:
    """Whether our prediction on a task is, alone, the one with the wanted digest, or none is wanted and none there."""
    return [digest(result, score) for result, score in _ours(task)] == ([] if wanted is None else [wanted])


def is_quiet(task: Mapping[str, Any], since: datetime) -> bool:
    """Whether nobody annotated a task after a time."""
    return all(_time(str(each["updated_at"])) <= since for each in task["annotations"])


def with_crowd(task: Mapping[str, Any]) -> dict[str, Any] | None:
    """A task's `meta` with what our prediction on it says; None if that is what it is already."""
    before = task["meta"] if isinstance(task["meta"], dict) else {}
    after = {name: value for name, value in before.items() if name != META}
    for result, _ in _ours(task):
        if about(result):
            after[META] = about(result)
    return None if after == before else after


def right_counters(task: Mapping[str, Any], skips_finish: bool) -> dict[str, Any]:
    """What a task's counters and its being finished should be, as far as they are not.

    They are wrong only if somebody submitted while the task was changed. Otherwise whether it is finished is for Label
    Studio to say; there a task is finished when as many people as its overlap have answered, or, where `skips_finish`,
    skipped.
    """
    skipped = sum(bool(each["was_cancelled"]) for each in task["annotations"])
    counters = {"total_annotations": len(task["annotations"]) - skipped, "cancelled_annotations": skipped}
    if all(task[name] == value for name, value in counters.items()):
        return {}
    people = {str(each["completed_by"]) for each in task["annotations"] if skips_finish or not each["was_cancelled"]}
    return {**counters, "is_labeled": len(people) >= int(task["overlap"] or 1)}


def _change(studio: LabelStudio, tasks: Sequence[Mapping[str, Any]]) -> set[int]:
    """Writes the `meta` that differ; of which tasks."""
    changed = set()
    for task in tasks:
        meta = with_crowd(task)
        if meta is not None:
            with suppress(NotThere):  # the task went meanwhile
                studio.change_task(int(task["id"]), {"meta": meta})
                changed.add(int(task["id"]))
    return changed


def _check(studio: LabelStudio, project: int, changed: set[int], skips_finish: bool) -> int:
    """Reads the counters of changed tasks again, and puts right what a submit at the same moment left wrong."""
    repaired, left = 0, changed
    for _ in range(3):  # a repair is a change, too
        wrong = {
            int(task["id"]): counters
            for task in studio.tasks(project, left, COUNTERS)
            if (counters := right_counters(task, skips_finish))
        }
        for task, counters in wrong.items():
            with suppress(NotThere):
                studio.change_task(task, counters)
        repaired, left = max(repaired, len(wrong)), set(wrong)
    return repaired


def _ours(task: Mapping[str, Any]) -> list[tuple[list[dict[str, Any]], float | None]]:
    """Result and score of each of our predictions on a task."""
    ours = (each for each in task["predictions"] if is_ours(each.get("model_version")))
    return [(objects(each.get("result")), each.get("score")) for each in ours]


def _outstanding(engine: Engine, project: int, copied_only: bool) -> dict[int, str | None]:
    """Tasks whose `meta` is not that of their present prediction, with its digest; None where there is none."""
    with engine.connect() as connection:
        present, copied = passes.written(connection, project), passes.task_meta(connection, project)
    tasks = copied.keys() if copied_only else present.keys() | copied.keys()
    return {task: present.get(task) for task in tasks if present.get(task) != copied.get(task)}


def _ready(
    engine: Engine, project: int, outstanding: Mapping[int, str | None], unfinished_too: bool, quiet_since: datetime
) -> tuple[int, list[int]]:
    """How many of them are finished, as far as the mirror knows, and which of those are quiet."""
    with engine.connect() as connection:
        mirror = Mirror(connection, project)
        tasks = mirror.tasks()
        last: dict[int, str] = {}
        for each in mirror.annotations():
            last[each.task] = max(last.get(each.task, ""), each.updated_at)
    finished = [task for task in sorted(outstanding) if task in tasks and (unfinished_too or tasks[task].is_labeled)]
    return len(finished), [task for task in finished if _time(last.get(task, "")) <= quiet_since]


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else datetime.min.replace(tzinfo=timezone.utc)
