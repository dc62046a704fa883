"""Gold from the files that people have: a column for each control, several labels in a cell, Label Studio's export."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ls_crowd_plugin.cli import main, setup
from ls_crowd_plugin.store import open_store
from ls_crowd_plugin.store.gold import list_gold
from tests.support.memory_studio import PROJECT, MemoryStudio

CONFIG = (
    '<View><Text name="text" value="$text"/>'
    '<Choices name="mood" toName="text"><Choice value="good"/><Choice value="so, so"/></Choices>'
    '<Choices name="issues" toName="text" choice="multiple"><Choice value="Price"/><Choice value="Shipping"/></Choices>'
    '<Rating name="stars" toName="text" maxRating="3"/></View>'
)
PRICE, SHIPPING = "issues: Price", "issues: Shipping"
FIRST = {(1, "mood"): "good", (1, PRICE): "yes", (1, SHIPPING): "yes", (1, "stars"): "3"}
Add = Callable[[str, str], tuple[int, str, dict[tuple[int, str], str]]]


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Add:
    """Adds a file of a name and text; returns the exit code, what was printed, and the gold in the database."""
    url = f"sqlite:///{tmp_path / 'crowd.db'}"
    settings = {"LABEL_STUDIO_URL": "http://studio.example", "LABEL_STUDIO_API_KEY": "k", "LS_CROWD_DATABASE_URL": url}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    studio = MemoryStudio([1, 2])
    studio.project_rows[PROJECT]["label_config"] = CONFIG
    monkeypatch.setattr(setup, "label_studio", lambda _: studio)

    def add(name: str, text: str) -> tuple[int, str, dict[tuple[int, str], str]]:
        (tmp_path / name).write_text(text, encoding="utf-8")
        code = main(["gold", "add", str(PROJECT), "--file", str(tmp_path / name)])
        printed = capsys.readouterr()
        with open_store(url) as store, store.data.connect() as connection:
            return code, printed.out + printed.err, list_gold(connection, PROJECT)

    return add


@pytest.mark.parametrize(
    "text",
    [
        'task,mood,issues,stars\n1,good,"Price, Shipping",3\n',
        "Task;Mood;Issues;Stars\n1;good;Price|Shipping;3\n",
        "task\tmood\tissues\tstars\n1\tgood\tShipping; Price\t3\n",
        'task,mood,issues,stars,note\n1,good,"[""Price"", ""Shipping""]",3,\n',
        'task,mood,issues,stars\n1,good,"{""choices"": [""Price"", ""Shipping""]}",3\n',
        "task,mood,issues: Price,issues: Shipping,stars\n1,good,yes,yes,3\n",
    ],
)
def test_a_column_for_each_control_may_hold_several_labels(add: Add, text: str) -> None:
    assert add("gold.csv", text) == (0, "4 gold labels added to project 7; the next sync uses them.\n", FIRST)


def test_of_an_empty_cell_nothing_is_known_and_a_label_may_have_a_comma(add: Add) -> None:
    assert add("gold.csv", 'task,mood,issues\n1,"so, so",\n2,,Price\n')[2] == {
        (1, "mood"): "so, so",
        (2, PRICE): "yes",
        (2, SHIPPING): "no",
    }


def test_an_export_of_label_studio_is_gold(add: Add) -> None:
    def item(control: str, kind: str, value: object) -> dict[str, object]:
        return {"from_name": control, "to_name": "text", "type": kind, "value": {kind: value}}

    result = [item("mood", "choices", ["good"]), item("issues", "choices", ["Price", "Shipping"])]
    annotations = [{"result": [*result, item("stars", "rating", 3)]}, {"result": [], "was_cancelled": True}]
    assert add("export.json", json.dumps([{"id": 1, "annotations": annotations}]))[2] == FIRST


def test_one_row_for_each_label_still_counts_and_replacing_is_said(add: Add) -> None:
    assert add("gold.csv", "task,question,label\n1,mood,good\n")[2] == {(1, "mood"): "good"}
    code, printed, gold = add("gold.csv", 'task,question,label\n1,mood,"so, so"\n2,mood,good\n')
    assert (code, gold) == (0, {(1, "mood"): "so, so", (2, "mood"): "good"})
    assert printed.startswith("2 gold labels added to project 7 (1 of them replaced)")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("gold.csv", "task,mood\n9,good\n1,good\n", "Project 7 has no task 9; no gold was added"),
        ("gold.csv", "task,mood\n1,good\n2,awful\n", "line 3: the project has no such labels (mood 'awful')"),
        ("gold.csv", "task,issues\n1,Price; Colour\n", "line 2: the project has no such labels"),
        ("gold.csv", "task,mood\nx,good\n", "names task 'x'"),
        ("gold.csv", 'task,mood\n1,good\n1,"so, so"\n', "line 3: 'mood' is 'so, so' here and 'good' elsewhere"),
        ("gold.csv", "task,colour\n1,red\n", "has no column 'label'"),
        ("gold.csv", 'task,mood\n1,"good\n', "is not CSV"),
        ("export.json", "{}", "is not an export of Label Studio"),
        ("export.json", "[", "is not a JSON file that can be read"),
    ],
)
def test_what_cannot_be_used_adds_nothing(add: Add, name: str, text: str, words: str) -> None:
    code, printed, gold = add(name, text)
    assert (code, gold) == (2, {})
    assert words in printed
