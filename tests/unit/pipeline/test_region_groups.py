"""From what people drew to what a task's prediction says: groups, gold, unusual tasks, and that no order matters."""

from __future__ import annotations

import time
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.controls import NO_REGION
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.project_fit import fit_project
from tests.support.examples import examples
from tests.support.span_crowds import (
    Span,
    Spans,
    crowd_of_spans,
    predicted_spans,
    prediction_of,
    span_annotation,
    span_crowd,
)


def random_span(generator: np.random.Generator) -> Span:
    start = int(generator.integers(0, 80))
    return start, start + 10, ("PER", "ORG")[int(generator.integers(2))]


class TestGroups:
    def test_ask_everybody_who_saw_the_task(self) -> None:
        crowd = span_crowd([(0, 5, "PER")], [(0, 5, "PER")], [])
        rows = zip(crowd.units, crowd.annotators, crowd.labels, strict=True)
        said = {annotator: label for unit, annotator, label in rows if unit == (0, "entity", 0)}
        assert said == {1: "PER", 2: "PER", 3: NO_REGION}

    def test_do_not_ask_people_who_skipped(self) -> None:
        annotations = [span_annotation(1, 1, 1, [(0, 5, "PER")]), span_annotation(2, 1, 2, [], skipped=True)]
        assert crowd_of_spans(annotations).annotators == [1]

    def test_keep_two_labels_of_one_person_apart(self) -> None:
        both = [(0, 5, "PER"), (0, 5, "ORG")]
        assert predicted_spans(prediction_of(span_crowd(both, both, both))) == [(0, 5, "ORG"), (0, 5, "PER")]

    def test_let_different_labels_of_two_people_disagree(self) -> None:
        crowd = span_crowd([(0, 5, "PER")], [(0, 5, "PER")], [(0, 5, "ORG")])
        assert predicted_spans(prediction_of(crowd)) == [(0, 5, "PER")]
        assert len(crowd.groups) == 12

    def test_keep_nested_and_touching_regions(self) -> None:
        spans = [(0, 10, "ORG"), (0, 4, "PER"), (10, 15, "PER")]
        assert predicted_spans(prediction_of(span_crowd(spans, spans, spans))) == sorted(spans)


class TestConsensus:
    def test_has_the_boundaries_of_the_majority(self) -> None:
        crowd = span_crowd([(0, 5, "PER")], [(0, 5, "PER")], [(1, 6, "PER")])
        assert predicted_spans(prediction_of(crowd)) == [(0, 5, "PER")]

    def test_leaves_out_what_one_of_many_drew(self) -> None:
        others: list[Spans] = [[(20, 25, "ORG")]] * 4
        crowd = span_crowd(*others, [(20, 25, "ORG"), (40, 50, "PER")])
        assert predicted_spans(prediction_of(crowd)) == [(20, 25, "ORG")]

    @pytest.mark.slow
    def test_keeps_what_a_skilled_minority_drew(self) -> None:
        """Two people are right on gold and elsewhere, three draw at random: a majority would keep nothing."""
        generator = np.random.default_rng(1)
        annotations, truth = [], {}
        for task in range(60):
            truth[task] = random_span(generator)
            spans = [truth[task], truth[task], *(random_span(generator) for _ in range(3))]
            annotations += [span_annotation(100 * task + who, task, who, [span]) for who, span in enumerate(spans, 1)]
            if task < 10:
                annotations.append(span_annotation(100 * task + 9, task, 9, [truth[task]]))
        crowd = crowd_of_spans(annotations, experts=(9,))
        predictions = desired_predictions(crowd, fit_project(crowd))
        right = sum(truth[prediction.task] in predicted_spans(prediction) for prediction in predictions)
        extra = sum(len(predicted_spans(prediction)) for prediction in predictions) - right
        assert right >= 54
        assert extra <= 12

    def test_has_other_questions_beside_the_regions(self) -> None:
        annotations = [
            span_annotation(10 * task + who, task, who, [(0, 5, "PER")], "good")
            for task in range(9)
            for who in (1, 2, 3)
        ]
        prediction = prediction_of(crowd_of_spans(annotations))
        assert [item["type"] for item in prediction.result] == ["choices", "labels"]
        assert set(prediction.result[0]["meta"]["crowd"]["confidence"]) == {"mood", "entity"}

    def test_says_of_each_region_how_sure_it_is_and_who_drew_it(self) -> None:
        (item,) = prediction_of(span_crowd([(0, 5, "PER")], [(0, 5, "PER")], [(0, 5, "PER")], [])).result
        assert item["meta"]["text"] == [f"{item['score']:.0%} sure; drawn by 3 of 4 people"]


