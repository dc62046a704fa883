"""From the regions people drew on a task to the objects they mean: groups, and what everybody says of each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..controls import NO_REGION, Region, Regions
from ..regions import Drawn, assign, group

OVERLAP = 0.5  # from which regions of two people may be one

Unit = int | tuple[int, str, int]  # a task, or a group of regions on it: task, control, number


@dataclass(frozen=True)
class Group:
    """Regions that mean one object, at most one by each annotator.

    Without members it is what nobody drew: the whole of a task where nobody drew anything, so that there is something
    to decide, or a gold region that everybody missed, of which nothing is written.
    """

    control: Regions
    task: int
    number: int
    members: Mapping[int, Region] = field(default_factory=dict)  # by annotator
    missed: bool = False  # by everybody; only gold knows of it
    gold: Region | None = None

    @property
    def unit(self) -> Unit:
        return (self.task, self.control.name, self.number)

    @property
    def is_placeholder(self) -> bool:
        return not self.members and not self.missed

    def answers(self, annotator: int) -> Iterator[tuple[str, str]]:
        """Question and label, as said by somebody who saw the task."""
        region = self.members.get(annotator)
        yield self.control.name, NO_REGION if region is None else region.label
        if region is not None:
            yield from region.details.items()

    def known(self) -> Iterator[tuple[str, str]]:
        """Question and label, where the task is gold."""
        yield self.control.name, NO_REGION if self.gold is None else self.gold.label
        if self.gold is not None:
            yield from self.gold.details.items()

    def merged(self, label: str, weights: Mapping[int, float]) -> tuple[Any, list[Region]]:
        """One extent, by the weights of those who said this label, and the regions it was made of."""
        agreeing = {who: region for who, region in self.members.items() if region.label == label} or self.members
        regions = [agreeing[who] for who in sorted(agreeing)]
        heavy = [max(weights.get(who, 0.0), 0.0) for who in sorted(agreeing)]
        return self.control.kind.merged([region.extent for region in regions], heavy), regions


def task_of(unit: Unit) -> int:
    return unit[0] if isinstance(unit, tuple) else unit


def groups_of(
    control: Regions, task: int, drawn: Mapping[int, Sequence[Region]], gold: Sequence[Region] | None, overlap: float
) -> list[Group]:
    """The objects on a task, by what everybody who saw it drew (annotator → regions); gold regions are matched to them
    afterwards, so that they decide neither about the groups nor about their extents."""
    regions = [(who, region) for who, found in drawn.items() for region in found]
    crowd = [Drawn(who, region.label, region.extent) for who, region in regions]
    found = group(crowd, control.kind, overlap)
    known: dict[int, Region] = {}
    missed: list[Region] = []
    if gold:
        others = [Drawn(-1, region.label, region.extent) for region in gold]
        for region, number in zip(gold, assign(crowd, found, others, control.kind, overlap), strict=True):
            if number is None:
                missed.append(region)
            else:
                known[number] = region
    groups = [
        Group(control, task, number, {regions[place][0]: regions[place][1] for place in places}, gold=known.get(number))
        for number, places in enumerate(found)
    ] or [Group(control, task, 0)]
    count = len(groups)
    return groups + [
        Group(control, task, count + position, missed=True, gold=region) for position, region in enumerate(missed)
    ]
