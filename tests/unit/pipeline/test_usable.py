"""One annotation that cannot be used is left out and named; everything else is as if it did not exist."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from functools import cache
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings

from ls_crowd_plugin.chart_records import Figures
from ls_crowd_plugin.controls import Config, read_config
from ls_crowd_plugin.pipeline.annotator_records import annotator_records
from ls_crowd_plugin.pipeline.crowd import Crowd, build_crowd
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.figures import figures
from ls_crowd_plugin.pipeline.label_records import FittedLabel, fitted_labels
from ls_crowd_plugin.pipeline.plan import DesiredPrediction
from ls_crowd_plugin.pipeline.project_fit import fit_project
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import Annotator, AnnotatorDetail, Json
from ls_crowd_plugin.store import Annotation
from tests.support.annotations import answers, mood_annotation
from tests.support.examples import examples
from tests.support.hostile import EVERYTHING, hostile_results
from tests.support.label_configs import RATING, config_of, item
from tests.support.region_configs import BOXES, box_item, span_item
from tests.support.span_crowds import SPAN_CONFIG

STARS = config_of(RATING.format(""))


def annotation(number: int, task: int, annotator: int, result: list[Json], **changes: Any) -> Annotation:
    return replace(mood_annotation(number, task, annotator), result=json.dumps(result), **changes)


def stars(number: int, annotator: int, rating: object, **changes: Any) -> Annotation:
    return annotation(number, 1, annotator, [item("stars", {"rating": rating})], **changes)


def normal_annotations(tasks: int = 4) -> list[Annotation]:
    """Three people agree about everything on some tasks."""
    result = [
        item("mood", {"choices": ["good"]}),
        item("stars", {"rating": 4}),
        item("kind", {"taxonomy": [["a", "b"]]}),
        span_item(0, 9, "PER"),
        box_item(10, 10, 20, 20),
    ]
    return [annotation(10 * task + who, task, who, result) for task in range(tasks) for who in (1, 2, 3)]


def crowd_of(annotations: list[Annotation], config: Config = EVERYTHING, **recipe: Any) -> Crowd:
    return build_crowd(config, annotations, {}, {}, Recipe(**recipe))


class TestLeavingOut:
    def test_names_the_annotation_and_the_reason(self) -> None:
        crowd = crowd_of([stars(1, 1, 4), stars(2, 2, 4), stars(3, 3, 10**400)], STARS)
        assert crowd.left_out_annotations == [(3, "a rating with an absurd number of stars")]
        assert answers(crowd) == [(1, 1, "stars", "4"), (1, 2, "stars", "4")]
        assert (crowd.answer_counts, crowd.people_counts) == ({1: 2}, {1: 2})

    def test_warns_once_about_all_of_them(self) -> None:
        (warning,) = crowd_of([stars(number, number, "x") for number in range(1, 6)], STARS).warnings
        assert warning == (
            "5 annotations are left out: annotation 1 has a rating that is no number; annotation 2 has a rating that is"
            " no number; annotation 3 has a rating that is no number; and so on."
            " Correct or delete them in Label Studio."
        )

    @pytest.mark.parametrize("changes", [{"skipped": True}, {"copied": True}, {"annotator": None}])
    def test_does_not_name_what_would_not_count_anyway(self, changes: Json) -> None:
        assert crowd_of([replace(stars(3, 3, "x"), **changes)], STARS).left_out_annotations == []

    def test_is_also_for_gold(self) -> None:
        crowd = crowd_of([stars(3, 3, "x")], STARS, experts=frozenset({3}))
        assert (crowd.gold, len(crowd.left_out_annotations)) == ({}, 1)

    def test_lets_an_older_annotation_of_the_same_person_count(self) -> None:
        newer = stars(2, 3, "x", updated_at="2027-01-01T00:00:00Z")
        assert answers(crowd_of([stars(1, 3, 2), newer], STARS)) == [(1, 3, "stars", "2")]

    @pytest.mark.parametrize("text", ["", "null", "[" * 5000 + "]" * 5000, "[" + "9" * 5000 + "]", '{"a":1}'])
    def test_is_also_for_what_is_no_result(self, text: str) -> None:
        crowd = crowd_of([*normal_annotations(), replace(annotation(99, 1, 9, []), result=text)])
        assert [number for number, _ in crowd.left_out_annotations] == [99]

    @pytest.mark.slow
    def test_happens_if_too_many_regions_overlap_those_of_others(self) -> None:
        """Two people draw a thousand boxes each on one place; a third draws one. The smaller drawings are compared."""
        many = [box_item(1 + at / 1000, 1, 50, 50, rotation=1 + at / 1000) for at in range(1000)]
        drawn = [annotation(11, 1, 1, many), annotation(12, 1, 2, many), annotation(13, 1, 3, [box_item(1, 1, 50, 50)])]
        crowd = crowd_of(drawn, read_config(BOXES.format("")))
        reason = "regions that overlap those of other people too often to be compared"
        assert crowd.left_out_annotations == [(12, reason)]
        assert set(crowd.annotators) == {1, 3}

    @pytest.mark.slow
    def test_counts_no_regions_of_different_tasks_together(self) -> None:
        many = [span_item(0, 100, "PER") for _ in range(1500)]
        crowd = crowd_of([annotation(task, task, task, many) for task in (1, 2, 3)], SPAN_CONFIG)
        assert crowd.left_out_annotations == []


class Results(NamedTuple):
    """Everything that a pass makes of a crowd."""

    predictions: list[DesiredPrediction]
    labels: list[FittedLabel]
    annotators: list[tuple[Annotator, AnnotatorDetail]]
    figures: Figures

    @classmethod
    def of(cls, crowd: Crowd) -> Results:
        fit = fit_project(crowd, "neg")
        labels = fitted_labels(crowd, fit)
        people = annotator_records(crowd, fit, labels)
        return cls(desired_predictions(crowd, fit), labels, people, figures(crowd, fit, labels))

    def to_json(self) -> Json:
        found = {
            "predictions": [(one.task, one.result, one.score) for one in self.predictions],
            "labels": [asdict(label.record) for label in self.labels],
            "annotators": [(asdict(one), asdict(detail)) for one, detail in self.annotators],
            "figures": asdict(self.figures),
        }
        return dict(json.loads(json.dumps(found, allow_nan=False)))


def results_of(crowd: Crowd) -> Json:
    """Everything that a pass makes of a crowd, which has to be JSON."""
    return Results.of(crowd).to_json()


def places(results: Json, task: int) -> list[Json]:
    """What a prediction says, without scores, which depend on the whole crowd."""
    (items,) = [items for number, items, _ in results["predictions"] if number == task]
    return [one["value"] for one in items]


MANY = {
    "spans": (SPAN_CONFIG, [span_item(at // 2, 20_000 - at // 3, "PER") for at in range(4000)]),
    "boxes": (read_config(BOXES.format("")), [box_item(at / 900, 5 - at / 900, 50, 50) for at in range(4000)]),
    "rotated boxes": (
        read_config(BOXES.format("")),
        [box_item(at / 900, 5 - at / 900, 50, 50, rotation=at / 45) for at in range(4000)],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MANY)
def test_thousands_of_overlapping_regions_in_one_annotation_take_seconds(kind: str) -> None:
    """Beside five people with twenty regions each, on ten tasks; a quiet machine needs half of the time."""
    config, many = MANY[kind]
    few = [span_item(1000 * at, 1000 * at + 600, "PER") for at in range(20)]
    if kind != "spans":
        few = [box_item(12 * (at % 5), 12 * (at // 5), 10, 10) for at in range(20)]
    normal = [annotation(10 * task + who, task, who, few) for task in range(10) for who in range(1, 6)]
    started = time.process_time()
    crowd = crowd_of([*normal, annotation(999, 0, 9, many)], config)
    results = Results.of(crowd)
    assert time.process_time() - started < 5
    found = results.to_json()
    assert crowd.left_out_annotations == []
    assert len(places(found, 0)) == len(places(found, 1)) == 20
    too_many = crowd_of([*normal, annotation(999, 0, 9, many * 5)], config)
    assert too_many.left_out_annotations == [(999, "more than 5,000 regions")]


@cache
def expected_results() -> Json:
    return results_of(crowd_of(normal_annotations()))


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(result=hostile_results)
def test_a_hostile_result_changes_nothing_else(result: list[Any]) -> None:
    expected = expected_results()
    hostile = annotation(99, 1, 9, result, lead_time=1e308, created_at="0001-01-01T00:00:00Z")
    crowd = crowd_of([*normal_annotations(), hostile])
    found = results_of(crowd)
    if crowd.left_out_annotations:
        assert found == expected
    for task in (0, 2, 3):
        assert places(found, task) == places(expected, task)
