"""What several test files need: CSV files in a directory of their own, and the command as a process of its own."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

WriteCsv = Callable[[str, Iterable[Sequence[str]]], Path]
RunCommand = Callable[..., "subprocess.CompletedProcess[str]"]

# A machine that is busy with other things is no failure of a test.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# Seven tasks, four annotators; `d` answers against the others. Gold knows two tasks.
ANSWERS = [
    ("task", "annotator", "label"),
    *(
        (f"t{number}", who, "cat" if (number % 2 == 0) != (who == "d") else "dog")
        for number in range(7)
        for who in "abcd"
    ),
]
GOLD = [("task", "label"), ("t0", "cat"), ("t1", "dog")]


@pytest.fixture
def write_csv(tmp_path: Path) -> WriteCsv:
    def write(name: str, rows: Iterable[Sequence[str]]) -> Path:
        path = tmp_path / name
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
        return path

    return write


@pytest.fixture
def answers_csv(write_csv: WriteCsv) -> Path:
    return write_csv("answers.csv", ANSWERS)


@pytest.fixture
def gold_csv(write_csv: WriteCsv) -> Path:
    return write_csv("gold.csv", GOLD)


@pytest.fixture
def run_command() -> RunCommand:
    """Runs `ls-crowd` with the given arguments; keyword arguments are environment variables."""

    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "ls_crowd_plugin", *map(str, arguments)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, **environment},
            check=False,
        )

    return run
