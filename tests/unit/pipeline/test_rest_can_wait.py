"""A pass that the next one follows at once, or over a large project: answered tasks come first, everything else can
wait for a while."""

from __future__ import annotations

import time

import pytest

from ls_crowd_plugin.errors import EndPass, Interrupted
from ls_crowd_plugin.pipeline import plan, rest
from ls_crowd_plugin.pipeline.context import Pace, RunFlags
from ls_crowd_plugin.pipeline.outcome import Kind, Outcome
from ls_crowd_plugin.pipeline.plan import VERSION
from ls_crowd_plugin.pipeline.rest import REST_SECONDS
from ls_crowd_plugin.pipeline.standing import LISTED_PER_REQUEST
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.gold import add_gold
from tests.support.memory_studio import PROJECT, MemoryStudio, mood
from tests.support.passes import PLURALITY, agreed_studio, answer_together, change_minds, pass_over
from tests.support.predictions import FEW

NEW_TASK = 99
NEG = Recipe(method="neg", task_meta="off")  # an answer to one task changes the scores of all


def live_pass(studio: MemoryStudio, store: Store, *, is_superseded: bool, recipe: Recipe = NEG) -> Outcome:
    flags = RunFlags(pace=Pace.LIVE)
    return pass_over(studio, store, recipe=recipe, flags=flags, is_superseded=lambda: is_superseded)


@pytest.fixture
def studio(memory_store: Store) -> MemoryStudio:
    """A project that was written, and in which one task was answered last."""
    studio = agreed_studio(FEW)
    for _ in range(3):  # then changes of other tasks are older than what is read once more
        pass_over(studio, memory_store, recipe=NEG)
        change_minds(studio, FEW[0])
    pass_over(studio, memory_store, recipe=NEG)
    return studio


def disagree(studio: MemoryStudio) -> None:
    """Let one of the three people change the answer to the first task."""
    (label,) = studio.task_rows[FEW[0]]["annotations"][0]["result"][0]["value"]["choices"]
    studio.annotate(FEW[0], 1, "bad" if label == "good" else "good")


@pytest.fixture(autouse=True)
def every_score_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "SCORE_STEP", 0.0)


def changed_tasks(studio: MemoryStudio, before: list[str]) -> int:
    return len(set(studio.contents()) - set(before))


def test_only_answered_tasks_are_written(studio: MemoryStudio, memory_store: Store) -> None:
    before = studio.contents()
    disagree(studio)
    assert live_pass(studio, memory_store, is_superseded=True).kind is Kind.DONE
    assert changed_tasks(studio, before) == 1
    assert live_pass(studio, memory_store, is_superseded=False).kind is Kind.DONE
    assert changed_tasks(studio, before) == len(FEW)


