"""A policy where things are odd: people who leave, forge, skip or change settings, requests that fail, and crashes."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.errors import Rejected, Unreachable
from ls_crowd_plugin.pipeline import asking, rest
from ls_crowd_plugin.pipeline.asking import OPEN_PER_PERSON, SPARE
from ls_crowd_plugin.pipeline.connect import disconnect
from ls_crowd_plugin.pipeline.context import Pace, RunFlags
from ls_crowd_plugin.pipeline.outcome import Kind, PassReport
from ls_crowd_plugin.pipeline.remembered import FitMemory
from ls_crowd_plugin.policy import Policy
from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.gold import add_gold
from ls_crowd_plugin.store.policies import forget_policy, save_policy
from ls_crowd_plugin.store.results import load_results
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import PLURALITY, pass_over, report_of_pass
from tests.support.transactions import run

TASKS = range(1, 41)
POLICY = Policy(min_answers=2, max_answers=4, confidence=0.75)
HOUR = 3600.0


@pytest.fixture
def studio() -> MemoryStudio:
    """Forty tasks; two people disagree about each of the first twenty, and nobody has answered the others."""
    studio = MemoryStudio()
    for task in TASKS:
        studio.add_task(task)
    for task in TASKS[:20]:
        studio.annotate(task, 1, "good")
        studio.annotate(task, 2, "bad")
    return studio


@pytest.fixture
def store(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(asking, "MIN_CHECKED", 0)
    run(sqlite_store.data, save_policy, PROJECT, POLICY)
    return sqlite_store


def steer(studio: MemoryStudio, store: Store, **flags: object) -> PassReport:
    return report_of_pass(studio, store, flags=RunFlags(**flags))  # type: ignore[arg-type]


def finish_the_others(studio: MemoryStudio) -> None:
    """Give the tasks that nobody has answered as many answers as are allowed."""
    for task in TASKS[20:]:
        for who in (1, 2, 3, 4):
            studio.annotate(task, who, "good")


def overlaps(studio: MemoryStudio) -> dict[int, int]:
    return {task: row["overlap"] for task, row in studio.task_rows.items()}


def test_tasks_that_wait_for_hours_are_not_taken_for_held(studio: MemoryStudio, store: Store) -> None:
    steer(studio, store)
    before = overlaps(studio)
    studio.wait(3 * HOUR)
    studio.annotate(40, 1, "good")
    steer(studio, store)
    unanswered = [task for task in TASKS[20:] if overlaps(studio)[task] != before[task]]
    assert unanswered == []


def test_a_task_that_somebody_took_and_left_is_offered_once_more_though_nobody_else_works(store: Store) -> None:
    studio = MemoryStudio([1])
    studio.annotate(1, 1, "good")
    studio.annotate(1, 2, "bad")
    report = steer(studio, store)
    assert overlaps(studio) == {1: 3}
    assert HOUR - 120 < report.ask_again_in <= HOUR
    assert pass_over(studio, store).kind is Kind.UNCHANGED
    for expected in (4, 5, 5):
        studio.wait(HOUR)
        pass_over(studio, store)
        assert overlaps(studio) == {1: expected}
    assert pass_over(studio, store).kind is Kind.UNCHANGED


def test_the_last_tasks_with_too_few_answers_may_be_held_too(studio: MemoryStudio, store: Store) -> None:
    for task in TASKS[20:39]:
        studio.annotate(task, 1, "good")
        studio.annotate(task, 2, "good")
    steer(studio, store)
    studio.wait(HOUR)
    steer(studio, store)
    assert overlaps(studio)[40] == 3


def test_gold_is_answered_by_people_and_not_by_whoever_made_it(
    studio: MemoryStudio, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MIN_CHECKED", 3)
    run(sqlite_store.data, save_policy, PROJECT, POLICY)
    run(sqlite_store.data, add_gold, PROJECT, {(task, "mood"): "good" for task in TASKS[15:25]})
    for task in TASKS[20:25]:
        studio.annotate(task, 2, "good", updated_by=9)  # in the name of another
    steer(studio, sqlite_store)
    with sqlite_store.data.connect() as connection:
        results = load_results(connection, PROJECT)
    assert results is not None
    assert results.figures.asking is not None
    assert results.figures.asking.checked == 5


def test_one_task_that_cannot_be_changed_keeps_nothing_else_from_being_done(
    studio: MemoryStudio, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish_the_others(studio)
    change = studio.change_task

    def refuse(task: int, changes: dict[str, object]) -> None:
        if task == 3:
            raise Rejected('"text" key is expected in task data.')
        change(task, changes)

    monkeypatch.setattr(studio, "change_task", refuse)
    report = steer(studio, store)
    assert (report.steered.refused, report.steered.opened) == (1, SPARE + 4 * OPEN_PER_PERSON - 1)
    assert len(studio.labels()) == 40
    assert any("refuses to open or close: 1." in warning for warning in report.warnings)


def test_a_version_that_is_gone_does_not_keep_the_queue_from_being_restored(
    studio: MemoryStudio, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.change_project(PROJECT, {"maximum_annotations": 5})
    steer(studio, store)
    change = studio.change_project

    def refuse(project: int, changes: dict[str, object]) -> None:
        if "model_version" in changes:
            raise Rejected("Model version doesn't exist.")
        change(project, changes)

    monkeypatch.setattr(studio, "change_project", refuse)
    changes = disconnect(studio, store, PROJECT, address="http://here.example")
    assert "model_version" in " ".join(changes.problems)
    assert set(overlaps(studio).values()) == {5}
    assert len(studio.open_tasks()) == 40


def test_answers_of_a_deleted_user_take_a_place_and_are_no_answers(studio: MemoryStudio, store: Store) -> None:
    studio.task_rows[1]["annotations"][0]["completed_by"] = None
    steer(studio, store)
    assert (overlaps(studio)[1], 1 in studio.open_tasks(9)) == (3, True)


@pytest.mark.parametrize("forged", [2, 7])
def test_forged_answers_neither_close_a_task_nor_use_up_the_budget(
    studio: MemoryStudio, store: Store, forged: int
) -> None:
    run(store.data, save_policy, PROJECT, Policy(2, 4, 0.75, budget=200))
    for name in range(100, 100 + forged):
        studio.annotate(40, name, "good", updated_by=9)
    steer(studio, store)
    assert 40 in studio.open_tasks(1)
    assert overlaps(studio)[40] == forged + 2
    with store.data.connect() as connection:
        results = load_results(connection, PROJECT)
    assert results is not None
    assert results.figures.asking is not None
    assert results.figures.asking.forecast.answers == 40


@pytest.mark.parametrize("skip_queue", ["REQUEUE_FOR_ME", "REQUEUE_FOR_OTHERS", "IGNORE_SKIPPED"])
def test_skipped_tasks_are_served_to_others(studio: MemoryStudio, store: Store, skip_queue: str) -> None:
    studio.change_project(PROJECT, {"skip_queue": skip_queue})
    for who in (1, 2, 3):
        studio.annotate(40, who, "good", was_cancelled=True, result=[])
    steer(studio, store)
    assert 40 in studio.open_tasks(4)


def test_tasks_that_everybody_skips_are_given_up(studio: MemoryStudio, store: Store) -> None:
    for who in (1, 2, 3, 4):
        studio.annotate(40, who, "good", was_cancelled=True, result=[])
    steer(studio, store)
    assert 40 not in studio.open_tasks(5)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_crash_between_a_change_and_its_check_leaves_no_wrong_counter(
    studio: MemoryStudio, store: Store, number: int
) -> None:
    """Somebody submits during the change, and then Label Studio is gone."""
    finish_the_others(studio)
    steer(studio, store)
    for task in studio.open_tasks(3)[:3]:
        studio.annotate(task, 3, "bad")
    tasks: list[int] = []

    def submit_meanwhile() -> None:
        row = next(row for row in studio.task_rows.values() if row["overlap"] == 4 and not row["is_labeled"])
        before = {name: row[name] for name in ("total_annotations", "is_labeled")}
        studio.annotate(row["id"], 9, "good")
        row.update(before)
        tasks.append(row["id"])
        raise Unreachable("Label Studio is gone.")

    studio.writes.clear()
    studio.after_write = {number: submit_meanwhile}
    outcome = pass_over(studio, store)
    assert (outcome.kind, len(tasks)) == (Kind.FAILED, 1)
    studio.repair()
    steer(studio, store)
    row = studio.task_rows[tasks[0]]
    assert row["total_annotations"] == len(row["annotations"]) == 4
    assert row["is_labeled"] == (len(row["annotations"]) >= row["overlap"])


def test_what_label_studio_miscounts_by_itself_is_repaired(studio: MemoryStudio, store: Store) -> None:
    """Two people submit at the same moment, and one answer is not counted."""
    steer(studio, store)
    studio.annotate(40, 1, "good")
    studio.annotate(40, 2, "good")
    studio.task_rows[40]["total_annotations"] = 1
    steer(studio, store, pace=Pace.LIVE)
    assert studio.task_rows[40]["total_annotations"] == 1
    assert steer(studio, store, pace=Pace.SETTLE).steered.repaired == 1
    row = studio.task_rows[40]
    assert (row["total_annotations"], row["is_labeled"]) == (2, True)
    assert pass_over(studio, store, flags=RunFlags(pace=Pace.SETTLE)).kind is Kind.UNCHANGED


def test_a_higher_least_number_reaches_tasks_that_nobody_has_answered(studio: MemoryStudio, store: Store) -> None:
    run(store.data, save_policy, PROJECT, Policy(1, 4, 0.75))
    steer(studio, store)
    run(store.data, save_policy, PROJECT, POLICY)
    steer(studio, store)
    assert {overlaps(studio)[task] for task in TASKS[20:]} == {2}


def test_what_came_first_before_the_policy_comes_first_after_it(studio: MemoryStudio, store: Store) -> None:
    studio.change_project(PROJECT, {"sampling": "Uncertainty sampling"})
    steer(studio, store)
    assert studio.project_rows[PROJECT]["sampling"] == "Sequential sampling"
    run(store.data, forget_policy, PROJECT)
    steer(studio, store)
    assert studio.project_rows[PROJECT]["sampling"] == "Uncertainty sampling"


def test_an_order_that_somebody_chose_meanwhile_stays(studio: MemoryStudio, store: Store) -> None:
    steer(studio, store)
    studio.change_project(PROJECT, {"sampling": "Uniform sampling"})
    run(store.data, forget_policy, PROJECT)
    steer(studio, store)
    assert studio.project_rows[PROJECT]["sampling"] == "Uniform sampling"


def test_a_task_that_somebody_closes_by_hand_is_opened_again(studio: MemoryStudio, store: Store) -> None:
    steer(studio, store)
    task = studio.open_tasks(3)[0]
    studio.change_task(task, {"is_labeled": True})
    steer(studio, store)
    assert task in studio.open_tasks(3)


def test_a_project_that_cannot_be_aggregated_keeps_its_queue(store: Store) -> None:
    studio = MemoryStudio([1])
    studio.change_project(PROJECT, {"maximum_annotations": 5})
    remarks = '<View><Text name="t" value="$text"/><TextArea name="remark" toName="t"/></View>'
    studio.project_rows[PROJECT]["label_config"] = remarks
    assert pass_over(studio, store).kind is Kind.PARKED
    assert overlaps(studio) == {1: 5}


def test_tasks_are_opened_where_nobody_s_answer_counts_yet(store: Store) -> None:
    studio = MemoryStudio([1])
    for name in (7, 8):
        studio.annotate(1, name, "good", updated_by=9)
    assert pass_over(studio, store).kind is Kind.NO_ANSWERS
    assert studio.open_tasks(1) == [1]


def test_every_waiting_task_has_its_turn_before_the_next_fit(
    studio: MemoryStudio, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "LARGE_PROJECT", 0)
    monkeypatch.setattr(asking, "SPARE", 3)
    monkeypatch.setattr("ls_crowd_plugin.pipeline.fitting.NEXT_IN_TURN", 4)
    finish_the_others(studio)
    fits = FitMemory()
    pass_over(studio, store, fits=fits)
    served: list[int] = []
    for _ in range(20):
        for task in studio.open_tasks(3):
            served.append(task)
            studio.annotate(task, 3, "good")
            studio.annotate(task, 4, "good")
        pass_over(studio, store, recipe=PLURALITY, flags=RunFlags(pace=Pace.LIVE), fits=fits)
    assert sorted(served) == list(TASKS[:20])
