"""Runs one pass over a project and returns its report, and waits until a service has written what a fresh one would."""

from __future__ import annotations

import tempfile
import time

from ls_crowd_plugin.demo.service import Service
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline.context import PassContext, RunFlags
from ls_crowd_plugin.pipeline.lease import hold_project, process_name
from ls_crowd_plugin.pipeline.outcome import PassReport
from ls_crowd_plugin.pipeline.project_pass import run_pass
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import Store, open_store

MAX_SETTLE = 3600.0  # seconds that everything may take to be written


def one_pass(http: Http, store: Store, project: int, recipe: Recipe, flags: RunFlags | None = None) -> PassReport:
    with hold_project(store, project, process_name()) as held:
        outcome = run_pass(PassContext(LabelStudio(http), store, project, recipe, held.lease, flags or RunFlags()))
    if outcome.report is None:
        raise SystemExit(f"The pass over project {project} ended as {outcome.kind.value}: {outcome.reason}")
    return outcome.report


def wait_until_equal(http: Http, service: Service, project: int, settle: int) -> bool:
    """Wait until everything is written, and say whether it equals a fresh sync."""
    until = time.monotonic() + MAX_SETTLE
    time.sleep(settle + 2.0)
    service.wait_until_idle()
    while time.monotonic() < until:
        with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/fresh.db") as store:
            report = one_pass(http, store, project, Recipe(), RunFlags(dry_run=True))
        if report.plan.is_empty:
            return True
        time.sleep(settle)
        service.wait_until_idle()
    return False
