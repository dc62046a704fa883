"""Whole passes over a project in memory: pull, fit, plan and write; and every outcome a pass can have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ls_crowd_plugin.errors import NotAllowed
from ls_crowd_plugin.pipeline import fitting, project_pass, standing
from ls_crowd_plugin.pipeline.context import RunFlags
from ls_crowd_plugin.pipeline.outcome import Kind
from ls_crowd_plugin.pipeline.plan import VERSION
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import Store, open_store
from ls_crowd_plugin.store.gold import add_gold
from ls_crowd_plugin.store.passes import get_last_pass
from ls_crowd_plugin.store.predictions import read_predictions
from ls_crowd_plugin.store.project_settings import read_settings_before
from ls_crowd_plugin.store.results import list_annotators, load_results
from ls_crowd_plugin.store.users import read_names
from tests.support.memory_studio import PROJECT, MemoryStudio, mood
from tests.support.passes import PLURALITY, agreed_studio, change_minds, pass_over, report_of_pass
from tests.support.predictions import FEW, MANY, SHOWN

TEXT_ONLY = '<View><Text name="text" value="$text"/><TextArea name="note" toName="text"/></View>'
few_or_many = pytest.mark.parametrize("tasks", [FEW, MANY], ids=["few", "many"])


@pytest.fixture(autouse=True)
def no_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK, which explains why Label Studio dropped a prediction, takes seconds to import."""
    monkeypatch.setattr(project_pass, "explain_rejection", lambda *_: "")


def stored(store: Store) -> Json:
    """What a pass leaves in the database besides the mirror."""
    with store.data.connect() as connection:
        return {
            "results": load_results(connection, PROJECT),
            "annotators": list_annotators(connection, PROJECT)[1],
            "last_pass": get_last_pass(connection, PROJECT),
            "predictions": read_predictions(connection, PROJECT),
            "names": read_names(connection, [1, 2, 3]),
            "settings": read_settings_before(connection, PROJECT),
        }


