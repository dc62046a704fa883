"""Which regions of different annotators mean the same object; the answer does not depend on any order.

Regions that are similar enough hang together in components. A component in which everybody drew one region and all are
similar is a group as it is; the others are left to `tangles`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .drawn import Drawn, Extent, Kind, centre
from .tangles import best_assignment, gains, untangled


def group(regions: Sequence[Drawn[Extent]], kind: Kind[Extent], threshold: float = 0.5) -> list[list[int]]:
    """The groups of regions that mean the same, as lists of positions; every region is in one of them.

    A group has at most one region of an annotator, and labels may differ in it. Regions of different annotators are
    similar enough from `threshold` on. Groups come in the order of their merged extents and labels, regions in theirs.
    """
    order = _canonical_order(regions)
    ordered = [regions[position] for position in order]

    def place(members: Sequence[int]) -> tuple[Any, ...]:
        drawn = [ordered[member] for member in members]
        extent = centre(drawn, kind)
        return *vars(extent).values(), sorted(region.label for region in drawn), members

    groups = sorted(_groups(ordered, kind, threshold), key=place)
    return [[order[member] for member in members] for members in groups]


def assign(
    regions: Sequence[Drawn[Extent]],
    groups: Sequence[Sequence[int]],
    others: Sequence[Drawn[Extent]],
    kind: Kind[Extent],
    threshold: float = 0.5,
) -> list[int | None]:
    """For each of some other regions, all from one source, the number of the group it means, if any.

    `groups` are lists of positions in `regions` and stay as they are; each is meant by one other region at most.
    """
    order = _canonical_order(others)
    members = [[regions[position] for position in each] for each in groups]
    gain = gains([others[position] for position in order], members, kind, threshold, strangers=True)
    chosen = {order[row]: column for row, column in best_assignment(gain).items()}
    return [chosen.get(position) for position in range(len(others))]


def _canonical_order(regions: Sequence[Drawn[Extent]]) -> list[int]:
    """Positions by extent and label, then first copies before second ones, then by annotator.

    Only who drew the same twice is thus told from others by number.
    """
    copies: Counter[tuple[Any, ...]] = Counter()
    keys = []
    for region in regions:
        key = region.key
        keys.append((key, copies[key, region.annotator], region.annotator))
        copies[key, region.annotator] += 1
    return sorted(range(len(regions)), key=keys.__getitem__)


def _groups(regions: Sequence[Drawn[Extent]], kind: Kind[Extent], threshold: float) -> Iterator[tuple[int, ...]]:
    """The groups of regions in canonical order."""
    first, second, similarity = kind.pairs([region.extent for region in regions])
    annotator = np.array([region.annotator for region in regions], np.int64)
    apart = annotator[first] != annotator[second]
    first, second, similarity = first[apart], second[apart], similarity[apart]
    near = similarity >= threshold
    component = np.array(_components(len(regions), first[near].tolist(), second[near].tolist()), np.int64)  # [n]
    links = np.bincount(component[first[near]], minlength=len(regions)).tolist()
    members: dict[int, list[int]] = defaultdict(list)
    for position, number in enumerate(component.tolist()):
        members[number].append(position)
    tangled: dict[int, dict[tuple[int, int], float]] = {}  # similarities of pairs in each
    for number, positions in members.items():
        size = len(positions)
        people = {regions[position].annotator for position in positions}
        if len(people) == size and 2 * links[number] == size * (size - 1):
            yield tuple(positions)
        else:
            tangled[number] = {}
    if not tangled:
        return
    inside = np.isin(component[first], list(tangled)) & (component[first] == component[second])
    place = {member: position for number in tangled for position, member in enumerate(members[number])}
    for one, other, value in zip(
        first[inside].tolist(), second[inside].tolist(), similarity[inside].tolist(), strict=True
    ):
        tangled[int(component[one])][place[one], place[other]] = value
    for number, similar in tangled.items():
        positions = members[number]
        for each in untangled([regions[position] for position in positions], similar, kind, threshold):
            yield tuple(positions[position] for position in each)


def _components(count: int, first: Sequence[int], second: Sequence[int]) -> list[int]:
    """[n] a number for each position, the same for those that pairs of positions connect."""
    parent = list(range(count))

    def root(position: int) -> int:
        while parent[position] != position:
            parent[position] = position = parent[parent[position]]
        return position

    for one, other in zip(first, second, strict=True):
        one, other = root(one), root(other)
        parent[max(one, other)] = min(one, other)
    return [root(position) for position in range(count)]
