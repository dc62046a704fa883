"""The pages, behind a login: what is looked after, how it stands, and what is wrong."""

from __future__ import annotations

import hmac
import secrets
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

blueprint = Blueprint("pages", __name__)
View = Callable[..., Any]


def behind_login(view: View) -> View:
    """Sends browsers to the login, and refuses programs."""

    @wraps(view)
    def guarded(*arguments: Any, **named: Any) -> Any:
        if session.get("in"):
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
    if not hmac.compare_digest(str(session.get("form", "-")).encode(), request.form.get("token", "").encode()):
        return render_template("login.html", token=_form_token(), wrong=False), 400
    if not check_password_hash(parts.password_hash, request.form.get("password", "")):
        return render_template("login.html", token=_form_token(), wrong=True), 401
    session.clear()
    session["in"] = True
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
