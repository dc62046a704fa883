"""Boxes on images: how alike two are, and one for several; rotated ones too.

Coordinates are pixels or another unit that is as long across as down, y points down, and a box is rotated clockwise by
some degrees around its top left corner, as Label Studio does it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from ..errors import UnusableInput
from .medians import middle, whole_weights
from .sweep import Floats, Integers, Pairs, codes, overlapping


@dataclass(frozen=True, order=True)
class Box:
    """`x`, `y` is the top left corner; boxes within different things, say pages, never overlap."""

    x: float
    y: float
    width: float
    height: float
    rotation: float = 0.0
    within: str = ""

    def __post_init__(self) -> None:
        numbers = (self.x, self.y, self.width, self.height, self.rotation)
        if not all(map(math.isfinite, numbers)) or self.width < 0 or self.height < 0:
            raise UnusableInput(f"A box is {astuple(self)}; its numbers must be finite and its sides not negative.")


def similarities(boxes: Sequence[Box]) -> Floats:
    """[n, n] area of the intersection / area of the union; boxes without area are alike only if identical."""
    return pairs(boxes).matrix(len(boxes))


def pairs(boxes: Sequence[Box], others: Sequence[Box] | None = None) -> Pairs:
    """All pairs of boxes with a similarity above 0; with `others`, the pairs of a box and one of the others."""
    everything = [*boxes, *(others or ())]
    rows = [(box.x, box.y, box.x + box.width, box.y + box.height, box.rotation % 360) for box in everything]
    table = np.array(rows, float).reshape(-1, 5)
    within = np.array(codes(box.within for box in everything), np.int64)
    rotated = table[:, 4] != 0
    corners = _corners(table) if rotated.any() else None
    low, high = (table[:, :2], table[:, 2:4]) if corners is None else (corners.min(axis=1), corners.max(axis=1))

    def similar(first: Integers, second: Integers) -> Floats:
        one, other = table[first], table[second]
        overlap = _straight_overlap(one, other)
        if corners is not None:
            some = rotated[first] | rotated[second]
            overlap[some] = _clipped_area(corners[first[some]], corners[second[some]])
        return _similar(one, other, overlap)

    split = None if others is None else len(boxes)
    return overlapping(low, high, within, split, similar)


def merged(boxes: Sequence[Box], weights: Sequence[float]) -> Box:
    """The weighted medians of the four edges; where one is rotated, those of centre, sides and angle.

    A rectangle has four names: its angle plus any quarter turn, with the sides swapped by every odd one. The name whose
    angle is nearest to that of the heaviest box is taken.
    """
    if all(box == boxes[0] for box in boxes):
        return boxes[0]
    whole = whole_weights(weights)
    within = boxes[0].within
    if not any(box.rotation % 360 for box in boxes):
        left, top = middle((box.x for box in boxes), whole), middle((box.y for box in boxes), whole)
        right = middle((box.x + box.width for box in boxes), whole)
        bottom = middle((box.y + box.height for box in boxes), whole)
        return Box(left, top, right - left, bottom - top, within=within)
    heaviest = min(zip(boxes, whole, strict=True), key=lambda pair: (-pair[1], pair[0]))[0]
    named = [_centred(box, heaviest.rotation) for box in boxes]
    x, y, width, height, turned = (middle(column, whole) for column in zip(*named, strict=True))
    angle = (heaviest.rotation + turned) % 360 % 360  # a small negative angle leaves 360 at first
    across, down = _turn(width / 2, height / 2, angle)
    return Box(x - across, y - down, width, height, angle, within)


def _centred(box: Box, towards: float) -> tuple[float, float, float, float, float]:
    """Centre x and y, width, height, and the angle from `towards`, of the name whose angle is nearest to that."""
    across, down = _turn(box.width / 2, box.height / 2, box.rotation)
    turned = (box.rotation - towards + 45) % 90 - 45
    swapped = round((turned - box.rotation + towards) / 90) % 2
    width, height = (box.height, box.width) if swapped else (box.width, box.height)
    return box.x + across, box.y + down, width, height, turned


def _turn(x: float, y: float, degrees: float) -> tuple[float, float]:
    """A vector turned clockwise, y pointing down: (x cos − y sin, x sin + y cos)."""
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    return x * cosine - y * sine, x * sine + y * cosine


def _corners(table: Floats) -> Floats:
    """[n, 4, 2] clockwise from the top left one, of boxes as rows (left, top, right, bottom, rotation)."""
    width, height = table[:, 2] - table[:, 0], table[:, 3] - table[:, 1]
    none = np.zeros(len(table))
    x, y = np.stack([none, width, width, none], axis=1), np.stack([none, none, height, height], axis=1)
    angle = np.radians(table[:, 4:5])
    turned = np.stack([x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)], axis=2)
    return np.asarray(turned + table[:, None, :2])


def _straight_overlap(one: Floats, other: Floats) -> Floats:
    """[p] the area that boxes share, as if they were not rotated."""
    sides = np.minimum(one[:, 2:4], other[:, 2:4]) - np.maximum(one[:, :2], other[:, :2])
    return np.asarray(np.maximum(sides, 0.0).prod(axis=1))


def _clipped_area(polygon: Floats, window: Floats) -> Floats:
    """[p] the area of convex polygons [p, v, 2] inside convex windows [p, w, 2], both clockwise (Sutherland, Hodgman).

    Each edge of the window cuts off what lies on its outer side. A polygon with fewer corners than others has its last
    one several times, which changes no area.
    """
    origin = polygon[:, :1]  # seen from here numbers are small, and little is lost to rounding
    polygon, window = polygon - origin, window - origin
    for edge in range(window.shape[1]):
        start, end = window[:, edge - 1, None], window[:, edge, None]
        polygon = _cut(polygon, _cross(end - start, polygon - start))  # a cross product is positive on the inner side
    return np.asarray(np.maximum(_cross(polygon, polygon[:, _next(polygon)]).sum(axis=1) / 2, 0.0))


def _cut(polygon: Floats, inward: Floats) -> Floats:
    """[p, v + 1, 2] the part of convex polygons [p, v, 2] where `inward` [p, v] is at least 0."""
    count, corners, _ = polygon.shape
    following = _next(polygon)
    inside = inward >= 0
    crosses = inside != inside[:, following]
    part = np.divide(inward, inward - inward[:, following], out=np.zeros_like(inward), where=crosses)
    # In turn each corner and the crossing behind it; those that are kept come first, and the last of them fills up.
    points, kept = np.empty((count, corners, 2, 2)), np.empty((count, corners, 2), bool)
    points[:, :, 0], kept[:, :, 0] = polygon, inside
    points[:, :, 1], kept[:, :, 1] = polygon + part[:, :, None] * (polygon[:, following] - polygon), crosses
    number = kept.sum(axis=(1, 2))[:, None]
    order = np.argsort(~kept.reshape(count, 2 * corners), axis=1, kind="stable")
    row = np.arange(count)[:, None]
    chosen = order[row, np.minimum(np.arange(corners + 1), np.maximum(number - 1, 0))]
    return np.where(number[:, :, None] > 0, points.reshape(count, 2 * corners, 2)[row, chosen], 0.0)


def _next(polygon: Floats) -> Integers:
    """[v] the corner that follows each."""
    return (np.arange(polygon.shape[1]) + 1) % polygon.shape[1]


def _cross(one: Floats, other: Floats) -> Floats:
    """The cross product of vectors on the last axis."""
    return np.asarray(one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0])


def _similar(one: Floats, other: Floats, overlap: Floats) -> Floats:
    """[p] intersection over union of the boxes of two tables' rows, given the areas [p] they share."""
    area, other_area = ((table[:, 2] - table[:, 0]) * (table[:, 3] - table[:, 1]) for table in (one, other))
    overlap = np.minimum(overlap, np.minimum(area, other_area))
    union = area + other_area - overlap
    similarity: Floats = np.divide(overlap, union, out=np.zeros(len(one)), where=union > 0)
    similarity[(one == other).all(axis=1)] = 1.0
    return similarity
