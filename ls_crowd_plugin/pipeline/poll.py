"""Polls Label Studio for changes that no webhook reported: one request for all projects, and one filtered request for
each that looks unchanged, because edits show nowhere else."""

from __future__ import annotations

import hashlib
import json
import time

from ..errors import LabelStudioError
from ..labelstudio import LabelStudio
from ..records import Json
from ..setting_values import Projects
from ..store import Store, mirror, queue
from ..store.passes import get_last_pass
from .standing import VERIFY_SECONDS

SNAPSHOT_FIELDS = (  # of a project's entry in the list, that tell of changes without reading its tasks
    "title",
    "label_config",
    "task_number",
    "total_annotations_number",
    "total_predictions_number",
    "model_version",
    "show_collab_predictions",
    "maximum_annotations",
    "overlap_cohort_percentage",
    "sampling",
    "skip_queue",
)
GONE = "gone"  # the snapshot of a project that is no longer listed


def poll(studio: LabelStudio, store: Store, projects: Projects) -> list[int]:
    """Enqueue the projects that have changed since they were last polled, and return them.

    Monitored are the projects in the queue and those that `projects` names.
    """
    listed = {int(entry["id"]): _snapshot(entry) for entry in studio.projects(SNAPSHOT_FIELDS)}
    with store.work.connect() as connection:
        known = queue.read_snapshots(connection)
    changed = []
    for project in sorted({*known, *(listed if projects.everything else projects.ids)}):
        before, now = known.get(project), listed.get(project)
        if now is None:
            if project not in known or before == GONE:
                continue
            now = GONE  # the pass finds out, and logs it
        elif before == now and not _has_edits(studio, store, project):
            continue
        with store.work.begin() as connection:
            queue.enqueue(connection, project, snapshot=now)
        changed.append(project)
    return changed


def _snapshot(entry: Json) -> str:
    facts = json.dumps([entry.get(name) for name in SNAPSHOT_FIELDS])
    return hashlib.sha256(facts.encode()).hexdigest()


def _has_edits(studio: LabelStudio, store: Store, project: int) -> bool:
    """Whether tasks have changed, or it is time to compare predictions one by one, which any user may change."""
    with store.data.connect() as connection:
        mirrored = mirror.get_project(connection, project)
        last = get_last_pass(connection, project)
    if mirrored is None or mirrored.pulled_until is None:
        return True
    if last is not None and time.time() - last.verified_at > VERIFY_SECONDS:
        return True
    try:
        return studio.changed_since(project, mirrored.newest_change or mirrored.pulled_until)
    except LabelStudioError:
        return True  # the pass will report what is wrong with this project; the others are still polled
