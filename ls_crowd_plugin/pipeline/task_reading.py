"""From a task as Label Studio lists it to a task as the mirror keeps it. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..controls.bounds import MAX_RESULT_CHARACTERS
from ..labelstudio import user_id
from ..records import Json
from ..store import Annotation, Task
from ..store.mirror import EXCERPT
from .plan import crowd_meta

MAX_SECONDS = 1e8  # that an annotation can have taken
STAMPED = ("created_at", "updated_at", "overlap", "is_labeled", "total_annotations", "cancelled_annotations")


@dataclass(frozen=True)
class TextField:
    """A field of `task.data` that annotators see."""

    name: str
    whole: bool  # all of it is needed, because spans are marked in it


@dataclass(frozen=True)
class Reading:
    """What to keep of a task."""

    gold_field: str
    texts: Mapping[str, TextField]  # object of the label config → what it shows
    noticed: str  # when the pull began, by Label Studio's clock

    @property
    def with_data(self) -> bool:
        return bool(self.gold_field or self.texts)


def parse_task(task: Json, reading: Reading) -> tuple[Task, list[Annotation]]:
    """A task of Label Studio's list as the mirror keeps it."""
    data = task.get("data")
    data = data if isinstance(data, dict) else {}
    gold = data.get(reading.gold_field) if reading.gold_field else None
    texts = {
        name: data[text.name] if text.whole else data[text.name][:EXCERPT]
        for name, text in reading.texts.items()
        if isinstance(data.get(text.name), str)
    }
    kept = (None if gold in (None, "") else _dump(gold, sort_keys=True), _dump(texts) if texts else None)
    parsed = Task(
        id=int(task["id"]),
        created_at=str(task["created_at"]),
        updated_at=str(task["updated_at"]),
        stamp=_stamp(task, kept),
        required_annotators=int(task.get("overlap") or 1),
        is_labeled=bool(task.get("is_labeled")),
        gold_field=kept[0],
        data=kept[1],
    )
    return parsed, [_parse_annotation(parsed.id, annotation) for annotation in _objects(task.get("annotations"))]


def _stamp(task: Json, kept: Sequence[str | None]) -> str:
    """A digest of what a listing of tasks tells about a task, and of what is kept of its data."""
    facts = [task.get(name) for name in STAMPED]
    return hashlib.sha256(json.dumps([*facts, *kept]).encode()).hexdigest()


def _parse_annotation(task: int, annotation: Json) -> Annotation:
    return Annotation(
        id=int(annotation["id"]),
        task=task,
        annotator=user_id(annotation.get("completed_by")),
        result=_dump(annotation.get("result") or [], compact=True)[: MAX_RESULT_CHARACTERS + 1],
        skipped=bool(annotation.get("was_cancelled")),
        ground_truth=bool(annotation.get("ground_truth")),
        copied=_is_copy(annotation),
        created_at=str(annotation.get("created_at") or ""),
        updated_at=str(annotation.get("updated_at") or ""),
        updated_by=user_id(annotation.get("updated_by")),
        lead_time=_seconds(annotation.get("lead_time")),
    )


def _is_copy(annotation: Json) -> bool:
    """Whether an annotation was made from a prediction or another annotation. Label Studio forgets which one when that
    is deleted, but a copy of our prediction also has our metadata."""
    parents = (annotation.get("parent_prediction"), annotation.get("parent_annotation"))
    return any(parents) or bool(crowd_meta(annotation.get("result")))


def _dump(value: object, *, sort_keys: bool = False, compact: bool = False) -> str:
    """JSON that a database accepts: a lone surrogate, which a browser may leave, is replaced."""
    separators = (",", ":") if compact else None
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=sort_keys, separators=separators)
    except RecursionError:  # nested so deeply that it could just be read
        text = "null"
    return text.encode("utf-8", "replace").decode()


def _seconds(value: object) -> float | None:
    """How long an annotation took; nothing that can be meant exceeds a few years."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_SECONDS:
        return None
    return float(value)


def _objects(values: list[object] | None) -> Iterator[Json]:
    return (value for value in values or () if isinstance(value, dict))
