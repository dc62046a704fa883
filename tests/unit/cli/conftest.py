"""The command line in this process: quicker than a process of its own, which the integration tests start."""

from __future__ import annotations

import contextlib
import io
import subprocess
from pathlib import Path

import pytest

from ls_crowd_plugin.cli import main
from tests.conftest import RunCommand


@pytest.fixture
def run_command(monkeypatch: pytest.MonkeyPatch) -> RunCommand:
    """Runs `ls-crowd` with the given arguments; keyword arguments are environment variables."""

    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        command = list(map(str, arguments))
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
            code = main(command)
        return subprocess.CompletedProcess(command, code, out.getvalue(), error.getvalue())

    return run
