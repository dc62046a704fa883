"""A pass that the next one follows at once, or over a large project: answered tasks come first, everything else can
wait for a while."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.errors import Interrupted
from ls_crowd_plugin.pipeline import plan, project_pass
from ls_crowd_plugin.pipeline.context import Pace, RunFlags
from ls_crowd_plugin.pipeline.outcome import Kind, Outcome
from ls_crowd_plugin.pipeline.plan import VERSION
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import Store
from tests.support.memory_studio import MemoryStudio, mood
from tests.support.passes import PLURALITY, agreed_studio, answer_together, change_minds, pass_over
from tests.support.predictions import FEW

NEW_TASK = 99
OTHER_SCORES = Recipe(method="gem", task_meta="off")  # than by plurality, on all tasks


def live_pass(studio: MemoryStudio, store: Store, *, is_superseded: bool, recipe: Recipe = PLURALITY) -> Outcome:
    flags = RunFlags(pace=Pace.LIVE)
    return pass_over(studio, store, recipe=recipe, flags=flags, is_superseded=lambda: is_superseded)


@pytest.fixture(autouse=True)
def every_score_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "SCORE_STEP", 0.0)


def changed_tasks(studio: MemoryStudio, before: list[str]) -> int:
    return len(set(studio.contents()) - set(before))


def test_only_answered_tasks_are_written(memory_store: Store) -> None:
    studio = agreed_studio(FEW)
    for _ in range(3):  # then changes of other tasks are older than what is read once more
        pass_over(studio, memory_store)
        change_minds(studio, FEW[0])
    pass_over(studio, memory_store)
    before = studio.contents()
    change_minds(studio, FEW[0])
    assert live_pass(studio, memory_store, is_superseded=True, recipe=OTHER_SCORES).kind is Kind.DONE
    assert changed_tasks(studio, before) == 1
    assert live_pass(studio, memory_store, is_superseded=False, recipe=OTHER_SCORES).kind is Kind.DONE
    assert changed_tasks(studio, before) == len(FEW)


class TestLargeProjects:
    @pytest.fixture(autouse=True)
    def even_a_few_tasks_are_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(project_pass, "LARGE_PROJECT", len(FEW) - 1)

    @pytest.fixture
    def studio(self, memory_store: Store) -> MemoryStudio:
        """A project that was written, and in which one task was answered last."""
        studio = agreed_studio(FEW)
        for _ in range(3):
            pass_over(studio, memory_store)
            change_minds(studio, FEW[0])
        pass_over(studio, memory_store)
        return studio

    def test_get_only_answered_tasks_written_at_once(self, studio: MemoryStudio, memory_store: Store) -> None:
        before = studio.contents()
        change_minds(studio, FEW[0])
        outcome = live_pass(studio, memory_store, is_superseded=False, recipe=OTHER_SCORES)
        assert outcome.report is not None
        assert (outcome.report.rest_waits, changed_tasks(studio, before)) == (True, 1)

    def test_are_not_written_whole_by_a_pass_that_finds_nothing_new(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        """As when the event of an answer comes after the pass that has read it."""
        before = studio.contents()
        change_minds(studio, FEW[0])
        for _ in range(2):
            live_pass(studio, memory_store, is_superseded=False, recipe=OTHER_SCORES)
        assert changed_tasks(studio, before) == 1

    def test_are_written_whole_a_minute_later(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = studio.contents()
        change_minds(studio, FEW[0])
        live_pass(studio, memory_store, is_superseded=False, recipe=OTHER_SCORES)
        monkeypatch.setattr(project_pass, "REST_SECONDS", 0.0)
        live_pass(studio, memory_store, is_superseded=False, recipe=OTHER_SCORES)
        assert changed_tasks(studio, before) == len(FEW)

    def test_are_written_whole_at_once_if_no_answer_changed(self, studio: MemoryStudio, memory_store: Store) -> None:
        """As when gold was marked: somebody looks at the effect."""
        before = studio.contents()
        live_pass(studio, memory_store, is_superseded=False, recipe=OTHER_SCORES)
        assert changed_tasks(studio, before) == len(FEW)


def test_the_rest_does_not_wait_for_ever(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_pass, "REST_SECONDS", 0.0)
    studio = agreed_studio(FEW)
    pass_over(studio, memory_store)
    before = studio.contents()
    live_pass(studio, memory_store, is_superseded=True, recipe=OTHER_SCORES)
    assert changed_tasks(studio, before) == len(FEW)


def test_a_new_task_gets_a_prediction_of_our_version(memory_store: Store) -> None:
    studio = agreed_studio(FEW)
    foreign = studio.predict(FEW[0], version=VERSION)
    studio.prediction_rows[foreign]["result"] = mood("good")  # without our metadata
    pass_over(studio, memory_store)
    studio.add_task(NEW_TASK)
    answer_together(studio, NEW_TASK, "good")
    live_pass(studio, memory_store, is_superseded=True)
    versions = {row["model_version"] for row in studio.prediction_rows.values() if row["task"] == NEW_TASK}
    assert versions == {f"{VERSION}-2"}


def test_a_prediction_goes_with_the_answers_it_is_based_on(memory_store: Store) -> None:
    studio = agreed_studio(FEW)
    pass_over(studio, memory_store)
    studio.delete_annotations(FEW[0])
    live_pass(studio, memory_store, is_superseded=True)
    assert sorted(studio.labels()) == sorted(FEW[1:])


@pytest.mark.parametrize("carried_out", [False, True])
def test_an_interrupted_request_spares_other_tasks(carried_out: bool, memory_store: Store) -> None:
    studio = agreed_studio(FEW)
    pass_over(studio, memory_store)
    before = studio.labels()
    change_minds(studio, FEW[0])
    studio.break_write(1, Interrupted("The connection broke."), carried_out=carried_out)
    live_pass(studio, memory_store, is_superseded=True)
    studio.repair()
    assert studio.labels().keys() == before.keys()
    live_pass(studio, memory_store, is_superseded=False)
    assert studio.labels()[FEW[0]] != before[FEW[0]]
    assert all(studio.labels()[task] == before[task] for task in FEW[1:])
