"""A real Label Studio of one's own: installed into a folder, started on a free port, stopped; for demo and tests."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import requests

from ..errors import CrowdError

VERSION = "1.23.2"
OWNER = "owner@example.com"
START_SECONDS = 300.0  # a first start fills the database, on a busy machine slowly
STOP_SECONDS = 20.0

Told = Callable[[str], None]


def prepare(home: Path, told: Told = lambda _: None) -> None:
    """Puts Label Studio into `home/environment`, and the data of a first start, which takes a minute, into
    `home/blank`: servers start from a copy. Where that is done nothing is; where another is doing it, it is waited for.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _install(home, told)
        _fill(home, told)


def _install(home: Path, told: Told) -> None:
    ready = home / f"installed-{VERSION}"
    if ready.exists():
        return
    environment = home / "environment"
    told(f"Installing Label Studio {VERSION} into {environment}; this takes some minutes.")
    shutil.rmtree(environment, ignore_errors=True)
    venv.create(environment, with_pip=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, f"label-studio=={VERSION}"], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise CrowdError(f"Label Studio {VERSION} could not be installed: {last}")
    ready.touch()


def _fill(home: Path, told: Told) -> None:
    blank = home / "blank"
    if blank.exists():
        return
    told("Filling Label Studio's database for the first time.")
    filling = home / f"filling-{os.getpid()}"
    shutil.rmtree(filling, ignore_errors=True)
    with Server(home, filling):
        pass
    filling.rename(blank)


class Server:
    """A running Label Studio; a context that stops it at the end.

    Its owner's password and token are drawn at the first start and kept beside the data, for this server only.
    """

    def __init__(
        self, home: Path, data: Path, *, port: int | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.home, self.data = home, data
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = data / "server.log"
        self._environment = environment or {}
        self._process: subprocess.Popen[bytes] | None = None
        self.password = self.key = ""

    def start(self) -> Server:
        """Starts it, and returns when it answers."""
        if not self.data.exists() and (self.home / "blank").exists():
            shutil.copytree(self.home / "blank", self.data)
        self.data.mkdir(parents=True, exist_ok=True)
        self.password, self.key = _credentials(self.data / "owner.txt")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603
                [
                    str(self.home / "environment" / "bin" / "label-studio"),
                    *("start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(self.port)),
                    "--enable-legacy-api-token",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self._settings(), **self._environment},
                start_new_session=True,  # so that Ctrl-C in the terminal is for its parent to handle
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Ends it, gently first."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _settings(self) -> dict[str, str]:
        return {
            "LABEL_STUDIO_BASE_DATA_DIR": str(self.data),
            "LABEL_STUDIO_USERNAME": OWNER,
            "LABEL_STUDIO_PASSWORD": self.password,
            "LABEL_STUDIO_USER_TOKEN": self.key,
            "COLLECT_ANALYTICS": "false",
            "LATEST_VERSION_CHECK": "false",
            "SSRF_PROTECTION_ENABLED": "false",  # or it would refuse to call a webhook on this machine
        }

    def _wait(self) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            if self._process is None or self._process.poll() is not None:
                raise CrowdError(f"Label Studio ended while starting; its log is {self.log}.")
            try:
                if requests.get(f"{self.url}/health", timeout=5).ok:
                    return
            except requests.exceptions.RequestException:
                time.sleep(0.1)
        raise CrowdError(f"Label Studio did not answer at {self.url} in {START_SECONDS:.0f} s; its log is {self.log}.")


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def _credentials(file: Path) -> tuple[str, str]:
    """The owner's password and token."""
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(f"{secrets.token_urlsafe(12)}\n{secrets.token_hex(20)}\n", encoding="utf-8")
    password, key = file.read_text(encoding="utf-8").split()
    return password, key


if __name__ == "__main__":
    prepare(Path(sys.argv[1]), print)
