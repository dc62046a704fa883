"""While people work in a large project, an answered task gets a vote by the last fit, and a new fit comes later."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable
from dataclasses import replace

import pytest

from ls_crowd_plugin.controls import read_config
from ls_crowd_plugin.errors import UnusableInput
from ls_crowd_plugin.pipeline import fitting, rest
from ls_crowd_plugin.pipeline.context import Pace, RunFlags
from ls_crowd_plugin.pipeline.crowd import Crowd, build_crowd
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.outcome import Kind, Outcome
from ls_crowd_plugin.pipeline.project_fit import fit_project
from ls_crowd_plugin.pipeline.region_groups import task_of
from ls_crowd_plugin.pipeline.remembered import MAX_PROJECTS, FitMemory, max_answers
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.gold import add_gold
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import agreed_studio, change_minds, pass_over
from tests.support.predictions import FEW
from tests.support.probing import QUESTION, probed_crowd
from tests.support.span_crowds import span_crowd

CONFIG_OF_TWO = (
    '<View><Text name="text" value="$text"/>'
    '<Choices name="mood" toName="text"><Choice value="good"/><Choice value="bad"/></Choices>'
    '<Choices name="kind" toName="text"><Choice value="a"/><Choice value="b"/></Choices></View>'
)
GEM = Recipe(method="gem", task_meta="off")


@pytest.fixture
def fits() -> FitMemory:
    return FitMemory()


@pytest.fixture
def number_of_fits(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many fits there were since this was asked."""
    made: list[int] = []

    def fit_and_count(*arguments: object, **options: object) -> object:
        made.append(1)
        return fit_project(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(fitting, "fit_project", fit_and_count)

    def count() -> int:
        total = len(made)
        made.clear()
        return total

    return count


@pytest.fixture(autouse=True)
def even_a_few_tasks_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "LARGE_PROJECT", len(FEW) - 1)


@pytest.fixture
def live_pass(sqlite_store: Store, fits: FitMemory) -> Callable[[MemoryStudio], Outcome]:
    def run(studio: MemoryStudio, recipe: Recipe = GEM) -> Outcome:
        return pass_over(studio, sqlite_store, recipe=recipe, flags=RunFlags(pace=Pace.LIVE), fits=fits)

    return run


@pytest.fixture
def studio(sqlite_store: Store, fits: FitMemory, number_of_fits: Callable[[], int]) -> MemoryStudio:
    """A project that was fitted."""
    studio = agreed_studio(FEW)
    pass_over(studio, sqlite_store, recipe=GEM, fits=fits)
    assert number_of_fits() == 1
    return studio


LivePass = Callable[[MemoryStudio], Outcome]


def test_an_answered_task_needs_no_fit(
    studio: MemoryStudio, live_pass: LivePass, number_of_fits: Callable[[], int]
) -> None:
    before = studio.labels()
    change_minds(studio, FEW[0])
    assert live_pass(studio).kind is Kind.DONE
    assert number_of_fits() == 0
    after = studio.labels()
    assert after.pop(FEW[0]) != before.pop(FEW[0])
    assert after == before


def test_at_rest_everything_is_as_after_a_fresh_sync(
    studio: MemoryStudio, live_pass: LivePass, sqlite_store: Store, fits: FitMemory
) -> None:
    change_minds(studio, FEW[0])
    live_pass(studio)
    settled = RunFlags(pace=Pace.SETTLE)
    pass_over(studio, sqlite_store, recipe=GEM, flags=settled, fits=fits)
    at_rest = studio.contents()
    for key in list(studio.prediction_rows):
        del studio.prediction_rows[key]
    pass_over(studio, sqlite_store, recipe=GEM, flags=RunFlags(from_scratch=True))
    assert [json.loads(row)["score"] for row in studio.contents()] == [json.loads(row)["score"] for row in at_rest]
    assert studio.contents() == at_rest


def answer_as_somebody_new(studio: MemoryStudio, store: Store) -> None:
    del store
    studio.annotate(FEW[0], 17, "good")


def mark_gold(studio: MemoryStudio, store: Store) -> None:
    change_minds(studio, FEW[0])
    with store.data.begin() as connection:
        add_gold(connection, PROJECT, {(FEW[1], "mood"): "bad"})


@pytest.mark.parametrize("change", [answer_as_somebody_new, mark_gold])
def test_what_the_last_fit_does_not_know_needs_a_new_one(
    change: Callable[[MemoryStudio, Store], None],
    studio: MemoryStudio,
    sqlite_store: Store,
    live_pass: LivePass,
    number_of_fits: Callable[[], int],
) -> None:
    change(studio, sqlite_store)
    assert live_pass(studio).kind is Kind.DONE
    assert number_of_fits() == 1


def test_a_task_without_answers_loses_its_prediction(
    studio: MemoryStudio, live_pass: LivePass, number_of_fits: Callable[[], int]
) -> None:
    studio.delete_annotations(FEW[0])
    assert live_pass(studio).kind is Kind.DONE
    assert sorted(studio.labels()) == sorted(FEW[1:])
    assert number_of_fits() == 0


