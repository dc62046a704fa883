"""Whether the process lives (/healthz), and whether it can do its work (/readyz)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response, current_app, jsonify
from sqlalchemy.exc import SQLAlchemyError

if TYPE_CHECKING:
    from .app import Parts

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
def healthz() -> Response:
    return jsonify(status="alive")


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """200 if events can be recorded and a worker is there to see to them."""
    parts: Parts = current_app.extensions["parts"]
    try:
        parts.work.take_duty("readiness", 0.0)  # a write: a full disk reads well
        workers = parts.work.workers()
    except SQLAlchemyError as error:
        return jsonify(status="not ready", why=f"The database does not answer ({type(error).__name__})."), 503
    if not workers:
        return jsonify(status="not ready", why="No worker is alive."), 503
    troubles = sorted({trouble for trouble in workers.values() if trouble})
    return jsonify(status="ready", workers=len(workers), troubles=len(troubles)), 200
