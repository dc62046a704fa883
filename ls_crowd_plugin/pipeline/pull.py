"""Makes the mirror equal to a Label Studio project, reading only what changed.

Most changes are found by their time. Some carry no time, a wrong one, or become visible late; these are found by the
counts that Label Studio offers, and by an audit (`audit.py`).
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..controls import Config, read_config
from ..errors import EndPass, NotFound
from ..labelstudio import ProjectFacts
from ..log import LOG, line
from ..records import parse_time
from ..store import mirror
from ..store.forget import forget_project
from ..store.gold import adopt_gold, adopt_tasks
from ..store.mirror_facts import count_annotations, count_tasks, newest_change
from .audit import SHORT_BATCH, Found, audit, check_people, complete_mirror, read_changed
from .context import LARGE_PROJECT, Pace, PassContext
from .task_reading import Reading, TextField, parse_task

TIME_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"  # the only form that Label Studio's filters read
FEW_TASKS = 100  # that are read again although they are in the mirror
MAX_COUNT_RETRIES = 3  # how often to read the counts again before an audit finds out why they differ
IN_FLIGHT = timedelta(seconds=20)  # a change may become visible this much later than the time it carries
JUST_NOW = timedelta(seconds=2)  # within this time most changes do


@dataclass(frozen=True)
class Pulled:
    """What a pull read."""

    facts: ProjectFacts
    tasks: frozenset[int]  # that were read
    annotations_changed: int
    tasks_gone: int
    only_newest: bool = False  # changes that became visible late were left to a later pull

    @property
    def tasks_read(self) -> int:
        return len(self.tasks)

    def followed_by(self, later: Pulled) -> Pulled:
        """What two pulls read."""
        return replace(
            later,
            tasks=self.tasks | later.tasks,
            annotations_changed=self.annotations_changed + later.annotations_changed,
            tasks_gone=self.tasks_gone + later.tasks_gone,
        )


@dataclass(frozen=True)
class _Window:
    """The times after which changes are read.

    The newest change known is read with them, even if it is older: if it is not there, Label Studio was restored from
    a backup.
    """

    since: str
    since_newest: str


def pull(context: PassContext, *, only_newest: bool = False) -> Pulled:
    """Read the tasks that changed since the last pull, and find what no time tells.

    `only_newest` does not look for changes that became visible late, which a later pull then has to do.
    """
    with context.followed_by_pause():
        facts, started = _project_facts(context), time.time()
    noticed = context.studio.server_time().strftime(TIME_FORMAT)
    reading = Reading(context.recipe.gold_field, _text_fields(read_config(facts.label_config)), noticed)
    before = _prepare(context, facts, reading)
    since = None if before is None else before.pulled_until
    if before is None or since is None or context.flags.from_scratch:
        only_newest = False
        found = _read_all(context, reading)
        found += complete_mirror(context, reading, found.tasks)
    else:
        found, facts = _read_with_counts(context, reading, _window(before, since, only_newest), facts)
        is_due = _is_audit_due(context, before, since, found)
        if is_due or not _counts_agree(context, facts):
            found += audit(context, reading)
        if is_due or context.flags.pace is Pace.AT_ONCE:
            found += check_people(context, reading)
    _advance(context, started, since if only_newest else None)
    return Pulled(facts, found.tasks, found.annotations_changed, found.tasks_gone, only_newest)


def _window(before: mirror.MirroredProject, since: str, only_newest: bool) -> _Window:
    newest = parse_time(before.newest_change or "")
    if newest is None:
        return _Window(since, since)
    if only_newest:
        since = max(since, (newest - JUST_NOW).strftime(TIME_FORMAT))
    return _Window(since, min(since, _just_before(newest)))


def _just_before(change: datetime) -> str:
    return (change - timedelta(milliseconds=1)).strftime(TIME_FORMAT)


def _advance(context: PassContext, started: float, stay_at: str | None) -> None:
    """Move the time up to which the mirror has all changes, by Label Studio's own data; and new gold gets its tasks.

    When the pull started, Label Studio's clock was ahead of the newest change by at least as much as has passed on this
    machine since that change was first seen. `stay_at`: where that time stays if only the newest changes were read.
    """
    project = context.project
    with context.transaction() as connection:
        mirrored, newest = mirror.get_project(connection, project), newest_change(connection, project)
        seen_at = mirrored.newest_seen_at if mirrored is not None and newest == mirrored.newest_change else time.time()
        newest_time = parse_time(newest or "")
        until = stay_at
        if newest_time is not None and stay_at is None:
            passed = timedelta(seconds=max(started - seen_at, 0.0))
            until = (newest_time + passed - IN_FLIGHT).strftime(TIME_FORMAT)
        mirror.set_pulled(connection, project, until=until, newest_change=newest, newest_seen_at=seen_at)
        adopt_tasks(connection, project)


def _is_audit_due(context: PassContext, before: mirror.MirroredProject, since: str, found: Found) -> bool:
    """Whether the last audit is too old, or times do not tell what is new: if the newest change has vanished, Label
    Studio was restored from a backup; if it lies in the future, Label Studio's clock was set back.

    An old audit is repeated when nobody waits for an answered task, or when it is twice as old as it may be.
    """
    is_awaited = context.flags.pace is Pace.LIVE and found.annotations_changed > 0
    max_age = context.flags.audit_seconds * (2 if is_awaited else 1)
    if not 0 <= time.time() - before.audited_at < max_age:
        return True
    if context.flags.pace is not Pace.LIVE and context.recipe.uses_task_data:  # which may change without a trace
        return True
    if since > context.studio.server_time().strftime(TIME_FORMAT):
        return True
    newest = parse_time(before.newest_change or "")
    return newest is not None and found.newest <= _just_before(newest)


def _counts_agree(context: PassContext, facts: ProjectFacts) -> bool:
    with context.store.data.connect() as connection:
        tasks = count_tasks(connection, context.project)
        annotations = count_annotations(connection, context.project)
    return tasks == facts.task_number and facts.annotation_counts in (None, annotations)


def _project_facts(context: PassContext) -> ProjectFacts:
    """The project as Label Studio describes it. What is mirrored of an earlier project with this id is forgotten."""
    project = context.project
    with context.store.data.connect() as connection:
        mirrored = mirror.get_project(connection, project)
    try:
        facts = context.studio.project(project)
    except NotFound:
        listed = [int(entry["id"]) for entry in context.studio.projects()]  # a gateway's 404 would affect this, too
        if project in listed:
            raise
        if mirrored is None:
            reason = f"Label Studio has no project {project} that this key can see."
            raise EndPass("no_such_project", reason) from None
        with context.transaction() as connection:
            forget_project(connection, project)
        reason = f"Project {project} is no longer in Label Studio; our copy was deleted, its gold and history are kept."
        raise EndPass("project_gone", reason) from None
    if mirrored is not None and mirrored.created_at != facts.created_at:
        LOG.warning(line("another project has this id now", project=project, created_at=facts.created_at))
        with context.transaction() as connection:
            forget_project(connection, project)
    return facts


def _text_fields(config: Config) -> dict[str, TextField]:
    marked = {control.spec.to_name for control in config.regions if control.shape != "box"}
    return {name: TextField(field, name in marked) for name, field in config.objects.items()}


def _prepare(context: PassContext, facts: ProjectFacts, reading: Reading) -> mirror.MirroredProject | None:
    """Save the project's facts; return what is mirrored of it."""
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
        adopt_gold(connection, context.project, facts.created_at)
        return mirror.get_project(connection, context.project)


