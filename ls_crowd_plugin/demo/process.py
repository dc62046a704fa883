"""A command that runs beside this process: started with a log file, stopped gently or killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class Process:
    """A running command. Its output is appended to a log file."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603
                command,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal goes to the parent only, which stops this one
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self, seconds: float) -> int:
        """Wait for the command to end by itself, and return its exit code."""
        return self._process.wait(seconds)

    def stop(self, seconds: float, *, with_children: bool = False) -> int:
        """Ask the command to end, kill it if that takes longer than this, and return its exit code."""
        if self.is_running:
            with contextlib.suppress(ProcessLookupError):
                (os.killpg if with_children else os.kill)(self.pid, signal.SIGTERM)
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """End the command and all its children at once, and return its exit code."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        return self._process.wait()
