"""Carrying out a plan: what is written in which order, what was really done, and which settings change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ls_crowd_plugin.errors import EndPass, Interrupted, LabelStudioError, NotFound, Rejected, Unreachable
from ls_crowd_plugin.labelstudio import ProjectFacts
from ls_crowd_plugin.pipeline.context import Pace, RunFlags
from ls_crowd_plugin.pipeline.existing import existing_predictions
from ls_crowd_plugin.pipeline.plan import VERSION, DesiredPrediction, Plan, make_plan
from ls_crowd_plugin.pipeline.write import Written, settings_to_change, write
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import Store
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import make_context
from tests.support.predictions import FEW, MANY, SHOWN, desired

OURS = {VERSION, f"{VERSION}-2"}


def plan_for(studio: MemoryStudio, wanted: Sequence[DesiredPrediction], settings: Json | None = None) -> Plan:
    plan = make_plan(wanted, existing_predictions(studio, PROJECT, OURS)[0], tasks=len(studio.task_rows))
    return replace(plan, settings=settings or {})


def carry_out(studio: MemoryStudio, store: Store, plan: Plan, **context: object) -> Written:
    return write(make_context(studio, store, **context), plan, studio.project(PROJECT), OURS)  # type: ignore[arg-type]


class TestWriting:
    @pytest.mark.parametrize("tasks", [FEW, MANY], ids=["few", "many"])
    def test_creates(self, tasks: range, memory_store: Store) -> None:
        studio = MemoryStudio(tasks)
        written = carry_out(studio, memory_store, plan_for(studio, [desired(task) for task in tasks]))
        assert (studio.labels(), written.created) == ({task: ["good"] for task in tasks}, len(tasks))
        assert written.stored.keys() == set(tasks)

    def test_creates_many_in_one_request(self, memory_store: Store) -> None:
        studio = MemoryStudio(MANY)
        carry_out(studio, memory_store, plan_for(studio, [desired(task) for task in MANY]))
        assert studio.writes == ["import"]

    def test_creates_nested_choices_one_by_one(self, memory_store: Store) -> None:
        studio = MemoryStudio(MANY)
        nested = replace(desired(1), result=[{"value": {"choices": [["animal", "cat"]]}}])
        carry_out(studio, memory_store, Plan(create=[nested, *(desired(task) for task in MANY[1:])]))
        assert studio.writes == ["create", "import"]

    def test_creates_under_a_version_of_ours(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        carry_out(studio, memory_store, plan_for(studio, [desired(task) for task in FEW]))
        assert studio.versions(PROJECT) == {VERSION: len(FEW)}

    def test_changes_in_place(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        number = studio.predict(1)
        carry_out(studio, memory_store, plan_for(studio, [desired(1, "bad")]))
        assert (list(studio.prediction_rows), studio.labels()) == ([number], {1: ["bad"]})

    def test_deletes(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        studio.predict(1)
        assert carry_out(studio, memory_store, plan_for(studio, [])).deleted == 1
        assert studio.labels() == {}

    def test_deletes_whole_versions(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        for task in FEW:
            studio.predict(task, version=f"{VERSION}-2")
        written = carry_out(studio, memory_store, Plan(retire={f"{VERSION}-2": len(FEW)}))
        assert (studio.labels(), written.deleted, studio.writes) == ({}, len(FEW), ["retire"])

    def test_does_not_touch_predictions_of_others(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        studio.predict(1, "bad", version="their-model")
        before = studio.contents()
        carry_out(studio, memory_store, plan_for(studio, []))
        assert studio.contents() == before

    def test_names_the_tasks_that_an_import_dropped(self, memory_store: Store) -> None:
        studio = MemoryStudio(MANY)
        studio.dropped = {3, 5}
        written = carry_out(studio, memory_store, plan_for(studio, [desired(task) for task in MANY]))
        assert (sorted(written.refused), written.created) == ([3, 5], len(MANY) - 2)

    def test_goes_on_when_a_prediction_was_deleted_meanwhile(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        first, _ = studio.predict(1), studio.predict(2)
        plan = plan_for(studio, [desired(1, "bad"), desired(2, "bad")])
        del studio.prediction_rows[first]
        written = carry_out(studio, memory_store, plan)
        assert (studio.labels(), written.updated) == ({2: ["bad"]}, 1)

    def test_goes_on_when_somebody_else_has_deleted_it_already(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        first, _ = studio.predict(1), studio.predict(2)
        plan = plan_for(studio, [])
        del studio.prediction_rows[first]
        carry_out(studio, memory_store, plan)
        assert studio.labels() == {}

    def test_reports_progress(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        seen: list[tuple[str, int, int]] = []
        context = replace(make_context(studio, memory_store), on_progress=lambda *fact: seen.append(fact))
        write(context, plan_for(studio, [desired(1), desired(2)]), studio.project(PROJECT), OURS)
        assert seen == [("write", 0, 2), ("write", 1, 2), ("write", 2, 2)]


class TestPace:
    @pytest.mark.parametrize("pace", [Pace.LIVE, Pace.SETTLE])
    def test_imports_only_first_predictions_while_people_may_work(self, pace: Pace, memory_store: Store) -> None:
        studio = MemoryStudio(MANY)
        context = make_context(studio, memory_store, flags=RunFlags(pace=pace))
        write(context, plan_for(studio, [desired(task) for task in MANY]), studio.project(PROJECT), set())
        assert studio.writes == ["import"]
        studio.prediction_rows.clear()
        studio.writes.clear()
        write(context, plan_for(studio, [desired(task) for task in MANY]), studio.project(PROJECT), OURS)
        assert studio.writes == ["create"] * len(MANY)

    @pytest.mark.parametrize(("pace", "pauses"), [(Pace.AT_ONCE, 0.0), (Pace.LIVE, 2.0), (Pace.SETTLE, 2.0)])
    def test_waits_in_proportion_to_label_studios_own_time(
        self, pace: Pace, pauses: float, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock, slept = [0.0], list[float]()
        studio = MemoryStudio(FEW)
        studio.before_write[1] = lambda: clock.__setitem__(0, clock[0] + 0.4)
        monkeypatch.setattr("ls_crowd_plugin.pipeline.write.time.monotonic", lambda: clock[0])
        monkeypatch.setattr("ls_crowd_plugin.pipeline.write.time.sleep", slept.append)
        context = make_context(studio, memory_store, flags=RunFlags(pace=pace))
        write(context, plan_for(studio, [desired(1), desired(2)]), studio.project(PROJECT), OURS)
        assert slept == [0.0, pytest.approx(0.4 * pauses)]  # between the two requests


class TestSettings:
    def test_are_changed_after_the_predictions_they_show(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        carry_out(studio, memory_store, plan_for(studio, [desired(1)], SHOWN))
        assert (studio.writes, studio.settings()) == (["create", "settings"], SHOWN)

    def test_are_left_if_nothing_of_ours_was_accepted(self, memory_store: Store) -> None:
        studio = MemoryStudio(MANY)
        studio.dropped = set(MANY)
        written = carry_out(studio, memory_store, plan_for(studio, [desired(task) for task in MANY], SHOWN))
        assert (written.settings, written.error, studio.writes) == (0, None, ["import"])

    def test_are_left_to_a_model_chosen_meanwhile(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        studio.after_write[1] = lambda: studio.project_rows[PROJECT].update(model_version="their-model")
        written = carry_out(studio, memory_store, plan_for(studio, [desired(1)], SHOWN))
        assert (written.settings, studio.settings()["model_version"]) == (0, "their-model")


class TestInterruption:
    @pytest.mark.parametrize("tasks", [FEW, MANY], ids=["few", "many"])
    @pytest.mark.parametrize("carried_out", [True, False])
    def test_of_a_creation_leaves_unclear_what_was_created(
        self, carried_out: bool, tasks: range, memory_store: Store
    ) -> None:
        studio = MemoryStudio(tasks)
        studio.break_write(1, Interrupted("broke off"), carried_out=carried_out)
        written = carry_out(studio, memory_store, plan_for(studio, [desired(task) for task in tasks]))
        assert (written.created, sorted(written.unclear), written.needs_new_plan) == (0, list(tasks), True)

    def test_is_cleared_up_by_what_the_next_plan_still_has_to_create(self) -> None:
        written = Written(created=3, unclear=frozenset({1, 2, 4}), tasks_gone=frozenset({4}))
        assert written.with_missing({2}) == replace(written, created=4, unclear=frozenset())

    def test_by_a_deleted_task_names_it(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        plan = plan_for(studio, [desired(task) for task in FEW])
        studio.delete_task(3)
        written = carry_out(studio, memory_store, plan)
        assert written.tasks_gone == written.refused == {3}
        assert written.needs_new_plan
        assert isinstance(written.error, Rejected)

    def test_by_a_refusal_for_another_reason_needs_no_new_plan(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        studio.break_write(1, Rejected("No."), carried_out=False)
        written = carry_out(studio, memory_store, plan_for(studio, [desired(1)]))
        assert (str(written.error), written.needs_new_plan) == ("No.", False)

    @pytest.mark.parametrize("error", [Unreachable("away"), NotFound("gone")])
    def test_by_the_end_of_label_studio_or_the_project_is_an_error(
        self, error: LabelStudioError, memory_store: Store
    ) -> None:
        studio = MemoryStudio(FEW)
        studio.break_write(1, error, carried_out=False)
        studio.failing["task ids"] = error
        with pytest.raises(type(error)):
            carry_out(studio, memory_store, plan_for(studio, [desired(1)]))

    def test_by_a_checkpoint_leaves_the_rest_of_the_updates(self, memory_store: Store) -> None:
        studio = MemoryStudio(FEW)
        for task in FEW:
            studio.predict(task)

        def checkpoint(*, rest_can_wait: bool = False) -> None:
            if rest_can_wait and len(studio.writes) == 2:
                raise EndPass("superseded")

        plan = plan_for(studio, [desired(task, "bad") for task in FEW])
        written = carry_out(studio, memory_store, plan, checkpoint=checkpoint)
        assert written.ended_by is not None
        assert (written.updated, written.ended_by.kind, written.error) == (2, "superseded", None)

    def test_two_writes_add_up(self) -> None:
        first = Written(1, 2, 3, 2, refused=frozenset({1}), error=Interrupted("broke off"))
        second = Written(10, 20, 30, refused=frozenset({2}))
        assert first.followed_by(second) == Written(11, 22, 33, 2, refused=frozenset({1, 2}))


class TestSettingsToChange:
    def facts(self, version: str | None, prelabelling: bool) -> ProjectFacts:
        return ProjectFacts(PROJECT, "", "", "", 0, version, prelabelling)

    @pytest.mark.parametrize("version", ["", None, VERSION, f"{VERSION}-2"])
    def test_are_both_where_annotators_would_be_influenced(self, version: str | None) -> None:
        assert settings_to_change(self.facts(version, True), False, VERSION, OURS) == (SHOWN, "")

    @pytest.mark.parametrize("version", ["", None, f"{VERSION}-2"])
    def test_are_both_where_only_the_version_is_wrong(self, version: str | None) -> None:
        assert settings_to_change(self.facts(version, False), False, VERSION, OURS) == (SHOWN, "")

    def test_are_none_where_all_is_right(self) -> None:
        assert settings_to_change(self.facts(VERSION, False), False, VERSION, OURS) == ({}, "")

    def test_are_none_where_the_version_of_others_is_shown(self) -> None:
        settings, warning = settings_to_change(self.facts("their-model", True), False, VERSION, OURS)
        assert settings == {}
        assert "'their-model'" in warning
        assert "--take-over" in warning

    def test_are_both_where_that_is_taken_over(self) -> None:
        assert settings_to_change(self.facts("their-model", True), True, VERSION, OURS) == (SHOWN, "")
