"""The command keeps its contracts: exit codes, sentences, files, and the same bytes for the same input."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ANSWERS, RunCommand, WriteCsv
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin import __version__, aggregation
from ls_crowd_plugin.cli import aggregate as aggregate_module
from ls_crowd_plugin.cli import main
from ls_crowd_plugin.cli import progress as progress_module
from ls_crowd_plugin.cli.progress import ProgressDisplay

anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def header_of(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0]


def test_results_are_written_as_promised(
    run_command: RunCommand, answers_csv: Path, gold_csv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "out"
    done = run_command("aggregate", answers_csv, "--gold", gold_csv, "--out", out)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["annotators.csv", "consensus.csv", "run.json"]
    assert header_of(out / "consensus.csv") == "task,label,confidence,difficulty,answers"
    assert header_of(out / "annotators.csv") == (
        "annotator,answers,gold_answers,gold_correct,skill,skill_se,adversary_probability,weight,accuracy,verdict"
    )
    consensus = {row["task"]: row for row in rows_of(out / "consensus.csv")}
    assert {task: row["label"] for task, row in consensus.items()} == {
        f"t{number}": ("cat", "dog")[number % 2] for number in range(7)
    }
    assert consensus["t0"]["confidence"] == "1"
    assert {row["answers"] for row in consensus.values()} == {"4"}
    annotators = {row["annotator"]: row for row in rows_of(out / "annotators.csv")}
    assert [annotators[name]["gold_correct"] for name in "abcd"] == ["2", "2", "2", "0"]
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    facts = "method form why objective iterations converged seconds versions seed warnings"
    assert set(facts.split()) <= set(run)
    for word in ("7 tasks", "28 answers", "4 annotators", "2 gold labels", "consensus.csv"):
        assert word in done.stdout


def test_questions_come_after_tasks(write_csv: WriteCsv, tmp_path: Path) -> None:
    answers = write_csv(
        "answers.csv",
        [("task", "worker", "question", "label"), *((t, w, q, f"{q}!") for t in "12" for w in "ab" for q in "xy")],
    )
    gold = write_csv("gold.csv", [("task", "question", "label"), ("1", "x", "x!")])
    assert main(["aggregate", str(answers), "--gold", str(gold), "--out", str(tmp_path / "out")]) == 0
    assert header_of(tmp_path / "out" / "consensus.csv") == "task,question,label,confidence,difficulty,answers"
    found = {(row["task"], row["question"]): row["label"] for row in rows_of(tmp_path / "out" / "consensus.csv")}
    assert found == {(task, question): f"{question}!" for task in "12" for question in "xy"}


@pytest.mark.parametrize("method", aggregation.METHODS)
def test_every_method_fills_the_same_columns(method: str, answers_csv: Path, tmp_path: Path) -> None:
    assert main(["aggregate", str(answers_csv), "--method", method, "--quiet", "--out", str(tmp_path / "out")]) == 0
    may_be_empty = {"difficulty", "skill_se"} | ({"adversary_probability"} if method == "plu" else set())
    for name in ("consensus.csv", "annotators.csv"):
        for row in rows_of(tmp_path / "out" / name):
            assert {column for column, value in row.items() if not value} <= may_be_empty


def test_the_command_knows_all_methods() -> None:
    assert aggregate_module.METHODS == aggregation.METHODS


def test_same_input_and_seed_give_the_same_bytes(
    run_command: RunCommand, answers_csv: Path, gold_csv: Path, tmp_path: Path
) -> None:
    outputs = []
    for number in (1, 2):
        out = tmp_path / f"out{number}"
        run_command(
            "aggregate", answers_csv, "--gold", gold_csv, "--seed", "7", "--out", out, PYTHONHASHSEED=str(number)
        )
        run = json.loads((out / "run.json").read_text(encoding="utf-8"))
        assert run.pop("seconds") >= 0
        assert run["seed"] == 7
        outputs.append(((out / "consensus.csv").read_bytes(), (out / "annotators.csv").read_bytes(), json.dumps(run)))
    assert outputs[0] == outputs[1]


@settings(max_examples=25)
@given(st.lists(st.tuples(anything, anything, anything), min_size=1, max_size=12))
def test_any_ids_and_labels_survive_the_whole_way(
    tmp_path_factory: pytest.TempPathFactory, triples: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    with (folder / "answers.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("task", "annotator", "label"), *triples])
    assert main(["aggregate", str(folder / "answers.csv"), "--method", "plu", "--out", str(folder)]) == 0
    assert {row["task"] for row in rows_of(folder / "consensus.csv")} == {task for task, _, _ in triples}
    assert {row["annotator"] for row in rows_of(folder / "annotators.csv")} == {who for _, who, _ in triples}
    given_labels = {(task, label) for task, _, label in triples}
    assert {(row["task"], row["label"]) for row in rows_of(folder / "consensus.csv")} <= given_labels


def test_quiet_prints_nothing_and_warnings_go_to_stderr(
    run_command: RunCommand, write_csv: WriteCsv, tmp_path: Path
) -> None:
    answers = write_csv("one.csv", [("task", "annotator", "label"), ("1", "ann", "cat"), ("2", "ann", "dog")])
    done = run_command("aggregate", answers, "--quiet", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr
    assert all(line.startswith("warning: ") for line in done.stderr.splitlines())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Usage:"),
        (["agregate"], "No such command"),
        (["aggregate", "ANSWERS"], "Missing option '--out'"),
        (["aggregate", "--out", "OUT"], "Missing argument"),
        (["aggregate", "ANSWERS", "--method", "best", "--out", "OUT"], "is not one of"),
        (["aggregate", "ANSWERS", "--form", "paper", "--out", "OUT"], "--method gem"),
        (["aggregate", "ANSWERS", "--method", "gem", "--form", "none", "--out", "OUT"], "paper"),
        (["aggregate", "ANSWERS", "--seed", "x", "--out", "OUT"], "--seed"),
        (["aggregate", "ANSWERS", "--labels", "cat,,dog", "--out", "OUT"], "empty label"),
        (["aggregate", "ANSWERS", "--labels", "cat,cow", "--out", "OUT"], "line 5: the label 'dog'"),
        (["aggregate", "ANSWERS", "--gold", "nowhere.csv", "--out", "OUT"], "nowhere.csv does not exist"),
        (["aggregate", "ANSWERS", "--out", "ANSWERS"], "is a file"),
        (["evaluate", "ANSWERS"], "Missing option '--gold'"),
        (["evaluate", "ANSWERS", "--gold", "GOLD", "--folds", "1"], "--folds"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_code_2(
    arguments: list[str],
    said: str,
    answers_csv: Path,
    gold_csv: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = {"ANSWERS": str(answers_csv), "GOLD": str(gold_csv), "OUT": str(tmp_path / "out")}
    before = answers_csv.read_bytes()
    assert main([places.get(argument, argument) for argument in arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    if arguments:
        assert printed.err.startswith("Error: ")
        assert printed.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert answers_csv.read_bytes() == before


def test_unusable_input_leaves_earlier_results_alone(
    run_command: RunCommand, write_csv: WriteCsv, answers_csv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert run_command("aggregate", answers_csv, "--out", out).returncode == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    bad = write_csv("bad.csv", [*ANSWERS, ("t9", "a", "")])
    failed = run_command("aggregate", bad, "--out", out)
    assert failed.returncode == 2
    assert failed.stderr == f"Error: {bad}, line 30: the label is empty; fill it in or remove the row.\n"
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_an_unexpected_error_is_one_sentence_and_a_traceback_only_on_request(
    monkeypatch: pytest.MonkeyPatch, answers_csv: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(aggregate_module, "read_answers", broken)
    command = ["aggregate", str(answers_csv), "--out", str(tmp_path / "out")]
    assert main(command) == 1
    sentence = "Error: ls-crowd met an error of its own (RuntimeError: two lines); run the command again with --debug"
    error = capsys.readouterr().err
    assert error.startswith(sentence)
    assert error.count("\n") == 1
    for debugging in ([*command, "--debug"], ["--debug", *command]):
        assert main(debugging) == 1
        error = capsys.readouterr().err
        assert error.startswith("Traceback")
        assert sentence in error


def test_a_reader_that_leaves_is_no_failure(answers_csv: Path, tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "ls_crowd_plugin", "aggregate", str(answers_csv), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "run.json").exists()


def test_interrupting_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "answers.csv"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "ls_crowd_plugin", "aggregate", str(pipe), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # or the tests in a background job ignore it
    )
    with pipe.open("w"):  # opens when the command has begun to read
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, output, errors.strip()) == (130, "", "Error: Stopped by Ctrl-C.")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["aggregate", "--help"], ["evaluate", "-h"], ["--version"], ["demo", "-h"]]
)
def test_help_does_not_wait_for_numpy(arguments: list[str]) -> None:
    script = (
        "import sys; from ls_crowd_plugin.cli import main; code = main(sys.argv[1:]); "
        "heavy = {'numpy', 'scipy', 'rich'} & set(sys.modules); sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert __version__ in done.stdout if arguments == ["--version"] else "Usage: ls-crowd" in done.stdout


def test_evaluation_prints_a_row_for_every_method_and_a_choice(
    answers_csv: Path, write_csv: WriteCsv, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = write_csv("gold.csv", [("task", "label"), *((f"t{n}", ("cat", "dog")[n % 2]) for n in range(7))])
    assert main(["evaluate", str(answers_csv), "--gold", str(gold), "--folds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:7]] == list(aggregation.METHODS)
    assert lines[-1].startswith("Choose ")
    assert "fewer than 50" in lines[-1]


def test_evaluation_refuses_too_little_gold(
    answers_csv: Path, write_csv: WriteCsv, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = write_csv("gold.csv", [("task", "label"), ("t0", "cat")])
    assert main(["evaluate", str(answers_csv), "--gold", str(gold)]) == 2
    assert "at least 2" in capsys.readouterr().err


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
