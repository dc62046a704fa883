"""`ls-crowd aggregate`: the promised files, and the same bytes for the same input."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin import aggregation
from ls_crowd_plugin.cli import main
from ls_crowd_plugin.records import METHODS
from tests.conftest import ANSWERS, RunCommand, WriteCsv
from tests.support.examples import examples

anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def read_header(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0]


def test_results_are_written_as_promised(
    run_command: RunCommand, answers_csv: Path, gold_csv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "out"
    done = run_command("aggregate", answers_csv, "--gold", gold_csv, "--out", out)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["annotators.csv", "consensus.csv", "run.json"]
    assert read_header(out / "consensus.csv") == "task,label,confidence,difficulty,answers,state"
    assert read_header(out / "annotators.csv") == (
        "annotator,answers,gold_answers,gold_correct,skill,skill_se,adversary_probability,weight,accuracy,verdict"
    )
    consensus = {row["task"]: row for row in read_rows(out / "consensus.csv")}
    assert {task: row["label"] for task, row in consensus.items()} == {
        f"t{number}": ("cat", "dog")[number % 2] for number in range(7)
    }
    assert consensus["t0"]["confidence"] == "1"
    assert {row["answers"] for row in consensus.values()} == {"4"}
    annotators = {row["annotator"]: row for row in read_rows(out / "annotators.csv")}
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
    assert read_header(tmp_path / "out" / "consensus.csv") == "task,question,label,confidence,difficulty,answers,state"
    found = {(row["task"], row["question"]): row["label"] for row in read_rows(tmp_path / "out" / "consensus.csv")}
    assert found == {(task, question): f"{question}!" for task in "12" for question in "xy"}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_fills_the_same_columns(method: str, answers_csv: Path, tmp_path: Path) -> None:
    assert main(["aggregate", str(answers_csv), "--method", method, "--quiet", "--out", str(tmp_path / "out")]) == 0
    may_be_empty = {"difficulty", "skill_se"} | ({"adversary_probability"} if method == "plu" else set())
    for name in ("consensus.csv", "annotators.csv"):
        for row in read_rows(tmp_path / "out" / name):
            assert {column for column, value in row.items() if not value} <= may_be_empty


def test_the_methods_are_those_of_the_aggregation() -> None:
    assert aggregation.METHODS == METHODS


@pytest.mark.slow
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


@settings(max_examples=examples(25))
@given(st.lists(st.tuples(anything, anything, anything), min_size=1, max_size=12))
def test_any_ids_and_labels_survive_the_whole_way(
    tmp_path_factory: pytest.TempPathFactory, triples: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    with (folder / "answers.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("task", "annotator", "label"), *triples])
    assert main(["aggregate", str(folder / "answers.csv"), "--method", "plu", "--out", str(folder)]) == 0
    assert {row["task"] for row in read_rows(folder / "consensus.csv")} == {task for task, _, _ in triples}
    assert {row["annotator"] for row in read_rows(folder / "annotators.csv")} == {who for _, who, _ in triples}
    answered = {(task, label) for task, _, label in triples}
    assert {(row["task"], row["label"]) for row in read_rows(folder / "consensus.csv")} <= answered


def test_quiet_prints_nothing_and_warnings_go_to_stderr(
    run_command: RunCommand, write_csv: WriteCsv, tmp_path: Path
) -> None:
    answers = write_csv("one.csv", [("task", "annotator", "label"), ("1", "ann", "cat"), ("2", "ann", "dog")])
    done = run_command("aggregate", answers, "--quiet", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr
    assert all(line.startswith("warning: ") for line in done.stderr.splitlines())


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


def rating(task: int, who: str) -> str:
    """From 1 to 10; `c` gives one more than the others."""
    return str(1 + (task * 3 + (who == "c")) % 10)


def write_ratings(write_csv: WriteCsv) -> Path:
    """Ratings from 1 to 10, and a question without order."""
    rows = [(str(task), who, "stars", rating(task, who)) for task in range(12) for who in "abc"]
    rows += [(str(task), who, "colour", ("red", "blue", "green")[task % 3]) for task in range(12) for who in "abc"]
    return write_csv("ratings.csv", [("task", "annotator", "question", "label"), *rows])


def read_run(out: Path) -> dict[str, object]:
    run: dict[str, object] = json.loads((out / "run.json").read_text(encoding="utf-8"))
    return run


def test_one_question_is_ordered(write_csv: WriteCsv, tmp_path: Path) -> None:
    answers, out = str(write_ratings(write_csv)), tmp_path / "out"
    options = ["--ordered", "stars", "--decide", "distance", "--method", "gem"]
    assert main(["aggregate", answers, *options, "--out", str(out)]) == 0
    run = read_run(out)
    assert run["decide"] == "distance"
    assert "ordered-1" in str(run["why"])


def test_all_questions_are_ordered(write_csv: WriteCsv, tmp_path: Path) -> None:
    rows = [(str(task), who, rating(task, who)) for task in range(12) for who in "abc"]
    answers = write_csv("stars.csv", [("task", "annotator", "label"), *rows])
    assert main(["aggregate", str(answers), "--method", "gem", "--ordered", "--out", str(tmp_path / "out")]) == 0
    assert "ordered-1" in str(read_run(tmp_path / "out")["why"])


@pytest.mark.parametrize("are_codes", [False, True])
def test_without_the_option_numbers_are_ordered_if_the_answers_show_it(
    are_codes: bool, write_csv: WriteCsv, tmp_path: Path
) -> None:
    """Codes from 1 to 10, which are the ratings times three, modulo eleven, are not near each other."""
    factor = 3 if are_codes else 1
    rows = [(str(task), who, str(int(rating(task, who)) * factor % 11)) for task in range(12) for who in "abc"]
    answers = write_csv("numbers.csv", [("task", "annotator", "label"), *rows])
    assert main(["aggregate", str(answers), "--method", "gem", "--out", str(tmp_path / "out")]) == 0
    assert ("ordered-1" in str(read_run(tmp_path / "out")["why"])) != are_codes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ordered"], "The order of the labels of question 'colour' is not known; give the label set in order."),
        (["--ordered", "size"], "There is no question 'size' that could be ordered; choose among 'colour', 'stars'."),
        (["--decide", "distance"], "--decide distance needs a scale: give --ordered with it."),
    ],
)
def test_a_scale_that_is_not_known_is_wrong_use(
    run_command: RunCommand, write_csv: WriteCsv, tmp_path: Path, options: list[str], message: str
) -> None:
    failed = run_command("aggregate", write_ratings(write_csv), *options, "--out", tmp_path / "out")
    assert failed.returncode == 2
    assert message in failed.stderr


def test_people_who_copy_are_one_voice_on_request(write_csv: WriteCsv, tmp_path: Path) -> None:
    """Ten people of whom seven are right on each task, and three accounts that give the same wrong answer to half."""
    rows = []
    for task in range(120):
        for number in range(10):
            shift = 0 if (task + number) % 10 < 7 else 1 + (task * number) % 2
            rows.append((str(task), f"person {number}", "abc"[(task + shift) % 3]))
        rows += [(str(task), f"copy {number}", "abc"[(task + task % 2) % 3]) for number in range(3)]
    answers, groups = write_csv("copies.csv", [("task", "annotator", "label"), *rows]), []
    for options in ([], ["--rings"]):
        assert main(["aggregate", str(answers), *options, "--out", str(tmp_path / "out")]) == 0
        run = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
        groups.append([ring["annotators"] for ring in run["rings"]])
    assert groups == [[], [["copy 0", "copy 1", "copy 2"]]]
