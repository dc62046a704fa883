"""Prometheus metrics: what this process received, and from the database what all workers did and what waits.

A new metric is a row of TALLIES, if workers count it in `store.tallies`, or a line in `DatabaseCollector`.
"""

from __future__ import annotations

from collections.abc import Iterator

from flask import Blueprint, Response, current_app
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from sqlalchemy.exc import SQLAlchemyError

from ..store import Store, candidates, queue, tallies
from ..store.heartbeats import alive_workers
from ..store.results import load_summary
from .context import app_context
from .login import public
from .shared import Shared

TALLIES = {  # name in the database → metric, name of its label, help
    "passes": ("ls_crowd_passes", "outcome", "Passes over projects, by outcome."),
    "pass_seconds": ("ls_crowd_pass_seconds", "stage", "Seconds spent in each stage of passes."),
    "pass_stages": ("ls_crowd_pass_stages", "stage", "How often each stage was run."),
    "labels": ("ls_crowd_labels", "what", "Tasks whose consensus became another label."),
    "steered": (
        "ls_crowd_tasks",
        "what",
        "Tasks opened for one more answer, closed, and repaired after a submit at the same moment.",
    ),
    "predictions": ("ls_crowd_predictions", "what", "Predictions created, changed and deleted in Label Studio."),
}

blueprint = Blueprint("metrics", __name__)


class EventCounter:
    """Counts the webhook events that this process received."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._events = Counter("ls_crowd_events", "Webhook events, by outcome.", ["outcome"], registry=self.registry)
        for outcome in ("accepted", "unknown", "refused", "lost"):
            self._events.labels(outcome)

    def add(self, outcome: str) -> None:
        self._events.labels(outcome).inc()


class DatabaseCollector:
    """Asks the database when metrics are requested."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("ls_crowd_database_up", "Whether the database answers.")
        try:
            with self._store.work.connect() as connection:
                entries = queue.list_entries(connection)
                unconfirmed = candidates.count(connection)
                workers = alive_workers(connection)
                sums = tallies.read(connection)
            with self._store.data.connect() as connection:
                summaries = [load_summary(connection, entry.project) for entry in entries]
        except SQLAlchemyError:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        waiting = [entry.waiting for entry in entries if entry.waiting is not None]
        failing = sum(bool(entry.error) for entry in entries)
        unused = sum(found.left_out_annotations.number for found in summaries if found is not None)
        with_problem = sum(problem is not None for problem in workers.values())
        for name, meaning, value in (
            ("ls_crowd_projects", "Monitored projects.", len(entries)),
            ("ls_crowd_projects_waiting", "Projects that wait for a pass.", len(waiting)),
            ("ls_crowd_projects_unconfirmed", "Projects that events named and that may not exist.", unconfirmed),
            ("ls_crowd_queue_age_seconds", "How long the oldest of them has been waiting.", max(waiting, default=0.0)),
            ("ls_crowd_projects_failing", "Projects whose last pass failed, or that are parked.", failing),
            ("ls_crowd_annotations_left_out", "Annotations in these projects that cannot be used.", unused),
            ("ls_crowd_workers", "Workers that are running.", len(workers)),
            ("ls_crowd_workers_in_trouble", "Workers that report a problem.", with_problem),
        ):
            yield GaugeMetricFamily(name, meaning, value=value)
        for tally, (name, label_name, meaning) in TALLIES.items():
            family = CounterMetricFamily(name, meaning, labels=[label_name])
            for (tally_name, label), value in sums.items():
                if tally_name == tally:
                    family.add_metric([label], value)
            yield family


def event_counter() -> EventCounter:
    counter: EventCounter = current_app.extensions["event_counter"]
    return counter


@blueprint.get("/metrics")
@public
def metrics() -> Response:
    registry = CollectorRegistry()
    registry.register(DatabaseCollector(app_context().store))
    shared: Shared[bytes] = current_app.extensions["database_metrics"]
    text = generate_latest(event_counter().registry) + shared.get(lambda: generate_latest(registry))
    return Response(text, content_type=CONTENT_TYPE_LATEST)
