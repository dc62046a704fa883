"""`ls-crowd serve`: the webhook receiver, the dashboard, and one worker in a process of its own."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import click

from ..errors import CrowdError, NotAllowed, Rejected, Unreachable
from ..settings import SECRET_HEADER

if TYPE_CHECKING:
    from flask import Flask
    from waitress.server import MultiSocketServer

    from ..settings import Settings
    from ..store import Store
    from ..web.context import AppContext

BUSY_SECONDS = 0.5  # Label Studio gives up after one second
RESTART_SECONDS = 1.0
STOP_SECONDS = 30.0
NAME_OF_HASH = "password hash"  # its name in the database


@click.command(short_help="Run the web service and a worker.")
def serve() -> None:
    """Receive Label Studio's webhooks, serve the dashboard, and run a worker that keeps the consensus up to date.

    Stops with SIGTERM or Ctrl-C; a running pass is finished, or repeated at the next start.
    """
    from ..log import LOG, line, log_to_stderr
    from ..settings import read_settings
    from ..web import create_app
    from .setup import store_of

    settings = read_settings()
    log_to_stderr()
    with store_of(settings, BUSY_SECONDS) as store:
        _check_key(settings)
        context = _app_context(settings, store)
        server = _bind(create_app(context), settings, context.webhook_secret)
        worker = _SupervisedWorker()
        worker.start()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _exit)
        address = f"http://{settings.host}:{settings.port}"
        LOG.info(line("serving", at=address, webhooks=f"{settings.public_url_shown}/webhook"))
        try:
            server.run()
        finally:
            LOG.info(line("stopping"))
            server.close()
            worker.stop()


def _bind(app: Flask, settings: Settings, secret: str) -> MultiSocketServer:
    """A server that is bound to its port."""
    from ..web.server import make_server, usable_connections

    try:
        return make_server(app, settings.host, settings.port, secret, connections=usable_connections())
    except OSError as error:
        raise CrowdError(
            f"The service cannot listen on {settings.host}:{settings.port} ({error.strerror}); choose another"
            " LS_CROWD_HOST or LS_CROWD_PORT."
        ) from None


def _exit(*_: object) -> None:
    raise SystemExit(0)


def _check_key(settings: Settings) -> None:
    """Fail now if the key is wrong; if Label Studio is not running yet, start without it."""
    from ..log import LOG, line
    from .setup import label_studio

    try:
        label_studio(settings, patient=False).projects()
    except (NotAllowed, Rejected):
        raise
    except Unreachable as error:
        LOG.warning(line("Label Studio does not answer yet", why=str(error)))


def _app_context(settings: Settings, store: Store) -> AppContext:
    from werkzeug.security import generate_password_hash

    from ..store.secrets import get_or_create_secret
    from ..web.context import AppContext

    password_hash = generate_password_hash(settings.password)
    if not settings.password:
        password = new_password()
        with store.data.begin() as connection:
            generated = generate_password_hash(password)
            password_hash, is_new = get_or_create_secret(connection, NAME_OF_HASH, generated)
        if is_new:
            click.echo(f"Password for the dashboard, shown only once: {password}")
    with store.data.begin() as connection:
        session_key, _ = get_or_create_secret(connection, "session key")
    return AppContext(
        store=store,
        webhook_secret=webhook_secret(settings, store),
        password_hash=password_hash,
        session_key=session_key,
        quiet_seconds=settings.quiet_seconds,
        max_wait_seconds=settings.max_wait_seconds,
        studio_url=settings.url_shown.rstrip("/"),
        public_url=settings.public_url_shown,
        trusted_proxies=settings.trusted_proxies,
        answer_price=settings.answer_price,
        password=settings.password,
    )


def new_password() -> str:
    return secrets.token_urlsafe(12)


def webhook_secret(settings: Settings, store: Store) -> str:
    """The configured secret, or one that is generated, and printed, at the first use."""
    from ..store.secrets import get_or_create_secret

    if settings.webhook_secret:
        return settings.webhook_secret
    with store.data.begin() as connection:
        secret, is_new = get_or_create_secret(connection, "webhook secret")
    if is_new:
        click.echo(f"Webhook secret (header {SECRET_HEADER}), shown only once: {secret}")
    return secret


class _SupervisedWorker:
    """A worker process that is restarted whenever it dies, until it is told to stop."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep_running, daemon=True)
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

    def _keep_running(self) -> None:
        from ..log import LOG, line

        command = [sys.executable, "-m", "ls_crowd_plugin", "worker", "--supervised"]
        environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ}  # one core is enough for it
        while not self._stopping.is_set():
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)  # noqa: S603
            code = self._process.wait()
            if not self._stopping.is_set():
                LOG.error(line("worker died and is restarted", code=code))
                self._stopping.wait(RESTART_SECONDS)
