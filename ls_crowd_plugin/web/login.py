"""The login that all pages are behind, and the token that protects forms."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from typing import TypeVar

from flask import (
    Blueprint,
    Flask,
    Response,
    abort,
    current_app,
    jsonify,
    redirect,
    render_template,
    request,
    session,
    url_for,
)
from flask.sessions import SecureCookieSessionInterface
from werkzeug.wrappers import Response as BaseResponse

from ..store import sessions
from .client import client_of_request, is_https_request
from .context import app_context
from .password import PasswordGate, Verdict

COOKIE = "ls_crowd"
REFUSALS = {
    Verdict.WRONG: ("That is not the password.", 401),
    Verdict.TOO_MANY: ("Too many attempts; wait a minute.", 429),
    Verdict.BUSY: ("Others are trying passwords at this moment; try again.", 503),
}

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
    if is_logged_in():
        return None
    if request.path.startswith("/api/"):
        return jsonify(error="Log in first."), 401
    return redirect(url_for("login.login"))


def is_logged_in() -> bool:
    """Whether the cookie belongs to a session that is open."""
    if not hmac.compare_digest(str(session.get("user", "")), _sign()):
        return False
    with app_context().store.work.connect() as connection:
        return sessions.is_open(connection, str(session.get("id", "")))


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
        return _page("The form has expired; try again." if COOKIE in request.cookies else _no_cookie()), 400
    gate: PasswordGate = current_app.extensions["password_gate"]
    verdict = gate.check(client_of_request(), request.form.get("password", ""))
    if verdict in REFUSALS:
        sentence, status = REFUSALS[verdict]
        return _page(sentence), status
    session.clear()
    with app_context().store.work.begin() as connection:
        session["id"] = sessions.open_session(connection)
    session["user"] = _sign()
    return redirect(url_for("pages.overview"))


@blueprint.post("/logout")
@public
def logout() -> BaseResponse:
    if has_csrf_token():
        with app_context().store.work.begin() as connection:
            sessions.close_session(connection, str(session.get("id", "")))
        session.clear()
    return redirect(url_for("login.login"))


class CookieSessions(SecureCookieSessionInterface):
    """A browser that used https shall send its cookie by nothing else."""

    def get_cookie_secure(self, app: Flask) -> bool:
        del app
        return is_https_request()


def _page(problem: str = "") -> str:
    return render_template("login.html", token=csrf_token(), problem=problem)


def _no_cookie() -> str:
    """Why a browser may have sent no cookie with a form."""
    if not is_https_request():
        return "The browser sent no cookie; allow cookies for this page, and try again."
    return (
        f"The browser sent no cookie, because the cookie is only for https: open {app_context().public_url} instead. To"
        " also use this address, by plain http, name the proxy that has https in LS_CROWD_TRUSTED_PROXIES."
    )


def _sign() -> str:
    """The mark of a session that logged in with the present password: another password ends all sessions."""
    context = app_context()
    password = context.password or context.password_hash
    return hmac.new(context.session_key.encode(), password.encode(), "sha256").hexdigest()
