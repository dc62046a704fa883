"""Runs a real Label Studio for the demo and the tests: installed into a folder, started on a free port, stopped."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
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
from .process import Process

VERSION = "1.23.2"
OWNER = "owner@example.com"
START_SECONDS = 300.0  # a first start fills the database, which is slow on a busy machine
STOP_SECONDS = 20.0

OnMessage = Callable[[str], None]


def prepare(home: Path, on_message: OnMessage = lambda _: None) -> None:
    """Install Label Studio into `home/environment`, and create the data of a first start in `home/blank`.

    A first start takes a minute, so servers start from a copy of that data. Nothing is done twice; if another process
    is preparing the same folder, this one waits for it.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _install(home, on_message)
        _create_blank_data(home, on_message)


def _install(home: Path, on_message: OnMessage) -> None:
    stamp = home / f"installed-{VERSION}"
    if stamp.exists():
        return
    environment = home / "environment"
    on_message(f"Installing Label Studio {VERSION} into {environment}; this takes some minutes.")
    shutil.rmtree(environment, ignore_errors=True)
    venv.create(environment, with_pip=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, f"label-studio=={VERSION}"], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise CrowdError(f"Label Studio {VERSION} could not be installed: {reason}")
    stamp.touch()


def _create_blank_data(home: Path, on_message: OnMessage) -> None:
    blank = home / "blank"
    if blank.exists():
        return
    on_message("Filling Label Studio's database for the first time.")
    unfinished = home / f"filling-{os.getpid()}"
    shutil.rmtree(unfinished, ignore_errors=True)
    with Server(home, unfinished):
        pass
    unfinished.rename(blank)


class Server:
    """A running Label Studio; a context manager that stops it at the end.

    The password and the token of its owner are random; they are created at the first start and kept beside the data.
    """

    def __init__(
        self, home: Path, data: Path, *, port: int | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.home, self.data = home, data
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = data / "server.log"
        self._environment = environment or {}
        self._process: Process | None = None
        self.password = self.key = ""

    def start(self) -> Server:
        """Start Label Studio and wait until it answers."""
        if not self.data.exists() and (self.home / "blank").exists():
            shutil.copytree(self.home / "blank", self.data)
        self.data.mkdir(parents=True, exist_ok=True)
        self.password, self.key = _credentials(self.data / "owner.txt")
        command = [
            str(self.home / "environment" / "bin" / "label-studio"),
            *("start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(self.port)),
            "--enable-legacy-api-token",
        ]
        self._process = Process(command, self.log, {**os.environ, **self._settings(), **self._environment})
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop Label Studio, if it runs."""
        process, self._process = self._process, None
        if process is not None and process.is_running:
            process.stop(STOP_SECONDS, with_children=True)

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
            "SSRF_PROTECTION_ENABLED": "false",  # otherwise it refuses to call a webhook on this machine
        }

    def _wait_until_ready(self, process: Process) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            if not process.is_running:
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
    """Return the owner's password and token; create them if the file does not exist."""
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(f"{secrets.token_urlsafe(12)}\n{secrets.token_hex(20)}\n", encoding="utf-8")
    password, key = file.read_text(encoding="utf-8").split()
    return password, key


if __name__ == "__main__":
    prepare(Path(sys.argv[1]), print)
