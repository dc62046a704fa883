"""The numbers that a project's charts are drawn from. Pure."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import numpy as np

from ..chart_records import AnswerYield, CalibrationPoint, Figures, GoldCheck, Histogram, LabelCount, TimeSeries
from ..records import SETTLED, parse_time, rounded
from .agreement import agreement
from .crowd import Crowd
from .label_records import FittedLabel, missed_gold
from .project_fit import ProjectFit

BARS = 20  # of a histogram
MAX_PERIODS = 40
YEARS = range(1970, 3000)  # others are nonsense, and some cannot be calculated with
PERIOD_SECONDS = (60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400)


def figures(crowd: Crowd, fit: ProjectFit, labels: Sequence[FittedLabel]) -> Figures:
    records = [label.record for label in labels]
    difficulties = [record.difficulty for record in records if record.difficulty is not None]
    return Figures(
        questions=crowd.label_set,
        confidence=_histogram([record.confidence for record in records if record.gold is None], 0.0, 1.0),
        difficulty=_histogram(difficulties, min(difficulties), max(difficulties)) if difficulties else None,
        calibration=_calibration(crowd, fit, labels),
        gold=_gold_check(crowd, fit, labels),
        over_time=_over_time([annotation.created_at for annotation in crowd.annotations.values()]),
        cost=_answer_yield(crowd, labels),
        label_counts=_label_counts(labels),
        agreement=agreement(labels),
    )


def _histogram(values: Sequence[float], low: float, high: float) -> Histogram:
    high = high if high > low else low + 1.0
    counts, _ = np.histogram(values, BARS, (low, high))
    return Histogram(rounded(low) or 0.0, rounded(high) or 0.0, counts.tolist())


def _calibration(crowd: Crowd, fit: ProjectFit, labels: Sequence[FittedLabel]) -> list[CalibrationPoint]:
    """Gold labels in groups of about equal size; equally confident labels are in one group."""
    judged = [
        (confidence, label == fitted.record.gold)
        for fitted in labels
        if fitted.record.gold is not None
        for label, confidence in [fit.held_out_label(fitted.unit, fitted.record.question)]
    ]
    judged += [(fit.held_out_label(group.unit, group.control.name)[1], False) for group in missed_gold(crowd)]
    judged.sort(key=lambda one: one[0])
    min_size = len(judged) / (min(8, len(judged) // 10) or 1)
    groups: list[list[tuple[float, bool]]] = []
    for one in judged:
        if not groups or (len(groups[-1]) >= min_size and one[0] > groups[-1][-1][0]):
            groups.append([])
        groups[-1].append(one)
    return [
        CalibrationPoint(
            rounded(statistics.fmean(confidence for confidence, _ in group)) or 0.0,
            rounded(statistics.fmean(right for _, right in group)) or 0.0,
            len(group),
        )
        for group in groups
    ]


def _gold_check(crowd: Crowd, fit: ProjectFit, labels: Sequence[FittedLabel]) -> GoldCheck:
    judged = [label for label in labels if label.record.gold is not None]
    right = sum(fit.held_out_label(one.unit, one.record.question)[0] == one.record.gold for one in judged)
    plurality = sum(1 / len(one.tied) for one in judged if one.record.gold in one.tied)
    return GoldCheck(len(judged) + len(missed_gold(crowd)), right, round(plurality, 1))


def _over_time(times: Sequence[str]) -> TimeSeries | None:
    moments = sorted(moment for moment in map(parse_time, times) if moment is not None and moment.year in YEARS)
    if not moments:
        return None
    span = (moments[-1] - moments[0]).total_seconds()
    seconds = next((step for step in PERIOD_SECONDS if span / step < MAX_PERIODS), PERIOD_SECONDS[-1])
    first = datetime.fromtimestamp(moments[0].timestamp() // seconds * seconds, timezone.utc)
    counts = Counter(int((moment - first) / timedelta(seconds=seconds)) for moment in moments)
    periods = [counts[number] for number in range(max(counts) + 1)]
    return TimeSeries(first.isoformat(), seconds, periods[-10 * MAX_PERIODS :])


def _answer_yield(crowd: Crowd, labels: Sequence[FittedLabel]) -> list[AnswerYield]:
    """By number of answers on a task: tasks, and settled ones among them. The least confident label decides."""
    confidence: dict[int, float] = {}
    for label in labels:
        task = label.record.task
        confidence[task] = min(confidence.get(task, 1.0), label.blind_confidence)
    tasks = Counter(crowd.answer_counts[task] for task in confidence)
    settled = Counter(crowd.answer_counts[task] for task, p in confidence.items() if p >= SETTLED)
    return [AnswerYield(answers, tasks[answers], settled[answers]) for answers in sorted(tasks)]


def _label_counts(labels: Sequence[FittedLabel]) -> dict[str, dict[str, LabelCount]]:
    consensus: dict[str, Counter[str]] = defaultdict(Counter)
    plurality: dict[str, Counter[str]] = defaultdict(Counter)
    for label in labels:
        record = label.record
        consensus[record.question][record.label] += 1
        if record.plurality is not None:
            plurality[record.question][record.plurality] += 1
    return {
        question: {name: LabelCount(counts[name], plurality[question][name]) for name in counts | plurality[question]}
        for question, counts in consensus.items()
    }
