"""Makes the mirror equal to a Label Studio project, reading only what changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Engine

from ..controls import read_config
from ..errors import NoSuchProject, NotThere, ProjectGone, UnusableInput
from ..labelstudio import LabelStudio
from ..store import Annotation, Mirror, Task
from ..store.found import EXCERPT

TIME = "%Y-%m-%dT%H:%M:%S.%fZ"  # the only way Label Studio's filters read a time
IN_FLIGHT = timedelta(seconds=5)  # a change may become visible so much later than the time it carries


Shown = dict[str, tuple[str, bool]]  # object of the config → field of `task.data`, whether all of it is needed


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
    gold_field: str = "",
    told: Callable[[int, int], None] | None = None,
) -> Pulled:
    """Reads the tasks changed since the last pull, and finds those that are gone.

    `gold_field` names a field of `task.data` with known labels, to be mirrored too.
    """
    facts = _facts(studio, engine, project)
    started = studio.http.server_time()
    with engine.begin() as connection:
        mirror = Mirror(connection, project)
        config = read_config(str(facts["label_config"]))
        marked = {control.frame.to_name for control in config.regions if control.shape != "box"}
        shown = {name: (field_, name in marked) for name, field_ in config.objects.items()}
        read_with = json.dumps([gold_field, shown, *_overlap_rule(facts)])
        mirror.describe(str(facts["title"]), str(facts["label_config"]), str(facts["created_at"]), read_with)
        since = None if from_scratch else mirror.seen_until()
        reader = mirror.claim()
    reading = _Reading(studio, engine, project, gold_field, shown, started.strftime(TIME), reader, told)
    reading.read(since)
    gone, missing = reading.compare(int(facts["task_number"]))
    if missing:  # tasks that carry an older time than the mirror had seen: a restored database, say
        reading.read(None)
    with engine.begin() as connection:
        mirror = Mirror(connection, project)
        mirror.still(reader)
        mirror.set_seen_until((started - IN_FLIGHT).strftime(TIME))
    return Pulled(facts, reading.tasks, reading.changed, gone)


def _overlap_rule(facts: dict[str, Any]) -> list[Any]:
    """What decides about the tasks' overlap: when it changes, Label Studio changes them without saying so."""
    cohort = facts.get("overlap_cohort_percentage", 100)
    return [facts.get("maximum_annotations"), cohort, facts["task_number"] if cohort not in (None, 100) else None]


def _facts(studio: LabelStudio, engine: Engine, project: int) -> dict[str, Any]:
    """The project as Label Studio describes it, if it is there and the one that is known."""
    with engine.connect() as connection:
        known = Mirror(connection, project).created_at()
    try:
        facts = studio.project(project)
    except NotThere:
        others = [int(each["id"]) for each in studio.projects()]  # a gateway's 404 would be here, too
        if known is None and project not in others:
            raise NoSuchProject(f"There is no project {project} in Label Studio that the key may see.") from None
        if not others or project in others:
            raise
        with engine.begin() as connection:
            Mirror(connection, project).forget()
        raise ProjectGone(
            f"Project {project} is no longer in Label Studio; its mirror was removed, its gold and trail are kept."
        ) from None
    if known not in (None, str(facts["created_at"])):
        raise UnusableInput(
            f"The database knows another project {project} than the one in this Label Studio; use a database of its own"
            " for each server (LS_CROWD_DATABASE_URL)."
        )
    return facts


class _Reading:
    """Reads pages of tasks into the mirror; the next page is asked for while one is stored."""

    def __init__(
        self,
        studio: LabelStudio,
        engine: Engine,
        project: int,
        gold_field: str,
        shown: Shown,
        noticed: str,
        reader: str,
        told: Callable[[int, int], None] | None,
    ) -> None:
        self._studio, self._engine, self._project = studio, engine, project
        self._gold_field, self._shown = gold_field, shown
        self._noticed, self._reader, self._told = noticed, reader, told
        self.tasks = self.changed = 0

    def read(self, since: str | None) -> None:
        with_data = bool(self._gold_field or self._shown)
        pages = self._studio.task_pages(self._project, since, with_data=with_data, told=self._told)
        with ThreadPoolExecutor(max_workers=1) as ahead:
            coming = ahead.submit(next, pages, None)
            while (page := coming.result()) is not None:
                coming = ahead.submit(next, pages, None)
                with self._engine.begin() as connection:
                    mirror = Mirror(connection, self._project)
                    mirror.still(self._reader)
                    seen = [_seen(task, self._gold_field, self._shown) for task in page]
                    self.changed += mirror.replace(seen, self._noticed)
                self.tasks += len(page)

    def compare(self, there: int) -> tuple[int, bool]:
        """Deleted tasks show in no list of changes, only in the count: how many are gone, whether any is missing."""
        with self._engine.begin() as connection:
            mirror = Mirror(connection, self._project)
            if mirror.task_count() == there:
                return 0, False
            known = mirror.task_ids()
        now = self._studio.task_ids(self._project)
        gone = known - now
        with self._engine.begin() as connection:
            mirror = Mirror(connection, self._project)
            mirror.still(self._reader)
            mirror.drop(gone, self._noticed)
        return len(gone), bool(now - known)


def _seen(task: dict[str, Any], gold_field: str, shown: Shown) -> tuple[Task, list[Annotation]]:
    """A task of Label Studio's list as the mirror keeps it."""
    annotations = [
        Annotation(
            id=int(each["id"]),
            task=int(task["id"]),
            annotator=_person(each.get("completed_by")),
            result=_json(each.get("result") or [], separators=(",", ":")),
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
    data = task.get("data") or {}
    known = data.get(gold_field) if gold_field else None
    texts = {
        name: data[field_] if whole else data[field_][:EXCERPT]
        for name, (field_, whole) in shown.items()
        if isinstance(data.get(field_), str)
    }
    seen = Task(
        id=int(task["id"]),
        updated_at=str(task["updated_at"]),
        overlap=int(task.get("overlap") or 1),
        is_labeled=bool(task.get("is_labeled")),
        known=None if known in (None, "") else _json(known, sort_keys=True),
        data=_json(texts) if texts else None,
    )
    return seen, annotations


def _json(value: Any, **how: Any) -> str:
    """As text that a database takes: of half a character, which a browser may leave, it would take nothing at all."""
    return json.dumps(value, ensure_ascii=False, **how).encode("utf-8", "replace").decode()


def _person(value: Any) -> int | None:
    """A user's id, which comes as a number or inside an object."""
    if isinstance(value, dict):
        value = value.get("id")
    return int(value) if isinstance(value, int) else None


def _dictionaries(values: Any) -> Iterator[dict[str, Any]]:
    return (each for each in values or () if isinstance(each, dict))
