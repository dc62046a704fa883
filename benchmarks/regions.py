"""Regions drawn by simulated crowds, merged by consensus and by majority: python -m benchmarks.regions.

F1 counts a region as found where it shares at least half with a true one of the same label. Of ten tasks one is gold,
which only the rows with gold know, and which is judged in none. Majority keeps the groups that more than half of a
task's annotators drew, with the commonest label and unweighted medians. The best annotator is the one with the highest
F1 on the tasks they did themselves, chosen with the truth in hand. Differences have standard errors over the crowds.
Everything goes the product's own way, from annotations as Label Studio has them to predictions.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Generic, cast

import numpy as np

from ls_crowd_plugin.controls import Config, read_config
from ls_crowd_plugin.pipeline.crowd import Crowd, crowd_of
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.findings import Findings, find
from ls_crowd_plugin.regions import Box, Drawn, Kind, Span
from ls_crowd_plugin.regions.drawn import Extent
from ls_crowd_plugin.regions.tangles import best_assignment
from ls_crowd_plugin.store import Annotation

from .region_crowds import (
    ANSWERS_PER_TASK,
    IMAGE_HEIGHT,
    IMAGE_WIDTH,
    IMAGES,
    LABELS,
    TEXT,
    Medium,
    RegionCrowd,
    Task,
    region_crowd,
)
from .text_table import Cell, print_table

EXPERT = 1000
HONEST = {"expert": 8, "sloppy": 12}
SETTINGS = {
    "honest": HONEST,
    "6 spammers": {**HONEST, "spammer": 6},
    "5 adversaries": {**HONEST, "adversary": 5},
    "both, 3 experts": {"expert": 3, "sloppy": 12, "spammer": 6, "adversary": 5},
}
GOLD_EVERY = 10
CONTRARY = {"contrary: adversaries": ["adversary"], "spammers": ["spammer"], "honest": ["expert", "sloppy"]}


@dataclass(frozen=True)
class Found(Generic[Extent]):
    """What the product makes of a crowd: everybody's regions sorted into groups, people judged, regions predicted."""

    crowd: RegionCrowd[Extent]
    answers: Crowd
    findings: Findings
    regions: list[list[Drawn[Extent]]]  # of each task


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regions", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=200, help="tasks per crowd (default 200)")
    parser.add_argument("--crowds", type=int, default=5, help="crowds per setting (default 5)")
    options = parser.parse_args()
    rows: list[list[Cell]] = []
    for name, members in SETTINGS.items():
        rows += _judge(TEXT, f"spans, {name}", members, options.crowds, options.tasks)
        rows += _judge(IMAGES, f"boxes, {name}", members, options.crowds, options.tasks)
    title = f"Regions; {options.crowds} crowds of {options.tasks} tasks, 5 annotators and 8 regions each; F1"
    header = ["crowd", "consensus", "majority", "difference", "best one", "mean one", *CONTRARY]
    print_table(title, header, rows, digits=3)
    timing = [_timing(TEXT, "spans"), _timing(IMAGES, "boxes")]
    title = "Seconds for 2,000 tasks of 5 annotators and 10 regions each"
    print_table(title, ["kind", "regions", "groups", "grouping", "fits", "predictions", "all"], timing)


def _judge(medium: Medium[Extent], name: str, members: dict[str, int], crowds: int, tasks: int) -> list[list[Cell]]:
    """A row without gold and one with it."""
    drawn = [region_crowd(medium, seed, members, tasks) for seed in range(crowds)]
    singles = np.array([_single_scores(each) for each in drawn])  # [crowds, 2] best and mean
    rows: list[list[Cell]] = []
    for with_gold in (False, True):
        found = [_found(each, with_gold) for each in drawn]
        ours = np.array([_score(each.crowd, each.regions) for each in found])
        majority = np.array([_score(each.crowd, _by_majority(each)) for each in found])
        contrary = Counter(
            each.crowd.kinds[who - 1]
            for each in found
            for who, row in each.findings.people.items()
            if row["verdict"] == "contrary"
        )
        difference = ours - majority
        error = difference.std(ddof=1) / np.sqrt(crowds) if crowds > 1 else np.nan
        rows.append(
            [
                f"{name}{', gold' if with_gold else ''}",
                float(ours.mean()),
                float(majority.mean()),
                f"{difference.mean():+.3f} ± {error:.3f}",
                *singles.mean(axis=0).tolist(),
                *(
                    f"{sum(contrary[kind] for kind in kinds)} of {crowds * sum(members.get(kind, 0) for kind in kinds)}"
                    for kinds in CONTRARY.values()
                ),
            ]
        )
    return rows


def _timing(medium: Medium[Extent], name: str) -> list[Cell]:
    """Everything that happens between the database and the predictions."""
    crowd = region_crowd(medium, 0, HONEST, tasks=2000, regions=10)
    config, annotations = _config(crowd), _annotations(crowd, with_gold=False)
    times = [time.perf_counter()]
    answers = crowd_of(config, annotations, {})
    times.append(time.perf_counter())
    findings = find(answers)
    times.append(time.perf_counter())
    desired_predictions(answers, findings)
    times.append(time.perf_counter())
    drawn = sum(len(task.regions) for task in crowd.tasks)
    return [name, f"{drawn:,}", f"{len(answers.groups):,}", *np.diff(times).tolist(), times[-1] - times[0]]


