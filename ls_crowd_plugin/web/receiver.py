"""Where Label Studio's webhooks arrive. An event only says that a project changed: it becomes a request in the queue.

Label Studio waits for the response while the annotator waits for Label Studio, so nothing else is done here.
"""

from __future__ import annotations

import hmac

from flask import Blueprint, Response, jsonify, request
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import BadRequest

from ..log import LOG, line
from ..records import Json
from ..settings import SECRET_HEADER
from ..store import queue
from .context import app_context
from .login import public
from .metrics import event_counter

MAX_ID = 2**63 - 1

blueprint = Blueprint("receiver", __name__)


@blueprint.post("/webhook")
@blueprint.post("/webhook/<int:project>")
@public
def receive(project: int | None = None) -> tuple[Response, int]:
    """Respond 202 once the event is recorded."""
    context = app_context()
    secret = request.headers.get(SECRET_HEADER, "")
    if not hmac.compare_digest(secret.encode(), context.webhook_secret.encode()):
        return _refuse(f"The header {SECRET_HEADER} is missing or wrong.", 401)
    event = _event()
    changed = project if project is not None else _project_of(event)
    if changed is None:
        return _refuse("The event names no project; use the address /webhook/<project id>.", 400)
    if not 0 < changed <= MAX_ID:
        return _refuse(f"There can be no project {changed}.", 400)
    try:
        with context.store.work.begin() as connection:
            queue.enqueue(
                connection, changed, quiet=context.quiet_seconds, max_wait=context.max_wait_seconds, is_event=True
            )
    except SQLAlchemyError as error:
        event_counter().add("lost")
        LOG.error(line("event could not be recorded", project=changed, why=type(error).__name__))
        return jsonify(error="The event could not be recorded; polling will find the change later."), 503
    event_counter().add("accepted")
    return jsonify(project=changed), 202


def _refuse(sentence: str, status: int) -> tuple[Response, int]:
    event_counter().add("refused")
    return jsonify(error=sentence), status


def _event() -> Json:
    """The event in the request; anything else is a bad request."""
    try:
        event = request.get_json(force=True, silent=False, cache=False)
    except (BadRequest, RecursionError, ValueError):
        raise BadRequest("The body is not JSON.") from None
    if not isinstance(event, dict) or not isinstance(event.get("action"), str) or not event["action"]:
        raise BadRequest("The body is not an event of Label Studio: it has no action.")
    return event


def _project_of(event: Json) -> int | None:
    """The project an event is about, wherever the event names it."""
    places = [event.get("project"), *(_first(event.get(name)).get("project") for name in ("task", "tasks"))]
    places += [_first(event.get(name)).get("project") for name in ("annotation", "annotations")]
    for place in places:
        project = place.get("id") if isinstance(place, dict) else place
        if isinstance(project, int) and not isinstance(project, bool):
            return project
    return None


def _first(value: object) -> Json:
    if isinstance(value, list):
        value = value[0] if value else None
    return value if isinstance(value, dict) else {}
