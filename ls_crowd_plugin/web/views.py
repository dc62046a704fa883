"""What the templates show, made of what the database holds; the pages and the report draw the same."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from sqlalchemy import Connection

from ..controls import NO_REGION
from ..store import found
from . import charts
from .words import VERDICTS, ago, why

MOST_QUESTIONS = 12  # whose label counts a page shows
LEAST_SURE = 20  # tasks in a report
MOST_IN_PLOT = 500
COLUMNS = (
    ("name", "Annotator"),
    ("verdict", "Answers are"),
    ("answers", "Answers"),
    ("gold_correct", "Gold right"),
    ("agreement", "Agreement"),
    ("accuracy", "Accuracy"),
    ("skill", "Skill"),
    ("adversary_probability", "Adversary"),
    ("weight", "Weight"),
    ("seconds", "Seconds"),
)

View = dict[str, Any]


def set_up(environment: Environment) -> None:
    """The words and numbers that templates need."""
    environment.filters |= {"ago": ago, "count_of": _count, "share": _share, "decimal": _decimal, "votes": votes}
    environment.globals["verdicts"] = VERDICTS


def project_view(finding: found.Finding) -> View:
    """The summary's figures, with its charts drawn."""
    facts = finding.charts
    confidence, hard, times = facts["confidence"], facts["difficulty"], facts["over_time"]
    points = facts["calibration"]
    sure = f"{confidence['counts'][-1]:,} of {sum(confidence['counts']):,} labels have a confidence of at least 95 %."
    return {
        "summary": finding.summary,
        "seconds": time.time() - finding.at,
        "gold": facts["gold"],
        "settled": sum(settled for _, _, settled in facts["cost"]),
        "cost": facts["cost"],
        "label_counts": {
            question: sorted(counts.items(), key=lambda each: -each[1][0])
            for question, counts in list(facts["label_counts"].items())[:MOST_QUESTIONS]
        },
        "questions_left_out": max(len(facts["label_counts"]) - MOST_QUESTIONS, 0),
        "charts": {
            "confidence": charts.histogram(
                confidence["counts"],
                confidence["low"],
                confidence["high"],
                sure,
                "confidence",
                percent=True,
            ),
            "calibration": points
            and charts.calibration(points, "; ".join(f"{p[0]:.0%} sure, {p[1]:.0%} right" for p in points) + "."),
            "difficulty": hard
            and charts.histogram(hard["counts"], hard["low"], hard["high"], "Histogram of difficulty.", "difficulty"),
            "over_time": times
            and charts.over_time(
                times["first"], times["seconds"], times["counts"], f"{sum(times['counts']):,} annotations over time."
            ),
        },
    }


def skill_plot(people: Sequence[Mapping[str, Any]]) -> Markup:
    contrary = sum(each["verdict"] == "contrary" for each in people)
    told = f"Skill against adversary probability of {len(people)} people, {contrary} of them consistently contrary."
    return charts.skills(people[:MOST_IN_PLOT], told)


def annotator_view(connection: Connection, project: int, who: int, label_set: Mapping[str, Sequence[str]]) -> View:
    """Raises KeyError for somebody who has no answer there."""
    person = found.annotator(connection, project, who)
    if person is None:
        raise KeyError(who)
    confusion = []
    for question, said in list(person["confusion"].items())[:MOST_QUESTIONS]:
        labels = [
            label for label in label_set.get(question, []) if label in said or any(label in c for c in said.values())
        ]
        rows = [(label, [said[label].get(each, 0) for each in labels]) for label in labels if label in said]
        confusion.append((question, labels, rows))
    texts = found.shown(connection, sorted({task for task, *_ in person["against"]}))
    told = "; ".join(f"{share:.0%}" for _, share, _ in person["trend"])
    return {
        "person": person,
        "confusion": confusion,
        "texts": texts,
        "plot": person["trend"] and charts.trend(person["trend"], f"Agreement from first to last answers: {told}."),
    }


def task_view(connection: Connection, project: int, task: int) -> list[View]:
    """A task's labels with who said what, what each voice weighs, and why the label won."""
    labels = found.labels_of(connection, project, [task])[task]
    voices = sorted({annotator for row in labels for annotator, _ in row["said"]})
    people = {each["annotator"]: each for each in found.annotators(connection, project, only=voices)[0]}
    return [_explained(row, people) for row in labels]


