"""Which answers are held back: they vote, but nothing is learned from them, so that probing reveals no gold. Pure.

What is learned from an answer depends on whether its task is gold, and it shows in everything that is written: in the
score of the person, and through it in the confidence of other tasks. Somebody who changes an answer again and again
makes it their newest one every time. If nothing is learned from anybody's newest answers, on gold and on other tasks
alike, then such changes move only what is said about the task itself, and that does not depend on gold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import ceil

from ..store import Annotation

ONE_IN = 10  # of everybody's annotations, the newest ones, rounded up: at least one is held back

ByAnnotator = Mapping[tuple[int, int], Annotation]  # (task, annotator) → the annotation that counts


def older_annotations(annotations: ByAnnotator) -> dict[tuple[int, int], Annotation]:
    """The annotations to learn from, in the given order."""
    by_person: dict[int, list[Annotation]] = defaultdict(list)
    for (_, annotator), annotation in annotations.items():
        by_person[annotator].append(annotation)
    held_back: set[int] = set()
    for own in by_person.values():
        own.sort(key=age)
        held_back.update(annotation.id for annotation in own[-held_back_count(len(own)) :])
    return {key: annotation for key, annotation in annotations.items() if annotation.id not in held_back}


def held_back_count(annotations: int) -> int:
    """How many of somebody's annotations are held back."""
    return ceil(annotations / ONE_IN)


def age(annotation: Annotation) -> tuple[str, str, int]:
    """What annotations are ordered by: time, which Label Studio writes without a fraction on a full second, then id."""
    seconds, _, fraction = annotation.updated_at.rstrip("Z").partition(".")
    return seconds, fraction, annotation.id
