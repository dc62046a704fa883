"""Prometheus metrics: what this process received, and from the database what all workers did and what waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flask import Blueprint, Response, current_app
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from sqlalchemy.exc import SQLAlchemyError

if TYPE_CHECKING:
    from ..store import WorkList
    from .app import Parts

TALLIES = {  # in the database → metric, the name of its label, help
    "passes": ("ls_crowd_passes", "outcome", "Passes over projects, by what became of them."),
    "pass_seconds": ("ls_crowd_pass_seconds", "stage", "Seconds spent in each stage of passes."),
    "pass_stages": ("ls_crowd_pass_stages", "stage", "How often each stage was done."),
    "labels": ("ls_crowd_labels", "what", "Tasks whose consensus became another label."),
    "predictions": ("ls_crowd_predictions", "what", "Predictions created, changed and deleted in Label Studio."),
}

blueprint = Blueprint("metrics", __name__)


class Counted:
    """What this process counts itself."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        help_ = "Webhook events, by what became of them."
        self._events = Counter("ls_crowd_events", help_, ["outcome"], registry=self.registry)
        for outcome in ("accepted", "refused", "lost"):
            self._events.labels(outcome)

    def event(self, outcome: str) -> None:
        self._events.labels(outcome).inc()


class FromDatabase:
    """A collector that asks the database when it is asked."""

    def __init__(self, work: WorkList) -> None:
        self._work = work

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("ls_crowd_database_up", "Whether the database answers.")
        try:
            rows, workers, tallies = self._work.rows(), self._work.workers(), self._work.tallies()
        except SQLAlchemyError:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        waiting = [row.waiting for row in rows if row.waiting is not None]
        for name, meaning, value in (
            ("ls_crowd_projects", "Projects looked after.", len(rows)),
            ("ls_crowd_projects_waiting", "Projects with something to do.", len(waiting)),
            ("ls_crowd_queue_age_seconds", "How long the oldest of them has been waiting.", max(waiting, default=0.0)),
            ("ls_crowd_projects_failing", "Projects whose last pass failed.", sum(bool(row.error) for row in rows)),
            ("ls_crowd_workers", "Workers that are alive.", len(workers)),
            ("ls_crowd_workers_in_trouble", "Workers that something keeps from working.", _count(workers)),
        ):
            yield GaugeMetricFamily(name, meaning, value=value)
        for tally, (name, label, meaning) in TALLIES.items():
            family = CounterMetricFamily(name, meaning, labels=[label])
            for (which, value_of), value in tallies.items():
                if which == tally:
                    family.add_metric([value_of], value)
            yield family


@blueprint.get("/metrics")
def metrics() -> Response:
    parts: Parts = current_app.extensions["parts"]
    counted: Counted = current_app.extensions["counted"]
    registry = CollectorRegistry()
    registry.register(FromDatabase(parts.work))
    text = generate_latest(counted.registry) + generate_latest(registry)
    return Response(text, content_type=CONTENT_TYPE_LATEST)


def _count(workers: dict[str, str | None]) -> int:
    return sum(trouble is not None for trouble in workers.values())
