"""The numbers that a project's charts are drawn from."""

from __future__ import annotations

import numpy as np
import pytest

from ls_crowd_plugin.chart_records import AnswerYield, Figures, GoldCheck, LabelCount
from ls_crowd_plugin.pipeline.crowd import Crowd
from ls_crowd_plugin.pipeline.figures import BARS, MAX_PERIODS, figures
from ls_crowd_plugin.pipeline.label_records import fitted_labels
from ls_crowd_plugin.pipeline.project_fit import fit_project
from tests.support.annotations import mood_annotation, mood_crowd
from tests.support.span_crowds import crowd_of_spans, span_annotation


def figures_of(crowd: Crowd, method: str = "plu") -> Figures:
    fit = fit_project(crowd, method)
    return figures(crowd, fit, fitted_labels(crowd, fit))


def crowd_at(*times: str) -> Crowd:
    """One task for each time at which it was annotated."""
    annotations = [
        mood_annotation(10 * task + annotator, task, annotator, "good", created_at=time)
        for task, time in enumerate(times, 1)
        for annotator in (1, 2)
    ]
    return mood_crowd(*annotations)


def crowd_of_three(gold: dict[tuple[int, str], str] | None = None) -> Crowd:
    """Twenty tasks with the same answer by three people; on the last the third disagrees, and one has one answer."""
    annotations = [
        mood_annotation(10 * task + annotator, task, annotator, "good" if task % 2 else "bad")
        for task in range(1, 21)
        for annotator in (1, 2, 3)
    ]
    annotations[-1] = mood_annotation(203, 20, 3, "good")
    return mood_crowd(*annotations, mood_annotation(211, 21, 1, "good"), gold=gold)


def crowd_with_hard_tasks() -> Crowd:
    """Seven people who are nearly always right, but on every third task hardly more often than by chance."""
    chance = np.random.default_rng(1)
    annotations = []
    for task in range(1, 61):
        truth = int(chance.integers(2))
        for annotator in range(1, 8):
            is_right = chance.random() < (0.98 if task % 3 else 0.55)
            label = ("good", "bad")[truth if is_right else 1 - truth]
            annotations.append(mood_annotation(10 * task + annotator, task, annotator, label))
    return mood_crowd(*annotations)


class TestConfidence:
    def test_has_a_bar_for_each_range(self) -> None:
        histogram = figures_of(crowd_of_three()).confidence
        assert (histogram.low, histogram.high, len(histogram.counts)) == (0.0, 1.0, BARS)
        assert sum(histogram.counts) == 21

    def test_leaves_out_gold(self) -> None:
        assert sum(figures_of(crowd_of_three({(1, "mood"): "good"})).confidence.counts) == 20

    def test_of_plurality_comes_without_difficulty(self) -> None:
        assert figures_of(crowd_of_three()).difficulty is None

    def test_of_a_model_comes_with_difficulty(self) -> None:
        difficulty = figures_of(crowd_with_hard_tasks(), "gem").difficulty
        assert difficulty is not None
        assert (sum(difficulty.counts), difficulty.low < difficulty.high) == (60, True)


GOLD = {(task, "mood"): "good" if task % 2 else "bad" for task in range(1, 20)}


class TestGold:
    def test_check_counts_what_would_have_been_right(self) -> None:
        wrong = {**GOLD, (19, "mood"): "bad"}
        assert figures_of(crowd_of_three(wrong)).gold == GoldCheck(labels=19, right=18, plurality=18.0)

    def test_check_counts_ties_by_chance(self) -> None:
        tied = mood_crowd(mood_annotation(1, 1, 1, "good"), mood_annotation(2, 1, 2, "bad"), gold={(1, "mood"): "good"})
        assert figures_of(tied).gold.plurality == 0.5

    @pytest.mark.slow
    def test_check_counts_regions_that_everybody_missed(self) -> None:
        annotations = [span_annotation(10 * task + who, task, who, []) for task in range(20) for who in (1, 2, 3)]
        annotations += [span_annotation(10 * task + 9, task, 9, [(0, 5, "PER")]) for task in range(20)]
        crowd = crowd_of_spans(annotations, experts=(9,))
        assert figures_of(crowd, "auto").gold == GoldCheck(labels=20, right=0, plurality=0)

    def test_calibration_puts_equally_confident_labels_together(self) -> None:
        points = figures_of(crowd_of_three(GOLD)).calibration
        assert [point.confidence for point in points] == sorted({point.confidence for point in points})
        assert sum(point.labels for point in points) == len(GOLD)

    def test_without_gold_there_is_no_calibration(self) -> None:
        found = figures_of(crowd_of_three())
        assert (found.calibration, found.gold) == ([], GoldCheck(0, 0, 0))


class TestOverTime:
    def test_counts_annotations_in_equal_periods(self) -> None:
        series = figures_of(crowd_at("2026-01-01T10:00:10Z", "2026-01-01T10:00:50Z", "2026-01-01T10:02:00Z")).over_time
        assert series is not None
        assert (series.first, series.seconds, series.counts) == ("2026-01-01T10:00:00+00:00", 60, [4, 0, 2])

    def test_takes_longer_periods_for_a_longer_time(self) -> None:
        series = figures_of(crowd_at("2026-01-01T10:00:00Z", "2026-01-10T10:00:00Z")).over_time
        assert series is not None
        assert (series.seconds, sum(series.counts), len(series.counts) <= MAX_PERIODS + 1) == (21600, 4, True)

    def test_is_missing_where_no_time_can_be_read(self) -> None:
        assert figures_of(crowd_at("", "yesterday")).over_time is None


def test_tasks_and_settled_ones_are_counted_by_number_of_answers() -> None:
    cost = figures_of(crowd_of_three(), "gem").cost
    assert [(row.answers, row.tasks) for row in cost] == [(1, 1), (3, 20)]
    assert all(0 <= row.settled <= row.tasks for row in cost)


@pytest.mark.parametrize("gold", [{}, {(1, "mood"): "good"}])
def test_gold_settles_no_task_by_being_gold(gold: dict[tuple[int, str], str]) -> None:
    crowd = mood_crowd(mood_annotation(1, 1, 1, "good"), mood_annotation(2, 1, 2, "bad"), gold=gold)
    assert figures_of(crowd).cost == [AnswerYield(answers=2, tasks=1, settled=0)]


def test_labels_are_counted_as_consensus_and_as_plurality() -> None:
    crowd = mood_crowd(
        mood_annotation(1, 1, 1, "good"), mood_annotation(2, 1, 2, "good"), mood_annotation(3, 2, 1, "bad"),
        gold={(2, "mood"): "good"},
    )  # fmt: skip
    assert figures_of(crowd).label_counts == {"mood": {"good": LabelCount(2, 1), "bad": LabelCount(0, 1)}}
