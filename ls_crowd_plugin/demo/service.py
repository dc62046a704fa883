"""`ls-crowd serve` beside a Label Studio of one's own, as a process to be waited for, asked and stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import requests

from ..errors import CrowdError
from ..settings import SECRET_HEADER
from .server import Server

READY_SECONDS = 120.0
STOP_SECONDS = 40.0
SECONDS = 20.0  # for one request


class Service:
    """A context that stops it at the end. Further settings are given by their names."""

    def __init__(
        self, server: Server, folder: Path, port: int, password: str, webhook_secret: str, **settings: str
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "service.log"
        self._password, self._secret = password, webhook_secret
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("LS_CROWD_")},
            "LABEL_STUDIO_URL": server.url,
            "LABEL_STUDIO_API_KEY": server.key,
            "LS_CROWD_DATABASE_URL": f"sqlite:///{folder / 'crowd.db'}",
            "LS_CROWD_PORT": str(port),
            "LS_CROWD_PASSWORD": password,
            "LS_CROWD_WEBHOOK_SECRET": webhook_secret,
            **settings,
        }

    def __enter__(self) -> Service:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ls_crowd_plugin", "serve"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that Ctrl-C in the terminal is for its parent to handle
            )
        until = time.monotonic() + READY_SECONDS
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise CrowdError(f"The service did not start; its log is {self.log}.")
            time.sleep(0.1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def run(self, *arguments: str) -> str:
        """A command of this project with the service's settings; what it says."""
        command = [sys.executable, "-m", "ls_crowd_plugin", *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise CrowdError(f"ls-crowd {' '.join(arguments)} failed: {done.stderr.strip()}")
        return done.stdout

    def session(self) -> requests.Session:
        """Somebody who has logged in."""
        session = requests.Session()
        page = session.get(f"{self.url}/login", timeout=SECONDS).text
        token = page.partition('name="token" value="')[2].partition('"')[0]
        form = {"token": token, "password": self._password}
        session.post(f"{self.url}/login", form, timeout=SECONDS).raise_for_status()
        return session

    def event(self, project: int) -> None:
        headers = {SECRET_HEADER: self._secret}
        address = f"{self.url}/webhook/{project}"
        requests.post(address, json={"action": "X"}, headers=headers, timeout=SECONDS).raise_for_status()

    def metric(self, name: str) -> float:
        lines = requests.get(f"{self.url}/metrics", timeout=SECONDS).text.splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} ")), 0.0)

    def wait_until_idle(self) -> None:
        while self.metric("ls_crowd_projects_waiting"):
            time.sleep(0.1)

    def _ready(self) -> bool:
        try:
            return requests.get(f"{self.url}/readyz", timeout=SECONDS).ok
        except requests.exceptions.RequestException:
            return False
