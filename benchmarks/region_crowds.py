"""Simulated crowds that draw regions: experts, sloppy people, spammers and adversaries, with known truth.

Boundaries have normal errors: in text a number of characters, on images a share of the side. The errors of sloppy
people are so large that some of their regions share less than half with the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic

import numpy as np

from ls_crowd_plugin.regions import Box, DrawnRegion, Kind, Span, boxes, spans
from ls_crowd_plugin.regions.types import Extent

LABELS = ["person", "place", "thing", "time"]
TEXT_LENGTH = 600
IMAGE_WIDTH, IMAGE_HEIGHT = 1000.0, 800.0
ANSWERS_PER_TASK = 5


@dataclass(frozen=True)
class Manner:
    """How a kind of annotator draws."""

    misses: float  # share of regions that are not drawn
    extra: float  # regions per task that do not exist
    characters: float  # standard deviation of a boundary in text
    side: float  # standard deviation of an edge, as a share of the box's side
    mislabels: float  # share of regions with a wrong label


MANNERS = {
    "expert": Manner(misses=0.05, extra=0.2, characters=0.7, side=0.03, mislabels=0.03),
    "sloppy": Manner(misses=0.25, extra=0.8, characters=2.0, side=0.1, mislabels=0.15),
    "adversary": Manner(misses=0.05, extra=0.2, characters=0.7, side=0.03, mislabels=0.0),
}


@dataclass(frozen=True)
class Task(Generic[Extent]):
    annotators: list[int]
    regions: list[DrawnRegion[Extent]]
    truth: list[DrawnRegion[Extent]]


@dataclass(frozen=True)
class RegionCrowd(Generic[Extent]):
    kind: Kind[Extent]
    tasks: list[Task[Extent]]
    kinds: list[str]  # of annotators


@dataclass(frozen=True)
class Medium(Generic[Extent]):
    """Text or images: how to draw a random region, and how an annotator with some manner redraws one."""

    kind: Kind[Extent]
    draw: Callable[[np.random.Generator], Extent]
    redraw: Callable[[np.random.Generator, Extent, Manner], Extent]


def region_crowd(
    medium: Medium[Extent], seed: int, members: Mapping[str, int], tasks: int, regions: int = 8
) -> RegionCrowd[Extent]:
    """Draw a crowd with these numbers of members by kind; five of them answer each task."""
    generator = np.random.default_rng(seed)
    kinds = [kind for kind, count in members.items() for _ in range(count)]
    wrong = [_wrong_labels(generator) for _ in kinds]  # by annotator; used by adversaries
    drawn_tasks = []
    for _ in range(tasks):
        truth = _truth(medium, generator, regions)
        annotators = sorted(generator.choice(len(kinds), ANSWERS_PER_TASK, replace=False).tolist())
        drawn = [
            DrawnRegion(annotator, label, extent)
            for annotator in annotators
            for label, extent in _answer(medium, generator, kinds[annotator], truth, wrong[annotator])
        ]
        drawn_tasks.append(Task(annotators, drawn, truth))
    return RegionCrowd(medium.kind, drawn_tasks, kinds)


def _truth(medium: Medium[Extent], generator: np.random.Generator, count: int) -> list[DrawnRegion[Extent]]:
    """Draw regions such that no two share more than a tenth."""
    extents: list[Extent] = []
    while len(extents) < count:
        candidate = medium.draw(generator)
        if medium.kind.overlapping_pairs([candidate], extents).iou.max(initial=0.0) <= 0.1:
            extents.append(candidate)
    return [DrawnRegion(-1, LABELS[generator.integers(len(LABELS))], extent) for extent in extents]


def _answer(
    medium: Medium[Extent],
    generator: np.random.Generator,
    kind: str,
    truth: list[DrawnRegion[Extent]],
    wrong: Mapping[str, str],
) -> list[tuple[str, Extent]]:
    """Return the regions that an annotator of a kind draws where this is the truth."""
    if kind == "spammer":
        return _random_regions(medium, generator, generator.poisson(len(truth)))
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
        answer.append((label, medium.redraw(generator, region.extent, manner)))
    return answer + _random_regions(medium, generator, generator.poisson(manner.extra))


def _random_regions(medium: Medium[Extent], generator: np.random.Generator, count: int) -> list[tuple[str, Extent]]:
    return [(LABELS[generator.integers(len(LABELS))], medium.draw(generator)) for _ in range(count)]


def _wrong_labels(generator: np.random.Generator) -> dict[str, str]:
    """Return a wrong label for each label: the next one in a circle of all labels."""
    circle = generator.permutation(LABELS).tolist()
    return dict(zip(circle, [*circle[1:], circle[0]], strict=True))


def _draw_span(generator: np.random.Generator) -> Span:
    length = int(generator.integers(5, 31))
    start = int(generator.integers(0, TEXT_LENGTH - length + 1))
    return Span(start, start + length)


def _redraw_span(generator: np.random.Generator, span: Span, manner: Manner) -> Span:
    start, end = np.rint(generator.normal([span.start, span.end], manner.characters)).astype(int).tolist()
    start = min(max(start, 0), TEXT_LENGTH - 1)
    return Span(start, min(max(end, start + 1), TEXT_LENGTH))


def _draw_box(generator: np.random.Generator) -> Box:
    width, height = generator.uniform(50, 250, 2).tolist()
    return Box(generator.uniform(0, IMAGE_WIDTH - width), generator.uniform(0, IMAGE_HEIGHT - height), width, height)


def _redraw_box(generator: np.random.Generator, box: Box, manner: Manner) -> Box:
    left, right = generator.normal([box.x, box.x + box.width], manner.side * box.width).tolist()
    top, bottom = generator.normal([box.y, box.y + box.height], manner.side * box.height).tolist()
    return Box(left, top, max(right - left, 1.0), max(bottom - top, 1.0))


TEXT = Medium[Span](spans, _draw_span, _redraw_span)
IMAGES = Medium[Box](boxes, _draw_box, _redraw_box)
