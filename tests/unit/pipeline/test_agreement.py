"""Krippendorff's alpha, and how often two annotators agree."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.chart_records import Agreement
from ls_crowd_plugin.pipeline.agreement import MAX_PEOPLE, agreement, krippendorff_alpha
from ls_crowd_plugin.pipeline.crowd import Crowd
from ls_crowd_plugin.pipeline.label_records import fitted_labels
from ls_crowd_plugin.pipeline.project_fit import fit_project
from tests.support.annotations import mood_annotation, mood_crowd
from tests.support.span_crowds import span_crowd


def agreement_of(crowd: Crowd, method: str = "plu") -> Agreement:
    return agreement(fitted_labels(crowd, fit_project(crowd, method)))


class TestAlpha:
    def test_is_that_of_krippendorffs_example(self) -> None:
        """The nominal example in "Computing Krippendorff's Alpha-Reliability" (2011), section C: α = 0.743."""
        observers = (
            "1  2  3  3  2  1  4  1  2  .  .  .",
            "1  2  3  3  2  2  4  1  2  5  .  3",
            ".  3  3  3  2  3  4  2  2  5  1  .",
            "1  2  3  3  2  4  4  1  2  5  1  .",
        )
        items = [[label for label in unit if label != "."] for unit in zip(*map(str.split, observers), strict=True)]
        assert krippendorff_alpha(items) == pytest.approx(0.743, abs=0.0005)

    def test_is_1_where_all_agree(self) -> None:
        assert krippendorff_alpha([["a", "a"], ["b", "b"]]) == 1.0

    def test_is_negative_where_all_disagree(self) -> None:
        assert krippendorff_alpha([["a", "b"], ["b", "a"]]) == pytest.approx(-0.5)

    @pytest.mark.parametrize("items", [[], [["a"], ["b"]], [["a", "a"], ["a", "a"]]])
    def test_is_none_where_nobody_could_have_disagreed(self, items: list[list[str]]) -> None:
        assert krippendorff_alpha(items) is None


class TestPairs:
    def test_count_common_questions_and_equal_answers(self) -> None:
        answers = [(1, 5, "good"), (1, 6, "good"), (2, 5, "good"), (2, 6, "bad"), (3, 5, "bad")]
        annotations = (mood_annotation(number, *answer) for number, answer in enumerate(answers))
        pairs = agreement_of(mood_crowd(*annotations))
        assert pairs.annotators == [5, 6]
        assert (pairs.common, pairs.alike) == ([[3, 2], [2, 2]], [[3, 1], [1, 2]])

    def test_are_of_those_with_most_answers(self) -> None:
        annotations = [mood_annotation(annotator, 1, annotator, "good") for annotator in range(1, MAX_PEOPLE + 6)]
        annotations += [mood_annotation(1000 + annotator, 2, annotator, "bad") for annotator in (2, 34, 35)]
        pairs = agreement_of(mood_crowd(*annotations))
        assert len(pairs.annotators) == len(pairs.common) == MAX_PEOPLE
        assert {2, 34, 35} <= set(pairs.annotators)

    def test_of_regions_count_only_those_who_drew(self) -> None:
        pairs = agreement_of(span_crowd([(0, 5, "PER")], [], [], tasks=1), "neg")
        assert (pairs.annotators, pairs.common, pairs.alpha) == ([1], [[1]], {"entity": None})
