"""What has to change in Label Studio: a value that can be printed, tested and dry-run. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from .findings import rounded

VERSION = "crowd-consensus"  # every model version of ours begins with this
META = "crowd"  # the key of ours in metadata

# What calls cost, counted in single requests that create, change or delete one prediction, as measured on Label Studio
# 1.23: an import also counts everything of every task in the project, deleting a version goes through it one by one.
TASKS_PER_REQUEST = 100  # of a project, that an import counts anew
IMPORTED_PER_REQUEST = 400
FEWEST_IMPORTED = 20
RETIRED_PER_REQUEST = 13


@dataclass(frozen=True)
class Desired:
    """A prediction as it should stand on a task."""

    task: int
    result: list[dict[str, Any]]
    score: float
    digest: str  # of the labels and the rounded score: a prediction is rewritten only when this changes

    @property
    def importable(self) -> bool:
        """Label Studio's import refuses nested choices, whose values are paths; single requests take them."""
        values = (value for item in self.result for value in item["value"].get("choices") or ())
        return not any(isinstance(value, list) for value in values)


@dataclass(frozen=True)
class Existing:
    """A prediction of ours as it stands."""

    id: int
    task: int
    version: str
    digest: str
    result: list[dict[str, Any]] = field(default_factory=list)
    score: float | None = None


@dataclass(frozen=True)
class Plan:
    """At the end `version` is the only one of ours, with one prediction for every task that should have one."""

    version: str = VERSION
    create: list[Desired] = field(default_factory=list)
    update: list[tuple[Existing, Desired]] = field(default_factory=list)
    delete: list[Existing] = field(default_factory=list)
    retire: dict[str, int] = field(default_factory=dict)  # whole versions of ours to delete, and how large they are
    settings: dict[str, Any] = field(default_factory=dict)
    relabelled: int = field(default=0, compare=False)  # tasks that had a prediction of ours with another label

    @property
    def empty(self) -> bool:
        return not (self.create or self.update or self.delete or self.retire or self.settings)

    @property
    def size(self) -> int:
        """How many predictions it touches."""
        return len(self.create) + len(self.update) + len(self.delete) + sum(self.retire.values())

    def cost(self, tasks: int) -> float:
        """In single requests, for a project with so many tasks."""
        single = len(self.update) + len(self.delete)
        retiring = sum(1 + size / RETIRED_PER_REQUEST for size in self.retire.values())
        importable = sum(each.importable for each in self.create)
        creating = _cost_of_import(importable, tasks) if in_bulk(importable, tasks) else importable
        return single + creating + len(self.create) - importable + retiring


def in_bulk(predictions: int, tasks: int) -> bool:
    """Whether so many predictions are better made by one import, in a project with so many tasks.

    An import writes the counters of all tasks anew, so that an annotation submitted meanwhile may be missing in them:
    a few predictions, as they come while people annotate, are made one by one, which has no such effect.
    """
    return predictions >= FEWEST_IMPORTED and _cost_of_import(predictions, tasks) < predictions


def _cost_of_import(predictions: int, tasks: int) -> float:
    return 1 + tasks / TASKS_PER_REQUEST + predictions / IMPORTED_PER_REQUEST


def digest(result: Sequence[Mapping[str, Any]], score: float | None) -> str:
    """Tells predictions with the same labels and rounded score from others. Of the metadata only counts whether they
    hold people's scores, so that these go where they are switched off."""
    sure = () if score is None else ("score",)  # a region has one of its own
    said = sorted(
        json.dumps([item.get(name) for name in ("from_name", "value", *sure)], sort_keys=True) for item in result
    )
    scored = bool(about(result).get("annotators"))
    return hashlib.sha256(json.dumps([said, rounded(score), scored]).encode()).hexdigest()


def about(result: Any) -> dict[str, Any]:
    """What a prediction of ours says in its metadata; empty for anything else."""
    first = result[0] if isinstance(result, list) and result else None
    meta = first.get("meta") if isinstance(first, dict) else None
    found = meta.get(META) if isinstance(meta, dict) else None
    return found if isinstance(found, dict) else {}


def make_plan(desired: Sequence[Desired], existing: Sequence[Existing], *, tasks: int = 0, shown: str = "") -> Plan:
    """From what should be and what is to the cheapest way there, for a project with so many tasks.

    It may end with any version of ours that stands (the one that is `shown`, if that is as good as another), or with a
    fresh one that replaces them all. An interrupted change of versions is thus completed by going on with it.
    """
    standing: dict[str, list[Existing]] = {}
    for each in sorted(existing, key=lambda one: one.id):
        standing.setdefault(each.version, []).append(each)
    versions = sorted(standing, key=lambda name: (name != shown, name))
    ways = [*(_ending_with(version, desired, standing) for version in versions), _starting_anew(desired, standing)]
    labels = {each.task: digest(each.result, None) for each in existing}
    relabelled = sum(labels.get(each.task) not in (None, digest(each.result, None)) for each in desired)
    return replace(min(ways, key=lambda plan: plan.cost(tasks)), relabelled=relabelled)


def _ending_with(version: str, desired: Sequence[Desired], standing: Mapping[str, Sequence[Existing]]) -> Plan:
    """What is of this version is put right; of several on one task one stays; other versions go as a whole."""
    on_task: dict[int, list[Existing]] = {}
    for each in standing[version]:
        on_task.setdefault(each.task, []).append(each)
    plan = Plan(version, retire={name: len(held) for name, held in standing.items() if name != version})
    stood = _by_content(standing)
    for wanted in desired:
        ours = on_task.pop(wanted.task, [])
        keep = next((each for each in ours if each.digest == wanted.digest), ours[0] if ours else None)
        plan.delete.extend(each for each in ours if each is not keep)
        if keep is None:
            plan.create.append(_as_it_stood(wanted, stood))
        elif keep.digest != wanted.digest:
            plan.update.append((keep, wanted))
    plan.delete.extend(each for ours in on_task.values() for each in ours)
    plan.update.sort(key=lambda pair: _importance(*pair), reverse=True)
    return plan


def _importance(before: Existing, wanted: Desired) -> tuple[bool, float]:
    """Of changes, another label comes first, then the largest change of score: whoever waits for it sees it soon."""
    relabelled = digest(before.result, None) != digest(wanted.result, None)
    return relabelled, abs(wanted.score - (before.score or 0.0))


def _starting_anew(desired: Sequence[Desired], standing: Mapping[str, Sequence[Existing]]) -> Plan:
    """Everything is made under a version that does not stand yet, and all others go."""
    version = next(name for name in _names() if name not in standing)
    stood = _by_content(standing)
    create = [_as_it_stood(wanted, stood) for wanted in desired]
    return Plan(version, create, retire={name: len(held) for name, held in standing.items()})


def _names() -> Iterator[str]:
    yield VERSION
    yield from (f"{VERSION}-{number}" for number in count(2))


def _by_content(standing: Mapping[str, Sequence[Existing]]) -> dict[tuple[int, str], Existing]:
    return {(each.task, each.digest): each for held in standing.values() for each in held}


def _as_it_stood(wanted: Desired, stood: Mapping[tuple[int, str], Existing]) -> Desired:
    """Numbers in the metadata are those of the run that last changed the task: what only moves keeps them."""
    before = stood.get((wanted.task, wanted.digest))
    return replace(wanted, result=before.result) if before is not None and before.result else wanted
