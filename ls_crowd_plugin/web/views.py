"""What the pages and the report show, made from what the database holds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from sqlalchemy import Connection

from ..chart_records import AnswerYield, GoldCheck, LabelCount
from ..policy import MIN_CHECKED, Asking, Reason
from ..records import SETTLED, Annotator, AnnotatorDetail, ProjectSummary, Ring, TaskLabel
from ..store import StoredResults
from ..store.mirror import read_excerpts
from ..store.results import list_annotators, load_annotator, load_labels
from ..store.users import read_names
from . import charts
from .breakdown import Breakdown, break_down
from .words import explain

MAX_QUESTIONS = 12  # whose label counts a page shows
EXAMPLE_TASKS = 5  # of people who give the same answers
MAX_PLOTTED = 500


@dataclass(frozen=True)
class ProjectView:
    """A project's summary with its charts drawn."""

    summary: ProjectSummary
    seconds: float  # since the results were computed
    gold: GoldCheck
    settled: int
    answer_yield: list[AnswerYield]
    label_counts: list[tuple[str, list[tuple[str, LabelCount]]]]
    questions_left_out: int
    confidence_chart: Markup
    calibration_chart: Markup
    difficulty_chart: Markup
    time_chart: Markup

    @property
    def has_several_questions(self) -> bool:
        return len(self.label_counts) + self.questions_left_out > 1


@dataclass(frozen=True)
class RingView:
    """People who give the same answers, and the evidence."""

    sentence: str
    tasks: Sequence[int]  # some on which they agree against the rest


@dataclass(frozen=True)
class AnswersView:
    """What the page says, in words where words are better."""

    asking: Asking
    saved: str
    reasons: list[tuple[str, bool, int]]  # why, whether such tasks are open, and how many they are
    min_checked: int = MIN_CHECKED


@dataclass(frozen=True)
class ConfusionTable:
    question: str
    labels: list[str]  # the columns
    rows: list[tuple[str, list[int]]]


@dataclass(frozen=True)
class AnnotatorView:
    annotator: Annotator
    detail: AnnotatorDetail
    confusion: list[ConfusionTable]
    texts: Mapping[int, str]  # of the tasks with disagreements
    trend_chart: Markup


@dataclass(frozen=True)
class VoteView:
    """Somebody's answer and what it weighs."""

    annotator: int
    name: str
    said: str
    weight: float | None
    verdict: str
    one_voice_with: str = ""  # names of people with whom they count as one person


@dataclass(frozen=True)
class LabelView:
    """A label with everybody's answers, why it won, and how its confidence came about."""

    record: TaskLabel
    votes: list[VoteView]
    why: str
    breakdown: Breakdown | None


@dataclass(frozen=True)
class AgreementRow:
    id: int
    name: str
    shares: list[float | None]  # of questions answered alike, with each other person


@dataclass(frozen=True)
class AgreementView:
    alpha: Mapping[str, float | None]
    people: list[AgreementRow]
    everybody: int  # how many annotators the project has


def project_view(results: StoredResults) -> ProjectView:
    figures, nothing = results.figures, Markup("")
    counts, points = figures.confidence.counts, figures.calibration
    confident = f"{counts[-1]:,} of {sum(counts):,} labels have a confidence of at least {SETTLED:.0%}."
    calibration = "; ".join(f"confidence {point.confidence:.0%}, {point.right:.0%} right" for point in points)
    label_counts = [
        (question, sorted(labels.items(), key=lambda one: -one[1].consensus))
        for question, labels in figures.label_counts.items()
    ]
    return ProjectView(
        summary=results.summary,
        seconds=time.time() - results.at,
        gold=figures.gold,
        settled=sum(row.settled for row in figures.cost),
        answer_yield=figures.cost,
        label_counts=label_counts[:MAX_QUESTIONS],
        questions_left_out=max(len(label_counts) - MAX_QUESTIONS, 0),
        confidence_chart=charts.histogram(figures.confidence, confident, "confidence", as_percent=True),
        calibration_chart=charts.calibration(points, f"{calibration}.") if points else nothing,
        difficulty_chart=charts.histogram(figures.difficulty, "Histogram of difficulty.", "difficulty")
        if figures.difficulty
        else nothing,
        time_chart=charts.over_time(figures.over_time, f"{sum(figures.over_time.counts):,} annotations over time.")
        if figures.over_time
        else nothing,
    )


