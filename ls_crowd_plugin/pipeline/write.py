"""Carries a plan out in Label Studio by the cheapest calls for its size, and finds out what really happened."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..errors import NotThere, Rejected, Unknown
from ..labelstudio import LabelStudio
from .plan import VERSION, Existing, Plan, digest, in_bulk

ROUNDS = 4  # how often a plan is made anew after a request broke off


@dataclass(frozen=True)
class Written:
    """What a write changed, and what Label Studio would not take."""

    created: int = 0
    updated: int = 0
    deleted: int = 0
    settings: int = 0
    refused: tuple[int, ...] = ()  # tasks whose prediction was dropped, or that went meanwhile


def is_ours(version: Any) -> bool:
    return str(version or "").startswith(VERSION)


def standing_predictions(studio: LabelStudio, project: int) -> list[Existing]:
    """Our predictions as they stand in Label Studio, found by their model version."""
    found = []
    for each in studio.predictions(project):
        if is_ours(each.get("model_version")):
            result = objects(each.get("result"))
            label = digest(result, each.get("score"))
            version, score = str(each["model_version"]), each.get("score")
            found.append(Existing(int(each["id"]), int(each["task"]), version, label, result, score))
    return found


def objects(result: Any) -> list[dict[str, Any]]:
    """A result as it should be; anybody may write something else under our version, which is then put right."""
    proper = isinstance(result, list) and all(isinstance(item, dict) for item in result)
    return result if proper else []


def write(
    studio: LabelStudio,
    project: int,
    plan: Plan,
    *,
    tasks: int,
    again: Callable[[Collection[int]], Plan],
    take_over: bool = False,
    may_end: Callable[[], None] = lambda: None,
    told: Callable[[int, int], None] = lambda *_: None,
) -> Written:
    """Makes the plan true, for a project with so many tasks.

    Creating is never repeated blindly: after a request that broke off, what stands is read and the rest planned anew
    with `again(tasks that went meanwhile)`, so that nothing is made twice. Between changes of single predictions
    `may_end` is called, which may raise to leave the rest to another pass.
    """
    writer = _Writer(studio, project, tasks, take_over, may_end, told)
    for left in reversed(range(ROUNDS)):
        before = writer.created
        try:
            writer.carry_out(plan)
            break
        except (Unknown, Rejected, NotThere) as error:
            wanted = {each.task for each in plan.create}
            went = set() if isinstance(error, Unknown) else wanted - studio.task_ids(project)
            if not left or not (went or isinstance(error, Unknown)):
                raise
            writer.gone |= went
            plan = again(writer.gone)
            writer.created = before + len(wanted - {each.task for each in plan.create} - writer.gone)
    refused = tuple(sorted(writer.dropped | writer.gone))
    return Written(writer.created, writer.updated, writer.deleted, writer.settings, refused)


def settings_to_change(facts: dict[str, Any], take_over: bool, version: str = VERSION) -> tuple[dict[str, Any], str]:
    """Project settings that must change so that people see the score of this version and are not led, and a warning if
    they may not.

    Both go in one request: switching prelabelling off alone would also wipe the model version.
    """
    shown = str(facts.get("model_version") or "")
    if shown and not is_ours(shown) and not take_over:
        return {}, (
            f"The project shows the predictions of {shown!r}; its score column is left to them. Use --take-over to"
            " show the consensus instead."
        )
    wanted = {"model_version": version, "show_collab_predictions": False}
    if all(facts.get(name) == value for name, value in wanted.items()):
        return {}, ""
    return wanted, ""


class _Writer:
    """Carries plans out one after another, and counts what was done."""

    def __init__(
        self,
        studio: LabelStudio,
        project: int,
        tasks: int,
        take_over: bool,
        may_end: Callable[[], None],
        told: Callable[[int, int], None],
    ) -> None:
        self._studio, self._project, self._tasks, self._told = studio, project, tasks, told
        self._take_over, self._may_end = take_over, may_end
        self.created = self.updated = self.deleted = self.settings = 0
        self.dropped: set[int] = set()
        self.gone: set[int] = set()

    def carry_out(self, plan: Plan) -> None:
        """First what is missing, then the settings that show it and lead nobody, then what is to change, and last what
        is to vanish: a pass may end among the changes."""
        self._done, self._total = 0, plan.size
        self._create(plan)
        if plan.create and not (self.created or plan.update):
            return  # nothing was taken: what stands is better than nothing, and a version without predictions not shown
        if plan.settings:
            self._set(plan.version)
        self._update(plan)
        for each in plan.delete:
            with suppress(NotThere):  # gone already is as good
                self._studio.delete_prediction(each.id)
            self.deleted += 1
            self._went_on()
        for version, size in plan.retire.items():
            self._studio.delete_version(self._project, version, size)
            self.deleted += size
            self._went_on(size)

    def _set(self, version: str) -> None:
        """Sets what is still to be set: somebody may have chosen another model to be shown since the plan was made."""
        settings, _ = settings_to_change(self._studio.project(self._project), self._take_over, version)
        if settings:
            self._studio.change_project(self._project, settings)
            self.settings = len(settings)

    def _update(self, plan: Plan) -> None:
        for existing, wanted in plan.update:
            with suppress(NotThere):  # deleted meanwhile: the next pass creates it
                changes = {"result": wanted.result, "score": wanted.score, "model_version": plan.version}
                self._studio.change_prediction(existing.id, changes)
                self.updated += 1
            self._went_on()
            self._may_end()

    def _create(self, plan: Plan) -> None:
        bodies = [
            {"task": each.task, "result": each.result, "score": each.score, "model_version": plan.version}
            for each in plan.create
        ]
        many = [body for body, each in zip(bodies, plan.create, strict=True) if each.importable]
        if not in_bulk(len(many), self._tasks):
            many = []
        imported = {body["task"] for body in many}
        for body in bodies:
            if body["task"] not in imported:
                self._studio.create_prediction(body)
                self.created += 1
                self._went_on()
        if many:
            self._import(many, plan.version)

    def _import(self, bodies: list[dict[str, Any]], version: str) -> None:
        made = self._studio.import_predictions(self._project, bodies)
        self.created += made
        self._went_on(len(bodies))
        if made < len(bodies):
            standing = standing_predictions(self._studio, self._project)
            self.dropped = {body["task"] for body in bodies} - {
                each.task for each in standing if each.version == version
            }

    def _went_on(self, by: int = 1) -> None:
        self._done += by
        self._told(self._done, self._total)
