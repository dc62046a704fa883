"""Where Label Studio's webhooks arrive. An event only says that a project changed: one row of the work list.

Label Studio waits for the answer inside the annotator's own click, so nothing else is done here.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, current_app, jsonify, request
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import BadRequest

from ..log import LOG, line
from ..settings import SECRET_HEADER

if TYPE_CHECKING:
    from .app import Parts
    from .metrics import Counted

LARGEST_ID = 2**63 - 1

blueprint = Blueprint("receiver", __name__)


@blueprint.post("/webhook")
@blueprint.post("/webhook/<int:project>")
def receive(project: int | None = None) -> tuple[Response, int]:
    """202 once the event is recorded."""
    parts: Parts = current_app.extensions["parts"]
    counted: Counted = current_app.extensions["counted"]
    given = request.headers.get(SECRET_HEADER, "")
    if not hmac.compare_digest(given.encode(), parts.webhook_secret.encode()):
        counted.event("refused")
        return jsonify(error=f"The header {SECRET_HEADER} is missing or wrong."), 401
    event = _event()
    changed = project if project is not None else _project_of(event)
    if changed is None:
        counted.event("refused")
        return jsonify(error="The event names no project; use the address /webhook/<project id>."), 400
    if not 0 < changed <= LARGEST_ID:
        counted.event("refused")
        return jsonify(error=f"There can be no project {changed}."), 400
    try:
        parts.work.want(changed, quiet=parts.quiet_seconds, longest=parts.longest_seconds)
    except SQLAlchemyError as error:
        counted.event("lost")
        LOG.error(line("event could not be recorded", project=changed, why=type(error).__name__))
        return jsonify(error="The event could not be recorded; the project will be looked at later."), 503
    counted.event("accepted")
    return jsonify(project=changed), 202


def _event() -> dict[str, Any]:
    """The event in the request; anything else is a bad request."""
    try:
        event = request.get_json(force=True, silent=False, cache=False)
    except (BadRequest, RecursionError, ValueError):
        raise BadRequest("The body is not JSON.") from None
    if not isinstance(event, dict) or not isinstance(event.get("action"), str) or not event["action"]:
        raise BadRequest("The body is no event of Label Studio: it has no action.")
    return event


def _project_of(event: dict[str, Any]) -> int | None:
    """The project an event is about, wherever it says so."""
    places = [event.get("project"), *(_first(event.get(name)).get("project") for name in ("task", "tasks"))]
    places += [_first(event.get(name)).get("project") for name in ("annotation", "annotations")]
    for place in places:
        found = place.get("id") if isinstance(place, dict) else place
        if isinstance(found, int) and not isinstance(found, bool):
            return found
    return None


def _first(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        value = value[0] if value else None
    return value if isinstance(value, dict) else {}