class TestLargeProjects:
    @pytest.fixture(autouse=True)
    def even_a_few_tasks_are_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rest, "LARGE_PROJECT", len(FEW) - 1)

    def test_get_only_answered_tasks_written_at_once(self, studio: MemoryStudio, memory_store: Store) -> None:
        before = studio.contents()
        disagree(studio)
        outcome = live_pass(studio, memory_store, is_superseded=False)
        assert outcome.report is not None
        assert 30 < outcome.report.rest_due_in <= REST_SECONDS
        assert changed_tasks(studio, before) == 1

    def test_are_not_asked_how_many_predictions_they_have(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While people answer, every request delays them; the next pass over all tasks asks."""
        asked: list[int] = []

        def versions(project: int) -> dict[str, int]:
            asked.append(project)
            return {VERSION: len(FEW)}

        monkeypatch.setattr(studio, "versions", versions)
        disagree(studio)
        live_pass(studio, memory_store, is_superseded=False)
        assert not asked
        monkeypatch.setattr(rest, "REST_SECONDS", 0.0)
        live_pass(studio, memory_store, is_superseded=False)
        assert asked

    def test_notice_a_change_that_became_visible_late_with_the_rest(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        disagree(studio)
        live_pass(studio, memory_store, is_superseded=False)
        before = studio.labels()[FEW[1]]
        studio.wait(-65.0)  # five seconds before the newest change that was read
        change_minds(studio, FEW[1])
        studio.wait(65.0)
        disagree(studio)
        live_pass(studio, memory_store, is_superseded=False)
        assert studio.labels()[FEW[1]] == before
        monkeypatch.setattr(rest, "REST_SECONDS", 0.0)
        live_pass(studio, memory_store, is_superseded=False)
        assert studio.labels()[FEW[1]] != before

    @pytest.mark.parametrize("is_tampered", [False, True])
    def test_get_by_with_the_ids_of_answered_tasks_predictions(self, is_tampered: bool, memory_store: Store) -> None:
        """An import does not tell ids, and to list all predictions takes Label Studio seconds."""
        many = range(1, LISTED_PER_REQUEST + 1)
        studio = agreed_studio(many)
        pass_over(studio, memory_store, recipe=PLURALITY)
        assert "import" in studio.writes
        if is_tampered:
            next(row for row in studio.prediction_rows.values() if row["task"] == 7)["score"] = 0.1
        change_minds(studio, 7)
        studio.reads.clear()
        live_pass(studio, memory_store, is_superseded=False, recipe=PLURALITY)
        assert studio.labels()[7] == ["bad"]
        reads = [read for read in studio.reads if read.startswith("predictions")]
        assert reads == ["predictions on task", *(["predictions"] if is_tampered else [])]

    @pytest.mark.parametrize("is_answered", [True, False])
    def test_get_a_prediction_that_somebody_deleted_back_with_the_rest(
        self, is_answered: bool, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        deleted = FEW[0] if is_answered else FEW[1]
        (one,) = (number for number, row in studio.prediction_rows.items() if row["task"] == deleted)
        del studio.prediction_rows[one]
        disagree(studio)
        live_pass(studio, memory_store, is_superseded=False)
        assert deleted not in studio.labels()
        monkeypatch.setattr(rest, "REST_SECONDS", 0.0)
        live_pass(studio, memory_store, is_superseded=False)
        assert sorted(studio.labels()) == sorted(FEW)

    def test_are_not_written_whole_by_a_pass_that_finds_nothing_new(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        """As when the event of an answer comes after the pass that has read it."""
        before = studio.contents()
        disagree(studio)
        for _ in range(2):
            live_pass(studio, memory_store, is_superseded=False)
        assert changed_tasks(studio, before) == 1

    @pytest.mark.parametrize("age", [-10.0, 61.0])  # a clock that was set back does not count
    def test_are_written_whole_when_the_results_are_a_minute_old(
        self, age: float, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = studio.contents()
        disagree(studio)
        live_pass(studio, memory_store, is_superseded=False)
        now = time.time()
        monkeypatch.setattr(rest, "get_results_time", lambda *_: now - age)
        outcome = live_pass(studio, memory_store, is_superseded=False)
        assert outcome.report is not None
        assert (outcome.report.rest_due_in, changed_tasks(studio, before)) == (0.0, len(FEW))

    def test_are_written_whole_at_once_if_gold_was_marked(self, studio: MemoryStudio, memory_store: Store) -> None:
        """Somebody looks at the effect, also where an answer has left the rest waiting."""
        before = studio.contents()
        disagree(studio)
        live_pass(studio, memory_store, is_superseded=False)
        with memory_store.data.begin() as connection:
            add_gold(connection, PROJECT, {(FEW[1], "mood"): "bad"})
        live_pass(studio, memory_store, is_superseded=False)
        assert changed_tasks(studio, before) == len(FEW)

    def test_have_no_answered_task_left_to_the_next_pass(self, studio: MemoryStudio, memory_store: Store) -> None:
        def is_superseded(*, rest_can_wait: bool = False) -> None:
            if rest_can_wait:
                raise EndPass("superseded")

        before = studio.contents()
        for task in FEW[:3]:
            change_minds(studio, task)
        flags = RunFlags(pace=Pace.LIVE)
        outcome = pass_over(studio, memory_store, recipe=NEG, flags=flags, checkpoint=is_superseded)
        assert (outcome.kind, changed_tasks(studio, before)) == (Kind.DONE, 3)


def test_the_rest_may_write_ten_predictions_for_each_answer_it_waited_for(
    studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "LIVE_WRITES", 2)
    before = studio.contents()
    for annotator in (11, 12):
        studio.annotate(FEW[0], annotator, "bad")
        live_pass(studio, memory_store, is_superseded=True)
    live_pass(studio, memory_store, is_superseded=False)
    assert changed_tasks(studio, before) == 1 + 2 * 2


def test_the_rest_does_not_wait_for_ever(
    studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "REST_SECONDS", 0.0)
    before = studio.contents()
    disagree(studio)
    live_pass(studio, memory_store, is_superseded=True)
    assert changed_tasks(studio, before) == len(FEW)


def test_a_new_task_gets_a_prediction_of_our_version(memory_store: Store) -> None:
    studio = agreed_studio(FEW)
    foreign = studio.predict(FEW[0], version=VERSION)
    studio.prediction_rows[foreign]["result"] = mood("good")  # without our metadata
    pass_over(studio, memory_store)
    studio.add_task(NEW_TASK)
    answer_together(studio, NEW_TASK, "good")
    live_pass(studio, memory_store, is_superseded=True, recipe=PLURALITY)
    versions = {row["model_version"] for row in studio.prediction_rows.values() if row["task"] == NEW_TASK}
    assert versions == {f"{VERSION}-2"}


def test_a_prediction_goes_with_the_answers_it_is_based_on(memory_store: Store) -> None:
    studio = agreed_studio(FEW)
    pass_over(studio, memory_store)
    studio.delete_annotations(FEW[0])
    live_pass(studio, memory_store, is_superseded=True, recipe=PLURALITY)
    assert sorted(studio.labels()) == sorted(FEW[1:])


@pytest.mark.parametrize("carried_out", [False, True])
def test_an_interrupted_request_spares_other_tasks(carried_out: bool, memory_store: Store) -> None:
    studio = agreed_studio(FEW)
    pass_over(studio, memory_store)
    before = studio.labels()
    change_minds(studio, FEW[0])
    studio.break_write(1, Interrupted("The connection broke."), carried_out=carried_out)
    live_pass(studio, memory_store, is_superseded=True, recipe=PLURALITY)
    studio.repair()
    assert studio.labels().keys() == before.keys()
    live_pass(studio, memory_store, is_superseded=False, recipe=PLURALITY)
    assert studio.labels()[FEW[0]] != before[FEW[0]]
    assert all(studio.labels()[task] == before[task] for task in FEW[1:])
