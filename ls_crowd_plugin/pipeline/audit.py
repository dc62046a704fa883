"""The audit: compares the mirror with a cheap listing of all tasks, and with the people who exist.

It finds what no time tells: annotations that moved, tasks that vanished, a restored backup, changed task data, deleted
users, and changes that carry a wrong time or became visible late.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from ..errors import LabelStudioError
from ..labelstudio.client import PAGE_SIZE, TASK_FIELDS
from ..store import mirror
from ..store.mirror_facts import count_tasks, read_annotators, read_stamps, read_tasks_of, read_tasks_with_copies
from ..store.users import save_users
from .context import Pace, PassContext
from .task_reading import Reading, parse_task

BATCH = 1000  # tasks that are read and stored together
SHORT_BATCH = 20  # the same where people's requests should get in between
FEW_LISTED = 100  # tasks in one request of a listing with pauses, so that people's requests get in between
MANY_PAGES = 50  # with more tasks than so many requests hold, the requests become larger instead


@dataclass(frozen=True)
class Found:
    """What was read and found."""

    tasks: frozenset[int] = frozenset()  # that were read
    annotations_changed: int = 0
    tasks_gone: int = 0
    newest: str = ""  # when the newest change was made that Label Studio told of

    def __add__(self, other: Found) -> Found:
        changed = self.annotations_changed + other.annotations_changed
        newest = max(self.newest, other.newest)
        return Found(self.tasks | other.tasks, changed, self.tasks_gone + other.tasks_gone, newest)


def complete_mirror(context: PassContext, reading: Reading, task_ids: Collection[int]) -> Found:
    """After all tasks were read: drop those that are gone, and learn people's names."""
    with context.store.data.connect() as connection:
        gone = read_stamps(connection, context.project).keys() - set(task_ids)
    with context.transaction() as connection:
        mirror.drop_tasks(connection, context.project, gone, reading.noticed)
        mirror.set_audited(connection, context.project, time.time())
    _learn_names(context)
    return Found(tasks_gone=len(gone))


def audit(context: PassContext, reading: Reading) -> Found:
    """Make the mirror equal to Label Studio by reading the tasks that differ from their listing."""
    project = context.project
    listed = _list(context, reading)
    with context.store.data.connect() as connection:
        mirrored = read_stamps(connection, project)
        with_copies = read_tasks_with_copies(connection, project)
    gone = mirrored.keys() - listed.keys()
    with context.transaction() as connection:
        mirror.drop_tasks(connection, project, gone, reading.noticed)
    differing = {task for task, stamped in listed.items() if mirrored.get(task) != stamped.stamp}
    differing |= with_copies & listed.keys()  # Label Studio forgets what they were copied from when that is deleted
    found = read_by_ids(context, reading, sorted(differing))
    with context.transaction() as connection:
        mirror.set_audited(connection, project, time.time())
    return found + Found(tasks_gone=len(gone))


def read_changed(context: PassContext, reading: Reading, since: str, *, only_differing: bool) -> Found:
    """List the tasks changed after a time, and read them, or only those that differ from their listing."""
    listed = _list(context, reading, since)
    with context.store.data.connect() as connection:
        mirrored = read_stamps(connection, context.project) if only_differing else {}
    changed = sorted(task for task, stamped in listed.items() if mirrored.get(task) != stamped.stamp)
    newest = max((stamped.updated_at for stamped in listed.values()), default="")
    return read_by_ids(context, reading, changed) + Found(newest=newest)


def _list(context: PassContext, reading: Reading, since: str | None = None) -> dict[int, mirror.Task]:
    """Tasks by id as they are listed: all, or those changed after a time."""
    page_size = None if context.flags.pace is Pace.AT_ONCE else _short_page(context)
    pages = context.studio.listed_pages(context.project, since, with_data=reading.with_data, page_size=page_size)
    listed: dict[int, mirror.Task] = {}
    started = time.monotonic()
    for page in pages:
        pause = context.pause_after(time.monotonic() - started)
        listed |= {task.id: task for task, _ in (parse_task(one, reading) for one in page)}
        context.checkpoint()
        time.sleep(pause)
        started = time.monotonic()
    return listed


def _short_page(context: PassContext) -> int:
    with context.store.data.connect() as connection:
        tasks = count_tasks(connection, context.project)
    return min(max(tasks // MANY_PAGES, FEW_LISTED), PAGE_SIZE)


def check_people(context: PassContext, reading: Reading) -> Found:
    """Learn people's names, and read the tasks of users who were deleted.

    Label Studio takes the author off their annotations without changing any time. Somebody who only left the
    organization is not listed either, but is still the author: one annotation tells.
    """
    users, project = _learn_names(context), context.project
    with context.store.data.connect() as connection:
        annotators = read_annotators(connection, project)
        missing = sorted(annotators.keys() - users.keys()) if users else []
        deleted = [who for who in missing if context.studio.author(annotators[who]) != who]
        tasks = read_tasks_of(connection, project, deleted)
    return read_by_ids(context, reading, sorted(tasks))


def read_by_ids(context: PassContext, reading: Reading, task_ids: list[int]) -> Found:
    """Mirror some tasks."""
    include = f"{TASK_FIELDS},data" if reading.with_data else TASK_FIELDS
    report = context.progress("pull")
    batch = BATCH if context.flags.pace is Pace.AT_ONCE else SHORT_BATCH
    changed = 0
    for start in range(0, len(task_ids), batch):
        with context.followed_by_pause():
            tasks = context.studio.tasks(context.project, task_ids[start : start + batch], include)
        with context.transaction() as connection:
            parsed = [parse_task(task, reading) for task in tasks]
            changed += mirror.replace_tasks(connection, context.project, parsed, reading.noticed)
        report(start + len(tasks), len(task_ids))
    return Found(frozenset(task_ids), changed)


def _learn_names(context: PassContext) -> dict[int, str]:
    """Everybody's name; empty if Label Studio does not tell, for which a pass does not fail."""
    users: dict[int, str] = {}
    with suppress(LabelStudioError):
        users = context.studio.users()
        with context.store.data.begin() as connection:
            save_users(connection, users)
    return users
