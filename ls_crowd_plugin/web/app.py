"""The application: its parts put together, and what every answer has in common."""

from __future__ import annotations

from dataclasses import dataclass, field

from flask import Flask, Response, jsonify, render_template, request
from sqlalchemy import Engine
from werkzeug.exceptions import HTTPException

from ..log import LOG, line
from ..store import WorkList
from . import health, login, metrics, pages, receiver, views

LARGEST_BODY = 16 * 1024 * 1024  # an import of some thousand tasks comes as one event
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';"
    " img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",  # people's scores are not for the next user of a shared browser
}


@dataclass(frozen=True)
class Parts:
    """What the application needs from outside."""

    engine: Engine
    work: WorkList
    webhook_secret: str = field(repr=False)
    password_hash: str = field(repr=False)
    session_key: str = field(repr=False)
    quiet_seconds: float = 1.0
    longest_seconds: float = 15.0
    studio_url: str = ""  # where people open Label Studio
    encrypted: bool = False  # whether people reach the pages by https
    password: str = field(default="", repr=False)  # where it is a setting; of one that was made only the hash is known


def create_app(parts: Parts) -> Flask:
    app = Flask(__name__)
    app.config.update(
        SECRET_KEY=parts.session_key,
        MAX_CONTENT_LENGTH=LARGEST_BODY,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SECURE=parts.encrypted,
        SESSION_COOKIE_NAME="ls_crowd",
    )
    app.extensions["parts"] = parts
    views.set_up(app.jinja_env)
    counted = metrics.Counted()
    app.extensions["counted"] = counted
    app.extensions["attempts"] = login.Attempts()
    for blueprint in (receiver.blueprint, login.blueprint, pages.blueprint, health.blueprint, metrics.blueprint):
        app.register_blueprint(blueprint)

    @app.errorhandler(HTTPException)
    def refuse(error: HTTPException) -> tuple[Response | str, int]:
        if request.path.startswith("/project/"):
            return render_template("error.html", said=error.description, token=login.form_token()), error.code or 500
        return jsonify(error=error.description), error.code or 500

    @app.errorhandler(Exception)
    def fail(error: Exception) -> tuple[Response, int]:
        LOG.error(line("the service met an error of its own", path=request.path), exc_info=error)
        return jsonify(error="The service met an error of its own; its log says more."), 500

    @app.after_request
    def harden(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return app
