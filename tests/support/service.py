"""The service and its workers as processes, to be watched, stopped and killed by tests."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType

from ls_crowd_plugin.demo import process, service
from ls_crowd_plugin.demo.server import free_port
from ls_crowd_plugin.errors import CrowdError

SECRET, PASSWORD = "webhook-secret-of-the-tests", "password-of-the-tests"
STOP_SECONDS = 60.0


class Process(process.Process):
    """`ls-crowd serve` or `ls-crowd worker` with a log file of its own."""

    def __init__(self, command: str, folder: Path, environment: dict[str, str]) -> None:
        log = folder / f"{command}-{time.monotonic_ns()}.log"
        super().__init__([*service.COMMAND, command], log, environment)

    def stop(self, seconds: float = STOP_SECONDS, *, with_children: bool = False) -> int:
        return super().stop(seconds, with_children=with_children)


class Service(service.Service):
    """`ls-crowd serve` with the settings of the tests; killed at the end of the context."""

    def __init__(self, studio_url: str, key: str, database_url: str, folder: Path, **settings: str) -> None:
        settings = {
            "LS_CROWD_QUIET_SECONDS": "0.2",
            "LS_CROWD_SETTLE_SECONDS": "0",  # an idle service has written everything
            "LS_CROWD_TASK_META": "off",
            "LS_CROWD_METHOD": "plu",
            **settings,
        }
        super().__init__(
            studio_url,
            key,
            database_url,
            folder,
            port=free_port(),
            password=PASSWORD,
            webhook_secret=SECRET,
            **settings,
        )

    def start(self) -> Service:
        try:
            return super().start()
        except CrowdError:
            raise AssertionError(self.log_text()) from None

    def log_text(self) -> str:
        """Return everything that the service and its workers have logged."""
        return "".join(path.read_text(encoding="utf-8") for path in sorted(self.folder.glob("*.log")))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
