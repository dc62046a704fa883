"""The command as a whole: exit codes, errors as sentences, and help that is immediate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ls_crowd_plugin import __version__
from ls_crowd_plugin.cli import aggregate as aggregate_module
from ls_crowd_plugin.cli import main


@pytest.mark.parametrize(
    ("arguments", "words"),
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
    words: str,
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
    assert words in printed.err
    if arguments:
        assert printed.err.startswith("Error: ")
        assert printed.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert answers_csv.read_bytes() == before


def test_an_unexpected_error_is_one_sentence_and_a_traceback_only_on_request(
    monkeypatch: pytest.MonkeyPatch, answers_csv: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(aggregate_module, "read_answers", broken)
    command = ["aggregate", str(answers_csv), "--out", str(tmp_path / "out")]
    assert main(command) == 1
    sentence = "Error: Internal error (RuntimeError: two lines); run the command again with --debug"
    error = capsys.readouterr().err
    assert error.startswith(sentence)
    assert error.count("\n") == 1
    for with_debug in ([*command, "--debug"], ["--debug", *command]):
        assert main(with_debug) == 1
        error = capsys.readouterr().err
        assert error.startswith("Traceback")
        assert sentence in error


@pytest.mark.slow
def test_a_reader_that_closes_the_pipe_is_not_a_failure(answers_csv: Path, tmp_path: Path) -> None:
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


@pytest.mark.slow
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
