"""`ls-crowd evaluate`: a row for each method, and a choice."""

from __future__ import annotations

from pathlib import Path

import pytest

from ls_crowd_plugin.cli import main
from ls_crowd_plugin.records import METHODS
from tests.conftest import WriteCsv


@pytest.mark.slow
def test_evaluation_prints_a_row_for_every_method_and_a_choice(
    answers_csv: Path, write_csv: WriteCsv, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = write_csv("gold.csv", [("task", "label"), *((f"t{n}", ("cat", "dog")[n % 2]) for n in range(7))])
    assert main(["evaluate", str(answers_csv), "--gold", str(gold), "--folds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:7]] == list(METHODS)
    assert lines[-1].startswith("Choose ")
    assert "fewer than 50" in lines[-1]


def test_evaluation_refuses_too_little_gold(
    answers_csv: Path, write_csv: WriteCsv, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = write_csv("gold.csv", [("task", "label"), ("t0", "cat")])
    assert main(["evaluate", str(answers_csv), "--gold", str(gold)]) == 2
    assert "at least 2" in capsys.readouterr().err
