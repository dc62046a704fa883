"""Crowds of people who mark spans in texts, and what the predictions about their tasks say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ls_crowd_plugin.controls import read_config
from ls_crowd_plugin.pipeline.crowd import Crowd, build_crowd
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.plan import DesiredPrediction
from ls_crowd_plugin.pipeline.project_fit import fit_project
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import Annotation

SPAN_CONFIG_TEXT = (
    '<View><Text name="text" value="$t"/>'
    '<Labels name="entity" toName="text"><Label value="PER"/><Label value="ORG"/></Labels>'
    '<Choices name="mood" toName="text" required="true"><Choice value="good"/><Choice value="bad"/></Choices></View>'
)
SPAN_CONFIG = read_config(SPAN_CONFIG_TEXT)
SWAPPED = {"PER": "ORG", "ORG": "PER"}

Span = tuple[int, int, str]  # start, end, label
Spans = Sequence[Span]


def span_annotation(
    number: int, task: int, annotator: int, spans: Spans, mood: str = "", **changes: bool
) -> Annotation:
    items: list[dict[str, Any]] = [
        {
            "id": f"r{position}",
            "from_name": "entity",
            "to_name": "text",
            "type": "labels",
            "value": {"start": start, "end": end, "text": "x" * (end - start), "labels": [label]},
        }
        for position, (start, end, label) in enumerate(spans)
    ]
    if mood:
        items.append({"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [mood]}})
    flags = {"skipped": False, "ground_truth": False, "copied": False} | changes
    return Annotation(
        id=number,
        task=task,
        annotator=annotator,
        result=json.dumps(items),
        created_at="",
        updated_at="",
        updated_by=annotator,
        lead_time=None,
        **flags,
    )


def crowd_of_spans(annotations: Iterable[Annotation], experts: Iterable[int] = ()) -> Crowd:
    recipe = Recipe(experts=frozenset(experts), gold_sources=frozenset({"plugin", "experts"}))
    return build_crowd(SPAN_CONFIG, annotations, {}, {}, recipe)


def span_crowd(*drawings: Spans, experts: tuple[int, ...] = (), tasks: int = 12) -> Crowd:
    """The same spans, one list by each person, on several tasks.

    On every second task the labels are swapped: otherwise people would seem to say the same whatever they see.
    """
    annotations = []
    for task in range(tasks):
        for annotator, spans in enumerate(drawings, 1):
            swapped = [(start, end, SWAPPED.get(label, label) if task % 2 else label) for start, end, label in spans]
            annotations.append(span_annotation(100 * task + annotator, task, annotator, swapped))
    return crowd_of_spans(annotations, experts)


def prediction_of(crowd: Crowd, task: int = 0) -> DesiredPrediction:
    """The prediction about one task of a crowd."""
    return next(one for one in desired_predictions(crowd, fit_project(crowd)) if one.task == task)


def predicted_spans(prediction: DesiredPrediction) -> list[Span]:
    values = [item["value"] for item in prediction.result if item["type"] == "labels"]
    return sorted((value["start"], value["end"], value["labels"][0]) for value in values)
