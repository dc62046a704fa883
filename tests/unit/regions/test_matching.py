"""Regions of different annotators that mean the same object share a group, whatever the order of anything."""

from __future__ import annotations

import time
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.regions import Box, DrawnRegion, Span, assign, boxes, group, spans
from tests.support.examples import examples

People = dict[str, list[tuple[str, Span]]]  # annotator, one letter → regions

small = st.integers(0, 9)
some_spans = st.builds(lambda start, length: Span(start, start + length), small, st.integers(0, 12))
some_boxes = st.builds(Box, small, small, st.integers(1, 9), st.integers(1, 9), st.sampled_from([0, 0, 0, 30]))
annotators, labels = st.integers(0, 3), st.sampled_from("AB")
span_scenes = st.lists(st.builds(DrawnRegion[Span], annotators, labels, some_spans), max_size=14)
box_scenes = st.lists(st.builds(DrawnRegion[Box], annotators, labels, some_boxes), max_size=10)


def regions_of(people: People) -> list[DrawnRegion[Span]]:
    return [DrawnRegion(ord(who), label, extent) for who, regions in people.items() for label, extent in regions]


def groups_of(people: People) -> set[str]:
    """Return groups such as `aA bA`: annotator and label of each region. Each annotator's labels must differ."""
    regions = regions_of(people)
    return {
        " ".join(sorted(chr(regions[place].annotator) + regions[place].label for place in members))
        for members in group(regions, spans)
    }


def content_of(regions: Sequence[DrawnRegion[Any]], groups: list[list[int]]) -> list[list[DrawnRegion[Any]]]:
    return [[regions[place] for place in members] for members in groups]


@given(regions=span_scenes, order=st.randoms())
def test_the_order_of_spans_does_not_matter(regions: list[DrawnRegion[Span]], order: Random) -> None:
    expected = content_of(regions, group(regions, spans))
    order.shuffle(regions)
    assert content_of(regions, group(regions, spans)) == expected


@settings(max_examples=examples(60))
@given(regions=box_scenes, order=st.randoms())
def test_the_order_of_boxes_does_not_matter(regions: list[DrawnRegion[Box]], order: Random) -> None:
    expected = content_of(regions, group(regions, boxes))
    order.shuffle(regions)
    assert content_of(regions, group(regions, boxes)) == expected


@given(regions=span_scenes, names=st.permutations(range(4)))
def test_the_numbers_of_annotators_do_not_matter(regions: list[DrawnRegion[Span]], names: list[int]) -> None:
    renamed = [DrawnRegion(names[region.annotator], region.label, region.extent) for region in regions]
    expected = [
        sorted((names[region.annotator], region.sort_key) for region in members)
        for members in content_of(regions, group(regions, spans))
    ]
    actual = [
        sorted((region.annotator, region.sort_key) for region in members)
        for members in content_of(renamed, group(renamed, spans))
    ]
    assert sorted(actual) == sorted(expected)


@pytest.mark.parametrize("min_iou", [0.2, 0.5, 0.9, 1.0])
@given(regions=span_scenes)
def test_every_region_is_in_one_group_and_nobody_is_twice_in_a_group(
    regions: list[DrawnRegion[Span]], min_iou: float
) -> None:
    groups = group(regions, spans, min_iou)
    assert sorted(place for members in groups for place in members) == list(range(len(regions)))
    for members in groups:
        people = [regions[place].annotator for place in members]
        assert len(people) == len(set(people))


@given(regions=span_scenes, others=span_scenes)
def test_regions_elsewhere_do_not_matter(regions: list[DrawnRegion[Span]], others: list[DrawnRegion[Span]]) -> None:
    far = [
        DrawnRegion(other.annotator, other.label, Span(other.extent.start, other.extent.end, "far")) for other in others
    ]
    alone = content_of(regions, group(regions, spans))
    together = content_of(regions + far, group(regions + far, spans))
    assert [members for members in together if members[0].extent.within == ""] == alone


def test_no_regions_make_no_groups() -> None:
    assert group([], spans) == []
    assert group([], boxes) == []


