"""What the prediction on each task should say: consensus of all questions and regions, score and metadata. Pure."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import floor, log10

from ..controls import NO_REGION
from ..records import AnnotatorScore, Json, rounded
from .crowd import Crowd, Key
from .plan import META, DesiredPrediction
from .project_fit import ProjectFit
from .region_groups import RegionGroup, task_of

REGION_DECIMALS = 2  # of a region's own score: a third would cause many needless rewrites

Texts = Mapping[int, Mapping[str, str]]  # task → object of the label config → text


@dataclass
class _TaskParts:
    """What a prediction is made of."""

    annotators: set[int] = field(default_factory=set)
    questions: dict[str, None] = field(default_factory=dict)  # about the whole task, in order
    groups: list[RegionGroup] = field(default_factory=list)
    disputed: bool = False  # by annotators who are trusted


def desired_predictions(
    crowd: Crowd,
    fit: ProjectFit,
    annotator_scores: bool = True,
    texts: Texts | None = None,
    tasks: Collection[int] | None = None,
) -> list[DesiredPrediction]:
    """One prediction per task with answers, of all or some tasks, blind to gold: a probe must look like any other task.

    `texts` are what annotators see, where they mark spans in it.
    """
    scores = coarse_scores(fit.scores) if annotator_scores else {}
    weights = {who: score.weight or 0.0 for who, score in fit.scores.items()}
    return [
        _predict(task, parts, crowd, fit, scores, weights, (texts or {}).get(task, {}))
        for task, parts in sorted(_parts_by_task(crowd, fit).items())
        if tasks is None or task in tasks
    ]


def coarse_scores(scores: Mapping[int, AnnotatorScore]) -> dict[int, Json]:
    """Annotator → what is written about them into each of their predictions.

    The numbers are coarse: finer ones would be rewritten in thousands of places with every new answer, and would say
    more about single answers than about people. Skills have one decimal, or more if they are weights, which are small.
    """
    largest = max((abs(score.skill or 0.0) for score in scores.values()), default=0.0)
    decimals = max(1, 1 - floor(log10(largest))) if largest > 0 else 1
    return {
        who: {
            "skill": None if score.skill is None else round(score.skill, decimals),
            "adversary": None if score.adversary_probability is None else round(score.adversary_probability, 1),
            "accuracy": None if score.accuracy is None else round(20 * score.accuracy) / 20,
            "verdict": score.verdict,
        }
        for who, score in scores.items()
    }


def _parts_by_task(crowd: Crowd, fit: ProjectFit) -> dict[int, _TaskParts]:
    tasks: dict[int, _TaskParts] = defaultdict(_TaskParts)
    trusted = {who for who, score in fit.scores.items() if score.verdict == "trusted"}
    label_by_trusted: dict[Key, str] = {}
    rows = zip(crowd.units, crowd.annotators, crowd.questions, crowd.labels, strict=True)
    for unit, annotator, question, label in rows:
        parts = tasks[task_of(unit)]
        parts.annotators.add(annotator)
        if unit not in crowd.groups:
            parts.questions[question] = None
        if annotator in trusted and label_by_trusted.setdefault((unit, question), label) != label:
            parts.disputed = True
    for group in crowd.groups.values():
        tasks[group.task].groups.append(group)
    return tasks


def _predict(
    task: int,
    parts: _TaskParts,
    crowd: Crowd,
    fit: ProjectFit,
    scores: Mapping[int, Json],
    weights: Mapping[int, float],
    texts: Mapping[str, str],
) -> DesiredPrediction:
    labels = {question: fit.gold_blind_label(task, question) for question in parts.questions}
    confidence = {question: p for question, (_, p) in labels.items()}
    difficulty = {question: fit.difficulty[task, question] for question in labels}
    states = {question: fit.state(task, question) for question in labels}
    items = crowd.config.write({question: label for question, (label, _) in labels.items()})
    for group in parts.groups:
        if group.missed:
            continue
        text = texts.get(group.control.spec.to_name) if group.control.shape == "span" else None
        region, region_confidence = _predict_region(group, fit, weights, len(parts.annotators), text)
        items += region
        for question, p in region_confidence.items():
            confidence[question] = min(p, confidence.get(question, 1.0))
            states[question] = _less_certain(states.get(question), fit.state(group.unit, question))
        name = group.control.name
        difficulty[name] = _harder(difficulty.get(name), fit.difficulty[group.unit, name])
    meta: Json = {
        "confidence": {question: rounded(p) for question, p in confidence.items()},
        "difficulty": {question: rounded(value) for question, value in difficulty.items()},
        "state": states,
        "answers": crowd.answer_counts[task],
        "method": fit.method,
        "annotators": {str(who): scores[who] for who in sorted(parts.annotators) if who in scores},
    }
    if parts.disputed:  # a tab of the Data Manager filters by this
        meta["disputed"] = True
    if items:
        items[0]["meta"] = {**items[0].get("meta", {}), META: meta}
    score = rounded(min(confidence.values())) or 0.0
    return DesiredPrediction(task, items, score, _basis(crowd, task, parts.annotators))


def _basis(crowd: Crowd, task: int, annotators: Iterable[int]) -> str:
    """A digest of a task's own answers."""
    found = ((who, crowd.annotations.get((task, who))) for who in sorted(annotators))
    answers = [(who, annotation and annotation.result) for who, annotation in found]
    return hashlib.sha256(repr(answers).encode()).hexdigest()


def _less_certain(one: str | None, other: str) -> str:
    """The state of a question with several regions is that of the least certain one."""
    return max(one or "settled", other, key=("settled", "open", "undecided").index)


def _harder(one: float | None, other: float | None) -> float | None:
    return other if one is None else max(other or 0.0, one)


def _predict_region(
    group: RegionGroup, fit: ProjectFit, weights: Mapping[int, float], people: int, text: str | None
) -> tuple[list[Json], dict[str, float]]:
    """The items of a region, none where it does not exist, and the confidence of each question about it."""
    name = group.control.name
    label, p = fit.gold_blind_label(group.unit, name)
    if label == NO_REGION or not group.members:
        return [], {name: p}
    extent, regions = group.merge(label, weights)
    details, confidence = {}, {name: p}
    for detail in group.control.details:
        question = detail.spec.name
        if any(question in region.details for region in group.members.values()):
            details[question], confidence[question] = fit.gold_blind_label(group.unit, question)
    items = group.control.write(f"{name}-{group.number + 1}", extent, label, details, regions, text)
    for item in items:
        item["score"] = round(confidence[item["from_name"]], REGION_DECIMALS)
    drawn = f"drawn by {len(group.members)} of {people} people"
    items[0]["meta"] = {"text": [f"{items[0]['score']:.0%} sure; {drawn}"]}
    return items, confidence
