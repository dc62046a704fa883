"""Annotations as the mirror keeps them, of the mood of a task, and the crowds that are made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ls_crowd_plugin.pipeline.crowd import Crowd, build_crowd
from ls_crowd_plugin.pipeline.region_groups import Unit
from ls_crowd_plugin.pipeline.trust import Trust
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import GOLD_SOURCES
from ls_crowd_plugin.store import Annotation
from tests.support.label_configs import MOOD, RATING, config_of, single

MOOD_REQUIRED = single('required="true"')
MOOD_AND_STARS = config_of(MOOD.format(""), RATING.format(""))


def mood_annotation(
    number: int, task: int, annotator: int | None, *labels: str, at: str = "12:00:00.000000", **changes: Any
) -> Annotation:
    """An annotation of the mood of a task; without labels it is empty."""
    items = [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": list(labels)}}]
    when = f"2026-01-01T{at}Z"
    plain = Annotation(
        id=number,
        task=task,
        annotator=annotator,
        result=json.dumps(items if labels else []),
        skipped=False,
        ground_truth=False,
        copied=False,
        created_at=when,
        updated_at=when,
        updated_by=annotator,
        lead_time=None,
    )
    return replace(plain, **changes)


def mood_crowd(
    *annotations: Annotation,
    gold: Mapping[tuple[int, str], str] | None = None,
    gold_fields: Mapping[int, str] | None = None,
    experts: tuple[int, ...] = (),
    owner: int | None = None,
    sources: Iterable[str] = GOLD_SOURCES,
) -> Crowd:
    """A crowd in which gold of all sources is believed, if the owner or an expert says so."""
    trust = Trust(frozenset(sources), frozenset(experts), owner)
    return build_crowd(MOOD_REQUIRED, annotations, gold or {}, gold_fields or {}, Recipe(), trust)


def answers(crowd: Crowd) -> list[tuple[Unit, int, str, str]]:
    """Unit, annotator, question and label of every answer."""
    return list(zip(crowd.units, crowd.annotators, crowd.questions, crowd.labels, strict=True))


# Eight tasks that somebody has answered
EIGHT_ANSWERS = tuple(mood_annotation(100 + number, number, 9, "good") for number in range(1, 9))
