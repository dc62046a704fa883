"""Bounds the memory of a worker: a project that needs more is parked, and ends neither the worker nor others."""

from __future__ import annotations

import gc
import resource

from ..records import count
from ..store import Store
from ..store.mirror_facts import count_annotations, count_tasks

MEGABYTE = 1 << 20


def limit_memory(megabytes: int) -> None:
    """Let this process use so much memory at most, 0 for any amount: beyond it Python raises MemoryError."""
    if megabytes:
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = megabytes * MEGABYTE
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if most < 0 else min(wanted, most), most))


def memory_limit() -> int | None:
    """How many megabytes this process can use; None if there is no limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return None if limit < 0 else limit // MEGABYTE


def explain_too_large(store: Store, project: int) -> str:
    """Why a pass over a project was ended by MemoryError, and what to do about it."""
    gc.collect()  # what the pass left behind
    with store.data.connect() as connection:
        tasks, annotations = count_tasks(connection, project), sum(count_annotations(connection, project)[:2])
    limit = memory_limit()
    allowed = "a worker can have" if limit is None else f"the {limit:,} MB that LS_CROWD_MEMORY_MB allows"
    size = f"{count(tasks, 'task')} and {count(annotations, 'annotation')} read so far"
    return (
        f"Project {project} ({size}) needs more memory than {allowed}; set LS_CROWD_MEMORY_MB higher if the machine has"
        " more, delete annotations that are far too large, or split the project."
    )
