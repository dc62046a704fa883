"""The records that rooms hand to each other, and the facts that several rooms share. Imports nothing of this project.

Tables, CSV files, JSON and pages are made from these records; most fields are named as the CSV columns and JSON keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timezone
from typing import Any, NamedTuple

Json = dict[str, Any]  # an object whose shape only Label Studio, or whoever sent it, knows

METHODS = ("auto", "gem", "neg", "sw", "hyb", "plu")
DECISIONS = ("label", "distance")  # the most probable label, or on a scale the one of least expected distance
RINGS = ("off", "show", "count")  # what is done about people who give the same answers against everybody else
MIN_ORDERED = 3  # labels of a scale; with fewer, an order makes no difference
GOLD_SOURCES = ("plugin", "ground_truth", "experts", "task_data")  # where gold may come from
SETTLED = 0.95  # the confidence from which a label is called settled
DECIMALS = 3  # of every number that is written into Label Studio or shown in JSON
MISSING = "–"  # shown where there is no number


def label_state(confidence: float, is_undecided: bool) -> str:
    """`settled`, or `undecided` (the answers do not tell which label is right), or else `open`."""
    if confidence >= SETTLED:
        return "settled"
    return "undecided" if is_undecided else "open"


class Words(NamedTuple):
    """How a verdict is shown to people."""

    name: str
    sentence: str


# The verdicts as they stand in CSV files and JSON → the words for them; the most reliable first.
VERDICTS = {
    "trusted": Words("trusted", "These answers are right so often that they decide."),
    "ordinary": Words("ordinary", "These answers are right often enough to count."),
    "unreliable": Words("unreliable", "These answers are often wrong, or tell little about which label is right."),
    "random": Words("answers at random", "These answers do not depend on the task: guesses, or always the same label."),
    "contrary": Words(
        "consistently contrary",
        "These answers avoid the right label, so each counts as evidence against the label it names.",
    ),
    "too little to say": Words("not enough evidence", "There is not enough evidence to judge these answers."),
}


@dataclass(frozen=True)
class AnnotatorScore:
    """How far one annotator's answers can be trusted. The fields are the columns of `annotators.csv`, in order."""

    annotator: Any  # the id as it was given; in Label Studio a number
    answers: int
    gold_answers: int  # answers to tasks whose label is known
    gold_correct: int
    skill: float | None
    skill_se: float | None  # standard error of the skill
    adversary_probability: float | None  # that the answers avoid the right label
    weight: float | None  # what one answer adds to the label it names, in nats
    accuracy: float | None  # expected share of right answers, of those that can be compared with others or with gold
    verdict: str  # a key of VERDICTS


ANNOTATOR_COLUMNS = tuple(column.name for column in fields(AnnotatorScore))


@dataclass(frozen=True)
class Annotator(AnnotatorScore):
    """An annotator of a Label Studio project."""

    agreement: float | None = None  # share of their comparable answers that are the consensus
    seconds: float | None = None  # median time of an annotation
    name: str = ""


class TrendPoint(NamedTuple):
    """Some consecutive answers of an annotator."""

    until: str  # when the last of them was given
    agreement: float | None  # share that are the consensus
    answers: int


class Disagreement(NamedTuple):
    """An answer that is not the consensus."""

    task: int
    question: str
    said: str
    label: str
    confidence: float | None
    is_gold: bool


@dataclass(frozen=True)
class Ring:
    """People who give the same answers against everybody else."""

    annotators: tuple[Any, ...]  # their ids
    shared: int  # tasks that at least two of them answered
    same: int  # of these, tasks to which all of them who answered gave the same answer
    alone: int  # of these, tasks to which nobody else gave this answer, although others answered
    tasks: tuple[Any, ...]  # some of the latter
    is_one_voice: bool = True  # whether they count as about one person, instead of being shown only

    @classmethod
    def from_json(cls, found: Json) -> Ring:
        return cls(**{**found, "annotators": tuple(found["annotators"]), "tasks": tuple(found["tasks"])})

    def sentence(self, names: Sequence[str]) -> str:
        """What their answers have in common, in words without a judgement."""
        who = f"{', '.join(names[:-1])} and {names[-1]}"
        given = f"{who} gave the same answer on {self.same:,} of the {self.shared:,} tasks that they share"
        against = f", and on {self.alone:,} of these nobody else did" if self.alone else ""
        return f"{given}{against}. {'They count as about one person.' if self.is_one_voice else 'They count as usual.'}"


