"""The login that all pages are behind, and the token that protects forms."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from flask import Blueprint, Response, abort, current_app, jsonify, redirect, render_template, request, session, url_for
from werkzeug.security import check_password_hash
from werkzeug.wrappers import Response as BaseResponse

from .context import app_context

MAX_ATTEMPTS = 10  # with a wrong password in a minute

blueprint = Blueprint("login", __name__)
View = TypeVar("View", bound=Callable[..., object])


def public(view: View) -> View:
    """Mark a view that needs no login."""
    view.is_public = True  # type: ignore[attr-defined]
    return view


def login_required() -> BaseResponse | tuple[Response, int] | None:
    """Send browsers that are not logged in to the login page, and refuse programs."""
    view = current_app.view_functions.get(request.endpoint or "")
    if view is None or request.endpoint == "static" or getattr(view, "is_public", False):
        return None
    if hmac.compare_digest(str(session.get("user", "")), _sign()):
        return None
    if request.path.startswith("/api/"):
        return jsonify(error="Log in first."), 401
    return redirect(url_for("login.login"))


def csrf_protected() -> None:
    """Refuse forms that do not carry this session's token; views without login check what they need themselves."""
    view = current_app.view_functions.get(request.endpoint or "")
    if request.method != "POST" or view is None or getattr(view, "is_public", False):
        return
    if not has_csrf_token():
        abort(400, "The form has expired, and nothing was changed; go back, reload the page, and try again.")


def csrf_token() -> str:
    """The token of this session's forms, so that no other site can send them."""
    if "csrf" not in session:
        session["csrf"] = secrets.token_urlsafe(16)
    return str(session["csrf"])


def has_csrf_token() -> bool:
    known = str(session.get("csrf", ""))
    return bool(known) and hmac.compare_digest(known.encode(), request.form.get("token", "").encode())


@blueprint.route("/login", methods=["GET", "POST"])
@public
def login() -> BaseResponse | str | tuple[str, int]:
    if request.method == "GET":
        return _page()
    if not has_csrf_token():
        return _page("The form has expired; try again."), 400
    attempts: LoginAttempts = current_app.extensions["login_attempts"]
    with attempts.one_at_a_time:  # a check is slow on purpose, and the other threads are for webhooks
        if attempts.are_too_many():
            return _page("Too many attempts; wait a minute."), 429
        if not check_password_hash(app_context().password_hash, request.form.get("password", "")):
            attempts.add_failure()
            return _page("That is not the password."), 401
    session.clear()
    session["user"] = _sign()
    return redirect(url_for("pages.overview"))


@blueprint.post("/logout")
@public
def logout() -> BaseResponse:
    if has_csrf_token():
        session.clear()
    return redirect(url_for("login.login"))


class LoginAttempts:
    """Recent attempts with a wrong password, by anybody."""

    def __init__(self) -> None:
        self.one_at_a_time = threading.Lock()
        self._times: deque[float] = deque(maxlen=MAX_ATTEMPTS)

    def add_failure(self) -> None:
        self._times.append(time.monotonic())

    def are_too_many(self) -> bool:
        return len(self._times) == MAX_ATTEMPTS and time.monotonic() - self._times[0] < 60


def _page(problem: str = "") -> str:
    return render_template("login.html", token=csrf_token(), problem=problem)


def _sign() -> str:
    """The mark of a session that logged in with the present password: another password ends all sessions."""
    context = app_context()
    password = context.password or context.password_hash
    return hmac.new(context.session_key.encode(), password.encode(), "sha256").hexdigest()
