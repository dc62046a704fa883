"""The pages, behind a login: what is looked after, how it stands, and what is wrong."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, current_app, jsonify, redirect, render_template, request, session, url_for
from sqlalchemy import select
from werkzeug.security import check_password_hash
from werkzeug.wrappers import Response as AnyResponse

from ..store import Work, passes, tables

if TYPE_CHECKING:
    from .app import Parts

MOST_ATTEMPTS = 10  # with a wrong password in a minute

blueprint = Blueprint("pages", __name__)
View = Callable[..., Any]


def behind_login(view: View) -> View:
    """Sends browsers to the login, and refuses programs."""

    @wraps(view)
    def guarded(*arguments: Any, **named: Any) -> Any:
        if hmac.compare_digest(str(session.get("in", "")), _seal()):
            return view(*arguments, **named)
        if request.path.startswith("/api/"):
            return jsonify(error="Log in first."), 401
        return redirect(url_for("pages.login"))

    return guarded


@blueprint.route("/login", methods=["GET", "POST"])
def login() -> AnyResponse | str | tuple[str, int]:
    parts: Parts = current_app.extensions["parts"]
    if request.method == "GET":
        return render_template("login.html", token=_form_token(), wrong=False)
    known = str(session.get("form", ""))
    if not known or not hmac.compare_digest(known.encode(), request.form.get("token", "").encode()):
        return render_template("login.html", token=_form_token(), wrong=False), 400
    attempts: Attempts = current_app.extensions["attempts"]
    with attempts.one_at_a_time:  # a check takes a while on purpose, and the threads are for webhooks
        if attempts.too_many():
            return "Too many attempts; wait a minute.", 429
        if not check_password_hash(parts.password_hash, request.form.get("password", "")):
            attempts.failed()
            return render_template("login.html", token=_form_token(), wrong=True), 401
    session.clear()
    session["in"] = _seal()
    return redirect(url_for("pages.overview"))


@blueprint.post("/logout")
def logout() -> AnyResponse:
    session.clear()
    return redirect(url_for("pages.login"))


@blueprint.get("/")
@behind_login
def overview() -> str:
    return render_template("overview.html", projects=_projects(), workers=_parts().work.workers())


@blueprint.get("/api/projects")
@behind_login
def projects() -> Response:
    return jsonify(projects=_projects())


class Attempts:
    """How often somebody has lately tried a wrong password, whoever they are."""

    def __init__(self) -> None:
        self.one_at_a_time = threading.Lock()
        self._times: deque[float] = deque(maxlen=MOST_ATTEMPTS)

    def failed(self) -> None:
        self._times.append(time.monotonic())

    def too_many(self) -> bool:
        return len(self._times) == MOST_ATTEMPTS and time.monotonic() - self._times[0] < 60


def _seal() -> str:
    """What a session holds that logged in with the present password: another password ends all sessions."""
    parts = _parts()
    password = parts.password or parts.password_hash
    return hmac.new(parts.session_key.encode(), password.encode(), "sha256").hexdigest()


def _parts() -> Parts:
    parts: Parts = current_app.extensions["parts"]
    return parts


def _projects() -> list[dict[str, Any]]:
    """Everything looked after, with its title and what the last pass found."""
    parts = _parts()
    with parts.engine.connect() as connection:
        rows = connection.execute(select(tables.project.c.id, tables.project.c.title))
        titles = {int(row.id): str(row.title) for row in rows}
        found = []
        for row in parts.work.rows():
            last = passes.last_pass(connection, row.project)
            summary = {} if last is None else last.summary
            found.append(
                {
                    "id": row.project,
                    "title": titles.get(row.project, f"Project {row.project}"),
                    "state": state_in_words(row),
                    "error": row.error,
                    "seconds_since_pass": None if row.done is None else round(row.done, 1),
                    **{name: summary.get(name) for name in ("tasks", "answers", "annotators", "confidence")},
                }
            )
    return found


def state_in_words(row: Work) -> str:
    if row.held_by:
        return "being worked on"
    if row.waiting is None:
        return "set aside until something changes" if row.error else "up to date"
    if row.error:
        return f"failed, tried again in {max(-row.due, 0):.0f} s"
    return "waiting for its turn"


def _form_token() -> str:
    session["form"] = secrets.token_urlsafe(16)
    return str(session["form"])
