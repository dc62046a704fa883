"""Makes the mirror equal to a Label Studio project, reading only what changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

from ..controls import Config, read_config
from ..controls.bounds import MAX_RESULT_CHARACTERS
from ..errors import EndPass, NotFound, UnusableInput
from ..labelstudio import ProjectFacts
from ..records import Json
from ..store import Annotation, Task, mirror
from ..store.forget import forget_project
from ..store.mirror import EXCERPT
from .context import PassContext

TIME_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"  # the only form that Label Studio's filters read
MAX_SECONDS = 1e8  # that an annotation can have taken
IN_FLIGHT = timedelta(seconds=5)  # a change may become visible this much later than the time it carries


@dataclass(frozen=True)
class Pulled:
    """What a pull read."""

    facts: ProjectFacts
    tasks_read: int
    annotations_changed: int
    tasks_gone: int


@dataclass(frozen=True)
class TextField:
    """A field of `task.data` that annotators see."""

    name: str
    whole: bool  # all of it is needed, because spans are marked in it


@dataclass(frozen=True)
class _Reading:
    """What to keep of a task."""

    gold_field: str
    texts: Mapping[str, TextField]  # object of the label config → what it shows
    noticed: str  # when the pull began, by Label Studio's clock


def pull(context: PassContext) -> Pulled:
    """Read the tasks that changed since the last pull, and find those that were deleted."""
    facts = _project_facts(context)
    started = context.studio.server_time()
    texts = _text_fields(read_config(facts.label_config))
    reading = _Reading(context.recipe.gold_field, texts, started.strftime(TIME_FORMAT))
    since = _prepare(context, facts, reading)
    tasks, changed = _read(context, reading, since)
    gone, missing = _compare_task_ids(context, facts.task_number, reading.noticed)
    if missing:  # tasks that are older than the last pull: Label Studio was restored from a backup, for example
        more_tasks, more_changed = _read(context, reading, None)
        tasks, changed = tasks + more_tasks, changed + more_changed
    with context.transaction() as connection:
        mirror.set_pulled_until(connection, context.project, (started - IN_FLIGHT).strftime(TIME_FORMAT))
    return Pulled(facts, tasks, changed, gone)


def _project_facts(context: PassContext) -> ProjectFacts:
    """The project as Label Studio describes it, if it exists and is the one that is mirrored."""
    project = context.project
    with context.store.data.connect() as connection:
        mirrored = mirror.get_project(connection, project)
    try:
        facts = context.studio.project(project)
    except NotFound:
        listed = [int(entry["id"]) for entry in context.studio.projects()]  # a gateway's 404 would affect this, too
        if mirrored is None and project not in listed:
            reason = f"Label Studio has no project {project} that this key can see."
            raise EndPass("no_such_project", reason) from None
        if not listed or project in listed:
            raise
        with context.transaction() as connection:
            forget_project(connection, project)
        reason = f"Project {project} is no longer in Label Studio; our copy was deleted, its gold and history are kept."
        raise EndPass("project_gone", reason) from None
    if mirrored is not None and mirrored.created_at != facts.created_at:
        raise UnusableInput(
            f"The database already holds a different project {project}, from another Label Studio; use one database for"
            " each server (LS_CROWD_DATABASE_URL)."
        )
    return facts


def _text_fields(config: Config) -> dict[str, TextField]:
    marked = {control.spec.to_name for control in config.regions if control.shape != "box"}
    return {name: TextField(field, name in marked) for name, field in config.objects.items()}


def _prepare(context: PassContext, facts: ProjectFacts, reading: _Reading) -> str | None:
    """Save the project's facts; return the time after which changes have to be read, None for all tasks."""
    texts = {name: [text.name, text.whole] for name, text in reading.texts.items()}
    pull_rule = json.dumps([reading.gold_field, texts, *_required_annotators_rule(facts)])
    with context.transaction() as connection:
        mirror.save_project(
            connection,
            context.project,
            title=facts.title,
            label_config=facts.label_config,
            created_at=facts.created_at,
            pull_rule=pull_rule,
        )
        mirrored = mirror.get_project(connection, context.project)
    return None if mirrored is None or context.flags.from_scratch else mirrored.pulled_until


