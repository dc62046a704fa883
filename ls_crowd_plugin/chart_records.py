"""The records from which charts about a whole project are made; `records.py` has those about people and labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .policy import Asking
from .records import Json


@dataclass(frozen=True)
class Histogram:
    """Counts in equal steps from `low` to `high`."""

    low: float
    high: float
    counts: list[int]


class CalibrationPoint(NamedTuple):
    """Some gold labels of about equal confidence, judged without knowledge of their gold."""

    confidence: float  # mean
    right: float  # share
    labels: int


@dataclass(frozen=True)
class GoldCheck:
    """How many gold labels the consensus and the most frequent answer get right without knowing them."""

    labels: int
    right: int
    plurality: float  # a tie counts by chance


@dataclass(frozen=True)
class TimeSeries:
    """Annotations in equal periods: when the first begins, how long each is, how many annotations each has."""

    first: str
    seconds: int
    counts: list[int]


class AnswerYield(NamedTuple):
    """The tasks with a given number of answers."""

    answers: int
    tasks: int
    settled: int  # of these tasks


class LabelCount(NamedTuple):
    """On how many tasks a label is the consensus, and on how many the most frequent answer."""

    consensus: int
    plurality: int


@dataclass(frozen=True)
class Agreement:
    """How far annotators agree; the matrices are [people, people]."""

    alpha: dict[str, float | None]  # question → Krippendorff's alpha
    annotators: list[int]
    common: list[list[int]]  # questions that both answered
    alike: list[list[int]]  # of these, questions with the same answer


@dataclass(frozen=True)
class Figures:
    """What the charts of a project are drawn from."""

    questions: dict[str, list[str]]  # question → its labels
    confidence: Histogram
    difficulty: Histogram | None
    calibration: list[CalibrationPoint]
    gold: GoldCheck
    over_time: TimeSeries | None
    cost: list[AnswerYield]
    label_counts: dict[str, dict[str, LabelCount]]  # question → label → how often
    agreement: Agreement
    asking: Asking | None = None  # what more answers would buy; older results have none

    @classmethod
    def from_json(cls, found: Json) -> Figures:
        asking = found.get("asking")
        hard, times = found["difficulty"], found["over_time"]
        return cls(
            questions=found["questions"],
            confidence=Histogram(**found["confidence"]),
            difficulty=hard and Histogram(**hard),
            calibration=[CalibrationPoint(*row) for row in found["calibration"]],
            gold=GoldCheck(**found["gold"]),
            over_time=times and TimeSeries(**times),
            cost=[AnswerYield(*row) for row in found["cost"]],
            label_counts={
                question: {label: LabelCount(*counts) for label, counts in labels.items()}
                for question, labels in found["label_counts"].items()
            },
            agreement=Agreement(**found["agreement"]),
            asking=asking and Asking.from_json(asking),
        )
