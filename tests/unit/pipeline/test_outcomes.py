"""Every outcome of a pass besides success: nothing to do, something wrong, a lease that was lost, an early end."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import OperationalError

from ls_crowd_plugin.errors import EndPass, LabelStudioError, NotAllowed, Unreachable
from ls_crowd_plugin.pipeline import project_pass, rest
from ls_crowd_plugin.pipeline.context import Pace, RunFlags
from ls_crowd_plugin.pipeline.outcome import Kind
from ls_crowd_plugin.pipeline.plan import VERSION
from ls_crowd_plugin.pipeline.project_pass import OUTAGE_PAUSE
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import Lease, Store, mirror
from ls_crowd_plugin.store.leases import check_fence
from ls_crowd_plugin.store.passes import get_last_pass
from ls_crowd_plugin.store.predictions import read_predictions
from ls_crowd_plugin.store.project_settings import read_settings_before
from ls_crowd_plugin.store.queue import LONGEST_PAUSE
from ls_crowd_plugin.store.results import load_labels, load_results
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import PLURALITY, agreed_studio, change_minds, pass_over, report_of_pass
from tests.support.predictions import FEW, SHOWN

TEXT_ONLY = '<View><Text name="text" value="$text"/><TextArea name="note" toName="text"/></View>'


def has_results(store: Store) -> bool:
    with store.data.connect() as connection:
        return load_results(connection, PROJECT) is not None


def has_last_pass(store: Store) -> bool:
    with store.data.connect() as connection:
        last = get_last_pass(connection, PROJECT)
    return last is not None and "-" in last.fingerprint


def take_over(store: Store) -> None:
    """Write to the project as a process with a later lease."""
    with store.data.begin() as connection:
        check_fence(connection, Lease(PROJECT, "another", 2**62))


class TestNoAnswers:
    def test_is_a_project_that_nobody_has_annotated(self, memory_store: Store) -> None:
        outcome = pass_over(MemoryStudio(FEW), memory_store)
        assert (outcome.kind, outcome.report) == (Kind.NO_ANSWERS, None)
        assert outcome.reason == f"Project {PROJECT} has no answers to aggregate yet."

    def test_removes_predictions_and_results(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        for task in FEW:
            studio.delete_annotations(task)
        assert pass_over(studio, memory_store).kind is Kind.NO_ANSWERS
        assert (studio.labels(), has_results(memory_store)) == ({}, False)

    def test_leaves_predictions_of_others(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        studio.predict(1, version="their-model")
        pass_over(studio, memory_store)
        assert len(studio.prediction_rows) == 1

    def test_does_not_cover_up_that_the_pass_was_ended(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        for task in FEW:
            studio.predict(task)
            studio.predict(task, version=f"{VERSION}-2")

        def checkpoint(*, rest_can_wait: bool = False) -> None:
            del rest_can_wait
            if studio.writes:
                raise EndPass("stopped")

        assert pass_over(studio, memory_store, checkpoint=checkpoint).kind is Kind.STOPPED
        assert studio.labels() != {}


class TestParked:
    def test_is_a_project_without_a_control_that_can_be_aggregated(self, memory_store: Store) -> None:
        outcome = pass_over(MemoryStudio(FEW, label_config=TEXT_ONLY), memory_store)
        assert outcome.kind is Kind.PARKED
        assert outcome.reason.endswith("has no control that can be aggregated; its controls are: note (TextArea).")

    def test_is_a_project_whose_config_cannot_be_read(self, memory_store: Store) -> None:
        outcome = pass_over(MemoryStudio(FEW, label_config="<View>"), memory_store)
        assert outcome.kind is Kind.PARKED
        assert outcome.reason


class TestMissingProject:
    def test_that_existed_is_gone_and_forgotten(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        studio.add_project(8)
        studio.delete_project()
        outcome = pass_over(studio, memory_store)
        assert outcome.kind is Kind.PROJECT_GONE
        assert "no longer in Label Studio" in outcome.reason
        with memory_store.data.connect() as connection:
            assert mirror.get_project(connection, PROJECT) is None
        assert not has_results(memory_store)

    def test_that_never_existed_is_unknown(self, memory_store: Store) -> None:
        studio = MemoryStudio()
        studio.delete_project()
        outcome = pass_over(studio, memory_store)
        assert outcome.kind is Kind.NO_SUCH_PROJECT
        assert "no project 7 that this key can see" in outcome.reason


class TestFailed:
    @pytest.mark.parametrize("read", ["project", "tasks", "versions", "predictions"])
    def test_is_a_pass_without_label_studio(self, read: str, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        studio.predict(1)
        studio.failing[read] = Unreachable("Label Studio did not answer.")
        outcome = pass_over(studio, memory_store)
        assert (outcome.kind, outcome.reason) == (Kind.FAILED, "Label Studio did not answer.")
        assert (outcome.max_pause, studio.writes) == (OUTAGE_PAUSE, [])

    @pytest.mark.parametrize("error", [Unreachable("away"), NotAllowed("No."), LabelStudioError("?")])
    def test_is_a_pass_that_could_not_write(self, error: LabelStudioError, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        studio.break_write(3, error, carried_out=False)
        outcome = pass_over(studio, memory_store)
        assert (outcome.kind, outcome.reason, has_last_pass(memory_store)) == (Kind.FAILED, str(error), False)
        studio.repair()
        pass_over(studio, memory_store)
        assert sorted(studio.labels()) == list(FEW)

    def test_is_a_pass_without_the_database(self, memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise OperationalError("INSERT", {}, Exception("disk full"))

        monkeypatch.setattr(project_pass, "save_results", fail)
        outcome = pass_over(agreed_studio(FEW), memory_store)
        assert (outcome.kind, outcome.max_pause) == (Kind.FAILED, LONGEST_PAUSE)
        assert outcome.reason == "The database failed (OperationalError); check that it is running."


class TestDeferred:
    def test_is_a_pass_whose_lease_was_taken_over_before(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        take_over(memory_store)
        outcome = pass_over(studio, memory_store)
        assert (outcome.kind, studio.writes) == (Kind.DEFERRED, [])
        assert outcome.reason == f"Another process has taken over project {PROJECT}, so this one stops."
        with memory_store.data.connect() as connection:
            assert mirror.get_project(connection, PROJECT) is None

    def test_is_a_pass_whose_lease_is_taken_over_meanwhile(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        studio.after_write[2] = lambda: take_over(memory_store)
        assert pass_over(studio, memory_store).kind is Kind.DEFERRED
        assert (has_results(memory_store), has_last_pass(memory_store)) == (False, False)


class TestEarlyEnd:
    def test_while_writing_stores_results_and_leaves_the_rest_to_the_next_pass(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        for task in FEW[:3]:
            change_minds(studio, task)

        def checkpoint(*, rest_can_wait: bool = False) -> None:
            if rest_can_wait:
                raise EndPass("superseded", "There is a newer request.")

        outcome = pass_over(studio, memory_store, checkpoint=checkpoint)
        assert (outcome.kind, outcome.reason) == (Kind.SUPERSEDED, "There is a newer request.")
        assert outcome.report is not None
        assert outcome.report.written.updated == 1
        assert (studio.writes, has_results(memory_store), has_last_pass(memory_store)) == (["change"], True, False)
        pass_over(studio, memory_store)
        assert studio.writes == ["change", "change"]

    @pytest.mark.parametrize("stage", ["pull", "fit", "write", "meta"])
    def test_is_possible_in_every_stage(self, stage: str, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        stages: list[str] = []

        def checkpoint(*, rest_can_wait: bool = False) -> None:
            del rest_can_wait
            if stages[-1] == stage:
                raise EndPass("stopped", "Told to stop.")

        recipe = Recipe(method="neg", task_meta="on")
        options = {"recipe": recipe, "checkpoint": checkpoint, "on_progress": lambda name, *_: stages.append(name)}
        assert pass_over(studio, memory_store, **options).kind is Kind.STOPPED
        assert has_results(memory_store) == (stage == "meta")  # a worker that has to stop computes no charts


class TestDryRun:
    def test_plans_and_writes_nothing_anywhere(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        recipe = Recipe(method="plu", task_meta="on")
        report = report_of_pass(studio, memory_store, recipe=recipe, flags=RunFlags(dry_run=True))
        assert (len(report.plan.create), report.plan.settings, studio.writes) == (len(FEW), SHOWN, [])
        assert (has_results(memory_store), has_last_pass(memory_store)) == (False, False)
        with memory_store.data.connect() as connection:
            assert read_predictions(connection, PROJECT) == {}
            assert read_settings_before(connection, PROJECT) == {}

    def test_leaves_the_next_pass_everything_to_do(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store, flags=RunFlags(dry_run=True))
        pass_over(studio, memory_store)
        assert len(studio.labels()) == len(FEW)

    def test_without_answers_removes_nothing(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        studio.predict(1)
        outcome = pass_over(studio, memory_store, flags=RunFlags(dry_run=True))
        assert (outcome.kind, studio.writes) == (Kind.NO_ANSWERS, [])

    def test_of_an_unchanged_project_writes_no_metadata(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store, recipe=PLURALITY)
        outcome = pass_over(studio, memory_store, recipe=PLURALITY, flags=RunFlags(dry_run=True))
        assert (outcome.kind, studio.writes) == (Kind.UNCHANGED, [])


class TestResults:
    LIVE = RunFlags(pace=Pace.LIVE)

    def labels_shown(self, store: Store) -> dict[int, list[str]]:
        """Task → its label on the dashboard."""
        with store.data.connect() as connection:
            return {
                task: [one.label for one in labels] for task, labels in load_labels(connection, PROJECT, FEW).items()
            }

    def test_wait_for_the_next_pass_that_is_due_already(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        before = self.labels_shown(memory_store)
        change_minds(studio, FEW[0])
        outcome = pass_over(studio, memory_store, flags=self.LIVE, is_superseded=lambda: True)
        assert (outcome.kind, self.labels_shown(memory_store)) == (Kind.DONE, before)
        assert studio.labels()[FEW[0]] != before[FEW[0]]
        assert pass_over(studio, memory_store, flags=self.LIVE).kind is Kind.DONE  # although nothing has changed
        assert self.labels_shown(memory_store) == studio.labels()
        assert pass_over(studio, memory_store, flags=self.LIVE).kind is Kind.UNCHANGED

    @pytest.mark.parametrize(("flags", "seconds"), [(LIVE, 0.0), (RunFlags(), 15.0)], ids=["old", "at once"])
    def test_do_not_wait_if_they_are_old_or_a_person_waits(
        self, flags: RunFlags, seconds: float, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rest, "REST_SECONDS", seconds)
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        change_minds(studio, FEW[0])
        pass_over(studio, memory_store, flags=flags, is_superseded=lambda: True)
        assert self.labels_shown(memory_store) == studio.labels()

    @pytest.mark.parametrize(("changed", "is_shown"), [(2, False), (3, True)], ids=["few", "many"])
    def test_do_not_wait_for_many_writes(
        self, changed: int, is_shown: bool, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(project_pass, "FEW_WRITES", 2)
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        before = self.labels_shown(memory_store)
        for task in FEW[:changed]:
            change_minds(studio, task)
        shown = []
        studio.before_write[1] = lambda: shown.append(self.labels_shown(memory_store) != before)
        pass_over(studio, memory_store, flags=self.LIVE)
        assert shown == [is_shown]
        assert self.labels_shown(memory_store) == studio.labels()
