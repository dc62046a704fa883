"""`ls-crowd evaluate`: a row for each method, a choice, and what more gold would buy."""

from __future__ import annotations

from pathlib import Path

import pytest

from ls_crowd_plugin.cli import main
from ls_crowd_plugin.cli.evaluate import _outlook
from ls_crowd_plugin.records import METHODS, Json
from tests.conftest import WriteCsv
from tests.support.ordered_crowds import rated_crowd


@pytest.mark.slow
def test_evaluation_prints_a_row_for_every_method_and_a_choice(
    answers_csv: Path, write_csv: WriteCsv, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = write_csv("gold.csv", [("task", "label"), *((f"t{n}", ("cat", "dog")[n % 2]) for n in range(7))])
    assert main(["evaluate", str(answers_csv), "--gold", str(gold), "--folds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:7]] == list(METHODS)
    (choice,) = (line for line in lines if line.startswith("Choose "))
    assert "fewer than 50" in choice
    start = next(number for number, line in enumerate(lines) if line.startswith("gold "))
    assert [line.split()[0] for line in lines[start + 1 : start + 5]] == ["0", "1", "2", "4"]
    assert lines[-1].startswith(("Twice as much gold", "More gold"))


@pytest.mark.slow
def test_evaluation_on_a_scale_prints_distances(write_csv: WriteCsv, capsys: pytest.CaptureFixture[str]) -> None:
    crowd = rated_crowd(1, labels=3, tasks=10, people=4, answers_per_task=4)
    answers = write_csv("answers.csv", [("task", "annotator", "label"), *crowd.rows])
    gold = write_csv("gold.csv", [("task", "label"), *((task, str(place)) for task, place in crowd.truth.items())])
    options = ["--folds", "2", "--ordered", "--decide", "distance"]
    assert main(["evaluate", str(answers), "--gold", str(gold), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[-3:] == ["distance", "±", "error"]
    (choice,) = (line for line in lines if line.startswith("Choose "))
    assert "places from the truth on average" in choice


def test_evaluation_by_distance_needs_a_scale(answers_csv: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(answers_csv), "--gold", "gold.csv", "--decide", "distance"]) == 2
    assert "--decide distance needs a scale" in capsys.readouterr().err


def curve(measure: str, *values: float, gold: int = 200) -> list[Json]:
    """What half and all of the gold made of a measure; its change has a standard error of 0.011."""
    shares = zip((gold // 2, gold), values, strict=True)
    return [{"gold": shown, "distance": None, measure: value, f"{measure}_change_se": 0.011} for shown, value in shares]


@pytest.mark.parametrize(
    ("rows", "step", "sentence"),
    [
        (
            curve("accuracy", 0.812, 0.84),
            ("accuracy", True),
            "More gold still helps: with half of it (100) auto is right on 81.2%, with all of it (200) on 84.0%"
            " (± 1.1%).",
        ),
        (
            curve("accuracy", 0.84, 0.812),
            ("accuracy", False),
            "More gold did not help: with half of it (100) auto is right on 84.0%, with all of it (200) on 81.2%"
            " (± 1.1%).",
        ),
        (
            curve("brier", 0.15, 0.12),
            ("brier", True),
            "More gold still helps: with half of it (100) auto has a Brier score of 0.150, with all of it (200) of"
            " 0.120 (± 0.011).",
        ),
        (
            curve("accuracy", 0.83, 0.84),
            None,
            "Twice as much gold made no clear difference, so a few more tasks would probably change nothing:"
            " with half of it (100) auto is right on 83.0%, with all of it (200) on 84.0% (± 1.1%).",
        ),
        (
            curve("accuracy", 0.83, 0.84, gold=40),
            None,
            "Twice as much gold made no clear difference, but it is too little to tell: with half of it (20) auto is"
            " right on 83.0%, with all of it (40) on 84.0% (± 1.1%).",
        ),
    ],
)
def test_what_more_gold_would_buy_is_said_with_what_was_measured(
    rows: list[Json], step: tuple[str, bool] | None, sentence: str
) -> None:
    assert _outlook(rows, step, "label") == sentence


def test_evaluation_refuses_too_little_gold(
    answers_csv: Path, write_csv: WriteCsv, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = write_csv("gold.csv", [("task", "label"), ("t0", "cat")])
    assert main(["evaluate", str(answers_csv), "--gold", str(gold)]) == 2
    assert "at least 2" in capsys.readouterr().err
