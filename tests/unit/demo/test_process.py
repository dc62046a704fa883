"""Processes write to their log, and are stopped gently or killed with their children."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from ls_crowd_plugin.demo.process import Process
from tests.support.waiting import eventually

CHILD = "import subprocess, sys, time; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"


def start(script: str, log: Path) -> Process:
    return Process([sys.executable, "-u", "-c", script], log, os.environ)


def wait_for_output(log: Path) -> str:
    return eventually(lambda: log.read_text(encoding="utf-8"))


def is_alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text(encoding="utf-8")


def test_output_is_appended_to_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for _ in range(2):
        assert start("import sys; print('out'); print('error', file=sys.stderr); sys.exit(3)", log).wait(30) == 3
    assert log.read_text(encoding="utf-8") == "out\nerror\n" * 2


def test_a_process_that_handles_the_signal_stops_with_its_own_exit_code(tmp_path: Path) -> None:
    script = "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(5)); print('ready'); time.sleep(60)"
    process = start(script, tmp_path / "log")
    wait_for_output(tmp_path / "log")
    assert process.is_running
    assert process.stop(30) == 5
    assert not process.is_running


def test_a_process_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    script = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready'); time.sleep(60)"
    process = start(script, tmp_path / "log")
    wait_for_output(tmp_path / "log")
    assert process.stop(0.2) == -signal.SIGKILL


def test_a_process_that_has_ended_can_be_stopped_and_killed(tmp_path: Path) -> None:
    process = start("import sys; sys.exit(4)", tmp_path / "log")
    process.wait(30)
    assert (process.stop(1), process.kill()) == (4, 4)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_children_are_killed_too(tmp_path: Path) -> None:
    process = start(f"{CHILD}; print(child.pid); time.sleep(60)", tmp_path / "log")
    child = int(wait_for_output(tmp_path / "log"))
    assert is_alive(child)
    process.kill()
    eventually(lambda: not is_alive(child))
