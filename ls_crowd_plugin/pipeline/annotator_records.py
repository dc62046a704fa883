"""From a fit to one record per annotator: score, agreement over time, typical confusions, disagreements. Pure."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..controls import NO_REGION
from ..records import Annotator, AnnotatorDetail, AnnotatorScore, Disagreement, RegionRates, TrendPoint, rounded
from .crowd import Crowd
from .label_records import MAX_LABELS, FittedLabel
from .project_fit import ProjectFit
from .task_reading import MAX_SECONDS

MAX_DISAGREEMENTS = 50
TREND_POINTS = 10


@dataclass(frozen=True)
class _Answer:
    """One answer of an annotator beside the consensus."""

    given_at: str
    label: FittedLabel
    said: str

    @property
    def agrees(self) -> bool:
        return self.said == self.label.record.label

    @property
    def is_named(self) -> bool:
        """Whether they gave a label to a region that exists; or it is not about the existence of a region."""
        return NO_REGION not in (self.said, self.label.record.label)

    @property
    def is_comparable(self) -> bool:
        """Whether somebody else answered, or the right label is known; an only answer agrees with itself."""
        return len(self.label.record.votes) > 1 or self.label.record.gold is not None


def annotator_records(
    crowd: Crowd, fit: ProjectFit, labels: Sequence[FittedLabel]
) -> list[tuple[Annotator, AnnotatorDetail]]:
    """Everybody who answered, by id."""
    answers: dict[int, list[_Answer]] = defaultdict(list)
    for label in labels:
        for annotator, said in label.record.votes:
            given_at = crowd.annotations[label.record.task, annotator].created_at
            answers[annotator].append(_Answer(given_at, label, said))
    lead_times: dict[int, list[float]] = defaultdict(list)
    for (_, annotator), annotation in crowd.annotations.items():
        if annotation.lead_time is not None and 0 <= annotation.lead_time <= MAX_SECONDS:
            lead_times[annotator].append(annotation.lead_time)
    return [
        _record(crowd, score, answers[annotator], lead_times[annotator])
        for annotator, score in sorted(fit.scores.items())
    ]


def _record(
    crowd: Crowd, score: AnnotatorScore, answers: list[_Answer], lead_times: Sequence[float]
) -> tuple[Annotator, AnnotatorDetail]:
    answers.sort(key=lambda answer: (answer.given_at, answer.label.record.task, answer.label.record.question))
    against = [answer for answer in answers if not answer.agrees]
    against.sort(key=lambda answer: (-answer.label.record.confidence, answer.label.record.task))
    detail = AnnotatorDetail(
        trend=_trend(answers),
        confusion=_confusion(crowd, answers),
        against=[_disagreement(answer) for answer in against[:MAX_DISAGREEMENTS]],
        differs=len(against),
        regions=_region_rates(answers) if crowd.groups else None,
    )
    comparable = [answer for answer in answers if answer.is_comparable]
    if crowd.groups and score.verdict == "contrary":  # which is about the labels that they gave to regions
        comparable = [answer for answer in comparable if answer.is_named]
    agreement = sum(answer.agrees for answer in comparable) / len(comparable) if comparable else None
    seconds = statistics.median(lead_times) if lead_times else None
    return Annotator(**vars(score), agreement=agreement, seconds=seconds), detail


def _disagreement(answer: _Answer) -> Disagreement:
    record = answer.label.record
    is_gold = record.gold is not None
    return Disagreement(record.task, record.question, answer.said, record.label, rounded(record.confidence), is_gold)


def _trend(answers: Sequence[_Answer]) -> list[TrendPoint]:
    """Agreement in about equally many consecutive answers, the oldest first."""
    if not answers:
        return []
    ends = np.unique(np.linspace(0, len(answers), min(TREND_POINTS, len(answers)) + 1).astype(int)).tolist()
    return [
        TrendPoint(
            answers[end - 1].given_at,
            rounded(sum(answer.agrees for answer in answers[start:end]) / (end - start)),
            end - start,
        )
        for start, end in pairwise(ends)
    ]


def _region_rates(answers: Iterable[_Answer]) -> RegionRates:
    existing = missed = drawn = extra = wrong = 0
    for answer in answers:
        if not answer.label.is_region:
            continue
        exists, drew = answer.label.record.label != NO_REGION, answer.said != NO_REGION
        existing, drawn = existing + exists, drawn + drew
        missed, extra = missed + (exists and not drew), extra + (drew and not exists)
        wrong += exists and drew and not answer.agrees
    return RegionRates(
        drawn=drawn,
        missed=rounded(missed / existing) if existing else None,
        extra=rounded(extra / drawn) if drawn else None,
        wrong=rounded(wrong / drawn) if drawn else None,
    )


def _confusion(crowd: Crowd, answers: Iterable[_Answer]) -> dict[str, dict[str, dict[str, int]]]:
    """Question → consensus → what this annotator said → how often."""
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for answer in answers:
        record = answer.label.record
        if len(crowd.label_set[record.question]) <= MAX_LABELS:
            counts[record.question][record.label][answer.said] += 1
    return {question: {label: dict(said) for label, said in rows.items()} for question, rows in counts.items()}
