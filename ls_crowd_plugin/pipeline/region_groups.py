"""From the regions people drew on a task to the objects they mean: groups, and what everybody says about each. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..controls import NO_REGION, Region, RegionControl
from ..controls.region import Extent
from ..records import Json
from ..regions import DrawnRegion, assign, group
from ..store import Annotation

Unit = int | tuple[int, str, int]  # a task, or a group of regions on it: task, control, number


@dataclass(frozen=True)
class RegionGroup:
    """Regions that mean one object, at most one by each annotator.

    A group without members is a placeholder on a task where nobody drew anything, so that there is a question to
    decide, or a gold region that everybody missed, about which nothing is written.
    """

    control: RegionControl
    task: int
    number: int
    members: Mapping[int, Region] = field(default_factory=dict)  # annotator → region
    missed: bool = False  # by everybody; only gold has it
    gold: Region | None = None

    @property
    def unit(self) -> Unit:
        return (self.task, self.control.name, self.number)

    @property
    def is_placeholder(self) -> bool:
        return not self.members and not self.missed

    def answers(self, annotator: int) -> Iterator[tuple[str, str]]:
        """Questions and labels of somebody who saw the task."""
        region = self.members.get(annotator)
        yield self.control.name, NO_REGION if region is None else region.label
        if region is not None:
            yield from region.details.items()

    def gold_answers(self) -> Iterator[tuple[str, str]]:
        """Questions and labels where the task is gold."""
        yield self.control.name, NO_REGION if self.gold is None else self.gold.label
        if self.gold is not None:
            yield from self.gold.details.items()

    def merge(self, label: str, weights: Mapping[int, float]) -> tuple[Extent, list[Region]]:
        """One extent, by the weights of those who gave this label, and the regions it was made of."""
        agreeing = {who: region for who, region in self.members.items() if region.label == label} or self.members
        regions = [agreeing[who] for who in sorted(agreeing)]
        positive = [max(weights.get(who, 0.0), 0.0) for who in sorted(agreeing)]
        merged: Extent = self.control.kind.merge([region.extent for region in regions], positive)
        return merged, regions


def task_of(unit: Unit) -> int:
    return unit[0] if isinstance(unit, tuple) else unit


def group_regions(
    controls: Sequence[RegionControl],
    answers: Mapping[tuple[int, int], Annotation],
    golden: Mapping[tuple[int, int], Annotation],
    min_iou: float,
) -> tuple[list[tuple[RegionGroup, Collection[int], bool]], list[str]]:
    """Every group with the annotators who saw its task and whether gold decides about it, and warnings."""
    results: dict[int, dict[int, list[Json]]] = defaultdict(dict)
    for (task, annotator), annotation in sorted(answers.items()):
        results[task][annotator] = annotation.items
    gold_results: dict[int, list[list[Json]]] = defaultdict(list)
    for (task, _), annotation in sorted(golden.items()):
        gold_results[task].append(annotation.items)
    several = sorted(task for task, found in gold_results.items() if len(found) > 1)
    warnings = []
    if several:
        warnings.append(
            f"{len(several)} task(s), for example task {several[0]}, have several gold annotations with regions; these"
            " regions are not used. Leave one gold annotation on each task."
        )
    groups: list[tuple[RegionGroup, Collection[int], bool]] = []
    for control in controls:
        for task, by_annotator in sorted(results.items()):
            gold = gold_results.get(task, [])
            size = control.image_size([*by_annotator.values(), *gold])
            read = {annotator: control.read(items, size) for annotator, items in by_annotator.items()}
            drawn = {annotator: regions for annotator, regions in read.items() if regions is not None}
            gold_regions = control.read(gold[0], size) if len(gold) == 1 else None
            for found in groups_of_task(control, task, drawn, gold_regions, min_iou) if drawn else ():
                is_gold = gold_regions is not None and not (gold_regions and found.is_placeholder)
                groups.append((found, tuple(drawn), is_gold))
    return groups, warnings


def groups_of_task(
    control: RegionControl,
    task: int,
    drawn: Mapping[int, Sequence[Region]],
    gold: Sequence[Region] | None,
    min_iou: float,
) -> list[RegionGroup]:
    """The objects on a task by what its annotators drew (annotator → regions).

    Gold regions are matched to the groups afterwards, so that they decide neither about groups nor about extents.
    """
    regions = [(annotator, region) for annotator, own in drawn.items() for region in own]
    crowd = [DrawnRegion(annotator, region.label, region.extent) for annotator, region in regions]
    members = group(crowd, control.kind, min_iou)
    matched: dict[int, Region] = {}
    missed: list[Region] = []
    if gold:
        others = [DrawnRegion(-1, region.label, region.extent) for region in gold]
        for region, number in zip(gold, assign(crowd, members, others, control.kind, min_iou), strict=True):
            if number is None:
                missed.append(region)
            else:
                matched[number] = region
    groups = [
        RegionGroup(
            control, task, number, {regions[at][0]: regions[at][1] for at in positions}, False, matched.get(number)
        )
        for number, positions in enumerate(members)
    ] or [RegionGroup(control, task, 0)]
    return groups + [
        RegionGroup(control, task, number, missed=True, gold=region)
        for number, region in enumerate(missed, start=len(groups))
    ]