def _found(crowd: RegionCrowd[Extent], with_gold: bool) -> Found[Extent]:
    """As a pass does it: from annotations to predictions; gold is what user EXPERT drew."""
    config = _config(crowd)
    answers = crowd_of(config, _annotations(crowd, with_gold), {}, experts=(EXPERT,))
    findings = find(answers)
    (control,) = config.regions
    regions: list[list[Drawn[Extent]]] = [[] for _ in crowd.tasks]
    for each in desired_predictions(answers, findings):
        read = control.read(each.result) or []
        regions[each.task] = [Drawn(-1, region.label, cast("Extent", region.extent)) for region in read]
    return Found(crowd, answers, findings, [[_unplaced(region) for region in each] for each in regions])


def _config(crowd: RegionCrowd[Extent]) -> Config:
    labels = "".join(f'<Label value="{label}"/>' for label in LABELS)
    if isinstance(crowd.tasks[0].truth[0].extent, Span):
        return read_config(f'<View><Text name="o" value="$o"/><Labels name="l" toName="o">{labels}</Labels></View>')
    drawing = f'<RectangleLabels name="l" toName="o">{labels}</RectangleLabels>'
    return read_config(f'<View><Image name="o" value="$o"/>{drawing}</View>')


def _annotations(crowd: RegionCrowd[Extent], with_gold: bool) -> list[Annotation]:
    made: list[Annotation] = []
    for number, task in enumerate(crowd.tasks):
        drawn = {who + 1: [region for region in task.regions if region.annotator == who] for who in task.annotators}
        if with_gold and _is_gold(number):
            drawn[EXPERT] = task.truth
        for who, regions in drawn.items():
            result = json.dumps([_item(region) for region in regions])
            made.append(Annotation(len(made), number, who, result, False, False, False, "", "", None, None))
    return made


def _item(region: Drawn[Extent]) -> dict[str, Any]:
    extent: Span | Box = region.extent
    if isinstance(extent, Span):
        value = {"start": extent.start, "end": extent.end, "text": "", "labels": [region.label]}
        return {"from_name": "l", "to_name": "o", "type": "labels", "value": value}
    size = {"original_width": IMAGE_WIDTH, "original_height": IMAGE_HEIGHT, "image_rotation": 0}
    value = {
        "x": 100 * extent.x / IMAGE_WIDTH,
        "y": 100 * extent.y / IMAGE_HEIGHT,
        "width": 100 * extent.width / IMAGE_WIDTH,
        "height": 100 * extent.height / IMAGE_HEIGHT,
        "rotation": 0,
        "rectanglelabels": [region.label],
    }
    return {"from_name": "l", "to_name": "o", "type": "rectanglelabels", **size, "value": value}


def _unplaced(region: Drawn[Extent]) -> Drawn[Extent]:
    """Of no particular image or paragraph, as the truth is."""
    return replace(region, extent=replace(region.extent, within=""))


def _is_gold(number: int) -> bool:
    return number % GOLD_EVERY == 0


def _by_majority(found: Found[Extent]) -> list[list[Drawn[Extent]]]:
    """The regions of each task that more than half drew; of labels that are equally common, the first by name."""
    kept: list[list[Drawn[Extent]]] = [[] for _ in found.crowd.tasks]
    for group in found.answers.groups.values():
        if 2 * len(group.members) > ANSWERS_PER_TASK:
            drawn = list(group.members.values())
            votes = Counter(sorted(region.label for region in drawn))
            extents = [cast("Extent", region.extent) for region in drawn]
            extent = found.crowd.kind.merged(extents, [1.0] * len(drawn))
            kept[group.task].append(_unplaced(Drawn(-1, votes.most_common(1)[0][0], extent)))
    return kept


def _single_scores(crowd: RegionCrowd[Extent]) -> tuple[float, float]:
    """F1 of the best annotator and the mean of all, each on their own tasks."""
    scores = []
    for annotator in range(len(crowd.kinds)):
        own = [task for number, task in enumerate(crowd.tasks) if annotator in task.annotators and not _is_gold(number)]
        drawn = [[region for region in task.regions if region.annotator == annotator] for task in own]
        scores.append(_f1(crowd.kind, own, drawn))
    return max(scores), float(np.mean(scores))


def _score(crowd: RegionCrowd[Extent], found: list[list[Drawn[Extent]]]) -> float:
    judged = [number for number in range(len(found)) if not _is_gold(number)]
    return _f1(crowd.kind, [crowd.tasks[number] for number in judged], [found[number] for number in judged])


def _f1(kind: Kind[Extent], tasks: list[Task[Extent]], found: list[list[Drawn[Extent]]]) -> float:
    """2 hits / (found + true), pooled over tasks."""
    hits = sum(_hits(kind, regions, task.truth) for task, regions in zip(tasks, found, strict=True))
    return 2 * hits / max(sum(map(len, found)) + sum(len(task.truth) for task in tasks), 1)


def _hits(kind: Kind[Extent], found: list[Drawn[Extent]], truth: list[Drawn[Extent]]) -> int:
    """The most pairs of a found and a true region with one label that share at least half."""
    pairs = kind.pairs([region.extent for region in found], [region.extent for region in truth])
    gain = {
        (row, column): 1.0
        for row, column, similarity in zip(*(column.tolist() for column in pairs), strict=True)
        if similarity >= 0.5 and found[row].label == truth[column].label
    }
    return len(best_assignment(gain))


if __name__ == "__main__":
    main()
