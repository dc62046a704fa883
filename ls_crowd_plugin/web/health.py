"""Whether the process is alive (/healthz), and whether it can do its work (/readyz)."""

from __future__ import annotations

from flask import Blueprint, Response, current_app, jsonify
from sqlalchemy.exc import SQLAlchemyError

from ..records import Json
from ..store import Store, duties
from ..store.heartbeats import alive_workers
from .context import app_context
from .login import public
from .shared import Shared

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
@public
def healthz() -> Response:
    return jsonify(status="alive")


@blueprint.get("/readyz")
@public
def readyz() -> tuple[Response, int]:
    """200 if events can be recorded and a worker is there to process them."""
    shared: Shared[tuple[Json, int]] = current_app.extensions["readiness"]
    answer, status = shared.get(lambda: readiness(app_context().store))
    return jsonify(answer), status


def readiness(store: Store) -> tuple[Json, int]:
    try:
        with store.work.begin() as connection:
            duties.claim_duty(connection, "readiness", 0.0)  # a write: reading works on a full disk
            workers = alive_workers(connection)
    except SQLAlchemyError as error:
        return {"status": "not ready", "why": f"The database does not answer ({type(error).__name__})."}, 503
    if not workers:
        return {"status": "not ready", "why": "No worker is running."}, 503
    problems = {problem for problem in workers.values() if problem}
    return {"status": "ready", "workers": len(workers), "troubles": len(problems)}, 200
