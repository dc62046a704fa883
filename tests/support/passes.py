"""Passes over the project of a Label Studio in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ls_crowd_plugin.pipeline.context import Checkpoint, OnProgress, PassContext, RunFlags
from ls_crowd_plugin.pipeline.lease import hold_project
from ls_crowd_plugin.pipeline.outcome import Outcome, PassReport
from ls_crowd_plugin.pipeline.project_pass import run_pass
from ls_crowd_plugin.pipeline.remembered import FitMemory
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import Lease, Store
from tests.support.memory_studio import PROJECT, MemoryStudio

PLURALITY = Recipe(method="plu", task_meta="off")  # a task's label depends on nothing but its own answers


def _never(*, rest_can_wait: bool = False) -> None:
    del rest_can_wait


def make_context(
    studio: MemoryStudio,
    store: Store,
    *,
    recipe: Recipe = PLURALITY,
    flags: RunFlags | None = None,
    on_progress: OnProgress = lambda *_: None,
    checkpoint: Checkpoint = _never,
    is_superseded: Callable[[], bool] = lambda: False,
    fits: FitMemory | None = None,
    token: int = 1,
) -> PassContext:
    """The context of a pass with a lease that nobody else knows of."""
    lease = Lease(PROJECT, "test", token)
    flags = flags or RunFlags()
    return PassContext(
        studio,
        store,
        PROJECT,
        recipe,
        lease,
        flags,
        on_progress,
        checkpoint,
        is_superseded,
        fits=fits or FitMemory(),
    )


def pass_over(studio: MemoryStudio, store: Store, **options: Any) -> Outcome:
    """Run a pass a minute after whatever happened before; writes are counted from 1."""
    studio.wait()
    studio.writes.clear()
    with hold_project(store, PROJECT, "test") as held:
        return run_pass(make_context(studio, store, token=held.lease.token, **options))


def report_of_pass(studio: MemoryStudio, store: Store, **options: Any) -> PassReport:
    """Run a pass that is expected to succeed."""
    outcome = pass_over(studio, store, **options)
    assert outcome.report is not None, outcome
    return outcome.report


def agreed_studio(tasks: Sequence[int]) -> MemoryStudio:
    """A project in which three people agree on every task: good on odd ones, bad on even ones."""
    studio = MemoryStudio(tasks)
    for task in tasks:
        answer_together(studio, task, "good" if task % 2 else "bad")
    return studio


def answer_together(studio: MemoryStudio, task: int, label: str) -> None:
    """Let the three people give, or change to, the same answer."""
    for annotator in (1, 2, 3):
        studio.annotate(task, annotator, label)


def change_minds(studio: MemoryStudio, task: int) -> None:
    """Let the three people change to the other label."""
    (label,) = studio.task_rows[task]["annotations"][0]["result"][0]["value"]["choices"]
    answer_together(studio, task, "bad" if label == "good" else "good")
