"""`ls-crowd gold`; its `list` and `remove` need no Label Studio."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ls_crowd_plugin.cli import main, setup
from ls_crowd_plugin.controls import NONE
from ls_crowd_plugin.store import open_store
from ls_crowd_plugin.store.gold import add_gold
from tests.support.memory_studio import PROJECT, MemoryStudio

Run = Callable[..., tuple[int, str, str]]  # exit code, stdout, stderr


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `ls-crowd gold` with a database that holds gold of two projects."""
    url = f"sqlite:///{tmp_path / 'crowd.db'}"
    monkeypatch.setenv("LS_CROWD_DATABASE_URL", url)
    for name in ("LABEL_STUDIO_URL", "LABEL_STUDIO_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with open_store(url) as store, store.data.begin() as connection:
        add_gold(connection, 3, {(1, "mood"): "good", (1, "stars"): "4", (2, "mood"): "bad, or so"})
        add_gold(connection, 4, {(9, "mood"): "good"})

    def run(*arguments: str) -> tuple[int, str, str]:
        return main(["gold", *arguments]), *capsys.readouterr()

    return run


def test_gold_is_listed_as_csv(run: Run) -> None:
    assert run("list", "3") == (0, 'task,question,label\n1,mood,good\n1,stars,4\n2,mood,"bad, or so"\n', "")


def test_a_project_without_gold_has_an_empty_list(run: Run) -> None:
    assert run("list", "99") == (0, "task,question,label\n", "")


def test_gold_of_tasks_is_removed(run: Run) -> None:
    assert run("remove", "3", "1") == (0, "2 gold labels removed from project 3.\n", "")
    assert run("list", "3")[1] == 'task,question,label\n2,mood,"bad, or so"\n'
    assert run("list", "4")[1] == "task,question,label\n9,mood,good\n"


def test_gold_of_one_question_is_removed(run: Run) -> None:
    assert run("remove", "3", "1", "2", "--question", "stars")[1] == "1 gold label removed from project 3.\n"


def test_gold_that_does_not_exist_is_not_removed(run: Run) -> None:
    assert run("remove", "3", "77") == (0, "0 gold labels removed from project 3.\n", "")


@pytest.mark.parametrize("arguments", [("add", "3"), ("add", "3", "1"), ("add", "3", "1", "good", "--file", "x.csv")])
def test_adding_needs_a_task_and_a_label_or_a_file(run: Run, arguments: tuple[str, ...]) -> None:
    code, _, error = run(*arguments)
    assert (code, "Give a task and a label, or a --file." in error) == (2, True)


def test_adding_needs_label_studio(run: Run) -> None:
    code, _, error = run("add", "3", "1", "good")
    assert (code, "LABEL_STUDIO_URL is not set" in error) == (2, True)


@pytest.mark.parametrize(("ordered", "code"), [("", 0), ("quality", 2)])
def test_that_nothing_is_to_be_chosen_can_be_gold_unless_labels_are_a_scale(
    run: Run, monkeypatch: pytest.MonkeyPatch, ordered: str, code: int
) -> None:
    choices = "".join(f'<Choice value="{name}"/>' for name in ("poor", "fair", "good"))
    config = f'<View><Choices name="quality" toName="text">{choices}</Choices></View>'
    studio = MemoryStudio([1])
    studio.project_rows[PROJECT]["label_config"] = config
    monkeypatch.setattr(setup, "label_studio", lambda _: studio)
    settings = {"LABEL_STUDIO_URL": "http://studio.example", "LABEL_STUDIO_API_KEY": "key", "LS_CROWD_ORDERED": ordered}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert run("add", str(PROJECT), "1", "fair")[0] == 0
    assert run("add", str(PROJECT), "1", NONE)[0] == code