def _required_annotators_rule(facts: ProjectFacts) -> list[float | None]:
    """What decides how many annotators each task requires: when it changes, Label Studio changes tasks silently."""
    cohort = facts.overlap_cohort_percentage
    cohort = 100 if cohort is None else cohort
    return [facts.maximum_annotations, cohort, facts.task_number if cohort != 100 else None]


def _read(context: PassContext, reading: _Reading, since: str | None) -> tuple[int, int]:
    """Mirror the tasks changed after `since`, and count them and the changed annotations.

    The next page is fetched while one is stored.
    """
    with_data = bool(reading.gold_field or reading.texts)
    pages = context.studio.task_pages(context.project, since, with_data=with_data, on_progress=context.progress("pull"))
    tasks = changed = 0
    with ThreadPoolExecutor(max_workers=1) as ahead:
        coming = ahead.submit(next, pages, None)
        while (page := coming.result()) is not None:
            coming = ahead.submit(next, pages, None)
            with context.transaction() as connection:
                parsed = [_parse_task(task, reading) for task in page]
                changed += mirror.replace_tasks(connection, context.project, parsed, reading.noticed)
            tasks += len(page)
    return tasks, changed


def _compare_task_ids(context: PassContext, task_number: int, noticed: str) -> tuple[int, bool]:
    """Deleted tasks appear in no list of changes, only in the count. How many are gone, and whether any is missing."""
    project = context.project
    with context.store.data.connect() as connection:
        if mirror.count_tasks(connection, project) == task_number:
            return 0, False
        mirrored = mirror.read_task_ids(connection, project)
    existing = context.studio.task_ids(project)
    gone = mirrored - existing
    with context.transaction() as connection:
        mirror.drop_tasks(connection, project, gone, noticed)
    return len(gone), bool(existing - mirrored)


def _parse_task(task: Json, reading: _Reading) -> tuple[Task, list[Annotation]]:
    """A task of Label Studio's list as the mirror keeps it."""
    data = task.get("data")
    data = data if isinstance(data, dict) else {}
    gold = data.get(reading.gold_field) if reading.gold_field else None
    texts = {
        name: data[text.name] if text.whole else data[text.name][:EXCERPT]
        for name, text in reading.texts.items()
        if isinstance(data.get(text.name), str)
    }
    parsed = Task(
        id=int(task["id"]),
        updated_at=str(task["updated_at"]),
        required_annotators=int(task.get("overlap") or 1),
        is_labeled=bool(task.get("is_labeled")),
        gold_field=None if gold in (None, "") else _dump(gold, sort_keys=True),
        data=_dump(texts) if texts else None,
    )
    return parsed, [_parse_annotation(parsed.id, annotation) for annotation in _objects(task.get("annotations"))]


def _parse_annotation(task: int, annotation: Json) -> Annotation:
    return Annotation(
        id=int(annotation["id"]),
        task=task,
        annotator=_user(annotation.get("completed_by")),
        result=_dump(annotation.get("result") or [], compact=True)[: MAX_RESULT_CHARACTERS + 1],
        skipped=bool(annotation.get("was_cancelled")),
        ground_truth=bool(annotation.get("ground_truth")),
        copied=bool(annotation.get("parent_prediction") or annotation.get("parent_annotation")),
        created_at=str(annotation.get("created_at") or ""),
        updated_at=str(annotation.get("updated_at") or ""),
        updated_by=_user(annotation.get("updated_by")),
        lead_time=_seconds(annotation.get("lead_time")),
    )


def _dump(value: object, *, sort_keys: bool = False, compact: bool = False) -> str:
    """JSON that a database accepts: a lone surrogate, which a browser may leave, is replaced."""
    separators = (",", ":") if compact else None
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=sort_keys, separators=separators)
    except RecursionError:  # nested so deeply that it could just be read
        text = "null"
    return text.encode("utf-8", "replace").decode()


def _user(value: object) -> int | None:
    """A user's id, which comes as a number or inside an object."""
    user = value.get("id") if isinstance(value, dict) else value
    return user if isinstance(user, int) and not isinstance(user, bool) else None


def _seconds(value: object) -> float | None:
    """How long an annotation took; nothing that can be meant exceeds a few years."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_SECONDS:
        return None
    return float(value)


def _objects(values: list[object] | None) -> Iterator[Json]:
    return (value for value in values or () if isinstance(value, dict))
