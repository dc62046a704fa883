"""Where Label Studio's webhooks arrive. An event only says that a project changed: it becomes a request in the queue.

Label Studio waits for the response while the annotator waits for Label Studio, so nothing else is done here, and it is
done before Flask, which takes longer than all of it. Every user of Label Studio can read the secret, so a project that
is not in the queue is only noted down as a candidate: a worker asks Label Studio whether it exists.
"""

from __future__ import annotations

import hmac
import json
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from ..log import LOG, line
from ..records import Json
from ..settings import SECRET_HEADER
from ..store import candidates, queue
from .context import AppContext
from .metrics import EventCounter

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

ADDRESS = re.compile(r"/webhook(?:/([0-9]+))?")
SECRET_VARIABLE = "HTTP_" + SECRET_HEADER.upper().replace("-", "_")
MAX_ID = 2**63 - 1
MAX_BODY = 16 * 1024 * 1024  # an import of some thousand tasks arrives as one event
TURN_SECONDS = 0.5  # Label Studio gives up after one second
LOG_SECONDS = 1.0  # between two lines about events that could not be recorded; the metrics count them all
LARGE_BODY = 256 * 1024  # such a body needs many times as much memory when it is parsed

Answer = tuple[int, Json]  # status, body


class Receiver:
    """Answers what comes to the webhook's addresses, and leaves everything else to the application."""

    def __init__(
        self, app: WSGIApplication, context: AppContext, counter: EventCounter, headers: Mapping[str, str]
    ) -> None:
        self.app, self._context, self._counter = app, context, counter
        self._headers = [*headers.items(), ("Content-Type", "application/json")]
        self._secret = context.webhook_secret.encode()
        self._one_large_body = threading.Lock()
        self._one_writer = threading.Lock()
        self._logged_at = -LOG_SECONDS

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        address = ADDRESS.fullmatch(environ.get("PATH_INFO", ""))
        if address is None:
            return self.app(environ, start_response)
        try:
            status, answer = self._receive(environ, address[1])
        except Exception:
            LOG.exception(line("internal error in the receiver"))
            status, answer = 500, {"error": "Internal error; see the service's log."}
        body = json.dumps(answer).encode()
        headers = [*self._headers, ("Content-Length", str(len(body)))]
        if status == 405:
            headers.append(("Allow", "POST"))
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return [body]

    def _receive(self, environ: WSGIEnvironment, number: str | None) -> Answer:
        """Answer 202 once the event is recorded."""
        if environ["REQUEST_METHOD"] != "POST":
            return 405, {"error": "Send events with POST."}
        if not hmac.compare_digest(environ.get(SECRET_VARIABLE, "").encode(), self._secret):
            return self._refuse(f"The header {SECRET_HEADER} is missing or wrong.", 401)
        size = int(environ.get("CONTENT_LENGTH") or 0)
        if size > MAX_BODY:
            return self._refuse(f"The event is larger than {MAX_BODY} bytes.", 413)
        if number is not None and (len(number) > 19 or not 0 < int(number) <= MAX_ID):
            return self._refuse(f"There can be no project {number[:40]}.", 400)
        if number is not None and size > LARGE_BODY:  # the address says it all
            return self._record(int(number))
        if size <= LARGE_BODY:
            event = read_event(environ, size)
        elif self._one_large_body.acquire(blocking=False):
            try:
                event = read_event(environ, size)
            finally:
                self._one_large_body.release()
        else:
            return self._lose("Another large event is being read")
        if event is None:
            return self._refuse("The body is not an event of Label Studio: it is no JSON object with an action.", 400)
        project = project_of(event) if number is None else int(number)
        if project is None:
            return self._refuse("The event names no project; use the address /webhook/<project id>.", 400)
        if not 0 < project <= MAX_ID:
            return self._refuse(f"There can be no project {str(project)[:40]}.", 400)
        return self._record(project)

    def _record(self, project: int) -> Answer:
        try:
            with self._turn(), self._context.store.work.begin() as connection:
                is_known = self._request_pass(connection, project)
                if not is_known:
                    candidates.add(connection, project)
        except (SQLAlchemyError, TimeoutError) as error:
            if time.monotonic() - self._logged_at > LOG_SECONDS:
                self._logged_at = time.monotonic()
                LOG.error(line("event could not be recorded", project=project, why=type(error).__name__))
            return self._lose("The event could not be recorded")
        self._counter.add("accepted" if is_known else "unknown")
        return 202, {"project": project}

    def _request_pass(self, connection: Connection, project: int) -> bool:
        quiet, max_wait = self._context.quiet_seconds, self._context.max_wait_seconds
        return queue.enqueue_known(connection, project, quiet=quiet, max_wait=max_wait)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the other threads that write to SQLite, which would let some wait much longer than others."""
        if self._context.store.work.dialect.name != "sqlite":
            yield
            return
        if not self._one_writer.acquire(timeout=TURN_SECONDS):
            raise TimeoutError
        try:
            yield
        finally:
            self._one_writer.release()

    def _refuse(self, sentence: str, status: int) -> Answer:
        self._counter.add("refused")
        return status, {"error": sentence}

    def _lose(self, what: str) -> Answer:
        self._counter.add("lost")
        return 503, {"error": f"{what}; polling will find the change later."}


def read_event(environ: WSGIEnvironment, size: int) -> Json | None:
    """The event in the body of a request; None for anything else."""
    try:
        event = json.loads(environ["wsgi.input"].read(size))
    except (RecursionError, ValueError):
        return None
    is_event = isinstance(event, dict) and isinstance(event.get("action"), str) and event["action"]
    return event if is_event else None


def project_of(event: Json) -> int | None:
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
