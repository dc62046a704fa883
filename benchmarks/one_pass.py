"""Runs one pass over a project and returns its report."""

from __future__ import annotations

from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline.context import PassContext, RunFlags
from ls_crowd_plugin.pipeline.lease import hold_project, process_name
from ls_crowd_plugin.pipeline.outcome import PassReport
from ls_crowd_plugin.pipeline.project_pass import run_pass
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import Store


def one_pass(http: Http, store: Store, project: int, recipe: Recipe, flags: RunFlags | None = None) -> PassReport:
    with hold_project(store, project, process_name()) as held:
        outcome = run_pass(PassContext(LabelStudio(http), store, project, recipe, held.lease, flags or RunFlags()))
    if outcome.report is None:
        raise SystemExit(f"The pass over project {project} ended as {outcome.kind.value}: {outcome.reason}")
    return outcome.report