def _required_annotators_rule(facts: ProjectFacts) -> list[float | None]:
    """What decides how many annotators each task requires: when it changes, Label Studio changes tasks silently."""
    cohort = facts.overlap_cohort_percentage
    cohort = 100 if cohort is None else cohort
    return [facts.maximum_annotations, cohort, facts.task_number if cohort != 100 else None]


def _read_changed(context: PassContext, reading: Reading, window: _Window, tasks_in_all: int) -> Found:
    """Mirror the tasks changed in a window.

    Those that are in the mirror are read again, in case more of a change has become visible. But where they are many,
    as after an import, only those that differ from their listing: the others would cost Label Studio many seconds. In
    a large project, where a minute's changes are read at once, people's requests get in between.
    """
    is_short = context.flags.pace is not Pace.AT_ONCE and tasks_in_all > LARGE_PROJECT
    limit = min(SHORT_BATCH, FEW_TASKS) if is_short else FEW_TASKS
    total, tasks = context.studio.changed_tasks(
        context.project, window.since_newest, limit, with_data=reading.with_data
    )
    parsed = [parse_task(task, reading) for task in tasks]
    newest = max((task.updated_at for task, _ in parsed), default="")
    if total > limit:
        found = read_changed(context, reading, window.since, only_differing=total > FEW_TASKS)
        return found + Found(newest=newest)
    parsed = [(task, annotations) for task, annotations in parsed if task.updated_at > window.since]
    with context.transaction() as connection:
        changed = mirror.replace_tasks(connection, context.project, parsed, reading.noticed)
    return Found(frozenset(task.id for task, _ in parsed), changed, newest=newest)


def _read_with_counts(
    context: PassContext, reading: Reading, window: _Window, facts: ProjectFacts
) -> tuple[Found, ProjectFacts]:
    """Mirror the tasks changed in a window, until the counts agree with them or nothing more has changed.

    Both are read one after the other, and people may submit in between: that alone should not lead to an audit.
    """
    found = _read_changed(context, reading, window, facts.task_number)
    for _ in range(MAX_COUNT_RETRIES):
        if _counts_agree(context, facts):
            break
        with context.followed_by_pause():
            facts = context.studio.project(context.project)
        if _counts_agree(context, facts):
            break
        more = _read_changed(context, reading, window, facts.task_number)
        found += more
        if not more.annotations_changed:  # nobody is submitting
            break
    return found, facts


def _read_all(context: PassContext, reading: Reading) -> Found:
    """Mirror all tasks. The next page is fetched while one is stored."""
    on_progress = context.progress("pull")
    pages = context.studio.task_pages(context.project, with_data=reading.with_data, on_progress=on_progress)
    found = Found()
    with ThreadPoolExecutor(max_workers=1) as ahead:
        coming = ahead.submit(next, pages, None)
        while (page := coming.result()) is not None:
            coming = ahead.submit(next, pages, None)
            with context.transaction() as connection:
                parsed = [parse_task(task, reading) for task in page]
                changed = mirror.replace_tasks(connection, context.project, parsed, reading.noticed)
            found += Found(frozenset(task.id for task, _ in parsed), changed)
    return found
