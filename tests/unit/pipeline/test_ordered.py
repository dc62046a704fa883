"""Scales in projects: which questions are fitted as ordered, and what is then written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ls_crowd_plugin.aggregation import aggregate
from ls_crowd_plugin.controls import NONE, read_config
from ls_crowd_plugin.pipeline import project_fit
from ls_crowd_plugin.pipeline.crowd import Crowd, build_crowd
from ls_crowd_plugin.pipeline.project_fit import fit_project
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import Annotation, Store
from tests.support.annotations import answers, mood_annotation
from tests.support.label_configs import TEXT
from tests.support.memory_studio import MemoryStudio
from tests.support.passes import PLURALITY, report_of_pass

LABELS = ("poor", "fair", "good", "great", "superb")  # alphabetically, "poor" is the fourth
CHOICE = "".join(f'<Choice value="{name}"/>' for name in LABELS)
CHOICES = f'<Choices name="quality" toName="text">{CHOICE}</Choices>'
STARS = '<Rating name="stars" toName="text"/>'
BOTH = f"<View>{TEXT}{CHOICES}{STARS}</View>"
SPANS = f"""<View>{TEXT}
  <Labels name="entity" toName="text"><Label value="PER"/><Label value="ORG"/></Labels>
  {CHOICES.replace("toName", 'perRegion="true" toName')}
