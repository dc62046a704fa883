"""Boxes, rotated or not, overlap by the area they share, and are merged at weighted medians."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.errors import UnusableInput
from ls_crowd_plugin.regions import Box
from ls_crowd_plugin.regions.boxes import iou_matrix, merge
from tests.support.examples import examples

# Areas below a million have rounding errors below 1e-9, and clipping makes a dozen of them.
ROUNDING = 1e-8
numbers = st.integers(0, 6)
whole_boxes = st.builds(Box, numbers, numbers, numbers, numbers)
places, sides, angles = st.floats(-20, 20), st.floats(1, 40), st.floats(-400, 400)
any_boxes = st.builds(Box, places, places, sides, sides, angles)


def iou(one: Box, other: Box) -> float:
    return float(iou_matrix([one, other])[0, 1])


def quarter_turned(box: Box) -> Box:
    """Return the same rectangle described from the next corner: a quarter turn more, sides swapped."""
    angle = math.radians(box.rotation)
    x, y = box.x + box.width * math.cos(angle), box.y + box.width * math.sin(angle)
    return Box(x, y, box.height, box.width, box.rotation + 90)


@given(boxes=st.lists(whole_boxes, max_size=7))
def test_iou_is_the_share_of_area_that_both_have(boxes: list[Box]) -> None:
    matrix = iou_matrix(boxes)
    cells = [
        {
            (int(box.x) + across, int(box.y) + down)
            for across in range(int(box.width))
            for down in range(int(box.height))
        }
        for box in boxes
    ]
    for row, one in enumerate(cells):
        for column, other in enumerate(cells):
            share = len(one & other) / len(one | other) if one | other else 0.0
            assert matrix[row, column] == (1.0 if boxes[row] == boxes[column] else share)


def inside(box: Box, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Whether points lie in a box, found by rotating them back around its top left corner."""
    angle = math.radians(box.rotation)
    across = (x - box.x) * math.cos(angle) + (y - box.y) * math.sin(angle)
    down = (y - box.y) * math.cos(angle) - (x - box.x) * math.sin(angle)
    return (across >= 0) & (across <= box.width) & (down >= 0) & (down <= box.height)


@settings(max_examples=examples(150))
@given(one=any_boxes, other=any_boxes)
@pytest.mark.slow
def test_iou_of_rotated_boxes_is_that_of_their_points(one: Box, other: Box) -> None:
    reach = 20 + math.hypot(40, 40)  # no box leaves the square of this half side
    steps = 800
    step = 2 * reach / steps
    x, y = np.meshgrid(*2 * [(np.arange(steps) + 0.5) * step - reach])
    shared = float((inside(one, x, y) & inside(other, x, y)).sum()) * step**2
    area, other_area = one.width * one.height, other.width * other.height
    union = area + other_area - shared
    # The edge of a convex figure meets each of the grid's lines twice at most, so it passes through at most
    # 2 (width + height) / step + 4 cells, and only cells on the edge can be counted wrong.
    smaller = min(math.hypot(one.width, one.height), math.hypot(other.width, other.height))
    error = (2 * 2 * smaller / step + 4) * step**2
    # d (shared / union) / d shared = (area + other area) / union², and the true union is at least the larger area
    bound = error * (area + other_area) / max(area, other_area, union - error) ** 2
    assert iou(one, other) == pytest.approx(shared / union, abs=bound)


def test_iou_of_a_square_and_the_same_rotated_by_an_eighth_turn() -> None:
    square, turned = Box(-1, -1, 2, 2), Box(0, -math.sqrt(2), 2, 2, 45)
    shared = 8 * (math.sqrt(2) - 1)  # a regular octagon around a circle of radius 1
    assert iou(square, turned) == pytest.approx(shared / (8 - shared), abs=ROUNDING)


@given(box=any_boxes, other=any_boxes)
def test_iou_does_not_depend_on_how_a_rectangle_is_described(box: Box, other: Box) -> None:
    turned = quarter_turned(box)
    assert iou(box, turned) == pytest.approx(1, abs=ROUNDING)
    assert iou(turned, other) == pytest.approx(iou(box, other), abs=ROUNDING)
    assert iou(box, replace(box, rotation=box.rotation + 360)) == pytest.approx(1, abs=ROUNDING)


@given(one=any_boxes, other=any_boxes)
def test_iou_is_symmetric_and_one_for_the_same_box(one: Box, other: Box) -> None:
    assert iou(one, other) == pytest.approx(iou(other, one), abs=ROUNDING)
    assert iou(one, one) == 1
    assert 0 <= iou(one, other) <= 1


