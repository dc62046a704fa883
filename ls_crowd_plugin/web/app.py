"""The application: its parts put together, and what all responses have in common."""

from __future__ import annotations

from flask import Flask, Response, abort, jsonify, render_template, request
from werkzeug.exceptions import HTTPException

from ..log import LOG, line
from ..records import Json
from . import answers, api, health, login, metrics, pages
from .context import AppContext
from .password import PasswordGate
from .receiver import MAX_BODY, MAX_ID, Receiver
from .shared import Shared
from .template_tools import set_up_templates

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';"
    " img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",  # people's scores must not stay in a shared browser
}


PROGRAMS = ("/api/", "/webhook", "/metrics", "/healthz", "/readyz")  # paths that are asked for by programs


def create_app(context: AppContext) -> Flask:
    """Build the application. Every page is behind the login unless its view is marked `@login.public`."""
    app = Flask(__name__)
    set_context(app, context)
    set_up_templates(app.jinja_env)
    app.before_request(login.login_required)
    app.before_request(login.csrf_protected)
    app.before_request(reject_huge_ids)
    for module in (login, pages, answers, api, health, metrics):
        app.register_blueprint(module.blueprint)
    app.register_error_handler(HTTPException, refuse)
    app.register_error_handler(Exception, fail)
    app.after_request(add_headers)
    return app


def set_context(app: Flask, context: AppContext) -> None:
    """Configure an application, and let it start anew with all that it counts."""
    app.config.update(
        SECRET_KEY=context.session_key,
        MAX_CONTENT_LENGTH=MAX_BODY,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_NAME=login.COOKIE,
    )
    app.session_interface = login.CookieSessions()
    app.extensions["ls_crowd"] = context
    app.extensions["event_counter"] = counter = metrics.EventCounter()
    app.extensions |= {"database_metrics": Shared[bytes](), "readiness": Shared[tuple[Json, int]]()}
    app.extensions["password_gate"] = PasswordGate(context.password, context.password_hash)
    wsgi_app = app.wsgi_app.app if isinstance(app.wsgi_app, Receiver) else app.wsgi_app
    app.wsgi_app = Receiver(wsgi_app, context, counter, HEADERS)  # type: ignore[method-assign]


def reject_huge_ids() -> None:
    """Ids that are too large for the database cannot exist."""
    if any(isinstance(value, int) and value > MAX_ID for value in (request.view_args or {}).values()):
        abort(404, "There is nothing here: the number in the address is too large.")


def refuse(error: HTTPException) -> tuple[Response | str, int]:
    if not request.path.startswith(PROGRAMS):
        page = render_template("error.html", problem=error.description, token=login.csrf_token())
        return page, error.code or 500
    return jsonify(error=error.description), error.code or 500


def fail(error: Exception) -> tuple[Response, int]:
    LOG.error(line("internal error in the service", path=request.path), exc_info=error)
    return jsonify(error="Internal error; see the service's log."), 500


def add_headers(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response