</View>"""
SPLIT = (1, 1, 3, 4, 5)  # places: the most frequent is the first, the median is the third
NAMED = Recipe(ordered=frozenset({"quality"}))


def result(quality: str | None = None, stars: int | None = None) -> list[Json]:
    about_quality = {"from_name": "quality", "to_name": "text", "type": "choices", "value": {"choices": [quality]}}
    about_stars = {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": stars}}
    return [*([about_quality] if quality else []), *([about_stars] if stars else [])]


def annotation(number: int, task: int, annotator: int, items: list[Json]) -> Annotation:
    return replace(mood_annotation(number, task, annotator, "x"), result=json.dumps(items))


def crowd_of(recipe: Recipe, *rows: tuple[int, int, list[Json]], gold: Any = None, config: str = BOTH) -> Crowd:
    """The crowd of (task, annotator, result)."""
    annotations = [annotation(number, *row) for number, row in enumerate(rows, start=1)]
    return build_crowd(read_config(config), annotations, gold or {}, {}, recipe)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Json]:
    """What every call of `aggregate` asks for."""
    calls: list[Json] = []

    def spy(*columns: Any, **options: Any) -> Any:
        calls.append({**options, "questions": set(options["questions"])})
        return aggregate(*columns, **options)

    monkeypatch.setattr(project_fit, "aggregate", spy)
    return calls


def agreed_rows(tasks: int = 12) -> list[tuple[int, int, list[Json]]]:
    places = [(task, annotator, task % 5) for task in range(tasks) for annotator in (1, 2, 3)]
    return [(task, annotator, result(LABELS[place], place + 1)) for task, annotator, place in places]


class TestFits:
    def test_know_which_questions_are_ordered(self, asked: list[Json]) -> None:
        fit_project(crowd_of(Recipe(), *agreed_rows()), "plu")
        fit_project(crowd_of(NAMED, *agreed_rows()), "plu", decide="distance")
        assert [(call["ordered"], call["decide"]) for call in asked] == [
            ({"stars"}, "label"),
            ({"quality", "stars"}, "distance"),
        ]

    def test_of_each_control_know_it_too(self, asked: list[Json]) -> None:
        fit_project(crowd_of(Recipe(), *agreed_rows()), "plu", separate=True, decide="distance")
        assert [(call["questions"], call["ordered"], call["decide"]) for call in asked] == [
            ({"quality"}, set(), "label"),
            ({"stars"}, {"stars"}, "distance"),
        ]

    @pytest.mark.slow
    def test_that_hold_answers_back_know_it_too(self, asked: list[Json]) -> None:
        crowd = crowd_of(NAMED, *agreed_rows(), gold={(0, "quality"): "poor"})
        fit = fit_project(crowd, "gem", decide="distance")
        (call,) = asked
        assert call["lessons"] is not None
        assert call["ordered"] == {"quality", "stars"}
        assert fit.summary.form

    def test_of_regions_know_it_too(self, asked: list[Json]) -> None:
        rows = [(task, person, span(LABELS[task % 5])) for task in range(12) for person in (1, 2, 3)]
        fit_project(crowd_of(NAMED, *rows, config=SPANS), "plu", decide="distance")
        assert [(call["ordered"], call["decide"]) for call in asked] == [({"quality"}, "distance")] * 2

    def test_of_unordered_labels_have_no_distance(self, asked: list[Json]) -> None:
        rows = [(task, person, result(LABELS[task % 5])) for task in range(3) for person in (1, 2)]
        fit_project(crowd_of(Recipe(), *rows), "plu", decide="distance")
        assert [(call["ordered"], call["decide"]) for call in asked] == [(set(), "label")]


def span(quality: str) -> list[Json]:
    place = {"start": 0, "end": 5}
    shared = {"id": "r1", "to_name": "text"}
    return [
        {**shared, "from_name": "entity", "type": "labels", "value": {**place, "labels": ["PER"]}},
        {**shared, "from_name": "quality", "type": "choices", "value": {**place, "choices": [quality]}},
    ]


class TestNothingChosen:
    """An optional control that was left empty."""

    ROWS = ((1, 1, result("good", 3)), (1, 2, result("good")), (1, 3, result(None, 4)))

    def test_is_no_answer_where_labels_are_ordered(self) -> None:
        crowd = crowd_of(NAMED, *self.ROWS)
        assert {(who, name) for _, who, name, _ in answers(crowd)} == {
            *((1, "quality"), (1, "stars"), (2, "quality"), (3, "stars")),
        }
        assert all(NONE not in labels for labels in crowd.label_set.values())

    def test_is_an_answer_where_they_are_not(self) -> None:
        assert (1, 3, "quality", NONE) in answers(crowd_of(Recipe(), *self.ROWS))

    def test_is_no_gold_either(self) -> None:
        crowd = crowd_of(NAMED, *self.ROWS, gold={(1, "quality"): NONE, (1, "stars"): "3"})
        assert crowd.gold == {(1, "stars"): "3"}
        assert [warning for warning in crowd.warnings if "'(none)' for 'quality' of task 1" in warning]

    def test_by_everybody_leaves_the_question_of_that_task_without_label(self) -> None:
        fit = fit_project(crowd_of(NAMED, (1, 1, result("good")), (2, 1, result("good", 4))), "plu")
        assert set(fit.labels) == {(1, "quality"), (2, "quality"), (2, "stars")}


class TestPass:
    """Over a Label Studio in memory."""

    @staticmethod
    def written(store: Store, **recipe: Any) -> tuple[str, int]:
        """Quality and stars that are written for the first of several tasks on all of which people are split."""
        studio = MemoryStudio(range(1, 12), label_config=BOTH)
        for task in range(1, 12):
            for number, place in enumerate(SPLIT):
                studio.annotate(task, 1 + (number + task) % 5, "", result=result(LABELS[place - 1], place))
        report_of_pass(studio, store, recipe=replace(PLURALITY, **recipe))
        (items,) = (row["result"] for row in studio.prediction_rows.values() if row["task"] == 1)
        values = {item["from_name"]: item["value"] for item in items}
        return values["quality"]["choices"][0], values["stars"]["rating"]

    def test_writes_the_most_probable_label(self, memory_store: Store) -> None:
        assert self.written(memory_store, ordered=frozenset({"quality"})) == ("poor", 1)

    def test_writes_the_label_of_least_expected_distance_if_so_configured(self, memory_store: Store) -> None:
        assert self.written(memory_store, decide="distance") == ("poor", 3)

    def test_takes_the_order_of_the_label_config(self, memory_store: Store) -> None:
        assert self.written(memory_store, decide="distance", ordered=frozenset({"quality"})) == ("good", 3)

    def test_reports_controls_that_cannot_be_ordered_and_does_its_work(self, memory_store: Store) -> None:
        studio = MemoryStudio([1], label_config=BOTH)
        studio.annotate(1, 1, "", result=result("good", 3))
        recipe = replace(PLURALITY, ordered=frozenset({"qualty"}), decide="distance")
        report = report_of_pass(studio, memory_store, recipe=recipe)
        assert len(studio.prediction_rows) == 1
        assert [warning for warning in report.summary.warnings if "'qualty', which is no control" in warning]
