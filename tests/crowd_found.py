"""A crowd of known people as a pass leaves it in the database, for the tests of pages, reports and exports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any

import numpy as np

from ls_crowd_plugin.controls import read_config
from ls_crowd_plugin.pipeline.crowd import Crowd, crowd_of
from ls_crowd_plugin.pipeline.findings import Findings, find
from ls_crowd_plugin.pipeline.insight import insight
from ls_crowd_plugin.store import Annotation, Mirror, Task, found
from ls_crowd_plugin.web.app import Parts

PROJECT = 3
LABELS = ("news", "sport", "science", "opinion")
CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="topic" toName="text" required="true">'
    + "".join(f'<Choice value="{label}"/>' for label in LABELS)
    + "</Choices></View>"
)
EXPERTS, GUESSING, CONTRARY = range(1, 8), range(8, 17), range(17, 21)
BEGIN = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)


@cache
def find_crowd(
    tasks: int = 60, people: int = 20, per_task: int = 9, gold: int = 12, method: str = "gem"
) -> tuple[Crowd, Findings]:
    """Everybody is by turns an expert, somebody who guesses, or contrary, in the proportions of the first twenty."""
    random = np.random.default_rng(4)
    annotations: list[Annotation] = []
    truth = random.integers(len(LABELS), size=tasks)
    for task in range(1, tasks + 1):
        right = int(truth[task - 1])
        for who in sorted(1 + random.choice(people, per_task, replace=False)):
            said = _said(random, 1 + (int(who) - 1) % 20, right)
            when = (BEGIN + timedelta(minutes=len(annotations))).isoformat().replace("+00:00", "Z")
            value = {"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": [LABELS[said]]}}
            number = len(annotations) + 1
            annotations.append(
                Annotation(
                    number, task, int(who), json.dumps([value]), False, False, False, when, when, None, 2.0 + said
                )
            )
    known = {(task, "topic"): LABELS[truth[task - 1]] for task in range(1, gold + 1)}
    crowd = crowd_of(read_config(CONFIG), annotations, known)
    return crowd, find(crowd, method)


def _said(random: np.random.Generator, kind: int, right: int) -> int:
    if kind in EXPERTS:
        return right if random.random() < 0.92 else int(random.integers(len(LABELS)))
    if kind in CONTRARY:
        return (right + int(random.integers(1, len(LABELS)))) % len(LABELS)
    return int(random.integers(len(LABELS)))


def fill(
    parts: Parts,
    *,
    crowd: tuple[Crowd, Findings] | None = None,
    names: Mapping[int, str] | None = None,
    task_text: str = "Sentence number {}.",
) -> None:
    """Puts a crowd, and what was found of it, where a pass would."""
    given, findings = crowd or find_crowd()
    seen = insight(given, findings)
    facts = {"tasks": len(given.answered), "answers": len(given.tasks), "gold": len(given.gold)}
    summary: dict[str, Any] = {**facts, **findings.summary, "left_out": [], "warnings": []}
    tasks: list[tuple[Task, list[Annotation]]] = [
        (Task(task, "", 1, True, data=json.dumps({"text": task_text.format(task)})), []) for task in given.answered
    ]
    with parts.engine.begin() as connection:
        mirror = Mirror(connection, PROJECT)
        mirror.describe("Topics", CONFIG, "2026-01-01T00:00:00Z")
        mirror.replace(tasks, "")
        found.remember(connection, PROJECT, summary, seen.charts, seen.labels, seen.annotators)
        found.remember_users(connection, names or {who: f"Person {who}" for who in findings.people})
    parts.work.want(PROJECT)
    claim = parts.work.claim("a pass")
    if claim is not None:
        parts.work.finish(claim)
