"""Runs `ls-crowd serve` as a process: started, waited for, asked and stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import requests

from ..errors import CrowdError
from ..settings import SECRET_HEADER
from .process import Process

READY_SECONDS = 120.0
STOP_SECONDS = 60.0
REQUEST_SECONDS = 20.0
COMMAND = (sys.executable, "-m", "ls_crowd_plugin")

ServiceType = TypeVar("ServiceType", bound="Service")


class Service:
    """`ls-crowd serve`; a context manager that stops it at the end.

    Further settings are passed as keyword arguments, named like the environment variables.
    """

    def __init__(
        self,
        studio_url: str,
        key: str,
        database_url: str,
        folder: Path,
        *,
        port: int,
        password: str,
        webhook_secret: str,
        **settings: str,
    ) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.folder = folder
        self.log = folder / "service.log"
        self._password, self._webhook_secret = password, webhook_secret
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("LS_CROWD_")},
            "LABEL_STUDIO_URL": studio_url,
            "LABEL_STUDIO_API_KEY": key,
            "LS_CROWD_DATABASE_URL": database_url,
            "LS_CROWD_PORT": str(port),
            "LS_CROWD_PASSWORD": password,
            "LS_CROWD_WEBHOOK_SECRET": webhook_secret,
            **settings,
        }
        self._process: Process | None = None

    @property
    def pid(self) -> int:
        return self._started().pid

    def start(self: ServiceType) -> ServiceType:
        """Start the service and wait until it is ready."""
        self._process = Process([*COMMAND, "serve"], self.log, self.environment)
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> int:
        """Ask the service to end, kill it if it does not, and return its exit code."""
        return self._started().stop(STOP_SECONDS)

    def kill(self) -> None:
        """End the service and its workers at once."""
        self._started().kill()

    def __enter__(self: ServiceType) -> ServiceType:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def run(self, *arguments: str) -> str:
        """Run a command of `ls-crowd` with the service's settings, and return its output."""
        command = [*COMMAND, *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise CrowdError(f"ls-crowd {' '.join(arguments)} failed: {done.stderr.strip()}")
        return done.stdout

    def session(self) -> requests.Session:
        """Return a session that is logged in to the dashboard."""
        session = requests.Session()
        page = session.get(f"{self.url}/login", timeout=REQUEST_SECONDS).text
        token = page.partition('name="token" value="')[2].partition('"')[0]
        form = {"token": token, "password": self._password}
        session.post(f"{self.url}/login", form, timeout=REQUEST_SECONDS).raise_for_status()
        return session

    def event(self, project: int, action: str = "ANNOTATION_CREATED") -> int:
        """Send a webhook event as Label Studio does, and return the status of the answer."""
        headers = {SECRET_HEADER: self._webhook_secret}
        address = f"{self.url}/webhook/{project}"
        return requests.post(address, json={"action": action}, headers=headers, timeout=REQUEST_SECONDS).status_code

    def metrics(self) -> dict[str, float]:
        lines = requests.get(f"{self.url}/metrics", timeout=REQUEST_SECONDS).text.splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def idle(self) -> bool:
        """Whether no project waits for a pass, or for being known."""
        metrics = self.metrics()
        return metrics.get("ls_crowd_projects_waiting") == metrics.get("ls_crowd_projects_unconfirmed") == 0

    def wait_until_idle(self) -> None:
        while not self.idle():
            time.sleep(0.1)

    def ready(self) -> bool:
        try:
            return requests.get(f"{self.url}/readyz", timeout=REQUEST_SECONDS).ok
        except requests.exceptions.RequestException:
            return False

    def _wait_until_ready(self, process: Process) -> None:
        until = time.monotonic() + READY_SECONDS
        while not self.ready():
            if not process.is_running or time.monotonic() > until:
                raise CrowdError(f"The service did not start; its log is {self.log}.")
            time.sleep(0.05)

    def _started(self) -> Process:
        if self._process is None:
            raise CrowdError("The service has not been started; call start() first.")
        return self._process
