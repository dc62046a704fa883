"""The plan: what has to change in Label Studio, as a value that can be printed, tested and dry-run. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

from ..controls.region import ON_IMAGE
from ..labelstudio import Prediction
from ..records import SETTLED, Json, rounded
from ..store.predictions import StoredPrediction

VERSION = "crowd-consensus"  # our model version; with a number after it where that name is taken
META = "crowd"  # our key in metadata
WRITTEN = ("id", "from_name", "to_name", "type", "value", "score", "meta", *ON_IMAGE)  # keys of what we write

# The cost of calls, counted in single requests that create, change or delete one prediction, as measured on Label
# Studio 1.23: an import also recounts every task of the project, and deleting a version deletes predictions singly.
TASKS_PER_REQUEST = 100  # of a project, that an import recounts in the time of one request
IMPORTED_PER_REQUEST = 400
MIN_IMPORT = 20
RETIRED_PER_REQUEST = 13

# While people work, a score is rewritten if it moved this far, or noticeably crossed the line between settled and not.
SCORE_STEP = 0.05
CROSSING_STEP = 0.01
LIVE_WRITES = 10  # predictions that are written for each answered task, at most


@dataclass(frozen=True)
class DesiredPrediction:
    """A prediction as a task should have it."""

    task: int
    result: list[Json]
    score: float
    basis: str = ""  # digest of the task's own answers

    @cached_property
    def digest(self) -> str:
        return content_digest(self.result, self.score)

    @cached_property
    def labels(self) -> str:
        return labels_digest(self.result)

    @property
    def is_importable(self) -> bool:
        """Label Studio's import refuses nested choices, whose values are paths; single requests accept them."""
        values = (value for item in self.result for value in item["value"].get("choices") or ())
        return not any(isinstance(value, list) for value in values)

    def stored(self, prediction: int | None) -> StoredPrediction:
        """This prediction once Label Studio holds it, under this id."""
        return StoredPrediction(self.task, prediction, self.digest, self.labels, self.score, self.basis)


@dataclass(frozen=True)
class ExistingPrediction:
    """A prediction of ours in Label Studio."""

    id: int
    task: int
    version: str
    digest: str
    labels: str
    score: float | None = None

    @classmethod
    def of(cls, found: Prediction) -> ExistingPrediction:
        content = content_digest(found.result, found.score)
        return cls(found.id, found.task, found.model_version, content, labels_digest(found.result), found.score)

    def stored(self, basis: str = "") -> StoredPrediction:
        return StoredPrediction(self.task, self.id, self.digest, self.labels, self.score or 0.0, basis)


@dataclass(frozen=True)
class Plan:
    """After it, `version` is our only model version, with one prediction for every task that should have one."""

    version: str = VERSION
    create: list[DesiredPrediction] = field(default_factory=list)
    update: list[tuple[ExistingPrediction, DesiredPrediction]] = field(default_factory=list)
    delete: list[ExistingPrediction] = field(default_factory=list)
    retire: dict[str, int] = field(default_factory=dict)  # whole versions of ours to delete → their size
    settings: Json = field(default_factory=dict)  # of the project
    deferred: int = 0  # predictions whose small changes are left until the project is quiet
    relabelled: int = field(default=0, compare=False)  # tasks whose prediction gets another label

    @property
    def is_empty(self) -> bool:
        return not (self.create or self.update or self.delete or self.retire or self.settings)

    @property
    def size(self) -> int:
        """How many predictions it touches."""
        return len(self.create) + len(self.update) + len(self.delete) + sum(self.retire.values())

    @property
    def tasks(self) -> set[int]:
        """The tasks whose predictions it creates, changes or deletes one by one."""
        changed = {wanted.task for _, wanted in self.update} | {one.task for one in self.delete}
        return changed | {wanted.task for wanted in self.create}

    def cost(self, tasks: int) -> float:
        """In single requests, for a project with this number of tasks."""
        single = len(self.update) + len(self.delete)
        retiring = sum(1 + size / RETIRED_PER_REQUEST for size in self.retire.values())
        importable = sum(prediction.is_importable for prediction in self.create)
        creating = _cost_of_import(importable, tasks) if should_import(importable, tasks) else importable
        return single + creating + len(self.create) - importable + retiring


def should_import(predictions: int, tasks: int) -> bool:
    """Whether this many predictions are better created by one import, in a project with this number of tasks.

    An import rewrites the counters of all tasks, so that an annotation submitted meanwhile may be missing from them: a
    few predictions, as they occur while people annotate, are created one by one, which has no such effect.
    """
    return predictions >= MIN_IMPORT and _cost_of_import(predictions, tasks) < predictions


def _cost_of_import(predictions: int, tasks: int) -> float:
    return 1 + tasks / TASKS_PER_REQUEST + predictions / IMPORTED_PER_REQUEST


_sorted_json: Callable[[object], str] = json.JSONEncoder(sort_keys=True).encode  # faster than `json.dumps`


def content_digest(result: Sequence[Json], score: float | None) -> str:
    """The same for predictions that say the same in all that we write, metadata too."""
    items = [{name: item[name] for name in WRITTEN if name in item} for item in result]
    return hashlib.sha256(_sorted_json([items, rounded(score)]).encode()).hexdigest()