class TestConsensus:
    @few_or_many
    def test_is_written(self, tasks: range, memory_store: Store) -> None:
        studio = agreed_studio(tasks)
        outcome = pass_over(studio, memory_store)
        assert outcome.kind is Kind.DONE
        assert studio.labels() == {task: ["good" if task % 2 else "bad"] for task in tasks}

    def test_is_shown_without_influencing_annotators(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        assert studio.settings() == SHOWN

    def test_is_stored_for_the_dashboard_with_peoples_names(self, memory_store: Store) -> None:
        report_of_pass(agreed_studio(FEW), memory_store)
        state = stored(memory_store)
        assert (state["results"].summary.tasks, state["annotators"]) == (len(FEW), 3)
        assert (len(state["predictions"]), state["names"][2]) == (len(FEW), "Ben")

    def test_is_reported(self, memory_store: Store) -> None:
        report = report_of_pass(agreed_studio(FEW), memory_store)
        assert (report.title, report.pulled.tasks_read, report.written.created) == ("Moods", 5, 5)
        assert (report.summary.tasks, report.summary.answers, report.summary.annotators) == (5, 15, 3)
        assert list(report.seconds) == ["pull", "fit", "plan", "write", "results", "meta"]

    def test_does_not_fail_for_lack_of_names(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        studio.failing["users"] = NotAllowed("No.")
        assert pass_over(studio, memory_store).kind is Kind.DONE
        assert stored(memory_store)["names"] == {}

    def test_is_written_by_the_cheapest_calls(self, memory_store: Store) -> None:
        studio = agreed_studio(MANY)
        pass_over(studio, memory_store)
        for task in MANY:
            change_minds(studio, task)
        pass_over(studio, memory_store)
        assert (studio.writes, studio.settings()["model_version"]) == (["import", "settings", "retire"], f"{VERSION}-2")
        assert studio.labels() == {task: ["bad" if task % 2 else "good"] for task in MANY}

    def test_is_left_out_of_tasks_that_lack_answers_if_so_configured(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        studio.task_rows[2]["overlap"] = 4
        studio.task_rows[3]["overlap"] = 3
        pass_over(studio, memory_store, recipe=replace(PLURALITY, only_complete=True))
        assert sorted(studio.labels()) == [1, 3, 4, 5]

    def test_is_not_shown_as_long_as_no_task_is_complete(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        for row in studio.task_rows.values():
            row["overlap"] = 4
        outcome = pass_over(studio, memory_store, recipe=replace(PLURALITY, only_complete=True))
        assert (outcome.kind, studio.writes) == (Kind.DONE, [])

    def test_counts_gold_for_a_task_being_complete(self, memory_store: Store) -> None:
        """As Label Studio does: otherwise probes would stand out by lacking a prediction."""
        studio = agreed_studio(FEW)
        studio.annotate(2, 9, "good")
        for row in studio.task_rows.values():
            row["overlap"] = 4
        pass_over(studio, memory_store, recipe=replace(PLURALITY, only_complete=True, experts=frozenset({9})))
        assert sorted(studio.labels()) == [2]


class TestChanges:
    """What the next pass does about them."""

    @pytest.fixture
    def studio(self, memory_store: Store) -> MemoryStudio:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        return studio

    def test_of_a_task_change_only_its_prediction(self, studio: MemoryStudio, memory_store: Store) -> None:
        change_minds(studio, 1)
        pass_over(studio, memory_store)
        assert (studio.labels()[1], studio.writes) == (["bad"], ["change"])

    def test_that_deleted_a_prediction_are_undone(self, studio: MemoryStudio, memory_store: Store) -> None:
        del studio.prediction_rows[min(studio.prediction_rows)]
        pass_over(studio, memory_store)
        assert (sorted(studio.labels()), studio.writes) == (list(FEW), ["create"])

    def test_that_added_a_second_prediction_are_undone(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.predict(1)
        pass_over(studio, memory_store)
        assert {task: len(labels) for task, labels in studio.labels().items()} == dict.fromkeys(FEW, 1)

    def test_of_settings_are_undone(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.project_rows[PROJECT]["model_version"] = ""
        pass_over(studio, memory_store)
        assert (studio.settings(), studio.writes) == (SHOWN, ["settings"])

    def test_of_settings_are_remembered_as_they_were_first(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.project_rows[PROJECT] |= {"model_version": "", "show_collab_predictions": False}
        pass_over(studio, memory_store)
        assert stored(memory_store)["settings"] == {"model_version": "", "show_collab_predictions": True}

    def test_that_removed_the_last_answer_remove_the_prediction(
        self, studio: MemoryStudio, memory_store: Store
    ) -> None:
        studio.delete_annotations(1)
        pass_over(studio, memory_store)
        assert sorted(studio.labels()) == [2, 3, 4, 5]

    def test_inside_predictions_are_undone_from_time_to_time(
        self, studio: MemoryStudio, memory_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The numbers are right, so only a comparison one by one can tell."""
        monkeypatch.setattr(standing, "VERIFY_SECONDS", 0.0)
        for label in ("good", "bad"):
            studio.prediction_rows[min(studio.prediction_rows)]["result"] = mood(label)
            pass_over(studio, memory_store)
            assert studio.labels()[1] == ["good"]

    @pytest.mark.parametrize("result", [None, {"x": 1}, "x", [None]])
    def test_that_left_something_strange_are_undone(
        self, result: object, studio: MemoryStudio, memory_store: Store
    ) -> None:
        studio.prediction_rows[studio.predict(1)]["result"] = result
        pass_over(studio, memory_store)
        assert studio.labels()[1] == ["good"]

    def test_of_the_model_that_is_shown_are_respected(self, studio: MemoryStudio, memory_store: Store) -> None:
        studio.project_rows[PROJECT]["model_version"] = "their-model"
        report = report_of_pass(studio, memory_store)
        assert any("--take-over" in warning for warning in report.warnings)
        assert studio.settings()["model_version"] == "their-model"
        pass_over(studio, memory_store, flags=RunFlags(take_over=True))
        assert studio.settings() == SHOWN


class TestUnchanged:
    @few_or_many
    def test_is_a_second_pass_which_writes_nothing(self, tasks: range, memory_store: Store) -> None:
        studio = agreed_studio(tasks)
        first = report_of_pass(studio, memory_store)
        outcome = pass_over(studio, memory_store)
        assert (outcome.kind, studio.writes) == (Kind.UNCHANGED, [])
        assert outcome.report is not None
        assert (outcome.report.plan.is_empty, outcome.report.summary) == (True, first.summary)

    def test_computes_and_lists_nothing(self, memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        monkeypatch.delattr(fitting, "fit_project")
        studio.reads.clear()
        assert pass_over(studio, memory_store).kind is Kind.UNCHANGED
        assert "predictions" not in studio.reads

    def test_is_not_a_pass_with_another_database_but_it_writes_nothing(
        self, memory_store: Store, tmp_path: Path
    ) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        with open_store(f"sqlite:///{tmp_path / 'other.db'}") as other:
            assert pass_over(studio, other).kind is Kind.DONE
        assert studio.writes == []

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "recipe",
        [
            replace(PLURALITY, annotator_scores=False),
            replace(PLURALITY, experts=frozenset({3})),
            replace(PLURALITY, only_complete=True),
            replace(PLURALITY, separate_fits=True),
            replace(PLURALITY, method="neg"),
        ],
        ids=["annotator_scores", "experts", "only_complete", "separate_fits", "method"],
    )
    def test_is_not_a_pass_with_another_recipe(self, recipe: Recipe, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        assert pass_over(studio, memory_store, recipe=recipe).kind is Kind.DONE

    def test_is_not_a_pass_from_scratch(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        outcome = pass_over(studio, memory_store, flags=RunFlags(from_scratch=True))
        assert (outcome.kind, studio.writes) == (Kind.DONE, [])

    def test_is_not_a_pass_with_more_gold(self, memory_store: Store) -> None:
        studio = agreed_studio(FEW)
        pass_over(studio, memory_store)
        with memory_store.data.begin() as connection:
            add_gold(connection, PROJECT, {(1, "mood"): "bad"})
        assert report_of_pass(studio, memory_store).summary.gold == 1