def test_boxes_without_area_overlap_only_if_identical() -> None:
    for rotation in (0, 30):
        line, point = Box(0, 0, 4, 0, rotation), Box(1, 1, 0, 0, rotation)
        boxes = [line, line, Box(1, 0, 2, 0, rotation), point, point, Box(-9, -9, 20, 20, rotation)]
        expected = np.eye(6)
        expected[0, 1] = expected[1, 0] = expected[3, 4] = expected[4, 3] = 1
        assert (iou_matrix(boxes) == expected).all()


def test_boxes_on_different_pages_never_overlap() -> None:
    assert iou(Box(0, 0, 5, 5, within="1"), Box(0, 0, 5, 5, within="2")) == 0
    assert iou(Box(0, 0, 5, 5, 10, within="1"), Box(0, 0, 5, 5, 10, within="2")) == 0


def test_edges_are_merged_by_weighted_medians() -> None:
    boxes = [Box(0, 0, 10, 10), Box(1, 2, 10, 9), Box(5, -40, 500, 60)]
    assert merge(boxes, [1, 1, 1]) == Box(1, 0, 10, 11)  # edges 0 1 5, −40 0 2, 10 11 505, 10 11 20
    assert merge(boxes, [1, 9, 1]) == boxes[1]
    assert merge(boxes, [0, 0, -1]) == merge(boxes, [1, 1, 1])


def test_two_boxes_are_merged_half_way() -> None:
    assert merge([Box(0, 0, 10, 10), Box(2, 4, 10, 20)], [1, 1]) == Box(1, 2, 10, 15)


def test_a_single_box_or_identical_boxes_are_kept_unchanged() -> None:
    for box in (Box(0.1, 0.2, 0.3, 0.7, within="page"), Box(0.1, 0.2, 0.3, 0.7, 33.3)):
        assert merge([box], [0.4]) == merge([box, box, box], [1, 2, 3]) == box


@given(box=any_boxes, turns=st.lists(st.integers(0, 7), min_size=2, max_size=5))
def test_descriptions_of_one_rectangle_merge_into_that_rectangle(box: Box, turns: list[int]) -> None:
    descriptions = []
    for count in turns:
        description = box
        for _ in range(count):
            description = quarter_turned(description)
        descriptions.append(description)
    assert iou(merge(descriptions, [1.0] * len(descriptions)), box) == pytest.approx(1, abs=ROUNDING)


def test_rotated_boxes_are_merged_by_centre_sides_and_angle() -> None:
    def around(x: float, y: float, width: float, height: float, rotation: float) -> Box:
        angle = math.radians(rotation)
        across = width / 2 * math.cos(angle) - height / 2 * math.sin(angle)
        down = width / 2 * math.sin(angle) + height / 2 * math.cos(angle)
        return Box(x - across, y - down, width, height, rotation)

    boxes = [around(50, 50, 40, 20, 10), around(52, 49, 22, 44, 102), around(90, 51, 42, 26, 350)]
    merged = merge(boxes, [2, 1, 1.5])
    expected = around(52, 50, 42, 22, 10)  # angles 10, 12 with the sides 44 and 22, −10
    assert merged.rotation == pytest.approx(10)
    assert iou(merged, expected) == pytest.approx(1, abs=ROUNDING)
    assert merge(boxes[::-1], [1.5, 1, 2]) == merged


@given(
    rows=st.lists(st.tuples(any_boxes, st.floats(-1, 5)), min_size=1, max_size=6),
    straight=st.booleans(),
    order=st.randoms(),
)
def test_a_merged_box_is_the_same_in_any_order(rows: list[tuple[Box, float]], straight: bool, order: Random) -> None:
    rows = [(replace(box, rotation=0.0) if straight else box, weight) for box, weight in rows]
    merged = merge(*zip(*rows, strict=True))
    order.shuffle(rows)
    assert merge(*zip(*rows, strict=True)) == merged
    assert 0 <= merged.rotation < 360 or len({box for box, _ in rows}) == 1


@pytest.mark.parametrize("numbers", [(0, 0, -1, 1), (0, math.nan, 1, 1), (math.inf, 0, 1, 1)])
def test_an_impossible_box_is_refused(numbers: tuple[float, float, float, float]) -> None:
    with pytest.raises(UnusableInput, match="must be finite"):
        Box(*numbers)
