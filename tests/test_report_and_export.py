"""`ls-crowd report` and `ls-crowd export`: what is known of a project, for people and for programs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from conftest import RunCommand
from crowd_found import CONTRARY, LABELS, PROJECT, fill
from test_pages import Tags

from ls_crowd_plugin.web.app import Parts


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite: what is read is tested on both with the pages."""
    return f"sqlite:///{tmp_path / 'crowd.db'}"


@pytest.fixture
def filled(parts: Parts, database_url: str) -> str:
    fill(parts)
    return database_url


def test_the_report_names_people_and_doubts(run_command: RunCommand, filled: str) -> None:
    done = run_command("report", str(PROJECT), LS_CROWD_DATABASE_URL=filled)
    assert (done.returncode, done.stderr) == (0, "")
    for who in CONTRARY:
        assert re.search(rf"Person {who} +contrary", done.stdout)
    assert "60 tasks, 540 answers, 20 annotators" in done.stdout
    assert "Least sure" in done.stdout


def test_the_page_to_mail_needs_nothing_else(run_command: RunCommand, filled: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = run_command("report", str(PROJECT), "--html", page, LS_CROWD_DATABASE_URL=filled)
    assert (done.returncode, done.stdout) == (0, f"The report is in {page}.\n")
    tags = Tags()
    tags.feed(page.read_text(encoding="utf-8"))
    assert (tags.open, tags.addresses) == ([], [])
    assert "<script" not in page.read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8").count("consistently contrary") >= len(CONTRARY)


def test_a_page_that_cannot_be_written_is_said(run_command: RunCommand, filled: str, tmp_path: Path) -> None:
    done = run_command("report", str(PROJECT), "--html", tmp_path / "no" / "x.html", LS_CROWD_DATABASE_URL=filled)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


@pytest.mark.parametrize("command", ["report", "export"])
def test_an_unknown_project_is_said(run_command: RunCommand, filled: str, command: str) -> None:
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


def test_all_forms_say_the_same(run_command: RunCommand, filled: str, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(("formats", "said"), [("xml", "no format 'xml'"), ("csv,json", "use --out")])
def test_a_wrong_use_is_said(run_command: RunCommand, filled: str, formats: str, said: str) -> None:
    done = run_command("export", str(PROJECT), "--format", formats, LS_CROWD_DATABASE_URL=filled)
    assert done.returncode == 2
    assert said in done.stderr
