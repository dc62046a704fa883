"""What the prediction on each task should say: consensus of all questions and regions, score and metadata. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ..controls import NO_REGION
from .crowd import Crowd
from .drawings import Group, task_of
from .findings import Findings, rounded
from .plan import META, Desired, digest

Item = dict[str, Any]

REGION_DECIMALS = 2  # of a region's own score: a third would have whole tasks rewritten for nothing


def desired_predictions(
    crowd: Crowd,
    findings: Findings,
    annotator_scores: bool = True,
    texts: Mapping[int, Mapping[str, str]] | None = None,
) -> list[Desired]:
    """One prediction per task with crowd answers, gold lifted: a probe must not be told from other tasks.

    `texts` are what annotators see of each task (task → object → text), where they mark spans in it.
    """
    who: dict[int, set[int]] = defaultdict(set)
    questions: dict[int, dict[str, None]] = defaultdict(dict)
    trusted = {annotator for annotator, row in findings.people.items() if row["verdict"] == "trusted"}
    by_trusted: dict[Any, str] = {}
    disputed: set[int] = set()
    rows = zip(crowd.tasks, crowd.annotators, crowd.questions, crowd.labels, strict=True)
    for unit, annotator, question, label in rows:
        task = task_of(unit)
        who[task].add(annotator)
        if unit not in crowd.groups:
            questions[task][question] = None
        if annotator in trusted and by_trusted.setdefault((unit, question), label) != label:
            disputed.add(task)
    drawn: dict[int, list[Group]] = defaultdict(list)
    for group in crowd.groups.values():
        drawn[group.task].append(group)
    scores = {annotator: _scores(row) for annotator, row in findings.people.items()} if annotator_scores else {}
    weights = {annotator: float(row["weight"] or 0.0) for annotator, row in findings.people.items()}
    desired = []
    for task in sorted(who):
        said = {question: findings.lifted(task, question) for question in questions[task]}
        confidence = {question: sure for question, (_, sure) in said.items()}
        difficulty = {question: findings.difficulty[task, question] for question in said}
        items = crowd.config.write({question: label for question, (label, _) in said.items()})
        for group in drawn[task]:
            if group.missed:
                continue
            name = group.control.name
            shown = (texts or {}).get(task, {}) if group.control.shape == "span" else {}
            text = shown.get(group.control.frame.to_name)
            found, sure = _region(group, findings, weights, len(who[task]), text)
            items += found
            confidence |= {question: min(p, confidence.get(question, 1.0)) for question, p in sure.items()}
            hard = findings.difficulty[group.unit, name]
            difficulty[name] = hard if difficulty.get(name) is None else max(hard or 0.0, difficulty[name] or 0.0)
        told: dict[str, Any] = {
            "confidence": {question: rounded(sure) for question, sure in confidence.items()},
            "difficulty": {question: rounded(hard) for question, hard in difficulty.items()},
            "answers": crowd.answered[task],
            "method": findings.method,
            "annotators": {str(annotator): scores[annotator] for annotator in sorted(who[task]) if annotator in scores},
        }
        if task in disputed:  # by people who are trusted: a tab of the Data Manager finds it by this
            told["disputed"] = True
        if items:
            items[0]["meta"] = {**items[0].get("meta", {}), META: told}
        score = rounded(min(confidence.values())) or 0.0
        desired.append(Desired(task, items, score, digest(items, score)))
    return desired


def _region(
    group: Group, findings: Findings, weights: Mapping[int, float], people: int, text: str | None
) -> tuple[list[Item], dict[str, float]]:
    """The items of one region, none if there is none, and how sure each question about it is."""
    name = group.control.name
    label, sure = findings.lifted(group.unit, name)
    if label == NO_REGION or not group.members:
        return [], {name: sure}
    extent, regions = group.merged(label, weights)
    details = {}
    confidence = {name: sure}
    for detail in group.control.details:
        asked = detail.frame.name
        if any(asked in region.details for region in group.members.values()):
            details[asked], confidence[asked] = findings.lifted(group.unit, asked)
    items = group.control.write(f"{name}-{group.number + 1}", extent, label, details, regions, text)
    drew = f"drawn by {len(group.members)} of {people} people"
    for item in items:
        item["score"] = round(confidence[item["from_name"]], REGION_DECIMALS)
    items[0]["meta"] = {"text": [f"{items[0]['score']:.0%} sure; {drew}"]}
    return items, confidence


def _scores(annotator: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "skill": rounded(annotator["skill"]),
        "adversary": rounded(annotator["adversary_probability"]),
        "accuracy": rounded(annotator["accuracy"]),
        "verdict": annotator["verdict"],
    }
