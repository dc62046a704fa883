"""The service and its workers as processes of their own, to be watched, stopped and killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import requests

from ls_crowd_plugin.demo.server import free_port

SECRET, PASSWORD = "webhook-secret-of-the-tests", "password-of-the-tests"


def eventually(what: Callable[[], Any], seconds: float = 60.0) -> Any:
    """The first true answer; fails if there is none in time."""
    until = time.monotonic() + seconds
    while not (answer := what()):
        assert time.monotonic() < until, "It did not come to pass."
        time.sleep(0.05)
    return answer


class Process:
    """`ls-crowd serve` or `ls-crowd worker`; its log goes to a file."""

    def __init__(self, command: str, folder: Path, environment: dict[str, str]) -> None:
        self.log = folder / f"{command}-{time.monotonic_ns()}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ls_crowd_plugin", command],
                env={**os.environ, **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self) -> None:
        """At once, it and all its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Service:
    """`ls-crowd serve`, ready when the context is entered."""

    def __init__(self, studio_url: str, key: str, database_url: str, folder: Path, **settings: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        self.environment = {
            "LABEL_STUDIO_URL": studio_url,
            "LABEL_STUDIO_API_KEY": key,
            "LS_CROWD_DATABASE_URL": database_url,
            "LS_CROWD_PORT": str(self.port),
            "LS_CROWD_WEBHOOK_SECRET": SECRET,
            "LS_CROWD_PASSWORD": PASSWORD,
            "LS_CROWD_QUIET_SECONDS": "0.2",
            "LS_CROWD_TASK_META": "off",
            "LS_CROWD_METHOD": "plu",
            **settings,
        }
        self._process: Process | None = None

    def start(self) -> Service:
        self._process = Process("serve", self.folder, self.environment)
        eventually(self.ready)
        return self

    def ready(self) -> bool:
        assert self._process is not None
        assert self._process.process.poll() is None, self.said()
        try:
            return requests.get(f"{self.url}/readyz", timeout=5).ok
        except requests.exceptions.RequestException:
            return False

    def event(self, project: int, action: str = "ANNOTATION_CREATED") -> int:
        """An event as Label Studio sends it; the status of the answer."""
        headers = {"X-LS-Crowd-Secret": SECRET}
        return requests.post(
            f"{self.url}/webhook/{project}", json={"action": action}, headers=headers, timeout=5
        ).status_code

    def metrics(self) -> dict[str, float]:
        lines = requests.get(f"{self.url}/metrics", timeout=5).text.splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def idle(self) -> bool:
        return self.metrics().get("ls_crowd_projects_waiting") == 0

    def said(self) -> str:
        """All that it and its workers have logged."""
        return "".join(path.read_text(encoding="utf-8") for path in sorted(self.folder.glob("*.log")))

    def stop(self) -> int:
        assert self._process is not None
        return self._process.stop()

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()

    def __enter__(self) -> Service:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
