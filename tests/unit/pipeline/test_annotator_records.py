"""One record per annotator: agreement over time, confusions, disagreements, and how they draw."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.pipeline.annotator_records import MAX_DISAGREEMENTS, TREND_POINTS, annotator_records
from ls_crowd_plugin.pipeline.crowd import Crowd
from ls_crowd_plugin.pipeline.label_records import fitted_labels
from ls_crowd_plugin.pipeline.project_fit import fit_project
from ls_crowd_plugin.records import Annotator, AnnotatorDetail, Disagreement, RegionRates
from tests.support.annotations import mood_annotation, mood_crowd
from tests.support.span_crowds import Spans, crowd_of_spans, span_annotation, span_crowd


def records_of(
    crowd: Crowd, method: str = "plu", *, separate: bool = False
) -> dict[int, tuple[Annotator, AnnotatorDetail]]:
    fit = fit_project(crowd, method, separate=separate)
    return {
        record.annotator: (record, detail)
        for record, detail in annotator_records(crowd, fit, fitted_labels(crowd, fit))
    }


def crowd_with_one_dissenter(tasks: int = 60, *, gold: dict[tuple[int, str], str] | None = None) -> Crowd:
    """Four people agree; person 5 does, too, in the first half, and contradicts them in the second."""
    annotations = []
    for task in range(1, tasks + 1):
        label, other = ("good", "bad") if task % 2 else ("bad", "good")
        for annotator in range(1, 6):
            said = other if annotator == 5 and task > tasks / 2 else label
            at = f"{task // 60:02}:{task % 60:02}:00"
            annotations.append(
                mood_annotation(10 * task + annotator, task, annotator, said, at=at, lead_time=annotator)
            )
    return mood_crowd(*annotations, gold=gold)


def test_everybody_who_answered_has_a_record() -> None:
    assert list(records_of(crowd_with_one_dissenter())) == [1, 2, 3, 4, 5]


def test_the_agreement_is_the_share_of_answers_that_are_the_consensus() -> None:
    records = records_of(crowd_with_one_dissenter())
    assert (records[1][0].agreement, records[5][0].agreement) == (1.0, 0.5)


def test_answers_that_nothing_can_be_compared_with_are_no_agreement() -> None:
    """One person answers two tasks, of which somebody else contradicts one; a third person answers alone."""
    said = [(1, 1, "good"), (2, 1, "good"), (2, 2, "bad"), (3, 3, "good")]
    records = records_of(mood_crowd(*(mood_annotation(10 * task + who, task, who, label) for task, who, label in said)))
    assert {records[1][0].agreement, records[2][0].agreement} == {0.0, 1.0}  # the tie is drawn
    assert records[3][0].agreement is None


def test_the_seconds_are_the_median_time_of_an_annotation() -> None:
    assert records_of(crowd_with_one_dissenter())[4][0].seconds == 4


def test_the_trend_is_in_the_order_of_time() -> None:
    trend = records_of(crowd_with_one_dissenter())[5][1].trend
    assert len(trend) == TREND_POINTS
    assert [point.agreement for point in trend] == [1.0] * 5 + [0.0] * 5
    assert (trend[0].answers, trend[-1].until) == (6, "2026-01-01T01:00:00Z")


def test_a_single_answer_makes_a_trend_of_one_point() -> None:
    crowd = mood_crowd(*(mood_annotation(annotator, 1, annotator, "good") for annotator in (1, 2)))
    assert [point.answers for point in records_of(crowd)[1][1].trend] == [1]


def test_the_confusion_counts_what_was_said_by_consensus() -> None:
    confusion = records_of(crowd_with_one_dissenter())[5][1].confusion
    assert confusion == {"mood": {"good": {"good": 15, "bad": 15}, "bad": {"bad": 15, "good": 15}}}


def test_the_most_confident_disagreements_are_listed() -> None:
    detail = records_of(crowd_with_one_dissenter(120, gold={(120, "mood"): "bad"}))[5][1]
    assert (len(detail.against), detail.differs) == (MAX_DISAGREEMENTS, 60)
    assert detail.against[0] == Disagreement(120, "mood", "good", "bad", 1.0, True)


def test_where_nobody_draws_there_are_no_regions() -> None:
    assert records_of(crowd_with_one_dissenter())[1][1].regions is None


@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.slow
def test_regions_that_somebody_missed_added_and_misnamed_are_counted(separate: bool) -> None:
    good: Spans = [(0, 5, "PER"), (10, 15, "ORG")]
    crowd = span_crowd(good, good, good, [(0, 5, "ORG"), (40, 45, "PER")])
    records = records_of(crowd, "auto", separate=separate)
    assert records[1][1].regions == RegionRates(drawn=24, missed=0.0, extra=0.0, wrong=0.0)
    assert records[4][1].regions == RegionRates(drawn=24, missed=0.5, extra=0.5, wrong=0.5)


def test_of_somebody_who_drew_nothing_only_misses_are_known() -> None:
    good: Spans = [(0, 5, "PER")]
    assert records_of(span_crowd(good, good, good, []), "neg")[4][1].regions == RegionRates(0, 1.0, None, None)


def test_questions_about_the_whole_task_do_not_count_as_regions() -> None:
    spans: Spans = [(0, 5, "PER")]
    annotations = [span_annotation(10 * task + who, task, who, spans, "good") for task in range(6) for who in (1, 2)]
    regions = records_of(crowd_of_spans(annotations), "neg")[1][1].regions
    assert regions is not None
    assert regions.drawn == 6