def region_view(connection: Connection, task: int, labels: Sequence[View]) -> View:
    """The regions of a task where they are: texts cut into marked and unmarked pieces, and boxes drawn."""
    there = [row for row in labels if _is_there(row)]
    texts = found.texts_of(connection, [task]).get(task, {})
    spans = [row for row in there if row["region"]["shape"] == "span"]
    drawn = [row for row in there if row["region"]["shape"] == "box"]
    first = drawn[0]["region"] if drawn else {}
    size = (float(first.get("original_width") or 100), float(first.get("original_height") or 100))
    told = f"{len(drawn)} boxes: {', '.join(row['label'] for row in drawn)}."
    return {
        "pieces": [
            _pieces(texts[name], [row for row in spans if row["region"]["object"] == name])
            for name in sorted({row["region"]["object"] for row in spans} & texts.keys())
        ],
        "boxes": drawn and charts.boxes([(row["label"], row["region"]["value"]) for row in drawn], *size, told),
    }


def _is_there(row: View) -> bool:
    """Whether a row is about a region that the consensus has, and says what it is."""
    return row["region"] is not None and row["question"] == row["region"]["control"] and row["label"] != NO_REGION


def _pieces(text: str, rows: Sequence[View]) -> list[tuple[str, str]]:
    """The text in pieces, each with the labels of the spans it is in."""
    values = [(row["region"]["value"], row["label"]) for row in rows]
    places = [(int(value["start"]), int(value["end"]), label) for value, label in values]
    cuts = sorted({0, len(text), *(min(cut, len(text)) for start, end, _ in places for cut in (start, end))})
    return [
        (text[start:end], ", ".join(label for first, last, label in places if first <= start and end <= last))
        for start, end in pairwise(cuts)
    ]


def agreement_view(connection: Connection, finding: found.Finding) -> View:
    facts = finding.charts["agreement"]
    names = found.names(connection, facts["annotators"])
    people = [
        {
            "id": who,
            "name": names.get(who, f"user {who}"),
            "shares": [
                None if place == other or not common else facts["alike"][place][other] / common
                for other, common in enumerate(facts["common"][place])
            ],
        }
        for place, who in enumerate(facts["annotators"])
    ]
    return {"alpha": facts["alpha"], "people": people, "everybody": finding.summary["annotators"]}


def report(connection: Connection, project: int, finding: found.Finding) -> str:
    """One page that needs nothing else, to be kept or mailed."""
    environment = Environment(loader=PackageLoader(__package__), autoescape=True)
    set_up(environment)
    people, _ = found.annotators(connection, project, order="accuracy", down=True)
    by_id = {each["annotator"]: each for each in people}
    tasks, _ = found.tasks(connection, project, most=LEAST_SURE)
    for each in tasks:
        each["labels"] = [_explained(row, by_id) for row in each["labels"][:1]]
    style = (Path(__file__).parent / "static" / "style.css").read_text(encoding="utf-8")
    return environment.get_template("report.html").render(
        standalone=True,
        style=Markup(style),  # noqa: S704, our own file
        number=project,
        title=found.project_title(connection, project),
        as_of=datetime.fromtimestamp(finding.at, timezone.utc).strftime("%d %B %Y, %H:%M UTC"),
        view=project_view(finding),
        plot=skill_plot(people),
        columns=COLUMNS,
        people=people,
        tasks=tasks,
        agreement=agreement_view(connection, finding),
    )


def votes(said: Sequence[Sequence[Any]]) -> list[tuple[str, int]]:
    """Labels and how many said them, the most frequent first."""
    return Counter(label for _, label in said).most_common()


def _explained(row: View, people: Mapping[int, Mapping[str, Any]]) -> View:
    weights = {annotator: person["weight"] for annotator, person in people.items()}
    nobody: Mapping[str, Any] = {"weight": None, "verdict": "", "name": ""}
    voices = [
        {
            "annotator": annotator,
            "said": label,
            **{name: people.get(annotator, nobody)[name] for name in ("name", "weight", "verdict")},
        }
        for annotator, label in row["said"]
    ]
    voices.sort(key=lambda voice: (voice["said"] != row["label"], voice["said"], -(voice["weight"] or 0.0)))
    return {**row, "voices": voices, "why": why(row, weights)}


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