def test_one_annotator_has_only_groups_of_one() -> None:
    regions = [DrawnRegion(7, "A", Span(0, 5)), DrawnRegion(7, "A", Span(0, 5)), DrawnRegion(7, "B", Span(1, 5))]
    assert sorted(group(regions, spans)) == [[0], [1], [2]]


def test_identical_regions_are_one_group_whatever_their_labels() -> None:
    assert groups_of({who: [(label, Span(3, 9))] for who, label in zip("abcd", "AABC", strict=True)}) == {"aA bA cB dC"}


def test_regions_without_width_share_a_group_where_they_are_identical() -> None:
    assert groups_of({"a": [("A", Span(3, 3))], "b": [("A", Span(3, 3))], "c": [("A", Span(4, 4))]}) == {"aA bA", "cA"}


def test_groups_come_in_the_order_of_the_text() -> None:
    regions = [DrawnRegion(who, "A", Span(start, start + 4)) for start in (30, 10, 20) for who in (2, 1)]
    assert group(regions, spans) == [[3, 2], [5, 4], [1, 0]]


def test_nested_regions_stay_apart() -> None:
    """An entity of ten characters with one of eight inside: each overlaps enough with both of the other annotator."""
    outer, inner = ("outer", Span(0, 10)), ("inner", Span(1, 9))
    people = {"a": [outer, inner], "b": [inner, outer], "c": [outer]}
    assert groups_of(people) == {"aouter bouter couter", "ainner binner"}


def test_nested_regions_with_one_label_join_those_with_more_overlap() -> None:
    regions = [
        *(DrawnRegion(1, "A", extent) for extent in (Span(0, 10), Span(1, 9))),
        *(DrawnRegion(2, "A", extent) for extent in (Span(1, 9), Span(0, 11))),
    ]
    assert group(regions, spans) == [[0, 3], [1, 2]]


def test_touching_regions_stay_apart() -> None:
    assert groups_of({"a": [("A", Span(0, 5)), ("B", Span(5, 10))], "b": [("A", Span(0, 5)), ("B", Span(5, 10))]}) == {
        "aA bA",
        "aB bB",
    }


def test_a_region_over_two_that_touch_joins_at_most_one() -> None:
    """It shares half of its characters with either; of two equal ones the first in the text is taken."""
    assert groups_of({"a": [("A", Span(0, 5)), ("A2", Span(5, 10))], "b": [("B", Span(0, 10))]}) == {"aA bB", "aA2"}


def test_two_labels_on_one_extent_are_two_groups() -> None:
    where = Span(2, 8)
    assert groups_of({"a": [("A", where), ("B", where)], "b": [("A", where)], "c": [("B", where)]}) == {
        "aA bA",
        "aB cB",
    }
    assert groups_of({"a": [("B", where), ("A", where)], "b": [("A", Span(2, 9))], "c": [("B", Span(1, 8))]}) == {
        "aA bA",
        "aB cB",
    }


def test_an_equal_label_never_makes_up_for_too_little_overlap() -> None:
    people = {"a": [("A", Span(0, 10))], "b": [("A", Span(5, 15))], "c": [("C", Span(0, 19))]}
    assert groups_of(people) == {"aA cC", "bA"}  # 1/3 with an equal label, 10/19 without


def test_the_ends_of_a_chain_are_not_joined_by_regions_between_them() -> None:
    """Neighbours share 6 of 10 characters, others at most 4 of 12: the mean with a pair stays below one half."""
    chain: People = {who: [("A", Span(place * 2, place * 2 + 8))] for place, who in enumerate("abcdef")}
    assert groups_of(chain) == {"aA bA", "cA dA", "eA fA"}


def test_distant_regions_join_those_between_them() -> None:
    """The outer ones share 7 of 17 characters, less than half; but each shares more with the one between them."""
    people: People = {"a": [("A", Span(0, 12))], "b": [("A", Span(2, 14))], "c": [("A", Span(5, 17))]}
    assert groups_of(people) == {"aA bA cA"}


