"""A crowd of known people as a pass leaves it in the database, for the tests of pages, reports and exports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import cache, cached_property

import numpy as np

from ls_crowd_plugin.chart_records import Figures
from ls_crowd_plugin.controls import read_config
from ls_crowd_plugin.pipeline.annotator_records import annotator_records
from ls_crowd_plugin.pipeline.asking import Asked, Decisions, Steering, people_of
from ls_crowd_plugin.pipeline.crowd import Crowd, build_crowd
from ls_crowd_plugin.pipeline.figures import figures
from ls_crowd_plugin.pipeline.forecast import describe
from ls_crowd_plugin.pipeline.label_records import FittedLabel, fitted_labels
from ls_crowd_plugin.pipeline.project_fit import ProjectFit, fit_project
from ls_crowd_plugin.pipeline.region_groups import task_of
from ls_crowd_plugin.policy import Policy
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import Annotator, AnnotatorDetail, Json
from ls_crowd_plugin.store import Annotation, Store, Task, mirror, queue
from ls_crowd_plugin.store.results import save_results
from ls_crowd_plugin.store.users import save_users
from tests.support.mirrored import make_task
from tests.support.span_crowds import SPAN_CONFIG_TEXT, span_crowd

PROJECT = 3
LABELS = ("news", "sport", "science", "opinion")
CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="topic" toName="text" required="true">'
    + "".join(f'<Choice value="{label}"/>' for label in LABELS)
    + "</Choices></View>"
)
EXPERTS, GUESSERS, CONTRARY = range(1, 8), range(8, 17), range(17, 21)
FIRST_ANSWER = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)


@dataclass(frozen=True)
class KnownCrowd:
    """A crowd with its fit."""

    config: str
    crowd: Crowd
    fit: ProjectFit

    @cached_property
    def labels(self) -> list[FittedLabel]:
        return fitted_labels(self.crowd, self.fit)

    @cached_property
    def annotators(self) -> list[tuple[Annotator, AnnotatorDetail]]:
        return annotator_records(self.crowd, self.fit, self.labels)

    @cached_property
    def figures(self) -> Figures:
        asking = describe(self._decisions, self.fit.scores, list(self.crowd.annotations.values()), fixed=9)
        return replace(figures(self.crowd, self.fit, self.labels), asking=asking)

    @property
    def _decisions(self) -> Decisions:
        annotations = list(self.crowd.annotations.values())
        answered: dict[int, set[int]] = {task: set() for task in self.crowd.answer_counts}
        for task, who in self.crowd.annotations:
            answered[task].add(who)
        asked = {
            task: Asked(frozenset(people), frozenset(), len(people), make_task(task).required_annotators, False)
            for task, people in answered.items()
        }
        probes = frozenset(task_of(unit) for unit, _ in self.crowd.gold)
        steering = Steering.of(Policy(acts=False), asked, probes, people_of(annotations), "salt")
        confidence = {label.record.task: label.blind_confidence for label in self.labels}
        return steering.decide(confidence)


@cache
def known_crowd(
    tasks: int = 60, people: int = 20, per_task: int = 9, gold: int = 12, method: str = "gem"
) -> KnownCrowd:
    """People who answer one question. Everybody is by turns an expert, a guesser, or contrary, in the proportions of
    the first twenty."""
    random = np.random.default_rng(4)
    annotations: list[Annotation] = []
    truth = random.integers(len(LABELS), size=tasks)
    for task in range(1, tasks + 1):
        for who in sorted(1 + random.choice(people, per_task, replace=False)):
            label = _answer(random, 1 + (int(who) - 1) % 20, int(truth[task - 1]))
            item = {"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": [LABELS[label]]}}
            annotations.append(_annotation(len(annotations) + 1, task, int(who), [item], lead_time=2.0 + label))
    known = {(task, "topic"): LABELS[truth[task - 1]] for task in range(1, gold + 1)}
    crowd = build_crowd(read_config(CONFIG), annotations, known, {}, Recipe())
    return KnownCrowd(CONFIG, crowd, fit_project(crowd, method))


@cache
def known_span_crowd() -> KnownCrowd:
    """Three people who mark two names in each sentence, and a fourth who gets one wrong and misses the other."""
    good, bad = [(0, 8, "PER"), (9, 15, "ORG")], [(0, 8, "ORG"), (16, 17, "PER")]
    crowd = span_crowd(good, good, good, bad)
    return KnownCrowd(SPAN_CONFIG_TEXT, crowd, fit_project(crowd))


def store_crowd(
    store: Store,
    known: KnownCrowd | None = None,
    *,
    names: Mapping[int, str] | None = None,
    task_text: str = "Sentence number {}.",
) -> None:
    """Store a crowd and its results as a pass does."""
    known = known or known_crowd()
    crowd, fit = known.crowd, known.fit
    summary = replace(
        fit.summary, tasks=len(crowd.answer_counts), answers=len(crowd.units), gold=len(crowd.gold), warnings=[]
    )
    tasks: list[tuple[Task, list[Annotation]]] = [
        (replace(make_task(task), data=json.dumps({"text": task_text.format(task)})), [])
        for task in crowd.answer_counts
    ]
    with store.data.begin() as connection:
        mirror.save_project(
            connection, PROJECT, title="Topics", label_config=known.config, created_at="2026-01-01T00:00:00Z"
        )
        mirror.replace_tasks(connection, PROJECT, tasks, "")
        records = [label.record for label in known.labels]
        save_results(connection, PROJECT, summary, known.figures, records, known.annotators)
        save_users(connection, names or {who: f"Person {who}" for who in fit.scores})
    with store.work.begin() as connection:
        queue.enqueue(connection, PROJECT)
        claim = queue.claim(connection, "a pass")
        assert claim is not None
        queue.complete(connection, claim)


def _answer(random: np.random.Generator, kind: int, right: int) -> int:
    """The position of the label that somebody gives."""
    if kind in EXPERTS:
        return right if random.random() < 0.92 else int(random.integers(len(LABELS)))
    if kind in CONTRARY:
        return (right + int(random.integers(1, len(LABELS)))) % len(LABELS)
    return int(random.integers(len(LABELS)))


def _annotation(number: int, task: int, who: int, items: list[Json], lead_time: float) -> Annotation:
    when = (FIRST_ANSWER + timedelta(minutes=number - 1)).isoformat().replace("+00:00", "Z")
    return Annotation(
        id=number,
        task=task,
        annotator=who,
        result=json.dumps(items),
        skipped=False,
        ground_truth=False,
        copied=False,
        created_at=when,
        updated_at=when,
        updated_by=None,
        lead_time=lead_time,
    )
