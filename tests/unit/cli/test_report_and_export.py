"""`ls-crowd report` and `ls-crowd export`: results of a project for people and for programs."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest

from ls_crowd_plugin.records import ProjectSummary
from ls_crowd_plugin.store import Store, open_store
from ls_crowd_plugin.store.results import save_results
from tests.conftest import RunCommand
from tests.support.known_crowd import CONTRARY, LABELS, PROJECT, store_crowd
from tests.support.pages import HtmlChecker
from tests.support.result_records import FIGURES, label_with_votes


@pytest.fixture
def filled(sqlite_store: Store, tmp_path: Path) -> str:
    """The address of a database with the results of a known crowd; pages are tested on both kinds of databases."""
    store_crowd(sqlite_store)
    sqlite_store.close()
    return f"sqlite:///{tmp_path / 'crowd.db'}"


@pytest.mark.slow
def test_the_report_names_people_and_doubts(run_command: RunCommand, filled: str) -> None:
    done = run_command("report", str(PROJECT), LS_CROWD_DATABASE_URL=filled)
    assert (done.returncode, done.stderr) == (0, "")
    for who in CONTRARY:
        assert re.search(rf"Person {who} +contrary", done.stdout)
    assert "60 tasks, 540 answers, 20 annotators" in done.stdout
    assert "Least confident labels" in done.stdout
    before, _, details = done.stdout.partition("\nDetails\n")
    assert "nats" in details
    assert "nats" not in before


def test_the_page_to_mail_needs_nothing_else(run_command: RunCommand, filled: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = run_command("report", str(PROJECT), "--html", page, LS_CROWD_DATABASE_URL=filled)
    assert (done.returncode, done.stdout) == (0, f"The report is in {page}.\n")
    content = page.read_text(encoding="utf-8")
    checked = HtmlChecker(content)
    assert (checked.open_tags, checked.addresses) == ([], [])
    assert "<script" not in content
    assert content.count("consistently contrary") >= len(CONTRARY)


def test_a_page_that_cannot_be_written_is_an_error(run_command: RunCommand, filled: str, tmp_path: Path) -> None:
    done = run_command("report", str(PROJECT), "--html", tmp_path / "no" / "x.html", LS_CROWD_DATABASE_URL=filled)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


@pytest.mark.parametrize("command", ["report", "export"])
def test_an_unknown_project_is_an_error_with_what_to_do(run_command: RunCommand, filled: str, command: str) -> None:
    done = run_command(command, "99", LS_CROWD_DATABASE_URL=filled)
    assert (done.returncode, done.stdout) == (1, "")
    assert "run 'ls-crowd sync 99' first" in done.stderr


def test_labels_are_printed_as_csv(run_command: RunCommand, filled: str) -> None:
    done = run_command("export", str(PROJECT), LS_CROWD_DATABASE_URL=filled)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [int(row["task"]) for row in rows] == list(range(1, 61))
    for row in rows:
        votes = json.loads(row["votes"])
        assert sum(votes.values()) == int(row["answers"])
        assert row["label"] in LABELS
        assert 0 <= float(row["confidence"]) <= 1
    assert sum(bool(row["gold"]) for row in rows) == 12


def test_all_formats_hold_the_same(run_command: RunCommand, filled: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run_command("export", str(PROJECT), "--format", "csv,json,jsonl", "--out", out, LS_CROWD_DATABASE_URL=filled)
    assert done.returncode == 0, done.stderr
    for name, key in (("labels", "task"), ("annotators", "annotator")):
        plain = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
        lines = [json.loads(line) for line in (out / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        with (out / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        assert plain == lines
        assert [str(row[key]) for row in plain] == [row[key] for row in table]
        assert list(plain[0]) == list(table[0])
    verdicts = {row["annotator"]: row["verdict"] for row in plain}
    assert {who for who, verdict in verdicts.items() if verdict == "contrary"} == set(CONTRARY)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "written"),
    [
        *((label, label) for label in ("-1", "+1", "-2.5", "+1e-3", "-.5", "-", "+", "++", "=", "good", "a=b", "7")),
        *((label, f"'{label}") for label in ("=1+1", "-1+1", "+cmd|' /C calc'!A0", "@SUM(A1)", "-foo", "\t=1", "-1 ")),
    ],
)
def test_only_text_that_a_spreadsheet_would_run_is_changed_in_csv(
    run_command: RunCommand, tmp_path: Path, label: str, written: str
) -> None:
    url, votes = f"sqlite:///{tmp_path / 'crowd.db'}", {1: label, 2: label, 3: "other"}
    with open_store(url) as store, store.data.begin() as connection:
        found = label_with_votes(votes, label=label, plurality=label, gold=label)
        save_results(connection, PROJECT, ProjectSummary(), FIGURES, [found], [])
    done = run_command("export", str(PROJECT), LS_CROWD_DATABASE_URL=url)
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert (row["label"], row["plurality"], row["gold"]) == (written, written, written)
    assert json.loads(row["votes"])[row["label"]] == 2
    done = run_command("export", str(PROJECT), "--format", "jsonl", LS_CROWD_DATABASE_URL=url)
    assert json.loads(done.stdout)["label"] == label


@pytest.mark.parametrize(("formats", "words"), [("xml", "no format 'xml'"), ("csv,json", "use --out")])
def test_wrong_use_is_an_error(run_command: RunCommand, filled: str, formats: str, words: str) -> None:
    done = run_command("export", str(PROJECT), "--format", formats, LS_CROWD_DATABASE_URL=filled)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_copy_of_the_database_is_enough(run_command: RunCommand, filled: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "crowd.db"
    copy.parent.mkdir()
    shutil.copy(filled.removeprefix("sqlite:///"), copy)
    assert run_command("report", str(PROJECT), LS_CROWD_DATABASE_URL=f"sqlite:///{copy}").returncode == 0
    assert [path.name for path in copy.parent.glob("*work*")] == []
