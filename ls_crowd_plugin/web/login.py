"""The login of the pages, and the token that every form carries."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from flask import Blueprint, current_app, jsonify, redirect, render_template, request, session, url_for
from werkzeug.security import check_password_hash
from werkzeug.wrappers import Response as AnyResponse

if TYPE_CHECKING:
    from .app import Parts

MOST_ATTEMPTS = 10  # with a wrong password in a minute

blueprint = Blueprint("login", __name__)
View = Callable[..., Any]


def behind_login(view: View) -> View:
    """Sends browsers to the login, and refuses programs."""

    @wraps(view)
    def guarded(*arguments: Any, **named: Any) -> Any:
        if hmac.compare_digest(str(session.get("in", "")), _seal()):
            return view(*arguments, **named)
        if request.path.startswith("/api/"):
            return jsonify(error="Log in first."), 401
        return redirect(url_for("login.login"))

    return guarded


def form_token() -> str:
    """What the forms of this session carry, so that no other site can send them."""
    if "form" not in session:
        session["form"] = secrets.token_urlsafe(16)
    return str(session["form"])


def own_form() -> bool:
    """Whether the form that was sent is one of ours."""
    known = str(session.get("form", ""))
    return bool(known) and hmac.compare_digest(known.encode(), request.form.get("token", "").encode())


@blueprint.route("/login", methods=["GET", "POST"])
def login() -> AnyResponse | str | tuple[str, int]:
    parts: Parts = current_app.extensions["parts"]
    if request.method == "GET":
        return _page()
    if not own_form():
        return _page("The form was too old; try again."), 400
    attempts: Attempts = current_app.extensions["attempts"]
    with attempts.one_at_a_time:  # a check takes a while on purpose, and the threads are for webhooks
        if attempts.too_many():
            return _page("Too many attempts; wait a minute."), 429
        if not check_password_hash(parts.password_hash, request.form.get("password", "")):
            attempts.failed()
            return _page("That is not the password."), 401
    session.clear()
    session["in"] = _seal()
    return redirect(url_for("pages.overview"))


@blueprint.post("/logout")
def logout() -> AnyResponse:
    if own_form():
        session.clear()
    return redirect(url_for("login.login"))


class Attempts:
    """How often somebody has lately tried a wrong password, whoever they are."""

    def __init__(self) -> None:
        self.one_at_a_time = threading.Lock()
        self._times: deque[float] = deque(maxlen=MOST_ATTEMPTS)

    def failed(self) -> None:
        self._times.append(time.monotonic())

    def too_many(self) -> bool:
        return len(self._times) == MOST_ATTEMPTS and time.monotonic() - self._times[0] < 60


def _page(problem: str = "") -> str:
    return render_template("login.html", token=form_token(), problem=problem)


def _seal() -> str:
    """What a session holds that logged in with the present password: another password ends all sessions."""
    parts: Parts = current_app.extensions["parts"]
    password = parts.password or parts.password_hash
    return hmac.new(parts.session_key.encode(), password.encode(), "sha256").hexdigest()
