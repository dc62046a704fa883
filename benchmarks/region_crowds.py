"""Simulated crowds who draw regions: experts, sloppy people, spammers and adversaries, with the truth known.

Boundaries are off by a normal deviation: of characters in text, of a share of the side on images. Sloppy people are
off so far that one in some of their regions shares less than half with the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic

import numpy as np

from ls_crowd_plugin.regions import Box, Drawn, Kind, Span, boxes, spans
from ls_crowd_plugin.regions.drawn import Extent

LABELS = ["person", "place", "thing", "time"]
TEXT_LENGTH = 600
IMAGE_WIDTH, IMAGE_HEIGHT = 1000.0, 800.0
ANSWERS_PER_TASK = 5


@dataclass(frozen=True)
class Manner:
    """How a kind of annotator draws."""

    misses: float  # the share of regions
    extra: float  # regions per task that are not there
    characters: float  # standard deviation of a boundary
    side: float  # the same of an edge, as a share of the box's side
    mislabels: float


MANNERS = {
    "expert": Manner(misses=0.05, extra=0.2, characters=0.7, side=0.03, mislabels=0.03),
    "sloppy": Manner(misses=0.25, extra=0.8, characters=2.0, side=0.1, mislabels=0.15),
    "adversary": Manner(misses=0.05, extra=0.2, characters=0.7, side=0.03, mislabels=0.0),
}


@dataclass(frozen=True)
class Task(Generic[Extent]):
    annotators: list[int]
    regions: list[Drawn[Extent]]
    truth: list[Drawn[Extent]]


@dataclass(frozen=True)
class RegionCrowd(Generic[Extent]):
    kind: Kind[Extent]
    tasks: list[Task[Extent]]
    kinds: list[str]  # of annotators


@dataclass(frozen=True)
class Medium(Generic[Extent]):
    """What regions are drawn on: how to draw one at random, and how to draw one again in some manner."""

    kind: Kind[Extent]
    anywhere: Callable[[np.random.Generator], Extent]
    again: Callable[[np.random.Generator, Extent, Manner], Extent]


def region_crowd(
    medium: Medium[Extent], seed: int, members: Mapping[str, int], tasks: int, regions: int = 8
) -> RegionCrowd[Extent]:
    """A crowd of so many of each kind, five of whom answer each task, which has so many regions."""
    generator = np.random.default_rng(seed)
    kinds = [kind for kind, count in members.items() for _ in range(count)]
    wrong = [_wrong_labels(generator) for _ in kinds]  # an adversary's own
    made = []
    for _ in range(tasks):
        truth = _truth(medium, generator, regions)
        annotators = sorted(generator.choice(len(kinds), ANSWERS_PER_TASK, replace=False).tolist())
        drawn = [
            Drawn(annotator, label, extent)
            for annotator in annotators
            for label, extent in _answer(medium, generator, kinds[annotator], truth, wrong[annotator])
        ]
        made.append(Task(annotators, drawn, truth))
    return RegionCrowd(medium.kind, made, kinds)


def _truth(medium: Medium[Extent], generator: np.random.Generator, count: int) -> list[Drawn[Extent]]:
    """Regions of which no two share more than a tenth."""
    found: list[Extent] = []
    while len(found) < count:
        candidate = medium.anywhere(generator)
        if medium.kind.pairs([candidate], found).similarity.max(initial=0.0) <= 0.1:
            found.append(candidate)
    return [Drawn(-1, LABELS[generator.integers(len(LABELS))], extent) for extent in found]


def _answer(
    medium: Medium[Extent],
    generator: np.random.Generator,
    kind: str,
    truth: list[Drawn[Extent]],
    wrong: Mapping[str, str],
) -> list[tuple[str, Extent]]:
    """What an annotator of a kind draws where this is the truth."""
    if kind == "spammer":
        return _invented(medium, generator, generator.poisson(len(truth)))
    manner = MANNERS[kind]
    answer = []
    for region in truth:
        if generator.random() < manner.misses:
            continue
        label = region.label
        if kind == "adversary":
            label = wrong[label]
        elif generator.random() < manner.mislabels:
            label = generator.choice([other for other in LABELS if other != label]).item()
        answer.append((label, medium.again(generator, region.extent, manner)))
    return answer + _invented(medium, generator, generator.poisson(manner.extra))


def _invented(medium: Medium[Extent], generator: np.random.Generator, count: int) -> list[tuple[str, Extent]]:
    return [(LABELS[generator.integers(len(LABELS))], medium.anywhere(generator)) for _ in range(count)]


def _wrong_labels(generator: np.random.Generator) -> dict[str, str]:
    """Each label's wrong one: the next in a circle of all labels."""
    circle = generator.permutation(LABELS).tolist()
    return dict(zip(circle, [*circle[1:], circle[0]], strict=True))


def _any_span(generator: np.random.Generator) -> Span:
    length = int(generator.integers(5, 31))
    start = int(generator.integers(0, TEXT_LENGTH - length + 1))
    return Span(start, start + length)


def _span_again(generator: np.random.Generator, span: Span, manner: Manner) -> Span:
    start, end = np.rint(generator.normal([span.start, span.end], manner.characters)).astype(int).tolist()
    start = min(max(start, 0), TEXT_LENGTH - 1)
    return Span(start, min(max(end, start + 1), TEXT_LENGTH))


def _any_box(generator: np.random.Generator) -> Box:
    width, height = generator.uniform(50, 250, 2).tolist()
    return Box(generator.uniform(0, IMAGE_WIDTH - width), generator.uniform(0, IMAGE_HEIGHT - height), width, height)


def _box_again(generator: np.random.Generator, box: Box, manner: Manner) -> Box:
    left, right = generator.normal([box.x, box.x + box.width], manner.side * box.width).tolist()
    top, bottom = generator.normal([box.y, box.y + box.height], manner.side * box.height).tolist()
    return Box(left, top, max(right - left, 1.0), max(bottom - top, 1.0))


TEXT = Medium[Span](spans, _any_span, _span_again)
IMAGES = Medium[Box](boxes, _any_box, _box_again)
