"""The application: its parts put together, and what every answer has in common."""

from __future__ import annotations

from dataclasses import dataclass, field

from flask import Flask, Response, jsonify
from sqlalchemy import Engine
from werkzeug.exceptions import HTTPException

from ..store import WorkList
from . import health, metrics, pages, receiver

LARGEST_BODY = 16 * 1024 * 1024  # an import of some thousand tasks comes as one event
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
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
    password: str = field(default="", repr=False)  # where it is a setting; of one that was made only the hash is known


def create_app(parts: Parts) -> Flask:
    app = Flask(__name__)
    app.config.update(
        SECRET_KEY=parts.session_key,
        MAX_CONTENT_LENGTH=LARGEST_BODY,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_NAME="ls_crowd",
    )
    app.extensions["parts"] = parts
    counted = metrics.Counted()
    app.extensions["counted"] = counted
    app.extensions["attempts"] = pages.Attempts()
    for blueprint in (receiver.blueprint, pages.blueprint, health.blueprint, metrics.blueprint):
        app.register_blueprint(blueprint)

    @app.errorhandler(HTTPException)
    def refuse(error: HTTPException) -> tuple[Response, int]:
        return jsonify(error=error.description), error.code or 500

    @app.errorhandler(Exception)
    def fail(error: Exception) -> tuple[Response, int]:
        app.logger.error("The service met an error of its own (%s).", type(error).__name__)
        return jsonify(error="The service met an error of its own; its log says more."), 500

    @app.after_request
    def harden(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return app
