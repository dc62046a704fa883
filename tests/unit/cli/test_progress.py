"""The progress bar: on a terminal, and only when work takes long."""

from __future__ import annotations

import io
import sys

import pytest

from ls_crowd_plugin.cli import progress as progress_module
from ls_crowd_plugin.cli.progress import ProgressDisplay


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def stderr_shown(monkeypatch: pytest.MonkeyPatch, seconds_before_shown: float) -> str:
    """What appears on a terminal while something reports its progress."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress_module, "SECONDS_BEFORE_SHOWN", seconds_before_shown)
    with ProgressDisplay() as display:
        for step in range(3):
            display("Fitting [gem]", step / 2)
    return terminal.getvalue()


def test_progress_shows_on_a_terminal_when_the_work_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Fitting [gem]" in stderr_shown(monkeypatch, seconds_before_shown=0.0)


def test_progress_stays_silent_when_the_work_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stderr_shown(monkeypatch, seconds_before_shown=60.0) == ""
