"""The JSON API: the same results as on the pages, for programs."""

from __future__ import annotations

from dataclasses import asdict

from flask import Blueprint, Response, jsonify

from ..records import Json, TaskLabel
from ..store.results import get_results_time, list_annotators, list_tasks
from .context import app_context
from .paging import PAGE_SIZE, page_offset
from .projects import is_busy, list_projects, queue_entry, results_or_404

blueprint = Blueprint("api", __name__, url_prefix="/api/projects")


@blueprint.get("")
def projects() -> Response:
    return jsonify(projects=[asdict(project) for project in list_projects()])


@blueprint.get("/<int:project>")
def project(project: int) -> Response:
    with app_context().store.data.connect() as connection:
        results = results_or_404(connection, project)
    return jsonify(at=results.at, summary=asdict(results.summary), charts=asdict(results.figures))


@blueprint.get("/<int:project>/state")
def state(project: int) -> Response:
    """Whether the project is being processed, and when its results were last stored: perhaps before all is done."""
    with app_context().store.data.connect() as connection:
        return jsonify(busy=is_busy(queue_entry(project)), results_at=get_results_time(connection, project))


@blueprint.get("/<int:project>/annotators")
def annotators(project: int) -> Response:
    with app_context().store.data.connect() as connection:
        results_or_404(connection, project)
        people, total = list_annotators(connection, project, offset=page_offset(), limit=PAGE_SIZE)
    return jsonify(annotators=[asdict(one) for one in people], total=total)


@blueprint.get("/<int:project>/tasks")
def tasks(project: int) -> Response:
    with app_context().store.data.connect() as connection:
        results_or_404(connection, project)
        page, total = list_tasks(connection, project, offset=page_offset(), limit=PAGE_SIZE)
    rows = [
        {"task": one.task, "text": one.text, "labels": [_label_json(project, label) for label in one.labels]}
        for one in page
    ]
    return jsonify(tasks=rows, total=total)


def _label_json(project: int, label: TaskLabel) -> Json:
    values = {name: value for name, value in vars(label).items() if name != "votes"}
    region = label.region and label.region.to_json()
    return {**values, "project": project, "said": label.votes, "region": region}