def skill_chart(people: Sequence[Annotator]) -> Markup:
    contrary = sum(one.verdict == "contrary" for one in people)
    description = f"Skill and adversary probability of {len(people)} people; {contrary} are consistently contrary."
    return charts.skills(people[:MAX_PLOTTED], description)


def annotator_view(
    connection: Connection, project: int, annotator: int, label_set: Mapping[str, Sequence[str]]
) -> AnnotatorView | None:
    """None for somebody who has no answer there."""
    found = load_annotator(connection, project, annotator)
    if found is None:
        return None
    person, detail = found
    confusion = []
    for question, said in list(detail.confusion.items())[:MAX_QUESTIONS]:
        used = {label for row in said.values() for label in row} | said.keys()
        labels = [label for label in label_set.get(question, []) if label in used]
        rows = [(label, [said[label].get(other, 0) for other in labels]) for label in labels if label in said]
        confusion.append(ConfusionTable(question, labels, rows))
    texts = read_excerpts(connection, project, sorted({answer.task for answer in detail.against}))
    shares = "; ".join(f"{point.agreement or 0:.0%}" for point in detail.trend)
    chart = charts.trend(detail.trend, f"Agreement from first to last answers: {shares}.") if detail.trend else ""
    return AnnotatorView(person, detail, confusion, texts, Markup("{}").format(chart))


def ring_views(rings: Sequence[Ring], everybody: Sequence[Annotator]) -> list[RingView]:
    names = {person.annotator: person.name for person in everybody}
    return [
        RingView(ring.sentence([names.get(one, f"user {one}") for one in ring.annotators]), ring.tasks[:EXAMPLE_TASKS])
        for ring in rings
    ]


def answers_view(asking: Asking, price: float) -> AnswersView:
    reasons = [(reason.value, reason.is_open, asking.tasks.get(reason.value, 0)) for reason in Reason]
    return AnswersView(asking, asking.saved(price), [row for row in reasons if row[2]])


def task_view(connection: Connection, project: int, task: int, rings: Sequence[Ring] = ()) -> list[LabelView]:
    """A task's labels; empty if it has none."""
    labels = load_labels(connection, project, [task])[task]
    voters = sorted({vote.annotator for label in labels for vote in label.votes})
    people = {one.annotator: one for one in list_annotators(connection, project, annotator_ids=voters)[0]}
    return [label_view(label, people, rings) for label in labels]


def label_view(label: TaskLabel, people: Mapping[int, Annotator], rings: Sequence[Ring] = ()) -> LabelView:
    voters = {vote.annotator for vote in label.votes}
    ring_of = {
        one: voters.intersection(ring.annotators) for ring in rings if ring.is_one_voice for one in ring.annotators
    }
    votes = []
    for vote in label.votes:
        person = people.get(vote.annotator)
        name, weight, verdict = (person.name, person.weight, person.verdict) if person else ("", None, "")
        others = sorted(ring_of.get(vote.annotator, set()) - {vote.annotator})
        one_voice_with = ", ".join(people[other].name if other in people else f"user {other}" for other in others)
        votes.append(VoteView(vote.annotator, name, vote.label, weight, verdict, one_voice_with))
    votes.sort(key=lambda vote: (vote.said != label.label, vote.said, -(vote.weight or 0.0)))
    return LabelView(label, votes, explain(label), break_down(label))


def agreement_view(connection: Connection, results: StoredResults) -> AgreementView:
    agreement = results.figures.agreement
    names = read_names(connection, agreement.annotators)
    people = [
        AgreementRow(
            annotator,
            names.get(annotator, f"user {annotator}"),
            [
                None if row == column or not common else agreement.alike[row][column] / common
                for column, common in enumerate(agreement.common[row])
            ],
        )
        for row, annotator in enumerate(agreement.annotators)
    ]
    return AgreementView(agreement.alpha, people, results.summary.annotators)
