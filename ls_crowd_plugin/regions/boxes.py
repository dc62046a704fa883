"""Boxes on images, rotated or not: how far they overlap, and how several are merged into one.

Coordinates are in pixels or another unit that is equally long in both directions; y points down. A box is rotated
clockwise by its angle in degrees around its top left corner, as in Label Studio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from ..errors import UnusableInput
from .overlaps import Bounds, Floats, Integers, OverlappingPairs, find_overlaps, integer_codes
from .weighted_median import integer_weights, median

CLIPPED_AT_ONCE = 4000  # pairs of rotated boxes; the arrays of so many stay in the processor's cache


@dataclass(frozen=True, order=True)
class Box:
    """`x`, `y` is the top left corner. Boxes within different things, for example pages, never overlap."""

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


def iou_matrix(boxes: Sequence[Box]) -> Floats:
    """Return area of the intersection / area of the union [n, n]; for boxes without area 1 if identical, else 0."""
    return overlapping_pairs(boxes).matrix(len(boxes))


def overlapping_pairs(
    boxes: Sequence[Box], others: Sequence[Box] | None = None, owners: Sequence[int] | None = None
) -> OverlappingPairs:
    """Return all pairs of boxes that overlap or, with `others`, the pairs of a box and one of the others.

    With `owners`, of the boxes and then of the others, no pairs of one owner are returned.
    """
    everything = [*boxes, *(others or ())]
    table = _table(everything)
    rotated = table[:, 4] != 0
    corners = _corners(table) if rotated.any() else None

    def iou(first: Integers, second: Integers) -> Floats:
        one, other = table[first], table[second]
        intersection = _upright_intersection(one, other)
        if corners is not None:
            turned = np.flatnonzero(rotated[first] | rotated[second])
            for start in range(0, len(turned), CLIPPED_AT_ONCE):
                some = turned[start : start + CLIPPED_AT_ONCE]
                intersection[some] = _clipped_area(corners[first[some]], corners[second[some]])
        return _iou(one, other, intersection)

    return find_overlaps(_bounds(everything, table, corners), owners, None if others is None else len(boxes), iou)


def bounds(boxes: Sequence[Box]) -> Bounds:
    table = _table(boxes)
    return _bounds(boxes, table, _corners(table) if (table[:, 4] != 0).any() else None)


def merge(boxes: Sequence[Box], weights: Sequence[float]) -> Box:
    """Return the box with the weighted medians of the four edges; if any box is rotated, of centre, sides and angle.

    A rectangle can be described in four ways: with its angle plus any number of quarter turns, the sides swapped for
    odd numbers. Each box is described with the angle nearest to that of the box with the largest weight.
    """
    if all(box == boxes[0] for box in boxes):
        return boxes[0]
    exact = integer_weights(weights)
    within = boxes[0].within
    if not any(box.rotation % 360 for box in boxes):
        left, top = median((box.x for box in boxes), exact), median((box.y for box in boxes), exact)
        right = median((box.x + box.width for box in boxes), exact)
        bottom = median((box.y + box.height for box in boxes), exact)
        return Box(left, top, right - left, bottom - top, within=within)
    heaviest = min(zip(boxes, exact, strict=True), key=lambda pair: (-pair[1], pair[0]))[0]
    descriptions = [_describe(box, heaviest.rotation) for box in boxes]
    x, y, width, height, turn = (median(column, exact) for column in zip(*descriptions, strict=True))
    angle = (heaviest.rotation + turn) % 360 % 360  # the first % leaves 360 of a tiny negative angle
    across, down = _rotate(width / 2, height / 2, angle)
    return Box(x - across, y - down, width, height, angle, within)


def _table(boxes: Sequence[Box]) -> Floats:
    """Return rows [n, 5] of left, top, right, bottom and rotation."""
    rows = [(box.x, box.y, box.x + box.width, box.y + box.height, box.rotation % 360) for box in boxes]
    return np.array(rows, float).reshape(-1, 5)


def _bounds(boxes: Sequence[Box], table: Floats, corners: Floats | None) -> Bounds:
    """Return the bounds of boxes, given their table and, if any is rotated, all corners [n, 4, 2]."""
    low, high = (table[:, :2], table[:, 2:4]) if corners is None else (corners.min(axis=1), corners.max(axis=1))
    within = np.array(integer_codes(box.within for box in boxes), np.int64)
    return Bounds(low, high, within, is_costly=table[:, 4] != 0)


def _describe(box: Box, angle: float) -> tuple[float, float, float, float, float]:
    """Return centre x and y, width, height, and the turn from `angle`, described with the smallest such turn."""
    across, down = _rotate(box.width / 2, box.height / 2, box.rotation)
    turn = (box.rotation - angle + 45) % 90 - 45
    swapped = round((turn - box.rotation + angle) / 90) % 2
    width, height = (box.height, box.width) if swapped else (box.width, box.height)
    return box.x + across, box.y + down, width, height, turn


def _rotate(x: float, y: float, degrees: float) -> tuple[float, float]:
    """Rotate a vector clockwise, with y pointing down: (x cos − y sin, x sin + y cos)."""
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    return x * cosine - y * sine, x * sine + y * cosine


def _corners(table: Floats) -> Floats:
    """Return the corners [n, 4, 2], clockwise from the top left, of rows (left, top, right, bottom, rotation)."""
    width, height = table[:, 2] - table[:, 0], table[:, 3] - table[:, 1]
    zero = np.zeros(len(table))
    x, y = np.stack([zero, width, width, zero], axis=1), np.stack([zero, zero, height, height], axis=1)
    angle = np.radians(table[:, 4:5])
    rotated = np.stack([x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)], axis=2)
    return np.asarray(rotated + table[:, None, :2])


def _upright_intersection(one: Floats, other: Floats) -> Floats:
    """Return the areas [p] that boxes share, as if they were not rotated."""
    sides = np.minimum(one[:, 2:4], other[:, 2:4]) - np.maximum(one[:, :2], other[:, :2])
    return np.asarray(np.maximum(sides, 0.0).prod(axis=1))


def _clipped_area(polygon: Floats, window: Floats) -> Floats:
    """Return the area [p] of convex polygons [p, v, 2] inside convex windows [p, w, 2], both clockwise.

    Sutherland and Hodgman's algorithm: each edge of the window cuts off what lies on its outer side. A polygon with
    fewer corners than others repeats its last one, which changes no area.
    """
    origin = polygon[:, :1]  # relative to it the numbers are small, and little is lost to rounding
    polygon, window = polygon - origin, window - origin
    for edge in range(window.shape[1]):
        start, end = window[:, edge - 1, None], window[:, edge, None]
        polygon = _cut(polygon, _cross(end - start, polygon - start))  # a cross product is positive on the inner side
    return np.asarray(np.maximum(_cross(polygon, polygon[:, _next(polygon)]).sum(axis=1) / 2, 0.0))


def _cut(polygon: Floats, inward: Floats) -> Floats:
    """Return the part [p, v + 1, 2] of convex polygons [p, v, 2] where `inward` [p, v] is at least 0."""
    count, corners, _ = polygon.shape
    following = _next(polygon)
    inside = inward >= 0
    crosses = inside != inside[:, following]
    part = np.divide(inward, inward - inward[:, following], out=np.zeros_like(inward), where=crosses)
    # Each corner is followed by the crossing behind it. Those that are kept come first; the last one fills the rest.
    points, kept = np.empty((count, corners, 2, 2)), np.empty((count, corners, 2), bool)
    points[:, :, 0], kept[:, :, 0] = polygon, inside
    points[:, :, 1], kept[:, :, 1] = polygon + part[:, :, None] * (polygon[:, following] - polygon), crosses
    number = kept.sum(axis=(1, 2))[:, None]
    order = np.argsort(~kept.reshape(count, 2 * corners), axis=1, kind="stable")
    row = np.arange(count)[:, None]
    chosen = order[row, np.minimum(np.arange(corners + 1), np.maximum(number - 1, 0))]
    return np.where(number[:, :, None] > 0, points.reshape(count, 2 * corners, 2)[row, chosen], 0.0)


def _next(polygon: Floats) -> Integers:
    """Return the index [v] of the corner that follows each corner."""
    return (np.arange(polygon.shape[1]) + 1) % polygon.shape[1]


def _cross(one: Floats, other: Floats) -> Floats:
    """Return the cross product of vectors on the last axis."""
    return np.asarray(one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0])


def _iou(one: Floats, other: Floats, intersection: Floats) -> Floats:
    """Return intersection over union [p] of the boxes in two tables' rows, given the areas [p] they share."""
    area, other_area = ((table[:, 2] - table[:, 0]) * (table[:, 3] - table[:, 1]) for table in (one, other))
    intersection = np.minimum(intersection, np.minimum(area, other_area))
    union = area + other_area - intersection
    iou: Floats = np.divide(intersection, union, out=np.zeros(len(one)), where=union > 0)
    iou[(one == other).all(axis=1)] = 1.0
    return iou
