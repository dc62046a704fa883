"""Regions drawn by simulated crowds, merged by consensus and by majority: python -m benchmarks.regions.

F1 counts a region as found where it shares at least half with a true one of the same label. Of ten tasks one is gold,
which only the rows with gold know, and which is judged in none. Majority keeps the groups that more than half of a
task's annotators drew, with the commonest label and unweighted medians. The best annotator is the one with the highest
F1 on the tasks they did themselves. Differences have standard errors over the crowds.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from ls_crowd_plugin.aggregation import Consensus, aggregate
from ls_crowd_plugin.regions import Drawn, Kind, assign, group
from ls_crowd_plugin.regions.drawn import Extent
from ls_crowd_plugin.regions.tangles import best_assignment

from .region_crowds import IMAGES, LABELS, TEXT, Medium, RegionCrowd, Task, region_crowd
from .text_table import Cell, print_table

NO_REGION = "(no region)"
QUESTION = "label"
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
class Grouped(Generic[Extent]):
    """A crowd and the groups of each of its tasks."""

    crowd: RegionCrowd[Extent]
    groups: list[list[list[int]]]


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
    print_table(title, ["kind", "regions", "groups", "grouping", "fit"], timing)


def _judge(medium: Medium[Extent], name: str, members: dict[str, int], crowds: int, tasks: int) -> list[list[Cell]]:
    """A row without gold and one with it."""
    grouped = [_grouped(region_crowd(medium, seed, members, tasks)) for seed in range(crowds)]
    singles = np.array([_single_scores(each.crowd) for each in grouped])  # [crowds, 2] best and mean
    majority = np.array([_score(each.crowd, _by_majority(each)) for each in grouped])
    rows: list[list[Cell]] = []
    for with_gold in (False, True):
        ours = []
        contrary: Counter[str] = Counter()
        for each in grouped:
            consensus = _consensus(each, with_gold)
            ours.append(_score(each.crowd, _by_consensus(each, consensus)))
            contrary.update(
                each.crowd.kinds[row["annotator"]] for row in consensus.annotators if row["verdict"] == "contrary"
            )
        difference = np.array(ours) - majority
        error = difference.std(ddof=1) / np.sqrt(crowds) if crowds > 1 else np.nan
        rows.append(
            [
                f"{name}{', gold' if with_gold else ''}",
                float(np.mean(ours)),
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
    crowd = region_crowd(medium, 0, HONEST, tasks=2000, regions=10)
    started = time.perf_counter()
    grouped = _grouped(crowd)
    between = time.perf_counter()
    _consensus(grouped, with_gold=False)
    ended = time.perf_counter()
    drawn = sum(len(task.regions) for task in crowd.tasks)
    return [name, f"{drawn:,}", f"{sum(map(len, grouped.groups)):,}", between - started, ended - between]


def _grouped(crowd: RegionCrowd[Extent]) -> Grouped[Extent]:
    return Grouped(crowd, [group(task.regions, crowd.kind) for task in crowd.tasks])


def _consensus(grouped: Grouped[Extent], with_gold: bool) -> Consensus:
    """One item per group, and one per gold region that nobody drew; who drew nothing there says so."""
    items: list[Any] = []
    annotators: list[int] = []
    labels: list[str] = []
    gold: dict[Any, str] = {}
    for number, (task, groups) in enumerate(zip(grouped.crowd.tasks, grouped.groups, strict=True)):
        drawn = [[task.regions[place] for place in members] for members in groups]
        answers = [{region.annotator: region.label for region in regions} for regions in drawn]
        if with_gold and _is_gold(number):
            known = {((number, place), QUESTION): NO_REGION for place in range(len(groups))}
            for region, place in zip(task.truth, _assigned(grouped, number), strict=True):
                if place is None:
                    place = len(answers)
                    answers.append({})
                known[(number, place), QUESTION] = region.label
            gold.update(known)
        for place, said in enumerate(answers):
            items += [(number, place)] * len(task.annotators)
            annotators += task.annotators
            labels += [said.get(annotator, NO_REGION) for annotator in task.annotators]
    return aggregate(
        items,
        annotators,
        labels,
        gold=gold or None,
        questions=[QUESTION] * len(items),
        label_set={QUESTION: [*LABELS, NO_REGION]},
    )


def _assigned(grouped: Grouped[Extent], number: int) -> list[int | None]:
    task = grouped.crowd.tasks[number]
    return assign(task.regions, grouped.groups[number], task.truth, grouped.crowd.kind)


def _is_gold(number: int) -> bool:
    return number % GOLD_EVERY == 0


def _by_consensus(grouped: Grouped[Extent], consensus: Consensus) -> list[list[Drawn[Extent]]]:
    """The regions of each task whose label is one; their extents by the weights of those who gave it."""
    weight = {row["annotator"]: max(row["weight"], 0.0) for row in consensus.annotators}
    found = []
    for number, (task, groups) in enumerate(zip(grouped.crowd.tasks, grouped.groups, strict=True)):
        regions = []
        for place, members in enumerate(groups):
            label = consensus.labels[(number, place), QUESTION]
            if label != NO_REGION:
                drawn = [task.regions[member] for member in members]
                agreeing = [region for region in drawn if region.label == label] or drawn
                weights = [weight[region.annotator] for region in agreeing]
                extent = grouped.crowd.kind.merged([region.extent for region in agreeing], weights)
                regions.append(Drawn(-1, label, extent))
        found.append(regions)
    return found


def _by_majority(grouped: Grouped[Extent]) -> list[list[Drawn[Extent]]]:
    """The regions of each task that more than half drew; of labels that are equally common, the first by name."""
    found = []
    for task, groups in zip(grouped.crowd.tasks, grouped.groups, strict=True):
        regions = []
        for members in groups:
            if 2 * len(members) > len(task.annotators):
                drawn = [task.regions[member] for member in members]
                votes = Counter(sorted(region.label for region in drawn))
                extent = grouped.crowd.kind.merged([region.extent for region in drawn], [1.0] * len(drawn))
                regions.append(Drawn(-1, votes.most_common(1)[0][0], extent))
        found.append(regions)
    return found


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