@dataclass(frozen=True)
class RegionRates:
    """How somebody's regions compare with the consensus."""

    drawn: int
    missed: float | None  # of the regions that exist, the share not drawn
    extra: float | None  # of the regions drawn, the share that does not exist
    wrong: float | None  # of the regions drawn, the share with another label


@dataclass(frozen=True)
class AnnotatorDetail:
    """What the page about one annotator shows beside the score."""

    trend: list[TrendPoint]
    confusion: dict[str, dict[str, dict[str, int]]]  # question → consensus → what they said → how often
    against: list[Disagreement]  # the most confident ones first
    differs: int  # how many disagreements there are in all
    regions: RegionRates | None  # None where nobody draws


class Vote(NamedTuple):
    annotator: int
    label: str


class Part(NamedTuple):
    """One of the terms whose sums are two probabilities, in probability."""

    name: str  # of a form or method, or as in `aggregation.parts`
    label: float  # what it adds to the label
    other: float  # and to the strongest other label; 0 if there is none


@dataclass(frozen=True)
class Explanation:
    """How the confidence of a label came about, beside that of the strongest other label."""

    other: str | None  # None if no other label is likely enough to be shown
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class LabelRegion:
    """Where a consensus region is, in Label Studio's terms."""

    control: str
    object: str
    shape: str  # span, hypertext, paragraphs or box
    value: Json
    original_width: float | None = None
    original_height: float | None = None

    def to_json(self) -> Json:
        """Without the size where there is none."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class TaskLabel:
    """The consensus on one question about a task, or about one region of it."""

    number: int  # position among the project's labels
    task: int
    question: str
    part: int  # 0 is the whole task, else the number of a region
    label: str
    confidence: float
    difficulty: float | None
    answers: int
    plurality: str | None  # the most frequent answer, if there is only one
    gold: str | None
    disputed: bool  # trusted annotators disagree
    votes: tuple[Vote, ...]
    posterior: Mapping[str, float]  # label → probability, the likely ones
    state: str  # as `label_state` says
    region: LabelRegion | None = None
    explanation: Explanation | None = None  # None in results of releases that did not store it

    @property
    def is_settled(self) -> bool:
        return self.confidence >= SETTLED


@dataclass(frozen=True)
class TaskLabels:
    """A task with its labels, the least confident first."""

    task: int
    text: str
    labels: list[TaskLabel]


@dataclass(frozen=True)
class LeftOut:
    """A control that is not aggregated, and why."""

    name: str
    tag: str
    reason: str


class LeftOutAnnotation(NamedTuple):
    """An annotation that is not used, and why."""

    annotation: int
    reason: str


@dataclass(frozen=True)
class LeftOutAnnotations:
    """How many annotations are not used, and some of them."""

    number: int = 0
    examples: list[LeftOutAnnotation] = field(default_factory=list)


@dataclass(frozen=True)
class ProjectSummary:
    """The main facts about a project's consensus."""

    tasks: int = 0
    answers: int = 0
    gold: int = 0
    annotators: int = 0
    method: str = ""
    form: str = ""
    why: str = ""  # this method and form
    verdicts: dict[str, int] = field(default_factory=dict)  # how many annotators have each
    contrary: list[int] = field(default_factory=list)  # annotators with that verdict
    confidence: float | None = None  # mean over all labels
    differ_from_plurality: int = 0
    labels: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    left_out_annotations: LeftOutAnnotations = field(default_factory=LeftOutAnnotations)
    warnings: list[str] = field(default_factory=list)
    rings: list[Ring] = field(default_factory=list)

    @classmethod
    def from_json(cls, found: Json) -> ProjectSummary:
        known = {one.name: found[one.name] for one in fields(cls) if one.name in found}
        unused = found.get("left_out_annotations", {"number": 0, "examples": []})
        known["left_out_annotations"] = LeftOutAnnotations(
            unused["number"], [LeftOutAnnotation(*example) for example in unused["examples"]]
        )
        known["left_out"] = [LeftOut(**control) for control in found.get("left_out", ())]
        known["rings"] = [Ring.from_json(ring) for ring in found.get("rings", ())]
        return cls(**known)


def rounded(value: float | None) -> float | None:
    """A number as it is written into Label Studio and JSON."""
    return None if value is None else round(float(value), DECIMALS)


def percent(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1%}"


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 task", "1,234 tasks"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def parse_time(text: str) -> datetime | None:
    """A time as Label Studio writes it; None for anything else."""
    try:
        when = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=timezone.utc)


def address_shown(url: str) -> str:
    """An address as it may be shown: without a user's name and password."""
    scheme, separator, rest = url.partition("://") if "://" in url else ("", "", url)
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