def test_another_recipe_needs_a_new_fit(
    studio: MemoryStudio, sqlite_store: Store, fits: FitMemory, number_of_fits: Callable[[], int]
) -> None:
    change_minds(studio, FEW[0])
    flags = RunFlags(pace=Pace.LIVE)
    pass_over(studio, sqlite_store, recipe=Recipe(method="neg", task_meta="off"), flags=flags, fits=fits)
    assert number_of_fits() == 1


def test_a_fit_that_is_older_than_what_another_worker_stored_does_not_vote(
    studio: MemoryStudio, sqlite_store: Store, live_pass: LivePass, number_of_fits: Callable[[], int]
) -> None:
    change_minds(studio, FEW[0])
    pass_over(studio, sqlite_store, recipe=GEM, fits=FitMemory())  # the other worker
    change_minds(studio, FEW[1])
    number_of_fits()
    assert live_pass(studio).kind is Kind.DONE
    assert number_of_fits() == 1


def test_a_fit_of_a_deleted_project_does_not_vote_in_a_new_one_of_the_same_id(
    studio: MemoryStudio, sqlite_store: Store, live_pass: LivePass, number_of_fits: Callable[[], int]
) -> None:
    studio.wait(60)
    studio.delete_project(PROJECT)
    studio.prediction_rows.clear()
    studio.add_project(PROJECT, range(101, 110))
    for annotator in (1, 2, 3):
        studio.annotate(101, annotator, "good")
    pass_over(studio, sqlite_store, recipe=GEM, fits=FitMemory())
    number_of_fits()
    studio.annotate(102, 1, "good")
    assert live_pass(studio).kind is Kind.DONE
    assert number_of_fits() == 1


def part_of(crowd: Crowd, task: int) -> Crowd:
    """The answers to one task, as if they were read alone."""
    rows = [row for row, unit in enumerate(crowd.units) if task_of(unit) == task]
    groups = {unit: group for unit, group in crowd.groups.items() if task_of(unit) == task}
    return replace(crowd.of_rows(rows), groups=groups)


class TestVotes:
    def test_on_regions_are_what_the_fit_says(self) -> None:
        crowd = span_crowd([(0, 5, "PER")], [(0, 5, "PER"), (10, 15, "ORG")], [(0, 5, "ORG")], [], tasks=20)
        fit = fit_project(crowd)
        expected = {one.task: one for one in desired_predictions(crowd, fit)}
        for task in (0, 7):
            part = part_of(crowd, task)
            (prediction,) = desired_predictions(part, fit.vote(part))
            assert prediction == expected[task]

    def test_refuse_unknown_questions(self) -> None:
        fit = fit_project(span_crowd([(0, 5, "PER")], [(0, 5, "PER")]))
        with pytest.raises(UnusableInput, match="question 'colour'"):
            fit.vote(Crowd(span_crowd([]).config, [1], [1], ["red"], ["colour"]))

    def test_name_the_methods_of_all_questions(self) -> None:
        config = read_config(CONFIG_OF_TWO)
        rows = [(task, who, "good", "mood") for task in range(9) for who in (1, 2, 3)] + [(9, 1, "a", "kind")]
        tasks, people, labels, questions = (list(column) for column in zip(*rows, strict=True))
        crowd = Crowd(config, tasks, people, labels, questions)
        fit = fit_project(crowd, separate=True)
        part = crowd.of_rows([0, 1, 2])
        assert fit.vote(part).method == fit.method == "gem; plu"


class TestMemory:
    @pytest.mark.parametrize("gold", [0.0, 0.3])
    def test_is_freed_at_once(self, gold: float) -> None:
        """Without waiting for the collector of cycles, which may come after the memory is used up."""
        probed = probed_crowd(1, gold=gold, tasks=40, people=10, own_answers=10)
        known = {(task, QUESTION): label for task, label in probed.gold.items()}
        crowd = build_crowd(probed.config, probed.annotations, known, {}, Recipe())
        fit = fit_project(crowd, "gem")
        desired_predictions(crowd, fit)
        held = weakref.ref(fit._fits[0])
        fits = FitMemory()
        fits.remember(1, "", 1, fit)
        gc.collect()
        gc.disable()
        del fit
        fits.clear()
        is_freed = held() is None
        gc.enable()
        assert is_freed

    def test_is_a_share_of_what_the_process_may_use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ls_crowd_plugin.pipeline.remembered.memory_limit", lambda: 512)
        assert max_answers() == 512 * 2**20 // 4 // 1600

    def test_forgets_the_oldest_projects(self) -> None:
        fit, fits = fit_project(span_crowd([(0, 5, "PER")], [])), FitMemory()
        for project in range(MAX_PROJECTS + 1):
            fits.remember(project, "gold", 10, fit)
        assert [fits.recall(project, "gold") for project in (0, 1)] == [None, fit]
        assert fits.recall(1, "other gold") is None

    def test_forgets_what_is_too_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ls_crowd_plugin.pipeline.remembered.MAX_ANSWERS", 15)
        fit, fits = fit_project(span_crowd([(0, 5, "PER")], [])), FitMemory()
        for project in (1, 2):
            fits.remember(project, "", 10, fit)
        assert [fits.recall(project, "") for project in (1, 2)] == [None, fit]
        fits.remember(3, "", 16, fit)
        assert [fits.recall(project, "") for project in (2, 3)] == [fit, None]
        fits.clear()
        assert fits.is_empty
