"""Whatever breaks during a pass, nothing is created twice, and the next pass ends as if nothing had happened."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.errors import Interrupted
from ls_crowd_plugin.pipeline import project_pass
from ls_crowd_plugin.pipeline.outcome import Kind
from ls_crowd_plugin.pipeline.project_pass import MAX_PLANS
from ls_crowd_plugin.store import Store, open_store
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import agreed_studio, change_minds, pass_over, report_of_pass
from tests.support.predictions import FEW, MANY

few_or_many = pytest.mark.parametrize("tasks", [FEW, MANY], ids=["few", "many"])
carried_out_or_not = pytest.mark.parametrize("carried_out", [True, False], ids=["carried out", "not carried out"])


class ProcessDies(Exception):
    """Nothing after this is done."""


@pytest.fixture(autouse=True)
def no_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK, which explains why Label Studio dropped a prediction, takes seconds to import."""
    monkeypatch.setattr(project_pass, "explain_rejection", lambda *_: "")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> MemoryStudio:
    """A project of few tasks after a pass that nothing has disturbed."""
    studio = agreed_studio(FEW)
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('undisturbed') / 'crowd.db'}") as store:
        pass_over(studio, store)
    return studio


class TestInterruptedCreation:
    @few_or_many
    @carried_out_or_not
    def test_is_never_repeated_blindly(self, carried_out: bool, tasks: range, memory_store: Store) -> None:
        studio = agreed_studio(tasks)
        studio.break_write(1, Interrupted("Label Studio broke off."), carried_out=carried_out)
        report = report_of_pass(studio, memory_store)
        assert studio.labels() == {task: ["good" if task % 2 else "bad"] for task in tasks}
        assert report.written.created == len(tasks)

    def test_in_the_middle_is_never_repeated_blindly(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        for number in (2, 5):
            studio.break_write(number, Interrupted("Label Studio broke off."), carried_out=True)
        report = report_of_pass(studio, memory_store)
        assert (report.written.created, len(studio.prediction_rows)) == (len(FEW), len(FEW))

    def test_leaves_nothing_to_do(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        studio.break_write(1, Interrupted("Label Studio broke off."), carried_out=True)
        pass_over(studio, memory_store)
        studio.repair()
        assert pass_over(studio, memory_store).kind is Kind.UNCHANGED

    def test_that_is_interrupted_again_and_again_fails(self, memory_store: Store) -> None:
        studio = agreed_studio(MANY)
        for number in range(1, MAX_PLANS + 1):
            studio.break_write(number, Interrupted("Label Studio broke off."), carried_out=False)
        outcome = pass_over(studio, memory_store)
        assert (outcome.kind, outcome.reason) == (Kind.FAILED, "Label Studio broke off.")
        assert len(studio.writes) == MAX_PLANS


class TestDeletedTasks:
    @few_or_many
    def test_are_left_out_and_named(self, tasks: range, memory_store: Store) -> None:
        studio = agreed_studio(tasks)
        studio.before_write[1] = lambda: studio.delete_task(3)
        report = report_of_pass(studio, memory_store)
        assert sorted(studio.labels()) == [task for task in tasks if task != 3]
        assert (report.written.refused, report.written.created) == (frozenset({3}), len(tasks) - 1)
        assert any("task 3 (the task may be gone" in warning for warning in report.warnings)

    def test_are_not_expected_any_more_by_the_next_pass(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        studio.before_write[1] = lambda: studio.delete_task(3)
        pass_over(studio, memory_store)
        studio.repair()
        report = report_of_pass(studio, memory_store)
        assert (report.pulled.tasks_gone, report.plan.create, report.warnings) == (1, [], [])
        assert pass_over(studio, memory_store).kind is Kind.UNCHANGED


class TestDroppedPredictions:
    def test_are_named(self, memory_store: Store) -> None:
        studio = agreed_studio(MANY)
        studio.dropped = {3}
        (warning,) = report_of_pass(studio, memory_store).warnings
        assert warning.startswith("Label Studio did not accept the predictions of 1 task(s), for example task 3")

    def test_are_tried_again(self, memory_store: Store) -> None:
        studio = agreed_studio(MANY)
        studio.dropped = {3}
        pass_over(studio, memory_store)
        studio.dropped = set()
        pass_over(studio, memory_store)
        assert sorted(studio.labels()) == list(MANY)

    def test_leave_what_exists_if_nothing_new_was_accepted(self, memory_store: Store) -> None:
        studio = agreed_studio(MANY)
        pass_over(studio, memory_store)
        before = studio.labels()
        for task in MANY:
            change_minds(studio, task)
        studio.dropped = set(MANY)
        pass_over(studio, memory_store)
        assert studio.labels() == before


class TestDeath:
    @pytest.mark.slow
    @carried_out_or_not
    @pytest.mark.parametrize("number", range(1, 7))
    def test_at_a_write_is_made_good_by_the_next_pass(
        self, number: int, carried_out: bool, undisturbed: MemoryStudio, memory_store: Store
    ) -> None:
        studio = agreed_studio(FEW)
        studio.break_write(number, ProcessDies(), carried_out=carried_out)
        with pytest.raises(ProcessDies):
            pass_over(studio, memory_store)
        studio.repair()
        pass_over(studio, memory_store)
        assert (studio.contents(), studio.settings()) == (undisturbed.contents(), undisturbed.settings())

    @pytest.mark.slow
    @carried_out_or_not
    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_in_a_change_of_versions_is_made_good_by_the_next_pass(
        self, number: int, carried_out: bool, memory_store: Store
    ) -> None:
        studio = agreed_studio(MANY)
        pass_over(studio, memory_store)
        for task in MANY:
            change_minds(studio, task)
        studio.break_write(number, ProcessDies(), carried_out=carried_out)
        with pytest.raises(ProcessDies):
            pass_over(studio, memory_store)
        studio.repair()
        pass_over(studio, memory_store)
        assert studio.labels() == {task: ["bad" if task % 2 else "good"] for task in MANY}
        assert list(studio.versions(PROJECT)) == [studio.settings()["model_version"]]

    def test_after_a_change_that_was_then_taken_back_leaves_nothing_of_it(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        before = studio.labels()
        for task in (1, 2):
            change_minds(studio, task)
        studio.break_write(2, ProcessDies(), carried_out=True)
        with pytest.raises(ProcessDies):
            pass_over(studio, memory_store)
        studio.repair()
        for task in (1, 2):
            change_minds(studio, task)
        pass_over(studio, memory_store)
        assert studio.labels() == before
