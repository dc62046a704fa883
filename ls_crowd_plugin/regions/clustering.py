"""Splits connected regions into clusters that mean the same object, where there is more than one way to do so.

First, clusters are joined, the most similar ones first, as long as their mean intersection over union reaches the
minimum. Then the regions of all annotators are assigned anew to the clusters' centres, all at once, and clusters are
joined again, until nothing changes. The rounds may run in a circle, so the best clusters of all rounds are returned.

Where this would take very long, `crowded` has a simpler way.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush
from typing import Generic

import numpy as np
from scipy.optimize import linear_sum_assignment

from .types import DrawnRegion, Extent, Kind, centre

Cluster = tuple[int, ...]  # positions of regions, ascending
Ious = dict[tuple[int, int], float]  # lower position, higher position → intersection over union, above 0
Scores = dict[tuple[int, int], float]  # region, cluster → what assigning the region to the cluster is worth

LABEL_BONUS = 0.25  # what an equal label is worth, in intersection over union, where a region fits several clusters
MAX_ROUNDS = 20
MAX_CELLS = 1_000_000  # regions · clusters of one assignment; the time grows with the third power of either


def cluster(
    regions: Sequence[DrawnRegion[Extent]],
    ious: Ious,
    kind: Kind[Extent],
    min_iou: float,
    max_rounds: int = MAX_ROUNDS,
) -> tuple[list[Cluster], int]:
    """Return clusters of regions, and how many rounds it took.

    The regions must be in canonical order, and `ious` those of different annotators.
    """
    component = _Component(regions, ious, kind, min_iou)
    clusters = component.join([(position,) for position in range(len(regions))])
    best, best_total = clusters, -math.inf
    seen: set[tuple[Cluster, ...]] = set()
    while tuple(clusters) not in seen and len(seen) < max_rounds:
        seen.add(tuple(clusters))
        scores = component.scores(clusters)
        total = math.fsum(scores.get((row, column), 0.0) for column, rows in enumerate(clusters) for row in rows)
        if total > best_total:
            best, best_total = clusters, total
        clusters = component.join(component.reassign(clusters, scores))
    return best, len(seen)


def assignment_scores(
    regions: Sequence[DrawnRegion[Extent]],
    clusters: Sequence[Sequence[DrawnRegion[Extent]]],
    kind: Kind[Extent],
    min_iou: float,
    outsiders: bool = False,
) -> Scores:
    """Return the scores of assigning regions to clusters whose centres they overlap enough.

    score = IoU with the centre + LABEL_BONUS · share of the cluster's other annotators who gave the same label

    A region cannot be assigned to a cluster with no other annotator. With `outsiders`, the regions are by nobody in the
    clusters, even if annotators have the same numbers.
    """
    labels = [{member.annotator: member.label for member in members} for members in clusters]
    first, second, iou = kind.overlapping_pairs(
        [region.extent for region in regions],
        [centre(members, kind) for members in clusters],
        None if outsiders else _owners(regions, labels),
    )
    close = iou >= min_iou
    votes = [Counter(by_annotator.values()) for by_annotator in labels]
    scores: Scores = {}
    for row, column, value in zip(first[close].tolist(), second[close].tolist(), iou[close].tolist(), strict=True):
        label, own = regions[row].label, None if outsiders else labels[column].get(regions[row].annotator)
        others = len(labels[column]) - (own is not None)
        if others:
            scores[row, column] = value + LABEL_BONUS * (votes[column][label] - (own == label)) / others
    return scores


def best_assignment(scores: Mapping[tuple[int, int], float]) -> dict[int, int]:
    """Return row → column, each at most once, with the largest sum of scores, which must all be above 0.

    Where that would take very long, the highest scores come first instead.
    """
    rows, columns = sorted({row for row, _ in scores}), sorted({column for _, column in scores})
    if len(rows) * len(columns) > MAX_CELLS:
        return _greedy_assignment(scores)
    row_place = {row: place for place, row in enumerate(rows)}
    column_place = {column: place for place, column in enumerate(columns)}
    matrix = np.zeros((len(rows), len(columns)))
    for (row, column), value in scores.items():
        matrix[row_place[row], column_place[column]] = value
    chosen = zip(*(places.tolist() for places in linear_sum_assignment(matrix, maximize=True)), strict=True)
    pairs = ((rows[row], columns[column]) for row, column in chosen)
    return {row: column for row, column in pairs if (row, column) in scores}


def _greedy_assignment(scores: Mapping[tuple[int, int], float]) -> dict[int, int]:
    assigned: dict[int, int] = {}
    taken: set[int] = set()
    for (row, column), _ in sorted(scores.items(), key=lambda entry: (-entry[1], entry[0])):
        if row not in assigned and column not in taken:
            assigned[row] = column
            taken.add(column)
    return assigned


def _owners(regions: Sequence[DrawnRegion[Extent]], labels: Sequence[Mapping[int, str]]) -> list[int]:
    """Return the annotators of regions, then those of clusters, of each of which `labels` has annotator → label.

    A cluster of several annotators has an owner of its own kind: it concerns everybody.
    """
    annotators = [region.annotator for region in regions]
    everybody = max(annotators, default=0) + 1
    return annotators + [next(iter(own)) if len(own) == 1 else everybody for own in labels]


class _Component(Generic[Extent]):
    """Connected regions, and the two steps that change their clusters."""

    def __init__(self, regions: Sequence[DrawnRegion[Extent]], ious: Ious, kind: Kind[Extent], min_iou: float) -> None:
        self.regions, self.ious, self.kind, self.min_iou = regions, ious, kind, min_iou
        self.close = [pair for pair, iou in ious.items() if iou >= min_iou]
        numbers: dict[object, int] = {}
        # [n] position among the distinct regions
        self.rank = [numbers.setdefault(region.sort_key, len(numbers)) for region in regions]

    def join(self, clusters: Iterable[Cluster]) -> list[Cluster]:
        """Join clusters, those with the highest mean of IoU + LABEL_BONUS · equal label first."""
        members = dict(enumerate(clusters))
        annotators = {place: {self.regions[position].annotator for position in own} for place, own in members.items()}
        neighbours = self._neighbours(members, annotators)
        queue: list[tuple[float, int, int, int]] = []

        def propose(one: int, other: int) -> None:
            one, other = min(one, other), max(one, other)
            iou, score = self._mean_iou_and_score(members[one], members[other])
            if iou >= self.min_iou:
                heappush(queue, (-score, one, other, len(members[one]) + len(members[other])))

        for one, others in neighbours.items():
            for other in others:
                if one < other:
                    propose(one, other)
        while queue:
            _, one, other, size = heappop(queue)
            if one not in members or other not in members or len(members[one]) + len(members[other]) != size:
                continue  # one of them has been joined with another cluster since
            members[one] = tuple(sorted(members[one] + members.pop(other)))
            annotators[one] |= annotators.pop(other)
            around = (neighbours[one] | neighbours.pop(other)) - {one, other}
            neighbours[one] = {place for place in around if annotators[one].isdisjoint(annotators[place])}
            for neighbour in around:
                neighbours[neighbour] -= {one, other}
            for neighbour in neighbours[one]:
                neighbours[neighbour].add(one)
                propose(one, neighbour)
        return self._in_order(members.values())

    def scores(self, clusters: Sequence[Cluster]) -> Scores:
        members = [[self.regions[position] for position in positions] for positions in clusters]
        return assignment_scores(self.regions, members, self.kind, self.min_iou)

    def reassign(self, clusters: Sequence[Cluster], scores: Scores) -> list[Cluster]:
        """Assign each annotator's regions with the largest sum of scores; the rest become clusters of their own."""
        by_annotator: dict[int, Scores] = defaultdict(dict)
        for (row, column), value in scores.items():
            by_annotator[self.regions[row].annotator][row, column] = value
        assigned: list[list[int]] = [[] for _ in clusters]
        alone = set(range(len(self.regions)))
        for own_scores in by_annotator.values():
            for row, column in best_assignment(own_scores).items():
                assigned[column].append(row)
                alone.remove(row)
        return self._in_order([*(tuple(sorted(rows)) for rows in assigned if rows), *((row,) for row in alone)])

    def _neighbours(
        self, members: Mapping[int, Cluster], annotators: Mapping[int, AbstractSet[int]]
    ) -> dict[int, set[int]]:
        """Return cluster → clusters of other annotators that have a region close to one of its regions."""
        number = {position: place for place, positions in members.items() for position in positions}
        neighbours: dict[int, set[int]] = {place: set() for place in members}
        for first, second in self.close:
            one, other = number[first], number[second]
            if one != other and other not in neighbours[one] and annotators[one].isdisjoint(annotators[other]):
                neighbours[one].add(other)
                neighbours[other].add(one)
        return neighbours

    def _mean_iou_and_score(self, one: Cluster, other: Cluster) -> tuple[float, float]:
        """Return the mean IoU of two clusters without a common annotator, without and with the bonus for labels."""
        regions = self.regions
        total, same = 0.0, 0
        for first in one:
            for second in other:
                total += self.ious.get((first, second) if first < second else (second, first), 0.0)
                same += regions[first].label == regions[second].label
        count = len(one) * len(other)
        return total / count, (total + LABEL_BONUS * same) / count

    def _in_order(self, clusters: Iterable[Cluster]) -> list[Cluster]:
        """Sort by the extents and labels in the clusters; positions, which depend on annotators, only break ties."""
        return sorted(clusters, key=lambda positions: ([self.rank[position] for position in positions], positions))
