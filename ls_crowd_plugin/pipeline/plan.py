"""The plan: what has to change in Label Studio, as a value that can be printed, tested and dry-run. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from ..labelstudio import Prediction
from ..records import Json, rounded

VERSION = "crowd-consensus"  # every model version of ours begins with this
META = "crowd"  # our key in metadata

# The cost of calls, counted in single requests that create, change or delete one prediction, as measured on Label
# Studio 1.23: an import also recounts every task of the project, and deleting a version deletes predictions singly.
TASKS_PER_REQUEST = 100  # of a project, that an import recounts in the time of one request
IMPORTED_PER_REQUEST = 400
MIN_IMPORT = 20
RETIRED_PER_REQUEST = 13


@dataclass(frozen=True)
class DesiredPrediction:
    """A prediction as a task should have it."""

    task: int
    result: list[Json]
    score: float
    digest: str  # of labels and rounded score: a prediction is rewritten only when this changes

    @property
    def is_importable(self) -> bool:
        """Label Studio's import refuses nested choices, whose values are paths; single requests accept them."""
        values = (value for item in self.result for value in item["value"].get("choices") or ())
        return not any(isinstance(value, list) for value in values)


@dataclass(frozen=True)
class ExistingPrediction:
    """A prediction of ours in Label Studio."""

    id: int
    task: int
    version: str
    digest: str
    result: list[Json] = field(default_factory=list)
    score: float | None = None

    @classmethod
    def of(cls, found: Prediction) -> ExistingPrediction:
        content = digest(found.result, found.score)
        return cls(found.id, found.task, found.model_version, content, found.result, found.score)


@dataclass(frozen=True)
class Plan:
    """After it, `version` is our only model version, with one prediction for every task that should have one."""

    version: str = VERSION
    create: list[DesiredPrediction] = field(default_factory=list)
    update: list[tuple[ExistingPrediction, DesiredPrediction]] = field(default_factory=list)
    delete: list[ExistingPrediction] = field(default_factory=list)
    retire: dict[str, int] = field(default_factory=dict)  # whole versions of ours to delete → their size
    settings: Json = field(default_factory=dict)  # of the project
    relabelled: int = field(default=0, compare=False)  # tasks whose prediction gets another label

    @property
    def is_empty(self) -> bool:
        return not (self.create or self.update or self.delete or self.retire or self.settings)

    @property
    def size(self) -> int:
        """How many predictions it touches."""
        return len(self.create) + len(self.update) + len(self.delete) + sum(self.retire.values())

    def cost(self, tasks: int) -> float:
        """In single requests, for a project with this number of tasks."""
        single = len(self.update) + len(self.delete)
        retiring = sum(1 + size / RETIRED_PER_REQUEST for size in self.retire.values())
        importable = sum(prediction.is_importable for prediction in self.create)
        creating = _cost_of_import(importable, tasks) if should_import(importable, tasks) else importable
        return single + creating + len(self.create) - importable + retiring


def is_ours(version: str | None) -> bool:
    return (version or "").startswith(VERSION)


def should_import(predictions: int, tasks: int) -> bool:
    """Whether this many predictions are better created by one import, in a project with this number of tasks.

    An import rewrites the counters of all tasks, so that an annotation submitted meanwhile may be missing from them: a
    few predictions, as they occur while people annotate, are created one by one, which has no such effect.
    """
    return predictions >= MIN_IMPORT and _cost_of_import(predictions, tasks) < predictions


def _cost_of_import(predictions: int, tasks: int) -> float:
    return 1 + tasks / TASKS_PER_REQUEST + predictions / IMPORTED_PER_REQUEST


def digest(result: Sequence[Json], score: float | None) -> str:
    """The same for predictions with the same labels and rounded score. Of the metadata it only matters whether they
    contain people's scores, so that these are removed where they are switched off."""
    names = ("from_name", "value", *(() if score is None else ("score",)))  # a region has a score of its own
    items = sorted(json.dumps([item.get(name) for name in names], sort_keys=True) for item in result)
    has_scores = bool(crowd_meta(result).get("annotators"))
    return hashlib.sha256(json.dumps([items, rounded(score), has_scores]).encode()).hexdigest()


