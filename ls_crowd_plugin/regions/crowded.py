"""What bounds the time and memory that regions on one task can take, whatever people draw.

A component that nobody draws in earnest, with dozens of regions by one person on the same place, is split into clusters
in a simpler way than others. Drawings that overlap the others too often to be compared at all are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Generic

import numpy as np

from .clustering import LABEL_BONUS, MAX_ROUNDS, Cluster, cluster
from .overlaps import BATCH_SIZE, Bounds, OverlappingPairs, Sweep, integer_codes, rank
from .types import DrawnRegion, Extent, Kind

MAX_OWN_REGIONS = 20  # by one annotator in a component; one with more is crowded
MAX_COMPONENT_PAIRS = 250_000  # overlapping pairs in a component; one with more is crowded
MAX_WORK, MAX_CROWDED_WORK = 2_000_000, 300_000  # pairs · rounds of clustering on one task; 10 to 20 µs each
MAX_PAIRS = 2_000_000  # pairs of regions of different annotators on one task whose bounds meet
MAX_COMPARED_PAIRS = 20_000_000  # pairs that meet on one axis, which have to be compared on the other
COSTLY = 4  # how many pairs one with a rotated box counts as
ALWAYS_COMPARED = 1000  # regions on one task: even if all meet and are costly, there are fewer than MAX_PAIRS pairs


class Effort(Generic[Extent]):
    """Clusters the components of one task, the smallest first, with care as long as that is not too much work."""

    def __init__(self, kind: Kind[Extent], min_iou: float, extents: Sequence[Extent]) -> None:
        self._kind, self._min_iou = kind, min_iou
        cost = COSTLY if kind.bounds(extents).is_costly.any() else 1
        self._left = {True: MAX_CROWDED_WORK // cost, False: MAX_WORK // cost}

    def cluster(self, regions: Sequence[DrawnRegion[Extent]], pairs: OverlappingPairs) -> list[Cluster]:
        """Return the clusters of a component, given its regions in canonical order and their overlapping pairs."""
        count, own = len(pairs.iou), Counter(region.annotator for region in regions)
        is_crowded = count > MAX_COMPONENT_PAIRS or max(own.values()) > MAX_OWN_REGIONS
        max_rounds = min(self._left[is_crowded] // count, MAX_ROUNDS)
        if not max_rounds:
            return cluster_quickly(regions, pairs.select(pairs.iou >= self._min_iou))
        clusters, rounds = cluster(regions, pairs.to_dict(), self._kind, self._min_iou, max_rounds)
        self._left[is_crowded] -= count * rounds
        return clusters


def cluster_quickly(regions: Sequence[DrawnRegion[Extent]], close: OverlappingPairs) -> list[Cluster]:
    """Return clusters of regions in canonical order, joined along the pairs that are `close`, the most similar first.

    The similarity is that of `clustering`: IoU + LABEL_BONUS · equal label.
    """
    labels = np.array(integer_codes(region.label for region in regions), np.int64)
    similarity = close.iou + LABEL_BONUS * (labels[close.first] == labels[close.second])
    order = np.lexsort((close.second, close.first, -similarity))
    members = {position: [position] for position in range(len(regions))}
    annotators = {position: {region.annotator} for position, region in enumerate(regions)}
    cluster_of = list(range(len(regions)))
    for start in range(0, len(order), BATCH_SIZE):
        batch = order[start : start + BATCH_SIZE]
        for first, second in zip(close.first[batch].tolist(), close.second[batch].tolist(), strict=True):
            one, other = cluster_of[first], cluster_of[second]
            if one == other or not annotators[one].isdisjoint(annotators[other]):
                continue
            if len(members[one]) < len(members[other]):
                one, other = other, one
            annotators[one] |= annotators.pop(other)
            for position in members[other]:
                cluster_of[position] = one
            members[one] += members.pop(other)
    return [tuple(sorted(positions)) for positions in members.values()]


def too_entangled(drawings: Sequence[Sequence[Extent]], kind: Kind[Extent]) -> list[int]:
    """Return the positions of drawings, each by another annotator, whose regions cannot be compared with the others.

    Those with the fewest regions are kept first, as long as all that are kept meet in at most MAX_PAIRS pairs.
    """
    sizes = [len(drawing) for drawing in drawings]
    if sum(sizes) <= ALWAYS_COMPARED:
        return []
    bounds = kind.bounds([extent for drawing in drawings for extent in drawing])
    ranked, ends = rank(bounds), np.cumsum(sizes)
    kept = np.zeros(0, np.int64)
    pairs = compared = 0
    left_out = []
    for position in sorted(range(len(drawings)), key=lambda position: (sizes[position], position)):
        own = np.arange(ends[position] - sizes[position], ends[position])
        sweep = Sweep(ranked, kept, own)
        compared += sweep.count
        found = _count_meeting(bounds, sweep, MAX_PAIRS - pairs) if compared <= MAX_COMPARED_PAIRS else None
        if found is None:
            compared -= sweep.count
            left_out.append(position)
        else:
            pairs += found
            kept = np.concatenate([kept, own])
    return sorted(left_out)


def _count_meeting(bounds: Bounds, sweep: Sweep, most: int) -> int | None:
    """Return how many pairs meet on all axes, with those that are costly counted as more; None if above `most`."""
    count = 0
    for first, second in sweep.batches():
        meet = bounds.meet(first, second)
        costly = meet & (bounds.is_costly[first] | bounds.is_costly[second])
        count += int(meet.sum()) + (COSTLY - 1) * int(costly.sum())
        if count > most:
            return None
    return count
