"""Small results of a fit: figures, labels and annotators, as a pass would store them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ls_crowd_plugin.chart_records import (
    Agreement,
    AnswerYield,
    CalibrationPoint,
    Figures,
    GoldCheck,
    Histogram,
    LabelCount,
    TimeSeries,
)
from ls_crowd_plugin.records import (
    Annotator,
    AnnotatorDetail,
    Disagreement,
    Explanation,
    LabelRegion,
    Part,
    RegionRates,
    TaskLabel,
    TrendPoint,
    Vote,
)

FIGURES = Figures(
    questions={"mood": ["good", "bad"]},
    confidence=Histogram(0.0, 1.0, [0, 3]),
    difficulty=Histogram(-1.0, 1.0, [1, 2]),
    calibration=[CalibrationPoint(0.9, 1.0, 4)],
    gold=GoldCheck(4, 4, 3.5),
    over_time=TimeSeries("2026-03-01T09:00:00+00:00", 60, [1, 2]),
    cost=[AnswerYield(3, 2, 1)],
    label_counts={"mood": {"good": LabelCount(2, 1)}},
    agreement=Agreement({"mood": 0.5}, [5, 6], [[2, 2], [2, 2]], [[2, 1], [1, 2]]),
)
EXPLANATION = Explanation("bad", (Part("habits-1", 0.8, 0.1), Part("misled", 0.05, 0.05)))
BOX = LabelRegion("entity", "image", "box", {"x": 10.0, "rectanglelabels": ["cat"]}, 640.0, 480.0)


def make_label(
    number: int,
    task: int,
    confidence: float,
    *,
    question: str = "mood",
    difficulty: float | None = None,
    answers: int = 2,
    plurality: str | None = "good",
    gold: str | None = None,
    disputed: bool = False,
    state: str = "open",
    region: LabelRegion | None = None,
) -> TaskLabel:
    return TaskLabel(
        number=number,
        task=task,
        question=question,
        part=0 if region is None else 1,
        label="good",
        confidence=confidence,
        difficulty=difficulty,
        answers=answers,
        plurality=plurality,
        gold=gold,
        disputed=disputed,
        state=state,
        votes=(Vote(5, "good"), Vote(6, "ünï")),
        posterior={"good": confidence, "bad": round(1 - confidence, 3)},
        region=region,
        explanation=None if gold else EXPLANATION,
    )


def make_annotator(
    annotator: int, *, verdict: str = "trusted", skill: float | None = 1.5, answers: int = 10, name: str = ""
) -> Annotator:
    return Annotator(
        annotator=annotator,
        answers=answers,
        gold_answers=2,
        gold_correct=1,
        skill=skill,
        skill_se=0.25,
        adversary_probability=0.0,
        weight=2.0,
        accuracy=0.75,
        verdict=verdict,
        agreement=0.875,
        seconds=2.5,
        name=name,
    )


def label_with_votes(votes: Mapping[int, str], **changes: Any) -> TaskLabel:
    """A label "news" of a topic with these votes (annotator → label)."""
    cast = tuple(Vote(annotator, label) for annotator, label in votes.items())
    label = replace(make_label(0, 1, 0.9, question="topic", plurality=None), label="news", votes=cast)
    return replace(label, answers=len(cast), **changes)


def person(number: int, **changes: Any) -> Annotator:
    """An annotator "Person 1" and so on."""
    return replace(make_annotator(number, name=f"Person {number}"), **changes)


DETAIL = AnnotatorDetail(
    trend=[TrendPoint("2026-03-01T09:01:00Z", 0.5, 4)],
    confusion={"mood": {"good": {"good": 2, "bad": 1}}},
    against=[Disagreement(1, "mood", "bad", "good", 0.986, True)],
    differs=1,
    regions=RegionRates(3, 0.5, None, 0.0),
)
