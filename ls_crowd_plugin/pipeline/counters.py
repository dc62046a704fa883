"""A task's counters in Label Studio, which go wrong if the task is changed while somebody submits an annotation to it.

A change saves the whole task as it was read, so Label Studio writes back the counters from before the submit; an import
of predictions does so with all tasks. So tasks are changed when nobody works on them, and the counters are checked
afterwards and repaired.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from types import MappingProxyType

from ..errors import NotFound
from ..labelstudio import LabelStudio, ProjectFacts
from ..labelstudio.types import FOR_ME, IGNORE_SKIPPED
from ..records import Json, parse_time
from ..store import mirror
from .context import PassContext
from .pull import TIME_FORMAT

COUNTERS = (
    "id,is_labeled,overlap,total_annotations,cancelled_annotations,annotations,was_cancelled,completed_by,ground_truth"
)
MAX_REPAIRS = 3  # in a row: a repair is a change, too
BEFORE_CHANGE = timedelta(seconds=2)  # an annotation that was submitted this long before may still miss its counters


def is_quiet(task: Json, since: datetime) -> bool:
    """Whether nobody has annotated a task after a time."""
    return all(change_time(str(annotation["updated_at"])) <= since for annotation in task["annotations"])


def corrected_counters(task: Json, skips_count: bool, is_closed: bool | None = None) -> Json:
    """A task's counters and whether it is finished, as they should be; empty if they are right.

    A task is finished when as many people as it requires have answered it or, where `skips_count`, skipped it. If the
    counters are right and it is not so, somebody else may have decided that, unless we just did: `is_closed` says how.
    """
    skipped = sum(bool(annotation["was_cancelled"]) for annotation in task["annotations"])
    counters = {"total_annotations": len(task["annotations"]) - skipped, "cancelled_annotations": skipped}
    is_finished = bool(is_closed) or len(counted_people(task, skips_count)) >= int(task["overlap"] or 1)
    are_right = all(task[name] == value for name, value in counters.items())
    if are_right and (task["is_labeled"] == is_finished or is_closed is None):
        return {}
    return {**counters, "is_labeled": is_finished}


def counted_people(task: Json, skips_count: bool) -> set[str]:
    """Whoever Label Studio counts for a task."""
    return {
        str(annotation["completed_by"])
        for annotation in task["annotations"]
        if skips_count or not annotation["was_cancelled"]
    }


def places_taken(annotations: Iterable[tuple[object, bool, bool]], skip_queue: str | None) -> int:
    """How many of the answers that a task requires Label Studio takes as given: it serves nobody a task with so many
    annotations, and calls it finished with so many people. An annotation is (who, skipped, ground truth)."""
    people: set[str] = set()
    in_the_way = 0
    for who, is_skipped, is_ground_truth in annotations:
        if skip_queue == IGNORE_SKIPPED or not is_skipped:
            people.add(str(who))
        in_the_way += not is_ground_truth and not (is_skipped and skip_queue not in (IGNORE_SKIPPED, FOR_ME))
    return max(len(people), in_the_way)


def note_change(context: PassContext) -> None:
    """Record that counters may go wrong from now on, so that a pass that is broken off does not leave them so."""
    since = context.studio.server_time() - BEFORE_CHANGE
    with context.transaction() as connection:
        mirror.note_counters_in_doubt(connection, context.project, since.strftime(TIME_FORMAT))


def check_changed(context: PassContext, facts: ProjectFacts) -> None:
    """Repair the counters of tasks that somebody annotated during an import of predictions, which rewrites those of all
    tasks, or while tasks were changed, in this pass or in one that was broken off."""
    with context.store.data.connect() as connection:
        mirrored = mirror.get_project(connection, context.project)
    if mirrored is None or mirrored.imported_since is None:
        return
    pages = context.studio.listed_pages(context.project, mirrored.imported_since)
    changed = {int(task["id"]) for page in pages for task in page}
    repair_counters(context.studio, context.project, changed, facts.skips_count)
    with context.transaction() as connection:
        mirror.note_counters_checked(connection, context.project)


def repair_counters(
    studio: LabelStudio,
    project: int,
    changed: Collection[int],
    skips_count: bool,
    *,
    closed: Mapping[int, bool] = MappingProxyType({}),
) -> int:
    """Repair counters that a simultaneous submit has left wrong, and return how many tasks had such; `closed` says of
    tasks that were just opened or closed which of the two."""
    repaired, left = 0, set(changed)
    for _ in range(MAX_REPAIRS):
        if not left:
            break
        wrong = {
            int(task["id"]): counters
            for task in studio.tasks(project, left, COUNTERS)
            if (counters := corrected_counters(task, skips_count, closed.get(int(task["id"]))))
        }
        for task, counters in wrong.items():
            with suppress(NotFound):
                studio.change_task(task, counters)
        repaired, left = max(repaired, len(wrong)), set(wrong)
    return repaired


def change_time(text: str) -> datetime:
    """A time as Label Studio writes it; the earliest of all where there is none."""
    return parse_time(text) or datetime.min.replace(tzinfo=timezone.utc)
