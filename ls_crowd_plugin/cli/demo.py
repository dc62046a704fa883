"""`ls-crowd demo`: a real Label Studio with two projects and twenty simulated people, connected and served."""

from __future__ import annotations

import secrets
import shutil
import signal
import socket
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import CrowdError

if TYPE_CHECKING:
    from ..demo.live_project import LiveProject
    from ..demo.server import Server
    from ..demo.service import Service
    from ..labelstudio import Http

CONSENSUS_SECONDS = 180.0
SECRET_FILE = "webhook-secret.txt"  # noqa: S105, the name of the file
PAUSE_SECONDS = 3.0  # between two annotations


@click.command(short_help="Run a demo: a real Label Studio with a simulated crowd.")
@click.option("--home", type=click.Path(path_type=Path, file_okay=False), help="Folder for everything the demo needs.")
@click.option("--reset", is_flag=True, help="Start over: delete the projects and results of earlier runs.")
@click.option("--check", is_flag=True, help="Start everything, check that there is a consensus, and stop.")
def demo(home: Path | None, reset: bool, check: bool) -> None:
    """Install Label Studio into an environment of its own, create two projects with twenty simulated people (experts,
    sloppy ones, spammers, adversaries), connect and serve them, and keep annotating until Ctrl-C.

    The first start takes some minutes; later ones continue where the last one stopped.
    """
    from ..demo.server import Server, prepare
    from ..demo.service import Service
    from ..store.database import default_file

    home = (home or default_file().parent / "demo").absolute()
    folder = home / "ls-crowd-demo"
    if reset and (folder / SECRET_FILE).exists():  # never delete a folder that is not the demo's
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    click.echo(f"The demo is in {home}.")
    with _spinner("Preparing Label Studio"):
        prepare(home, click.echo)
    click.echo("Starting Label Studio and the service.")
    for number in (signal.SIGTERM, signal.SIGINT):  # some shells start background jobs with Ctrl-C ignored
        signal.signal(number, _interrupt)
    password, secret = _stored_secret(folder / "password.txt"), _stored_secret(folder / SECRET_FILE)
    with (
        Server(home, folder / "label-studio", port=_port(8080)) as server,
        Service(
            server.url,
            server.key,
            f"sqlite:///{folder / 'crowd.db'}",
            folder,
            port=_port(9090),
            password=password,
            webhook_secret=secret,
        ) as service,
    ):
        _run(server, service, password, check)


def _run(server: Server, service: Service, password: str, check: bool) -> None:
    from ..demo.live_project import ensure_project
    from ..demo.projects import pictures, texts
    from ..labelstudio import Http

    http = Http(server.url, server.key)
    projects = [ensure_project(http, project) for project in (texts(), pictures())]
    for project in projects:
        _connect(service, project)
    _wait_for_results(service, projects)
    click.echo(_addresses(server, service, password, projects))
    if check:
        _check(http, service, projects)
        click.echo("The consensus is in the dashboard and in Label Studio.")
    else:
        _keep_annotating(http, projects)


def _connect(service: Service, live: LiveProject) -> None:
    """Connect a project with the commands anybody would use; gold first, so that the first pass has it."""
    if live.is_new:
        path = service.log.parent / f"gold-{live.id}.csv"
        project = live.project
        gold = zip(live.tasks[: project.gold], project.truth, strict=False)
        lines = ["task,label", *(f"{task},{project.labels[right]}" for task, right in gold)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        service.run("gold", "add", str(live.id), "--file", str(path))
    service.run("connect", str(live.id))


def _wait_for_results(service: Service, projects: list[LiveProject]) -> None:
    """Wait until the service has results for each project."""
    deadline = time.monotonic() + CONSENSUS_SECONDS
    with service.session() as session:
        for live in projects:
            while not session.get(f"{service.url}/api/projects/{live.id}", timeout=20).ok:
                if time.monotonic() > deadline:
                    raise CrowdError(f"There is no consensus after {CONSENSUS_SECONDS:.0f} s; see {service.log}.")
                time.sleep(0.2)


def _addresses(server: Server, service: Service, password: str, projects: list[LiveProject]) -> str:
    from ..demo.server import OWNER

    lines = [
        "",
        f"Dashboard     open {service.url}",
        f"              password {password}",
        f"Label Studio  open {server.url}/projects/{projects[0].id}/data",
        f"              {OWNER}, password {server.password}",
        "",
    ]
    return "\n".join(lines)


def _check(http: Http, service: Service, projects: list[LiveProject]) -> None:
    """Raise unless both sides show a consensus for every task that was answered."""
    from ..labelstudio import LabelStudio
    from ..pipeline.plan import crowd_meta

    with service.session() as session:
        for live in projects:
            page = session.get(f"{service.url}/project/{live.id}", timeout=20)
            results = session.get(f"{service.url}/api/projects/{live.id}", timeout=20).json()
            if not page.ok or live.project.title not in page.text:
                raise CrowdError(f"The dashboard does not show project {live.id}.")
            tasks = {
                prediction.task
                for prediction in LabelStudio(http).predictions(live.id)
                if crowd_meta(prediction.result) and prediction.score is not None
            }
            if len(tasks) != results["summary"]["tasks"] or not tasks:
                raise CrowdError(f"Label Studio shows a consensus on {len(tasks)} tasks of project {live.id}.")


def _keep_annotating(http: Http, projects: list[LiveProject]) -> None:
    """Add annotations until somebody stops it."""
    import numpy as np

    from ..demo.live_project import add_annotation

    click.echo("People keep annotating: watch the consensus change. Ctrl-C stops everything.")
    generator = np.random.default_rng()
    added = 0
    try:
        while True:
            for live in projects:
                added += add_annotation(http, live, generator)
            text = f"{added} more annotations"
            click.echo(f"\r{text}" if sys.stdout.isatty() else text, nl=not sys.stdout.isatty())
            time.sleep(PAUSE_SECONDS)
    except KeyboardInterrupt:
        click.echo("\nStopping.")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _stored_secret(file: Path) -> str:
    """A secret that is generated once, in a file that nobody else can read."""
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(9), encoding="utf-8")
    return file.read_text(encoding="utf-8").strip()


def _port(preferred: int) -> int:
    """The preferred port, or a free one if it is in use."""
    from ..demo.server import free_port

    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", preferred))
        except OSError:
            return free_port()
    return preferred


def _spinner(text: str) -> AbstractContextManager[object]:
    """Something that moves in a terminal, so that nobody thinks it hangs."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)
