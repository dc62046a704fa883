"""Makes the mirror equal to a Label Studio project, reading only what changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

from sqlalchemy import Engine

from ..labelstudio import LabelStudio
from ..store import Annotation, Mirror, Task

PAGE = 1000  # tasks in one transaction
TIME = "%Y-%m-%dT%H:%M:%S.%fZ"  # the only way Label Studio's filters read a time
IN_FLIGHT = timedelta(seconds=5)  # a change may become visible so much later than the time it carries


@dataclass(frozen=True)
class Pulled:
    """What a pull found."""

    project: dict[str, Any]
    tasks_read: int
    annotations_changed: int
    tasks_gone: int


def pull(
    studio: LabelStudio,
    engine: Engine,
    project: int,
    *,
    from_scratch: bool = False,
    told: Callable[[int, int], None] | None = None,
) -> Pulled:
    """Reads the tasks changed since the last pull, and finds those that are gone."""
    facts = studio.project(project)
    started = studio.http.server_time()
    with engine.begin() as connection:
        mirror = Mirror(connection, project)
        mirror.describe(str(facts["title"]), str(facts["label_config"]))
        since = None if from_scratch else mirror.seen_until()
    read, changed = _read(studio, engine, project, since, told)
    gone, missing = _compare(studio, engine, project, int(facts["task_number"]))
    if missing:  # tasks that carry an older time than the mirror had seen: a restored database, say
        more, more_changed = _read(studio, engine, project, None, told)
        read, changed = read + more, changed + more_changed
    with engine.begin() as connection:
        Mirror(connection, project).set_seen_until((started - IN_FLIGHT).strftime(TIME))
    return Pulled(facts, read, changed, gone)


def _read(
    studio: LabelStudio, engine: Engine, project: int, since: str | None, told: Callable[[int, int], None] | None
) -> tuple[int, int]:
    read = changed = 0
    tasks = studio.tasks(project, since, told)
    while page := list(islice(tasks, PAGE)):
        with engine.begin() as connection:
            once = {int(task["id"]): task for task in page}  # read anew, a task may come twice
            changed += Mirror(connection, project).replace([_seen(task) for task in once.values()])
        read += len(page)
    return read, changed


def _compare(studio: LabelStudio, engine: Engine, project: int, there: int) -> tuple[int, bool]:
    """Deleted tasks show in no list of changes, only in the count: how many are gone, and whether any is missing."""
    with engine.begin() as connection:
        mirror = Mirror(connection, project)
        if mirror.task_count() == there:
            return 0, False
        known = mirror.task_ids()
    now = studio.task_ids(project)
    gone = known - now
    with engine.begin() as connection:
        Mirror(connection, project).drop(gone)
    return len(gone), bool(now - known)


def _seen(task: dict[str, Any]) -> tuple[Task, list[Annotation]]:
    """A task of Label Studio's list as the mirror keeps it."""
    annotations = [
        Annotation(
            id=int(each["id"]),
            task=int(task["id"]),
            annotator=_person(each.get("completed_by")),
            result=json.dumps(each.get("result") or [], ensure_ascii=False, separators=(",", ":")),
            skipped=bool(each.get("was_cancelled")),
            ground_truth=bool(each.get("ground_truth")),
            copied=bool(each.get("parent_prediction") or each.get("parent_annotation")),
            created_at=str(each.get("created_at") or ""),
            updated_at=str(each.get("updated_at") or ""),
            updated_by=_person(each.get("updated_by")),
            lead_time=each.get("lead_time"),
        )
        for each in _dictionaries(task.get("annotations"))
    ]
    seen = Task(int(task["id"]), str(task["updated_at"]), int(task.get("overlap") or 1), bool(task.get("is_labeled")))
    return seen, annotations


def _person(value: Any) -> int | None:
    """A user's id, which comes as a number or inside an object."""
    if isinstance(value, dict):
        value = value.get("id")
    return int(value) if isinstance(value, int) else None


def _dictionaries(values: Any) -> Iterator[dict[str, Any]]:
    return (each for each in values or () if isinstance(each, dict))
