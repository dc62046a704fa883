"""What has to change in Label Studio: a value that can be printed, tested and dry-run. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..aggregation import Consensus
from .crowd import Crowd

VERSION = "crowd-consensus"  # every model version of ours begins with this
DECIMALS = 3


@dataclass(frozen=True)
class Desired:
    """A prediction as it should stand on a task."""

    task: int
    result: list[dict[str, Any]]
    score: float
    digest: str  # of the labels and the rounded score: a prediction is rewritten only when this changes


@dataclass(frozen=True)
class Existing:
    """A prediction of ours as it stands."""

    id: int
    task: int
    version: str
    digest: str


@dataclass(frozen=True)
class Plan:
    create: list[Desired] = field(default_factory=list)
    update: list[tuple[Existing, Desired]] = field(default_factory=list)
    delete: list[Existing] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not (self.create or self.update or self.delete or self.settings)


def desired_predictions(crowd: Crowd, consensus: Consensus, annotator_scores: bool = True) -> list[Desired]:
    """One prediction per task with crowd answers, gold lifted: a probe must not be told from other tasks."""
    people = {str(each["annotator"]): _scores(each) for each in consensus.annotators} if annotator_scores else {}
    who: dict[int, set[str]] = {}
    questions: dict[int, dict[str, None]] = {}
    for task, annotator, question in zip(crowd.tasks, crowd.annotators, crowd.questions, strict=True):
        who.setdefault(task, set()).add(str(annotator))
        questions.setdefault(task, {})[question] = None
    difficulty = {(row["task"], row["question"]): row["difficulty"] for row in consensus.tasks}
    desired = []
    for task, asked in sorted(questions.items()):
        said = {question: consensus.lifted((task, question)) for question in asked}
        confidence = {question: round(sure, DECIMALS) for question, (_, sure) in said.items()}
        about = {
            "confidence": confidence,
            "difficulty": {question: _rounded(difficulty[task, question]) for question in asked},
            "answers": crowd.answered[task],
            "method": consensus.facts["method"],
            "annotators": {annotator: people[annotator] for annotator in sorted(who[task]) if annotator in people},
        }
        items = crowd.config.write({question: label for question, (label, _) in said.items()})
        if items:
            items[0]["meta"] = {"crowd": about}
        score = min(confidence.values())
        desired.append(Desired(task, items, score, digest(items, score)))
    return desired


def digest(result: Sequence[Mapping[str, Any]], score: float | None) -> str:
    """Tells predictions with the same labels and rounded score from others; metadata does not count."""
    said = sorted(json.dumps([item.get("from_name"), item.get("value")], sort_keys=True) for item in result)
    text = json.dumps([said, None if score is None else round(float(score), DECIMALS)])
    return hashlib.sha256(text.encode()).hexdigest()


def make_plan(desired: Sequence[Desired], existing: Sequence[Existing], settings: dict[str, Any]) -> Plan:
    """From what should be and what is to what to do; of several of ours on one task one stays."""
    standing: dict[int, list[Existing]] = {}
    for each in sorted(existing, key=lambda one: one.id):
        standing.setdefault(each.task, []).append(each)
    plan = Plan(settings=settings)
    for wanted in desired:
        ours = standing.pop(wanted.task, [])
        keep = next((each for each in ours if each.digest == wanted.digest), ours[0] if ours else None)
        plan.delete.extend(each for each in ours if each is not keep)
        if keep is None:
            plan.create.append(wanted)
        elif keep.digest != wanted.digest:
            plan.update.append((keep, wanted))
    plan.delete.extend(each for ours in standing.values() for each in ours)
    return plan


def _scores(annotator: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "skill": _rounded(annotator["skill"]),
        "adversary": _rounded(annotator["adversary_probability"]),
        "accuracy": _rounded(annotator["accuracy"]),
        "verdict": annotator["verdict"],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), DECIMALS)
