"""Asks Label Studio what no webhook told: one request for all projects, and one filtered request for each that looks
the same, because edits show nowhere else."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection
from typing import Any

from sqlalchemy import Engine

from ..errors import LabelStudioError
from ..labelstudio import LabelStudio
from ..store import Mirror, WorkList, passes
from .sync import COMPARE_SECONDS

TOLD = (  # of a project, that tells of changes without reading its tasks
    "title",
    "label_config",
    "task_number",
    "total_annotations_number",
    "total_predictions_number",
    "model_version",
    "show_collab_predictions",
    "maximum_annotations",
)


def poll(
    studio: LabelStudio,
    engine: Engine,
    work: WorkList,
    *,
    projects: Collection[int] = (),
    all_projects: bool = False,
) -> list[int]:
    """Puts on the work list what has changed since it was last looked at; which projects those are.

    Looked after are the projects on the list, those named here, and, if so said, all.
    """
    there = {int(each["id"]): _snapshot(each) for each in studio.projects(TOLD)}
    known = work.snapshots()
    changed = []
    for project in sorted({*known, *(there if all_projects else projects)}):
        before, now = known.get(project), there.get(project)
        if now is None:
            if project in known and before != GONE:
                work.want(project, snapshot=GONE)  # the pass will find out, and say so
                changed.append(project)
        elif before != now or _edited(studio, engine, project):
            work.want(project, snapshot=now)
            changed.append(project)
    return changed


GONE = "gone"


def _snapshot(facts: dict[str, Any]) -> str:
    told = json.dumps([facts.get(name) for name in TOLD])
    return hashlib.sha256(told.encode()).hexdigest()


def _edited(studio: LabelStudio, engine: Engine, project: int) -> bool:
    """Whether tasks have changed, or it is time to compare predictions one by one, which any user may change."""
    with engine.connect() as connection:
        since = Mirror(connection, project).seen_until()
        last = passes.last_pass(connection, project)
    if since is None or (last is not None and time.time() - last.compared > COMPARE_SECONDS):
        return True
    try:
        return studio.changed_since(project, since)
    except (LabelStudioError, KeyError, TypeError):
        return True  # the pass will say what is wrong with this one; the others are still looked at
