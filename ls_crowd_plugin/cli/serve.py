"""`ls-crowd serve`: the webhook receiver, the pages, and one worker in a process of its own."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from ..errors import CrowdError, NotAllowed, Rejected, Unreachable
from ..settings import SECRET_HEADER

if TYPE_CHECKING:
    from flask import Flask
    from sqlalchemy import Engine

    from ..settings import Settings
    from ..store import WorkList
    from ..web.app import Parts

THREADS = 8
BUSY_SECONDS = 0.5  # Label Studio gives up after one second
RESTART_SECONDS = 1.0
STOP_SECONDS = 30.0


@click.command(short_help="The service: webhooks in, consensus out.")
def serve() -> None:
    """Receives Label Studio's webhooks, shows how projects stand, and runs a worker that keeps their consensus true.

    Stops with SIGTERM or Ctrl-C; what was under way is ended, or done again at the next start.
    """
    from ..log import LOG, line, log_to_stderr
    from ..settings import read_settings
    from ..web import create_app
    from .parts import databases

    settings = read_settings()
    log_to_stderr()
    with databases(settings, BUSY_SECONDS) as (engine, work):
        _check_key(settings)
        server = _listening(create_app(_parts(settings, engine, work)), settings)
        worker = _Supervised()
        worker.start()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)
        address = f"http://{settings.host}:{settings.port}"
        LOG.info(line("serving", at=address, webhooks=f"{settings.public_url}/webhook"))
        try:
            server.run()
        finally:
            LOG.info(line("stopping"))
            server.close()
            worker.stop()


def _listening(app: Flask, settings: Settings) -> Any:
    """A server that has its port."""
    from waitress.server import create_server

    from ..web.app import LARGEST_BODY

    try:
        return create_server(
            app,
            host=settings.host,
            port=settings.port,
            threads=THREADS,
            max_request_body_size=LARGEST_BODY,
            channel_timeout=30,
            ident="",
        )
    except OSError as error:
        raise CrowdError(
            f"The service cannot listen at {settings.host}:{settings.port} ({error.strerror}); choose another"
            " LS_CROWD_HOST or LS_CROWD_PORT."
        ) from None


def _leave(*_: object) -> None:
    raise SystemExit(0)


def _check_key(settings: Settings) -> None:
    """A wrong key is said now; a Label Studio that is not up yet is waited for."""
    from ..log import LOG, line
    from .parts import label_studio

    try:
        label_studio(settings, patient=False).projects()
    except (NotAllowed, Rejected):
        raise
    except Unreachable as error:
        LOG.warning(line("Label Studio is not there yet", why=str(error)))


def _parts(settings: Settings, engine: Engine, work: WorkList) -> Parts:
    from werkzeug.security import generate_password_hash

    from ..store.secrets import kept_secret
    from ..web.app import Parts

    password_hash, secret = generate_password_hash(settings.password), settings.webhook_secret
    if not settings.password:
        password = secrets.token_urlsafe(12)
        password_hash, is_new = kept_secret(engine, "password hash", generate_password_hash(password))
        if is_new:
            click.echo(f"Password for the pages, shown this once: {password}")
    if not secret:
        secret, is_new = kept_secret(engine, "webhook secret")
        if is_new:
            click.echo(f"Webhook secret (header {SECRET_HEADER}), shown this once: {secret}")
    return Parts(
        engine=engine,
        work=work,
        webhook_secret=secret,
        password_hash=password_hash,
        session_key=kept_secret(engine, "session key")[0],
        quiet_seconds=settings.quiet_seconds,
        longest_seconds=settings.longest_seconds,
        studio_url=settings.url.rstrip("/"),
        encrypted=settings.public_url.startswith("https:"),
        password=settings.password,
    )


class _Supervised:
    """A worker process that is started again whenever it dies, until it is to stop."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._thread.join(5)

    def _keep(self) -> None:
        from ..log import LOG, line

        command = [sys.executable, "-m", "ls_crowd_plugin", "worker", "--supervised"]
        environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ}  # one core is enough for it
        while not self._stopping.is_set():
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)  # noqa: S603
            code = self._process.wait()
            if not self._stopping.is_set():
                LOG.error(line("worker ended and is started again", code=code))
                self._stopping.wait(RESTART_SECONDS)
