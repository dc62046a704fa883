"""Finds the regions of different annotators that mean the same object; the result does not depend on any order.

Regions that overlap enough are connected, and connected regions form components. A component in which every annotator
drew one region and all regions overlap enough is a group; `clustering` splits the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .clustering import Cluster, Ious, assignment_scores, best_assignment, cluster
from .overlaps import Integers, OverlappingPairs
from .types import DrawnRegion, Extent, Kind, SortKey, centre, extent_key

DEFAULT_MIN_IOU = 0.5  # the intersection over union from which two regions may mean the same object


def group(
    regions: Sequence[DrawnRegion[Extent]], kind: Kind[Extent], min_iou: float = DEFAULT_MIN_IOU
) -> list[list[int]]:
    """Return groups of regions that mean the same, as lists of positions; every region is in one of them.

    A group has at most one region of each annotator; its labels may differ. Groups are ordered by their merged extents
    and labels, and regions within a group by theirs.
    """
    order = _canonical_order(regions)
    ordered = [regions[position] for position in order]

    def group_key(members: Cluster) -> tuple[SortKey, list[str], Cluster]:
        drawn = [ordered[member] for member in members]
        return extent_key(centre(drawn, kind)), sorted(region.label for region in drawn), members

    groups = sorted(_groups(ordered, kind, min_iou), key=group_key)
    return [[order[member] for member in members] for members in groups]


def assign(
    regions: Sequence[DrawnRegion[Extent]],
    groups: Sequence[Sequence[int]],
    others: Sequence[DrawnRegion[Extent]],
    kind: Kind[Extent],
    min_iou: float = DEFAULT_MIN_IOU,
) -> list[int | None]:
    """Return for each of some other regions, all from one source, the number of the group it means, or None.

    `groups` are lists of positions in `regions`. They do not change, and each is assigned to at most one other region.
    """
    order = _canonical_order(others)
    members = [[regions[position] for position in positions] for positions in groups]
    scores = assignment_scores([others[position] for position in order], members, kind, min_iou, outsiders=True)
    assigned = {order[row]: column for row, column in best_assignment(scores).items()}
    return [assigned.get(position) for position in range(len(others))]


def _canonical_order(regions: Sequence[DrawnRegion[Extent]]) -> list[int]:
    """Return the positions ordered by extent and label, then first copies before second ones, then by annotator.

    So the numbers of annotators matter only where somebody drew the same region twice.
    """
    copies: Counter[tuple[SortKey, int]] = Counter()
    keys = []
    for region in regions:
        key = region.sort_key
        keys.append((key, copies[key, region.annotator], region.annotator))
        copies[key, region.annotator] += 1
    return sorted(range(len(regions)), key=keys.__getitem__)


def _groups(regions: Sequence[DrawnRegion[Extent]], kind: Kind[Extent], min_iou: float) -> Iterator[Cluster]:
    """Yield the groups of regions that are in canonical order."""
    pairs = _pairs_of_annotators(regions, kind)
    close = pairs.iou >= min_iou
    component = np.array(_components(len(regions), pairs.first[close].tolist(), pairs.second[close].tolist()), np.int64)
    links = np.bincount(component[pairs.first[close]], minlength=len(regions)).tolist()
    members: dict[int, list[int]] = defaultdict(list)
    for position, number in enumerate(component.tolist()):
        members[number].append(position)
    unclear: dict[int, list[int]] = {}
    for number, positions in members.items():
        size = len(positions)
        annotators = {regions[position].annotator for position in positions}
        if len(annotators) == size and 2 * links[number] == size * (size - 1):
            yield tuple(positions)
        else:
            unclear[number] = positions
    for number, ious in _ious_inside(pairs, component, unclear).items():
        positions = unclear[number]
        for places in cluster([regions[position] for position in positions], ious, kind, min_iou):
            yield tuple(positions[place] for place in places)


def _pairs_of_annotators(regions: Sequence[DrawnRegion[Extent]], kind: Kind[Extent]) -> OverlappingPairs:
    """Return the overlapping pairs of regions by different annotators."""
    first, second, iou = kind.overlapping_pairs([region.extent for region in regions])
    annotator = np.array([region.annotator for region in regions], np.int64)
    different = annotator[first] != annotator[second]
    return OverlappingPairs(first[different], second[different], iou[different])


def _ious_inside(pairs: OverlappingPairs, component: Integers, members: Mapping[int, Sequence[int]]) -> dict[int, Ious]:
    """Return for some components the overlaps of their members, by the places of two members in the component.

    `component` [n] is the component of each region.
    """
    ious: dict[int, Ious] = {number: {} for number in members}
    if not members:
        return ious
    inside = np.isin(component[pairs.first], list(members)) & (component[pairs.first] == component[pairs.second])
    place = {member: place for positions in members.values() for place, member in enumerate(positions)}
    for one, other, value in zip(*(column[inside].tolist() for column in pairs), strict=True):
        ious[int(component[one])][place[one], place[other]] = value
    return ious


def _components(count: int, first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Return a number [n] for each position, equal for those that pairs of positions connect."""
    parent = list(range(count))

    def root(position: int) -> int:
        while parent[position] != position:
            parent[position] = position = parent[parent[position]]
        return position

    for one, other in zip(first, second, strict=True):
        one, other = root(one), root(other)
        parent[max(one, other)] = min(one, other)
    return [root(position) for position in range(count)]
