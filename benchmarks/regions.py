"""Regions of simulated crowds, merged by consensus and by majority: python -m benchmarks.regions.

For F1, a region is a hit if it shares at least half with a true one of the same label. One of ten tasks is gold; only
the rows with gold use it, and it is never judged. Majority keeps the groups that more than half of a task's annotators
drew, with the most frequent label and unweighted medians. The best annotator is the one with the highest F1 on their
own tasks, chosen with knowledge of the truth. Differences have standard errors over the crowds. The code is that of a
pass, from annotations as Label Studio stores them to predictions.
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
from ls_crowd_plugin.pipeline.crowd import Crowd, build_crowd
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.project_fit import ProjectFit, fit_project
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.regions import Box, DrawnRegion, Kind, Span
from ls_crowd_plugin.regions.clustering import best_assignment
from ls_crowd_plugin.regions.types import Extent
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
class CrowdResult(Generic[Extent]):
    """What a pass makes of a crowd: groups of regions, scores of annotators, predicted regions."""

    crowd: RegionCrowd[Extent]
    answers: Crowd
    fit: ProjectFit
    regions: list[list[DrawnRegion[Extent]]]  # by task


def main() -> None:
    """Print the tables."""
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
    """Return a row without gold and one with it."""
    drawn = [region_crowd(medium, seed, members, tasks) for seed in range(crowds)]
    singles = np.array([_single_scores(crowd) for crowd in drawn])  # [crowds, 2] best and mean
    rows: list[list[Cell]] = []
    for with_gold in (False, True):
        results = [_run_pass(crowd, with_gold) for crowd in drawn]
        ours = np.array([_score(result.crowd, result.regions) for result in results])
        majority = np.array([_score(result.crowd, _by_majority(result)) for result in results])
        contrary = Counter(
            result.crowd.kinds[annotator - 1]
            for result in results
            for annotator, score in result.fit.scores.items()
            if score.verdict == "contrary"
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
    """Measure everything that happens between the database and the predictions."""
    crowd = region_crowd(medium, 0, HONEST, tasks=2000, regions=10)
    config, annotations = _config(crowd), _annotations(crowd, with_gold=False)
    times = [time.perf_counter()]
    answers = build_crowd(config, annotations, {}, {}, Recipe())
    times.append(time.perf_counter())
    fit = fit_project(answers)
    times.append(time.perf_counter())
    desired_predictions(answers, fit)
    times.append(time.perf_counter())
    drawn = sum(len(task.regions) for task in crowd.tasks)
    return [name, f"{drawn:,}", f"{len(answers.groups):,}", *np.diff(times).tolist(), times[-1] - times[0]]


def _run_pass(crowd: RegionCrowd[Extent], with_gold: bool) -> CrowdResult[Extent]:
    """Turn annotations into predictions as a pass does; gold regions are those of the user EXPERT."""
    config = _config(crowd)
    answers = build_crowd(config, _annotations(crowd, with_gold), {}, {}, Recipe(experts=frozenset({EXPERT})))
    fit = fit_project(answers)
    (control,) = config.regions
    regions: list[list[DrawnRegion[Extent]]] = [[] for _ in crowd.tasks]
    for prediction in desired_predictions(answers, fit):
        regions[prediction.task] = [
            _without_place(DrawnRegion(-1, region.label, cast("Extent", region.extent)))
            for region in control.read(prediction.result) or []
        ]
    return CrowdResult(crowd, answers, fit, regions)


def _config(crowd: RegionCrowd[Extent]) -> Config:
    labels = "".join(f'<Label value="{label}"/>' for label in LABELS)
    if isinstance(crowd.tasks[0].truth[0].extent, Span):
        return read_config(f'<View><Text name="o" value="$o"/><Labels name="l" toName="o">{labels}</Labels></View>')
    drawing = f'<RectangleLabels name="l" toName="o">{labels}</RectangleLabels>'
    return read_config(f'<View><Image name="o" value="$o"/>{drawing}</View>')


def _annotations(crowd: RegionCrowd[Extent], with_gold: bool) -> list[Annotation]:
    annotations: list[Annotation] = []
    for number, task in enumerate(crowd.tasks):
        by_annotator = {
            annotator + 1: [region for region in task.regions if region.annotator == annotator]
            for annotator in task.annotators
        }
        if with_gold and _is_gold(number):
            by_annotator[EXPERT] = task.truth
        for annotator, regions in by_annotator.items():
            result = json.dumps([_item(region) for region in regions])
            annotations.append(
                Annotation(len(annotations), number, annotator, result, False, False, False, "", "", None, None)
            )
    return annotations


def _item(region: DrawnRegion[Extent]) -> dict[str, Any]:
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


def _without_place(region: DrawnRegion[Extent]) -> DrawnRegion[Extent]:
    """Return a region of no particular image or paragraph, like those of the truth."""
    return replace(region, extent=replace(region.extent, within=""))


def _is_gold(number: int) -> bool:
    return number % GOLD_EVERY == 0


def _by_majority(result: CrowdResult[Extent]) -> list[list[DrawnRegion[Extent]]]:
    """Return the regions, by task, that more than half drew; of equally frequent labels the first by name."""
    kept: list[list[DrawnRegion[Extent]]] = [[] for _ in result.crowd.tasks]
    for group in result.answers.groups.values():
        if 2 * len(group.members) > ANSWERS_PER_TASK:
            drawn = list(group.members.values())
            votes = Counter(sorted(region.label for region in drawn))
            extents = [cast("Extent", region.extent) for region in drawn]
            extent = result.crowd.kind.merge(extents, [1.0] * len(drawn))
            kept[group.task].append(_without_place(DrawnRegion(-1, votes.most_common(1)[0][0], extent)))
    return kept


def _single_scores(crowd: RegionCrowd[Extent]) -> tuple[float, float]:
    """Return the F1 of the best annotator and the mean of all, each on their own tasks."""
    scores = []
    for annotator in range(len(crowd.kinds)):
        own = [task for number, task in enumerate(crowd.tasks) if annotator in task.annotators and not _is_gold(number)]
        drawn = [[region for region in task.regions if region.annotator == annotator] for task in own]
        scores.append(_f1(crowd.kind, own, drawn))
    return max(scores), float(np.mean(scores))


def _score(crowd: RegionCrowd[Extent], predicted: list[list[DrawnRegion[Extent]]]) -> float:
    judged = [number for number in range(len(predicted)) if not _is_gold(number)]
    return _f1(crowd.kind, [crowd.tasks[number] for number in judged], [predicted[number] for number in judged])


def _f1(kind: Kind[Extent], tasks: list[Task[Extent]], predicted: list[list[DrawnRegion[Extent]]]) -> float:
    """Return 2 hits / (predicted + true), pooled over tasks."""
    hits = sum(_hits(kind, regions, task.truth) for task, regions in zip(tasks, predicted, strict=True))
    return 2 * hits / max(sum(map(len, predicted)) + sum(len(task.truth) for task in tasks), 1)


def _hits(kind: Kind[Extent], predicted: list[DrawnRegion[Extent]], truth: list[DrawnRegion[Extent]]) -> int:
    """Return the largest number of pairs of a predicted and a true region with equal labels that share half."""
    pairs = kind.overlapping_pairs([region.extent for region in predicted], [region.extent for region in truth])
    scores = {
        (row, column): 1.0
        for row, column, iou in zip(*(column.tolist() for column in pairs), strict=True)
        if iou >= 0.5 and predicted[row].label == truth[column].label
    }
    return len(best_assignment(scores))


if __name__ == "__main__":
    main()
