"""Regions that hang together in more than one way, taken apart into groups.

First clusters are joined, the most similar first, as long as their mean similarity reaches the threshold. Then all
annotators' regions are assigned anew to the groups' centres, all at once, and what that leaves alone is joined again,
until nothing changes. Of what was met on the way the groups that fit best are taken, should the rounds go in a circle.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Generic

import numpy as np
from scipy.optimize import linear_sum_assignment

from .drawn import Drawn, Extent, Kind, centre

Group = tuple[int, ...]  # positions of regions, ascending

SAME_LABEL = 0.25  # what a shared label is worth, in similarity, where a region could belong to several groups
MOST_ROUNDS = 20


def untangled(
    regions: Sequence[Drawn[Extent]], similar: Mapping[tuple[int, int], float], kind: Kind[Extent], threshold: float
) -> list[Group]:
    """Groups of regions in canonical order.

    `similar` holds the similarities above 0 of pairs (lower position, higher position) of different annotators.
    """
    tangle = _Tangle(regions, similar, kind, threshold)
    groups = tangle.joined([(position,) for position in range(len(regions))])
    best, most = groups, -math.inf
    seen: set[tuple[Group, ...]] = set()
    while tuple(groups) not in seen and len(seen) < MOST_ROUNDS:
        seen.add(tuple(groups))
        gain = tangle.gains(groups)
        total = math.fsum(gain.get((row, column), 0.0) for column, each in enumerate(groups) for row in each)
        if total > most:
            best, most = groups, total
        groups = tangle.joined(tangle.reassigned(groups, gain))
    return best


def gains(
    regions: Sequence[Drawn[Extent]],
    groups: Sequence[Sequence[Drawn[Extent]]],
    kind: Kind[Extent],
    threshold: float,
    strangers: bool = False,
) -> dict[tuple[int, int], float]:
    """(region, group) → what is gained by having it there, where it is similar enough to the group's centre.

    similarity to the centre + SAME_LABEL · share of the group's other annotators who gave the same label

    A group in which nobody else has a part gains nothing. `strangers` are not among the groups' annotators, whatever
    their numbers.
    """
    first, second, similarity = kind.pairs(
        [region.extent for region in regions], [centre(members, kind) for members in groups]
    )
    near = similarity >= threshold
    said = [{member.annotator: member.label for member in members} for members in groups]
    votes = [Counter(labels.values()) for labels in said]
    gain = {}
    for row, column, value in zip(first[near].tolist(), second[near].tolist(), similarity[near].tolist(), strict=True):
        label, own = regions[row].label, None if strangers else said[column].get(regions[row].annotator)
        others = len(said[column]) - (own is not None)
        if others:
            gain[row, column] = value + SAME_LABEL * (votes[column][label] - (own == label)) / others
    return gain


def best_assignment(gain: Mapping[tuple[int, int], float]) -> dict[int, int]:
    """Row → column, each at most once, so that the gains, which are all above 0, add up to the most."""
    rows, columns = sorted({row for row, _ in gain}), sorted({column for _, column in gain})
    row_place = {row: place for place, row in enumerate(rows)}
    column_place = {column: place for place, column in enumerate(columns)}
    matrix = np.zeros((len(rows), len(columns)))
    for (row, column), value in gain.items():
        matrix[row_place[row], column_place[column]] = value
    chosen = zip(*(places.tolist() for places in linear_sum_assignment(matrix, maximize=True)), strict=True)
    pairs = ((rows[row], columns[column]) for row, column in chosen)
    return {row: column for row, column in pairs if (row, column) in gain}


class _Tangle(Generic[Extent]):
    """The regions of one component, and the two steps that change their groups."""

    def __init__(
        self,
        regions: Sequence[Drawn[Extent]],
        similar: Mapping[tuple[int, int], float],
        kind: Kind[Extent],
        threshold: float,
    ) -> None:
        self.regions, self.similar, self.kind, self.threshold = regions, similar, kind, threshold
        self.near = [pair for pair, value in similar.items() if value >= threshold]
        numbers: dict[object, int] = {}
        self.rank = [numbers.setdefault(region.key, len(numbers)) for region in regions]  # [n] the same for copies

    def joined(self, groups: Iterable[Group]) -> list[Group]:
        """Groups that may be one joined, those with the highest mean of similarity + SAME_LABEL · same label first."""
        members = dict(enumerate(groups))
        number = {position: place for place, each in members.items() for position in each}
        neighbours: dict[int, set[int]] = {place: set() for place in members}
        for first, second in self.near:
            one, other = number[first], number[second]
            if one != other:
                neighbours[one].add(other)
                neighbours[other].add(one)
        queue: list[tuple[float, int, int, int]] = []

        def propose(one: int, other: int) -> None:
            one, other = min(one, other), max(one, other)
            similarity, score = self._means(members[one], members[other])
            if similarity >= self.threshold:
                heappush(queue, (-score, one, other, len(members[one]) + len(members[other])))

        for one, others in neighbours.items():
            for other in others:
                if one < other:
                    propose(one, other)
        while queue:
            _, one, other, size = heappop(queue)
            if one not in members or other not in members or len(members[one]) + len(members[other]) != size:
                continue  # one of them has been joined with something since
            members[one] = tuple(sorted(members[one] + members.pop(other)))
            neighbours[one] |= neighbours.pop(other)
            neighbours[one] -= {one, other}
            for each in neighbours[one]:
                neighbours[each].discard(other)
                neighbours[each].add(one)
                propose(one, each)
        return self._in_order(members.values())

    def _means(self, one: Group, other: Group) -> tuple[float, float]:
        """The mean similarity of two groups, and with what shared labels add to it; 0 if somebody is in both."""
        regions = self.regions
        total, same = 0.0, 0
        for first in one:
            for second in other:
                if regions[first].annotator == regions[second].annotator:
                    return 0.0, 0.0
                total += self.similar.get((first, second) if first < second else (second, first), 0.0)
                same += regions[first].label == regions[second].label
        count = len(one) * len(other)
        return total / count, (total + SAME_LABEL * same) / count

    def gains(self, groups: Sequence[Group]) -> dict[tuple[int, int], float]:
        members = [[self.regions[position] for position in each] for each in groups]
        return gains(self.regions, members, self.kind, self.threshold)

    def reassigned(self, groups: Sequence[Group], gain: Mapping[tuple[int, int], float]) -> list[Group]:
        """Every annotator's regions where they gain the most; what gains nothing anywhere is a group of its own."""
        own: dict[int, dict[tuple[int, int], float]] = defaultdict(dict)
        for (row, column), value in gain.items():
            own[self.regions[row].annotator][row, column] = value
        taken: list[list[int]] = [[] for _ in groups]
        alone = set(range(len(self.regions)))
        for each in own.values():
            for row, column in best_assignment(each).items():
                taken[column].append(row)
                alone.remove(row)
        return self._in_order([*(tuple(sorted(each)) for each in taken if each), *((row,) for row in alone)])

    def _in_order(self, groups: Iterable[Group]) -> list[Group]:
        """By what was drawn, and only then by who drew it."""
        return sorted(groups, key=lambda each: ([self.rank[position] for position in each], each))
