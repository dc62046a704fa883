"""A policy steers Label Studio's queue: tasks are opened for one more answer, and closed, and nothing is lost."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.pipeline import asking, fitting, rest
from ls_crowd_plugin.pipeline.connect import connect, disconnect
from ls_crowd_plugin.pipeline.context import Pace, RunFlags
from ls_crowd_plugin.pipeline.outcome import Kind, PassReport
from ls_crowd_plugin.pipeline.remembered import FitMemory
from ls_crowd_plugin.policy import Policy
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.policies import forget_policy, get_policy, save_policy
from ls_crowd_plugin.store.results import load_results
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import pass_over, report_of_pass
from tests.support.transactions import run

TASKS = range(1, 7)
POLICY = Policy(min_answers=2, max_answers=4, confidence=0.75)


@pytest.fixture(autouse=True)
def little_gold_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MIN_CHECKED", 0)


@pytest.fixture
def studio() -> MemoryStudio:
    """Six tasks, of which every one requires three answers, and nobody has given any."""
    studio = MemoryStudio()
    studio.project_rows[PROJECT]["maximum_annotations"] = 3
    for task in TASKS:
        studio.add_task(task)
    return studio


@pytest.fixture
def store(sqlite_store: Store) -> Store:
    run(sqlite_store.data, save_policy, PROJECT, POLICY)
    return sqlite_store


def answer(studio: MemoryStudio, *annotators: int, tasks: range = TASKS, label: str = "good") -> None:
    for task in tasks:
        for annotator in annotators:
            studio.annotate(task, annotator, label)


def steer(studio: MemoryStudio, store: Store, **flags: object) -> PassReport:
    return report_of_pass(studio, store, flags=RunFlags(**flags))  # type: ignore[arg-type]


def test_label_studio_itself_asks_for_the_least_number_of_answers(studio: MemoryStudio, store: Store) -> None:
    studio.annotate(1, 1, "good")
    steer(studio, store)
    assert studio.project_rows[PROJECT]["maximum_annotations"] == 2
    assert {row["overlap"] for row in studio.task_rows.values()} == {2}
    assert studio.writes.count("task") == 0
    assert studio.open_tasks(1) == [2, 3, 4, 5, 6]
    assert studio.open_tasks(2) == list(TASKS)


def test_a_skip_that_counts_does_not_replace_an_answer(studio: MemoryStudio, store: Store) -> None:
    studio.project_rows[PROJECT]["skip_queue"] = "IGNORE_SKIPPED"
    answer(studio, 1)
    studio.annotate(1, 2, "good", was_cancelled=True, result=[])
    steer(studio, store)
    assert studio.task_rows[1]["overlap"] == 3
    assert studio.open_tasks(3) == list(TASKS)


def test_a_task_is_asked_for_one_more_answer_until_its_label_is_settled(studio: MemoryStudio, store: Store) -> None:
    answer(studio, 1, 2)
    studio.annotate(1, 2, "bad")
    report = steer(studio, store)
    assert (studio.open_tasks(), studio.task_rows[1]["overlap"]) == ([1], 3)
    assert (report.steered.opened, report.steered.closed) == (1, 0)  # Label Studio has closed all others itself
    studio.annotate(1, 3, "good")
    steer(studio, store)
    assert studio.open_tasks() == [1]  # plurality is right with a probability of two thirds
    studio.annotate(1, 4, "good")
    steer(studio, store)
    assert studio.open_tasks() == []


def test_nothing_is_changed_that_is_as_it_should_be(studio: MemoryStudio, store: Store) -> None:
    answer(studio, 1, 2)
    studio.annotate(1, 2, "bad")
    steer(studio, store)
    for pace in Pace:
        assert pass_over(studio, store, flags=RunFlags(pace=pace)).kind is Kind.UNCHANGED
        assert studio.writes == []


def test_a_task_that_is_no_longer_settled_is_opened_again(studio: MemoryStudio, store: Store) -> None:
    answer(studio, 1, 2)
    steer(studio, store)
    assert studio.open_tasks() == []
    studio.annotate(3, 2, "bad")
    steer(studio, store)
    assert studio.open_tasks() == [3]


def test_an_open_task_that_is_settled_is_closed_when_nobody_works_on_it(studio: MemoryStudio, store: Store) -> None:
    answer(studio, 1, 2)
    studio.annotate(1, 2, "bad")
    steer(studio, store)
    studio.annotate(1, 2, "good")
    report = steer(studio, store, quiet_seconds=3600)
    assert (report.steered.waiting, studio.open_tasks()) == (1, [1])
    report = steer(studio, store, pace=Pace.SETTLE)
    assert (report.steered.closed, studio.open_tasks()) == (1, [])


def test_a_submit_during_a_change_leaves_no_wrong_counter(studio: MemoryStudio, store: Store) -> None:
    """Label Studio saves the whole task as it was before the submit."""
    answer(studio, 1, 2)
    studio.annotate(1, 2, "bad")
    steer(studio, store)
    answer(studio, 3, tasks=range(1, 2), label="bad")

    def submit_meanwhile() -> None:
        row = studio.task_rows[1]
        if studio.writes.count("task") == 1 and len(row["annotations"]) == 3:
            before = {name: row[name] for name in ("total_annotations", "is_labeled")}
            studio.annotate(1, 9, "good")
            row.update(before)

    studio.after_write = dict.fromkeys(range(1, 12), submit_meanwhile)
    assert steer(studio, store).steered.repaired == 1
    row = studio.task_rows[1]
    assert row["total_annotations"] == len(row["annotations"]) == 4
    assert row["is_labeled"] == (len(row["annotations"]) >= row["overlap"])


def test_settings_that_somebody_changes_are_changed_back(studio: MemoryStudio, store: Store) -> None:
    answer(studio, 1, 2)
    studio.annotate(1, 2, "bad")
    steer(studio, store)
    studio.change_project(PROJECT, {"maximum_annotations": 4, "sampling": "Uncertainty sampling"})
    assert studio.task_rows[1]["overlap"] == 4
    steer(studio, store)
    row = studio.project_rows[PROJECT]
    assert (row["maximum_annotations"], row["sampling"]) == (2, "Sequential sampling")
    assert (studio.open_tasks(), studio.task_rows[1]["overlap"]) == ([1], 3)


def test_advice_changes_nothing(studio: MemoryStudio, sqlite_store: Store) -> None:
    run(sqlite_store.data, save_policy, PROJECT, Policy(2, 4, 0.75, acts=False))
    answer(studio, 1, 2)
    studio.annotate(1, 2, "bad")
    before = {task: dict(row) for task, row in studio.task_rows.items()}
    steer(studio, sqlite_store)
    assert {task: row["overlap"] for task, row in studio.task_rows.items()} == dict.fromkeys(TASKS, 3)
    assert all(studio.task_rows[task]["is_labeled"] == before[task]["is_labeled"] for task in TASKS)
    with sqlite_store.data.connect() as connection:
        results = load_results(connection, PROJECT)
    assert results is not None
    assert results.figures.asking is not None
    assert results.figures.asking.tasks == {"not settled": 1, "settled": 5}


def test_a_dry_run_changes_nothing(studio: MemoryStudio, store: Store) -> None:
    answer(studio, 1, 2)
    steer(studio, store, dry_run=True)
    assert studio.writes == []


def test_disconnecting_restores_what_every_task_requires(studio: MemoryStudio, store: Store) -> None:
    answer(studio, 1, 2)
    studio.annotate(1, 2, "bad")
    connect(studio, store, PROJECT, address="http://here.example", secret="s", policy=POLICY)
    steer(studio, store)
    disconnect(studio, store, PROJECT, address="http://here.example")
    assert studio.project_rows[PROJECT]["sampling"] == "Sequential sampling"
    assert {row["overlap"] for row in studio.task_rows.values()} == {3}
    assert studio.open_tasks() == list(TASKS)
    with store.data.connect() as connection:
        assert get_policy(connection, PROJECT) is None


def test_without_a_policy_the_next_pass_restores_the_queue(studio: MemoryStudio, store: Store) -> None:
    answer(studio, 1, 2)
    studio.annotate(1, 2, "bad")
    steer(studio, store)
    run(store.data, forget_policy, PROJECT)
    steer(studio, store)
    assert studio.open_tasks(3) == list(TASKS)
    assert {row["overlap"] for row in studio.task_rows.values()} == {3}
    assert studio.settings()["model_version"] != ""
    assert pass_over(studio, store).kind is Kind.UNCHANGED


def test_where_a_policy_only_advises_the_queue_is_restored(studio: MemoryStudio, store: Store) -> None:
    answer(studio, 1, 2)
    steer(studio, store)
    run(store.data, save_policy, PROJECT, Policy(2, 4, 0.75, acts=False))
    steer(studio, store)
    assert studio.open_tasks(3) == list(TASKS)


def test_tasks_that_were_opened_are_restored_where_the_least_number_was_required_before(
    studio: MemoryStudio, store: Store
) -> None:
    studio.change_project(PROJECT, {"maximum_annotations": 2})
    answer(studio, 1, 2)
    studio.annotate(1, 2, "bad")
    steer(studio, store)
    assert studio.open_tasks() == [1]
    run(store.data, forget_policy, PROJECT)
    steer(studio, store)
    assert {row["overlap"] for row in studio.task_rows.values()} == {2}
    assert studio.open_tasks() == []


def test_a_task_that_the_budget_leaves_without_answers_stays_closed(studio: MemoryStudio, store: Store) -> None:
    run(store.data, save_policy, PROJECT, Policy(2, 4, 0.75, budget=9))
    answer(studio, 1, 2, tasks=range(1, 5))
    for _ in range(2):
        steer(studio, store, quiet_seconds=0)
        assert studio.open_tasks() == []  # one answer is left, and the tasks without answers need two


def test_only_closed_tasks_are_complete(studio: MemoryStudio, store: Store) -> None:
    answer(studio, 1, 2)
    studio.annotate(1, 2, "bad")
    recipe = Recipe(method="plu", task_meta="off", only_complete=True)
    pass_over(studio, store, recipe=recipe)
    assert sorted(studio.labels()) == [2, 3, 4, 5, 6]


def test_a_task_that_somebody_took_and_left_is_offered_to_another(studio: MemoryStudio, store: Store) -> None:
    """Label Studio keeps it for that person for a day."""
    answer(studio, 1, 2)
    studio.annotate(1, 2, "bad")
    studio.annotate(2, 2, "bad")
    steer(studio, store)
    studio.wait(2 * 3600)
    studio.annotate(2, 3, "bad")
    steer(studio, store)
    assert (studio.task_rows[1]["overlap"], studio.task_rows[2]["overlap"]) == (4, 4)
    slots = {task: studio.task_rows[task]["overlap"] - len(studio.task_rows[task]["annotations"]) for task in (1, 2)}
    assert slots == {1: 2, 2: 1}


def test_while_people_work_the_next_task_is_opened_without_a_new_fit(
    studio: MemoryStudio, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "LARGE_PROJECT", 0)
    monkeypatch.setattr(asking, "OPEN_PER_PERSON", 0)
    monkeypatch.setattr(asking, "SPARE", 2)
    fits = FitMemory()
    for task in TASKS:
        studio.annotate(task, 1, "good")
        studio.annotate(task, 2, "bad")
    answer(studio, 3, 4, tasks=range(6, 7))  # somebody new would need a new fit
    pass_over(studio, store, fits=fits)
    open_first = studio.open_tasks()
    assert len(open_first) == 2
    studio.annotate(open_first[0], 3, "good")
    studio.annotate(open_first[0], 4, "good")  # as many answers as allowed
    monkeypatch.setattr(fitting, "fit_project", None)
    report = report_of_pass(studio, store, flags=RunFlags(pace=Pace.LIVE), fits=fits)
    assert (report.steered.opened, report.steered.closed) == (1, 0)
    now_open = studio.open_tasks()
    assert open_first[1] in now_open
    assert len(set(now_open) - set(open_first)) == 1
    assert report.rest_due_in > 0
