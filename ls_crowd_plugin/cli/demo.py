"""`ls-crowd demo`: a real Label Studio with two projects and twenty simulated people, connected and served."""

from __future__ import annotations

import secrets
import shutil
import signal
import socket
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import CrowdError

if TYPE_CHECKING:
    from ..demo.play import Played
    from ..demo.server import Server
    from ..demo.service import Service

CONSENSUS_SECONDS = 180.0
SECRET_FILE = "webhook-secret.txt"  # noqa: S105, its name
PAUSE_SECONDS = 3.0  # between two answers


@click.command(short_help="A real Label Studio with a simulated crowd, connected and served.")
@click.option("--home", type=click.Path(path_type=Path, file_okay=False), help="Where all of it lives.")
@click.option("--reset", is_flag=True, help="Start over: forget the projects and what was found.")
@click.option("--check", is_flag=True, help="Start everything, see that consensus is there, and stop.")
def demo(home: Path | None, reset: bool, check: bool) -> None:
    """Installs Label Studio into an environment of its own, fills it with two projects and twenty simulated people
    (experts, sloppy ones, spammers, adversaries), connects and serves them, and goes on annotating until Ctrl-C.

    The first start takes some minutes, later ones go on where the last one stopped.
    """
    from ..demo.server import Server, prepare
    from ..demo.service import Service
    from ..store.database import default_file

    home = (home or default_file().parent / "demo").absolute()
    folder = home / "ls-crowd-demo"
    if reset and (folder / SECRET_FILE).exists():  # no folder that is somebody else's
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    click.echo(f"The demo lives in {home}.")
    with _busy("Preparing Label Studio"):
        prepare(home, click.echo)
    click.echo("Starting Label Studio and the service.")
    for number in (signal.SIGTERM, signal.SIGINT):  # also where a shell has it started with Ctrl-C ignored
        signal.signal(number, _interrupt)
    password, secret = _kept(folder / "password.txt"), _kept(folder / SECRET_FILE)
    with (
        Server(home, folder / "label-studio", port=_port(8080)) as server,
        Service(server, folder, _port(9090), password, secret) as service,
    ):
        _play(server, service, password, check)


def _play(server: Server, service: Service, password: str, check: bool) -> None:
    from ..demo import play, projects
    from ..labelstudio import Http

    http = Http(server.url, server.key)
    played = [play.play(http, project) for project in (projects.texts(), projects.pictures())]
    for each in played:
        _connect(service, each)
    _wait(service, played)
    click.echo(_addresses(server, service, password, played))
    if check:
        _check(http, service, played)
        click.echo("Consensus is there, in the dashboard and in Label Studio.")
    else:
        _go_on(http, played)


def _connect(service: Service, played: Played) -> None:
    """As anybody would do it with the commands; gold goes first, so that the first pass has it."""
    if played.fresh:
        path = service.log.parent / f"gold-{played.number}.csv"
        project = played.project
        known = zip(played.tasks[: project.gold], project.truth, strict=False)
        lines = ["task,label", *(f"{task},{project.labels[right]}" for task, right in known)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        service.run("gold", "add", str(played.number), "--file", str(path))
    service.run("connect", str(played.number))


def _wait(service: Service, played: list[Played]) -> None:
    """Until the service has found something out about each project."""
    until = time.monotonic() + CONSENSUS_SECONDS
    with service.session() as session:
        for each in played:
            while not session.get(f"{service.url}/api/projects/{each.number}", timeout=20).ok:
                if time.monotonic() > until:
                    raise CrowdError(f"There is no consensus after {CONSENSUS_SECONDS:.0f} s; see {service.log}.")
                time.sleep(0.2)


def _addresses(server: Server, service: Service, password: str, played: list[Played]) -> str:
    from ..demo.server import OWNER

    lines = [
        "",
        f"Dashboard     open {service.url}",
        f"              password {password}",
        f"Label Studio  open {server.url}/projects/{played[0].number}/data",
        f"              {OWNER}, password {server.password}",
        "",
    ]
    return "\n".join(lines)


def _check(http: Any, service: Service, played: list[Played]) -> None:
    """Raises unless both sides show consensus for every task that was answered."""
    from ..labelstudio import LabelStudio
    from ..pipeline.write import is_ours

    with service.session() as session:
        for each in played:
            page = session.get(f"{service.url}/project/{each.number}", timeout=20)
            told = session.get(f"{service.url}/api/projects/{each.number}", timeout=20).json()
            if not page.ok or each.project.title not in page.text:
                raise CrowdError(f"The dashboard does not show project {each.number}.")
            ours = {
                int(prediction["task"])
                for prediction in LabelStudio(http).predictions(each.number)
                if is_ours(prediction["model_version"]) and prediction["result"] and prediction["score"] is not None
            }
            if len(ours) != told["summary"]["tasks"] or not ours:
                raise CrowdError(f"Label Studio shows consensus on {len(ours)} tasks of project {each.number}.")


def _go_on(http: Any, played: list[Played]) -> None:
    """People go on annotating, until somebody stops it or everything is done."""
    import numpy as np

    from ..demo.play import annotate

    click.echo("People go on annotating: watch the consensus move. Ctrl-C stops everything.")
    generator = np.random.default_rng()
    given = 0
    try:
        while True:
            for each in played:
                given += annotate(http, each, generator)
            said = f"{given} more answers"
            click.echo(f"\r{said}" if sys.stdout.isatty() else said, nl=not sys.stdout.isatty())
            time.sleep(PAUSE_SECONDS)
    except KeyboardInterrupt:
        click.echo("\nStopping.")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _kept(file: Path) -> str:
    """A secret that is drawn once, and kept for nobody else to read."""
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(9), encoding="utf-8")
    return file.read_text(encoding="utf-8").strip()


def _port(usual: int) -> int:
    """The usual port, or a free one where somebody else has it."""
    from ..demo.server import free_port

    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", usual))
        except OSError:
            return free_port()
    return usual


def _busy(what: str) -> Any:
    """Something that moves in a terminal, so that nobody thinks it has died."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)