class TestGold:
    @pytest.mark.slow
    def test_does_not_show_in_predictions(self) -> None:
        """A gold region that nobody drew counts against everybody, and is not in the prediction."""
        annotations = [
            span_annotation(100 * task + who, task, who, [(0, 5, ("PER", "ORG")[task % 2])] if who < 4 else [])
            for task in range(12)
            for who in (1, 2, 3, 4)
        ]
        gold = span_annotation(9, 0, 9, [(0, 5, "PER"), (30, 35, "ORG")])
        crowd, without_gold = crowd_of_spans([*annotations, gold], experts=(9,)), crowd_of_spans(annotations)
        labels = {((0, "entity", 0), "entity"): "PER", ((0, "entity", 1), "entity"): "ORG"}
        assert (crowd.gold, without_gold.gold) == (labels, {})
        assert crowd.groups[0, "entity", 1].missed
        assert 9 not in crowd.annotators
        assert predicted_spans(prediction_of(crowd)) == predicted_spans(prediction_of(without_gold)) == [(0, 5, "PER")]

    def test_that_everybody_missed_counts_as_wrong(self) -> None:
        annotations = [span_annotation(10 * task + who, task, who, []) for task in range(20) for who in (1, 2, 3)]
        annotations += [span_annotation(10 * task + 9, task, 9, [(0, 5, "PER")]) for task in range(20)]
        scores = fit_project(crowd_of_spans(annotations, experts=(9,))).scores
        assert [score.gold_correct for score in scores.values()] == [0, 0, 0]

    def test_without_regions_makes_every_region_wrong(self) -> None:
        annotations = [span_annotation(who, 0, who, [(0, 5, "PER")]) for who in (1, 2)]
        crowd = crowd_of_spans([*annotations, span_annotation(9, 0, 9, [])], experts=(9,))
        assert crowd.gold == {((0, "entity", 0), "entity"): NO_REGION}

    def test_of_several_experts_on_a_task_is_not_used(self) -> None:
        spans: Spans = [(0, 5, "PER")]
        crowd = span_crowd(spans, spans, spans, spans, experts=(3, 4))
        assert not crowd.gold
        assert any("several gold annotations" in warning for warning in crowd.warnings)


class TestUnusualTasks:
    def test_nobody_drew_anything(self) -> None:
        prediction = prediction_of(span_crowd([], [], []))
        assert (prediction.result, 0.5 < prediction.score <= 1) == ([], True)

    def test_one_annotator(self) -> None:
        assert predicted_spans(prediction_of(span_crowd([(0, 5, "PER")]))) == [(0, 5, "PER")]

    def test_spans_without_width(self) -> None:
        spans: Spans = [(3, 3, "PER"), (5, 9, "ORG")]
        assert predicted_spans(prediction_of(span_crowd(spans, spans, spans))) == [(3, 3, "PER"), (5, 9, "ORG")]

    def test_unknown_labels(self) -> None:
        """Somebody who drew a region with a label that was removed has not said that there is nothing."""
        good: Spans = [(0, 5, "PER")]
        crowd = span_crowd(good, good, [(0, 5, "PER"), (9, 12, "removed")])
        assert set(crowd.annotators) == {1, 2}
        assert predicted_spans(prediction_of(crowd)) == [(0, 5, "PER")]

    @pytest.mark.slow
    def test_thousands_of_regions(self) -> None:
        """Time per region grows little from hundreds to thousands of them on one task."""

        def seconds(regions: int) -> float:
            spans = [(20 * position, 20 * position + 12, "PER") for position in range(regions)]
            started = time.perf_counter()
            assert len(span_crowd(*[spans] * 5, tasks=1).groups) == regions
            return (time.perf_counter() - started) / regions

        seconds(10)
        assert seconds(2000) < 20 * min(seconds(200) for _ in range(3))


any_span = st.tuples(st.integers(0, 30), st.integers(0, 10), st.sampled_from(["PER", "ORG"])).map(
    lambda drawn: (drawn[0], drawn[0] + drawn[1], drawn[2])
)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.lists(any_span, max_size=4), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_no_order_changes_the_result(drawings: list[list[Span]], random: Random) -> None:
    people = [(task, annotator, spans) for task in range(2) for annotator, spans in enumerate(drawings, 1)]
    ordered = [span_annotation(100 * task + who, task, who, spans) for task, who, spans in people]
    shuffled = [
        span_annotation(100 * task + who, task, who, random.sample(spans, len(spans))) for task, who, spans in people
    ]
    random.shuffle(shuffled)
    results = []
    for same_annotations in (ordered, shuffled):
        crowd = crowd_of_spans(same_annotations)
        predictions = desired_predictions(crowd, fit_project(crowd, "neg"))
        results.append([(predicted_spans(prediction), prediction.score) for prediction in predictions])
    assert results[0] == results[1]
