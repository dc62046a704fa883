"""Copies a prediction's metadata into `task.meta["crowd"]`, which is what Label Studio exports.

This is a stage of its own after the predictions: a change of a task may spoil its counters (`counters.py`). So only
tasks that have been quiet for a while are changed, each is read again just before, other keys of `meta` are kept, and
the counters are checked afterwards and repaired.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from ..errors import NotFound
from ..labelstudio import LabelStudio, Prediction, ProjectFacts
from ..records import Json
from ..store import Store, mirror
from ..store.predictions import read_predictions, read_task_meta, save_task_meta
from .context import PassContext
from .counters import COUNTERS, change_time, is_quiet, repair_counters
from .plan import META, ExistingPrediction, crowd_meta

BATCH = 50  # tasks read together; a task is changed at most about ten seconds after it was read
MAX_PROJECT_SIZE = 2000  # tasks, up to which `auto` copies
FIELDS = f"{COUNTERS},meta,updated_at,predictions,model_version,result,score"


@dataclass(frozen=True)
class Copied:
    """What the stage did."""

    written: int = 0
    waiting: int = 0  # tasks that are not finished or not quiet yet: for a later pass
    soon: int = 0  # those of them that only have to become quiet
    repaired: int = 0  # tasks whose counters were repaired


@dataclass(frozen=True)
class _Rules:
    """Which tasks are changed."""

    unfinished_too: bool
    only_update: bool  # only tasks that have our metadata already
    skips_count: bool  # a skipped task counts as answered
    quiet: timedelta

    @classmethod
    def of(cls, context: PassContext, facts: ProjectFacts) -> _Rules:
        setting = context.recipe.task_meta
        return cls(
            unfinished_too=setting == "on",
            only_update=setting == "auto" and facts.task_number > MAX_PROJECT_SIZE,
            skips_count=facts.skips_count,
            quiet=timedelta(seconds=context.flags.quiet_seconds),
        )


def copy_task_meta(
    context: PassContext, facts: ProjectFacts, ours: Collection[str], touched: Collection[int] | None = ()
) -> Copied:
    """Update `task.meta` of quiet tasks from their predictions, and remove it where there is none.

    `ours` are the model versions that we wrote. What was copied to tasks that somebody `touched` (None: any) is
    compared again.
    """
    if context.flags.dry_run or context.recipe.task_meta == "off":
        return Copied()
    studio, rules, report = context.studio, _Rules.of(context, facts), context.progress("meta")
    outdated = _outdated(context.store, context.project, rules, touched)
    with context.store.data.connect() as connection:
        copied = read_task_meta(connection, context.project).keys()  # what we wrote is kept up to date in any case
    finished, ready = _ready(context, outdated, rules, copied)
    written = repaired = 0
    for done in range(0, len(ready), BATCH):
        batch = ready[done : done + BATCH]
        quiet_since = studio.server_time() - rules.quiet
        tasks = [
            task
            for task in studio.tasks(context.project, batch, FIELDS)
            if is_quiet(task, quiet_since) and (rules.unfinished_too or task["is_labeled"] or int(task["id"]) in copied)
        ]
        current = [task for task in tasks if has_prediction(task, ours, outdated[int(task["id"])])]
        changed = _change(studio, current, ours)
        repaired += repair_counters(studio, context.project, changed, rules.skips_count)
        with context.transaction() as connection:
            for task in current:
                save_task_meta(connection, context.project, int(task["id"]), outdated[int(task["id"])])
        written += len(changed)
        report(done + len(batch), len(ready))
        context.checkpoint(rest_can_wait=True)
    return Copied(written, len(outdated) - len(ready), finished - len(ready), repaired)


def remove_task_meta(studio: LabelStudio, store: Store, project: int) -> int:
    """Remove our key from every `task.meta` and return from how many."""
    with store.data.connect() as connection:
        copied = sorted(read_task_meta(connection, project))
    removed = 0
    for start in range(0, len(copied), BATCH):
        for task in studio.tasks(project, copied[start : start + BATCH], "id,meta"):
            meta = task["meta"] if isinstance(task["meta"], dict) else {}
            if META in meta:
                studio.change_task(int(task["id"]), {"meta": {key: meta[key] for key in meta if key != META}})
                removed += 1
            with store.data.begin() as connection:
                save_task_meta(connection, project, int(task["id"]), None)
    return removed


def has_prediction(task: Json, ours: Collection[str], wanted: str | None) -> bool:
    """Whether our only prediction on a task has the wanted digest, or none is wanted and there is none."""
    found = [ExistingPrediction.of(one).digest for one in _our_predictions(task, ours)]
    return found == ([] if wanted is None else [wanted])


def updated_meta(task: Json, ours: Collection[str]) -> Json | None:
    """A task's `meta` with that of our prediction; None if nothing changes."""
    before = task["meta"] if isinstance(task["meta"], dict) else {}
    after = {name: value for name, value in before.items() if name != META}
    for prediction in _our_predictions(task, ours):
        if crowd_meta(prediction.result):
            after[META] = crowd_meta(prediction.result)
    return None if after == before else after


def _change(studio: LabelStudio, tasks: Sequence[Json], ours: Collection[str]) -> set[int]:
    """Write the `meta` that differ and return their tasks."""
    changed = set()
    for task in tasks:
        meta = updated_meta(task, ours)
        if meta is not None:
            with suppress(NotFound):  # the task was deleted meanwhile
                studio.change_task(int(task["id"]), {"meta": meta})
                changed.add(int(task["id"]))
    return changed


def _our_predictions(task: Json, ours: Collection[str]) -> list[Prediction]:
    predictions = (Prediction.from_json({"task": task["id"], **one}) for one in task["predictions"])
    return [prediction for prediction in predictions if prediction.model_version in ours]


def _outdated(store: Store, project: int, rules: _Rules, touched: Collection[int] | None) -> dict[int, str | None]:
    """Tasks whose `meta` may not be that of their prediction → its digest; None where there is no prediction."""
    with store.data.connect() as connection:
        written, copied = read_predictions(connection, project), read_task_meta(connection, project)
    present = {task: prediction.digest for task, prediction in written.items()}
    tasks = copied.keys() if rules.only_update else present.keys() | copied.keys()
    suspect = copied.keys() if touched is None else copied.keys() & set(touched)
    return {task: present.get(task) for task in tasks if present.get(task) != copied.get(task) or task in suspect}


def _ready(
    context: PassContext, outdated: Mapping[int, str | None], rules: _Rules, copied: Collection[int]
) -> tuple[int, list[int]]:
    """How many of the tasks are finished according to the mirror or have our metadata, and which of those are quiet."""
    quiet_since = context.studio.server_time() - rules.quiet
    with context.store.data.connect() as connection:
        tasks = mirror.read_tasks(connection, context.project)
        last_change: dict[int, str] = {}
        for annotation in mirror.read_annotations(connection, context.project):
            last_change[annotation.task] = max(last_change.get(annotation.task, ""), annotation.updated_at)
    finished = [
        task
        for task in sorted(outdated)
        if task in tasks and (rules.unfinished_too or tasks[task].is_labeled or task in copied)
    ]
    return len(finished), [task for task in finished if change_time(last_change.get(task, "")) <= quiet_since]
