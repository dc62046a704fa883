"""Finds the regions of different annotators that mean the same object; the result does not depend on any order.

Regions that overlap enough are connected, and connected regions form components. A component in which every annotator
drew one region and all regions overlap enough is a group; `clustering` splits the others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .clustering import Cluster, assignment_scores, best_assignment
from .crowded import Effort
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
    annotators, extents = [region.annotator for region in regions], [region.extent for region in regions]
    pairs = kind.overlapping_pairs(extents, None, annotators)
    close = pairs.iou >= min_iou
    component = _components(len(regions), pairs.first[close], pairs.second[close])
    links = np.bincount(component[pairs.first[close]], minlength=len(regions)).tolist()
    members: dict[int, list[int]] = defaultdict(list)
    for position, number in enumerate(component.tolist()):
        members[number].append(position)
    unclear: dict[int, list[int]] = {}
    for number, positions in members.items():
        size = len(positions)
        people = {annotators[position] for position in positions}
        if len(people) == size and 2 * links[number] == size * (size - 1):
            yield tuple(positions)
        else:
            unclear[number] = positions
    if not unclear:
        return
    effort = Effort(kind, min_iou, extents)
    for number, inside in sorted(_pairs_inside(pairs, component, unclear), key=lambda entry: len(entry[1].iou)):
        positions = unclear[number]
        for places in effort.cluster([regions[position] for position in positions], inside):
            yield tuple(positions[place] for place in places)


def _pairs_inside(
    pairs: OverlappingPairs, component: Integers, members: Mapping[int, Sequence[int]]
) -> Iterator[tuple[int, OverlappingPairs]]:
    """Yield some components and the overlaps of their members, by the places of two members in the component.

    `component` [n] is the component of each region.
    """
    place = np.zeros(len(component), np.int64)
    for positions in members.values():
        place[positions] = np.arange(len(positions))
    number = component[pairs.first]
    inside = np.flatnonzero(np.isin(number, list(members)) & (number == component[pairs.second]))
    inside = inside[np.argsort(number[inside], kind="stable")]
    for of_one in np.split(inside, np.flatnonzero(np.diff(number[inside])) + 1) if len(inside) else ():
        first, second, iou = pairs.select(of_one)
        yield int(number[of_one[0]]), OverlappingPairs(place[first], place[second], iou)


def _components(count: int, first: Integers, second: Integers) -> Integers:
    """Return for each position [n] the lowest position that pairs of positions [p], [p] connect it with."""
    links = coo_array((np.ones(len(first), bool), (first, second)), shape=(count, count))
    number = connected_components(links, directed=False)[1]
    return np.unique(number, return_index=True)[1][number]