@given(regions=span_scenes)
def test_no_two_regions_that_are_left_alone_could_share_a_group(regions: list[DrawnRegion[Span]]) -> None:
    alone = [regions[members[0]] for members in group(regions, spans) if len(members) == 1]
    for first, second, iou in zip(*spans.overlapping_pairs([region.extent for region in alone]), strict=True):
        assert iou < 0.5 or alone[first].annotator == alone[second].annotator


def many_boxes(count: int) -> list[DrawnRegion[Box]]:
    """Five annotators draw the same boxes with small errors; the density does not depend on their number."""
    generator = np.random.default_rng(count)
    width = 40 * int(count**0.5)
    place = generator.uniform(0, width, (count, 2))
    corners = np.tile(place, (5, 1)) + generator.normal(0, 1.5, (5 * count, 2))
    return [
        DrawnRegion(number // count, "AB"[number % 2], Box(x, y, 20, 20))
        for number, (x, y) in enumerate(corners.tolist())
    ]


def test_the_time_per_box_hardly_grows_with_their_number() -> None:
    seconds = []
    for count in (200, 1000):
        regions = many_boxes(count)
        started = time.process_time()
        groups = group(regions, boxes)
        seconds.append(time.process_time() - started)
        assert count <= len(groups) < 1.5 * count
    # With five times as many boxes in an image five times as large, the work is at least five times as much, and would
    # be 25 times as much if all pairs were compared. A busy machine may double it.
    assert seconds[1] < 12 * seconds[0] + 0.5


def test_gold_regions_find_their_groups() -> None:
    regions = regions_of(
        {"a": [("A", Span(0, 10)), ("B", Span(20, 30))], "b": [("A", Span(1, 10)), ("C", Span(40, 44))]}
    )
    groups = group(regions, spans)
    gold = [DrawnRegion(0, "B", Span(21, 30)), DrawnRegion(0, "D", Span(60, 70)), DrawnRegion(0, "A", Span(0, 9))]
    assert groups == [[0, 2], [1], [3]]
    assert assign(regions, groups, gold, spans) == [1, None, 0]


def test_a_group_has_at_most_one_gold_region() -> None:
    regions = regions_of({"a": [("A", Span(0, 10))]})
    gold = [DrawnRegion(0, "B", Span(0, 9)), DrawnRegion(0, "B", Span(0, 10))]
    assert assign(regions, [[0]], gold, spans) == [None, 0]


def test_gold_regions_with_two_labels_on_one_extent_find_the_group_of_their_label() -> None:
    where = Span(0, 10)
    regions = regions_of({"a": [("A", where), ("B", where)], "b": [("A", where)]})
    groups = group(regions, spans)
    numbers = assign(regions, groups, [DrawnRegion(0, "B", where), DrawnRegion(0, "A", where)], spans)
    assert [regions[groups[number][0]].label for number in numbers if number is not None] == ["B", "A"]


def test_gold_by_an_annotator_of_the_crowd_finds_a_group_of_that_annotator_alone() -> None:
    regions = regions_of({"a": [("A", Span(0, 10))]})
    assert assign(regions, [[0]], [DrawnRegion(ord("a"), "A", Span(0, 10))], spans) == [0]


def test_gold_without_groups_and_groups_without_gold_match_nothing() -> None:
    assert assign([], [], [DrawnRegion(0, "A", Span(0, 1))], spans) == [None]
    assert assign(regions_of({"a": [("A", Span(0, 10))]}), [[0]], [], spans) == []


@given(regions=span_scenes, gold=span_scenes, order=st.randoms())
def test_the_order_of_gold_does_not_matter(
    regions: list[DrawnRegion[Span]], gold: list[DrawnRegion[Span]], order: Random
) -> None:
    groups = group(regions, spans)
    numbers = assign(regions, groups, gold, spans)
    assigned = [number for number in numbers if number is not None]
    assert len(set(assigned)) == len(assigned)
    places = list(range(len(gold)))
    order.shuffle(places)
    shuffled = assign(regions, groups, [gold[place] for place in places], spans)
    pairs = {(gold[place].sort_key, number) for place, number in enumerate(numbers)}
    assert {(gold[place].sort_key, number) for place, number in zip(places, shuffled, strict=True)} == pairs
