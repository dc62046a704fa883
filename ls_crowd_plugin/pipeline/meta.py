"""Copies what a prediction's metadata say into `task.meta["crowd"]`, which is what Label Studio exports.

A stage of its own after the predictions, because changing a task while somebody submits an annotation to it makes Label
Studio write its counters back as they were before. So only tasks are changed that have been quiet for a while, each is
read again just before, other keys of `meta` are kept, and the counters are read again afterwards and put right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from sqlalchemy import Engine

from ..labelstudio import LabelStudio
from ..store import Mirror, passes
from .write import is_ours

KEY = "crowd"
BATCH = 40  # tasks read together, and so the longest that a reading is old when a task is changed: some seconds
LARGEST_PROJECT = 2000  # tasks, up to which `auto` does it
FIELDS = (
    "id,meta,is_labeled,overlap,total_annotations,cancelled_annotations,annotations,updated_at,was_cancelled,"
    "completed_by,predictions,model_version,result"
)


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
    skips_finish: bool,
    quiet: timedelta,
    told: Callable[[int, int], None] = lambda *_: None,
) -> Copied:
    """Brings `task.meta` of quiet tasks up to date with their predictions, and removes it where there is none."""
    outstanding = _outstanding(engine, project)
    finished, ready = _ready(engine, project, outstanding, unfinished_too, studio.http.server_time() - quiet)
    written = repaired = 0
    changed: set[int] = set()
    for done in range(0, len(ready) + BATCH, BATCH):  # one round more, to look at the last batch afterwards
        batch = ready[done : done + BATCH]
        read = {int(task["id"]): task for task in studio.tasks(project, {*batch, *changed}, FIELDS)}
        for task in sorted(changed & read.keys()):
            counters = right_counters(read[task], skips_finish)
            if counters:
                studio.change_task(task, counters)
                repaired += 1
        quiet_since = studio.http.server_time() - quiet
        changed = set()
        for task in batch:
            now = read.get(task)
            if now is not None and is_quiet(now, quiet_since) and (unfinished_too or now["is_labeled"]):
                meta = with_crowd(now)
                if meta is not None:
                    studio.change_task(task, {"meta": meta})
                    changed.add(task)
                    written += 1
                with engine.begin() as connection:
                    passes.remember_task_meta(connection, project, task, outstanding[task])
        told(min(done + len(batch), len(ready)), len(ready))
    return Copied(written, len(outstanding) - len(ready), finished - len(ready), repaired)


def is_quiet(task: Mapping[str, Any], since: datetime) -> bool:
    """Whether nobody annotated a task after a time."""
    return all(_time(str(each["updated_at"])) <= since for each in task["annotations"])


def with_crowd(task: Mapping[str, Any]) -> dict[str, Any] | None:
    """A task's `meta` with what our prediction on it says; None if that is what it is already."""
    before = task["meta"] if isinstance(task["meta"], dict) else {}
    ours = [each["result"] for each in task["predictions"] if is_ours(each.get("model_version"))]
    about = ours[0][0].get("meta", {}).get(KEY) if len(ours) == 1 and ours[0] else None
    after = {name: value for name, value in before.items() if name != KEY}
    if about is not None:
        after[KEY] = about
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


def _outstanding(engine: Engine, project: int) -> dict[int, str | None]:
    """Tasks whose `meta` is not that of their present prediction, with its digest; None where there is none."""
    with engine.connect() as connection:
        present, copied = passes.written(connection, project), passes.task_meta(connection, project)
    return {task: present.get(task) for task in present.keys() | copied.keys() if present.get(task) != copied.get(task)}


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