def crowd_meta(result: object) -> Json:
    """Our metadata in a prediction's result; empty if there is none."""
    first = result[0] if isinstance(result, list) and result else None
    meta = first.get("meta") if isinstance(first, dict) else None
    ours = meta.get(META) if isinstance(meta, dict) else None
    return ours if isinstance(ours, dict) else {}


def make_plan(
    desired: Sequence[DesiredPrediction],
    existing: Sequence[ExistingPrediction],
    *,
    tasks: int = 0,
    shown_version: str = "",
) -> Plan:
    """The cheapest way from what exists to what is desired, for a project with this number of tasks.

    It may end with any existing version of ours (the one that is shown, if that is as good as another), or with a new
    one that replaces them all. A change of versions that was interrupted is thus completed by continuing it.
    """
    by_version: dict[str, list[ExistingPrediction]] = {}
    for prediction in sorted(existing, key=lambda one: one.id):
        by_version.setdefault(prediction.version, []).append(prediction)
    versions = sorted(by_version, key=lambda name: (name != shown_version, name))
    plans = [*(_keep_version(version, desired, by_version) for version in versions), _new_version(desired, by_version)]
    labels = {prediction.task: digest(prediction.result, None) for prediction in existing}
    relabelled = sum(labels.get(one.task) not in (None, digest(one.result, None)) for one in desired)
    return replace(min(plans, key=lambda plan: plan.cost(tasks)), relabelled=relabelled)


ByVersion = Mapping[str, Sequence[ExistingPrediction]]


def _keep_version(version: str, desired: Sequence[DesiredPrediction], by_version: ByVersion) -> Plan:
    """Correct the predictions of one version, leave one of several on a task, and retire all other versions."""
    on_task: dict[int, list[ExistingPrediction]] = {}
    for prediction in by_version[version]:
        on_task.setdefault(prediction.task, []).append(prediction)
    plan = Plan(version, retire={name: len(others) for name, others in by_version.items() if name != version})
    same_content = _by_content(by_version)
    for wanted in desired:
        ours = on_task.pop(wanted.task, [])
        keep = next((one for one in ours if one.digest == wanted.digest), ours[0] if ours else None)
        plan.delete.extend(one for one in ours if one is not keep)
        if keep is None:
            plan.create.append(_with_old_meta(wanted, same_content))
        elif keep.digest != wanted.digest:
            plan.update.append((keep, wanted))
    plan.delete.extend(one for ours in on_task.values() for one in ours)
    plan.update.sort(key=lambda pair: _importance(*pair), reverse=True)
    return plan


def _importance(before: ExistingPrediction, wanted: DesiredPrediction) -> tuple[bool, float]:
    """Another label comes first, then the largest change of the score: people see soon what they wait for."""
    relabelled = digest(before.result, None) != digest(wanted.result, None)
    return relabelled, abs(wanted.score - (before.score or 0.0))


def _new_version(desired: Sequence[DesiredPrediction], by_version: ByVersion) -> Plan:
    """Create everything under a version that does not exist yet, and retire all others."""
    version = next(name for name in _version_names() if name not in by_version)
    same_content = _by_content(by_version)
    create = [_with_old_meta(wanted, same_content) for wanted in desired]
    return Plan(version, create, retire={name: len(others) for name, others in by_version.items()})


def _version_names() -> Iterator[str]:
    yield VERSION
    yield from (f"{VERSION}-{number}" for number in count(2))


def _by_content(by_version: ByVersion) -> dict[tuple[int, str], ExistingPrediction]:
    return {(one.task, one.digest): one for predictions in by_version.values() for one in predictions}


def _with_old_meta(
    wanted: DesiredPrediction, same_content: Mapping[tuple[int, str], ExistingPrediction]
) -> DesiredPrediction:
    """Numbers in the metadata are those of the pass that last changed the task: a prediction that only moves to another
    version keeps them."""
    before = same_content.get((wanted.task, wanted.digest))
    return replace(wanted, result=before.result) if before is not None and before.result else wanted