def labels_digest(result: Sequence[Json]) -> str:
    """The same for predictions with the same labels."""
    items = sorted(_sorted_json([item.get(name) for name in ("from_name", "value")]) for item in result)
    return hashlib.sha256(_sorted_json(items).encode()).hexdigest()


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
    ours: Collection[str] = (),
    taken: Collection[str] = (),
    may_replace: bool = True,
) -> Plan:
    """The cheapest way from what exists to all that is desired, for a project with this number of tasks.

    It may end with any existing version of ours (the one that is shown, if that is as good as another) or, if it
    `may_replace` them, with a new one that replaces them all. A replacement that was interrupted is thus completed by
    continuing it. `ours` are names of our versions, which may have more predictions than are listed here; names in
    `taken` are somebody else's.
    """
    by_version: dict[str, list[ExistingPrediction]] = {version: [] for version in ours}
    for prediction in sorted(existing, key=lambda one: one.id):
        by_version.setdefault(prediction.version, []).append(prediction)
    versions = sorted(by_version, key=lambda name: (name != shown_version, name))
    plans = [_keep_version(version, desired, by_version, may_replace) for version in versions]
    if may_replace or not plans:
        plans.append(_new_version(desired, by_version, taken))
    labels = {prediction.task: prediction.labels for prediction in existing}
    relabelled = sum(labels.get(one.task) not in (None, one.labels) for one in desired)
    return replace(min(plans, key=lambda plan: plan.cost(tasks)), relabelled=relabelled)


ByVersion = Mapping[str, Sequence[ExistingPrediction]]
Change = tuple[ExistingPrediction, DesiredPrediction]


@dataclass(frozen=True)
class Scope:
    """What a pass writes about while people work."""

    tasks: frozenset[int] | None = None  # None: all
    answers: int = 1  # that were given since all tasks had their turn


def only_urgent(plan: Plan, known: Mapping[int, StoredPrediction], answers: int = 1) -> Plan:
    """The part of a plan that is carried out while people work: answered tasks first, then labels that changed, then
    scores that moved enough to matter to somebody; at most LIVE_WRITES for each of the `answers`.

    `known` are the predictions that were written before, with the answers they are based on.
    """
    basis = {task: stored.basis for task, stored in known.items() if stored.basis}
    answered = [one for one in plan.update if basis.get(one[1].task, one[1].basis) != one[1].basis]
    tasks = {wanted.task for _, wanted in answered}
    urgent = [change for change in plan.update if change[1].task not in tasks and _is_urgent(change)]
    new = len(answered) + len(plan.create)
    room = LIVE_WRITES * max(new, answers) - new
    update = [*answered, *urgent[:room]]
    relabelled = sum(before.labels != wanted.labels for before, wanted in update)
    return replace(plan, update=update, deferred=len(plan.update) - len(update), relabelled=relabelled)


def _is_urgent(change: Change) -> bool:
    before, wanted = change
    score = before.score or 0.0
    moved, crossed = abs(score - wanted.score), (score >= SETTLED) != (wanted.score >= SETTLED)
    return before.labels != wanted.labels or moved >= SCORE_STEP or (crossed and moved >= CROSSING_STEP)


def _keep_version(version: str, desired: Sequence[DesiredPrediction], by_version: ByVersion, may_retire: bool) -> Plan:
    """Correct the predictions of one version, leave one of several on a task, and remove all other versions: as a whole
    if that is allowed, else one prediction after another."""
    on_task: dict[int, list[ExistingPrediction]] = {}
    for prediction in by_version[version]:
        on_task.setdefault(prediction.task, []).append(prediction)
    others = {name: predictions for name, predictions in by_version.items() if name != version}
    plan = Plan(version, retire={name: len(predictions) for name, predictions in others.items()} if may_retire else {})
    for wanted in desired:
        ours = on_task.pop(wanted.task, [])
        keep = next((one for one in ours if one.digest == wanted.digest), ours[0] if ours else None)
        plan.delete.extend(one for one in ours if one is not keep)
        if keep is None:
            plan.create.append(wanted)
        elif keep.digest != wanted.digest:
            plan.update.append((keep, wanted))
    plan.delete.extend(one for ours in on_task.values() for one in ours)
    if not may_retire:
        plan.delete.extend(one for predictions in others.values() for one in predictions)
    plan.update.sort(key=_importance)
    return plan


def _importance(change: Change) -> tuple[bool, float, int]:
    """Another label comes first, then the largest change of the score: people see soon what they wait for."""
    before, wanted = change
    return before.labels == wanted.labels, -abs(wanted.score - (before.score or 0.0)), wanted.task


def _new_version(desired: Sequence[DesiredPrediction], by_version: ByVersion, taken: Collection[str]) -> Plan:
    """Create everything under a version that does not exist yet, and retire all others."""
    version = next(name for name in _version_names() if name not in by_version and name not in taken)
    return Plan(version, list(desired), retire={name: len(others) for name, others in by_version.items()})


def _version_names() -> Iterator[str]:
    yield VERSION
    yield from (f"{VERSION}-{number}" for number in count(2))
