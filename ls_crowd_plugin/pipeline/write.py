"""Carries a plan out in Label Studio by the cheapest calls for its size, and finds out what really happened."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from ..errors import EndPass, Interrupted, LabelStudioError, NotFound, Rejected
from ..labelstudio import LabelStudio, ProjectFacts
from ..records import Json
from .context import PassContext
from .plan import VERSION, ExistingPrediction, Plan, is_ours, should_import


@dataclass(frozen=True)
class Written:
    """What was written. Creation is never repeated blindly: if it is interrupted, the rest has to be planned again."""

    created: int = 0
    updated: int = 0
    deleted: int = 0
    settings: int = 0
    refused: frozenset[int] = frozenset()  # tasks whose prediction Label Studio dropped, or that are gone
    tasks_gone: frozenset[int] = frozenset()
    unclear: frozenset[int] = frozenset()  # tasks that may or may not have got their prediction
    error: LabelStudioError | None = None  # why the plan was not carried out to its end
    ended_by: EndPass | None = None  # the checkpoint that left the rest to the next pass

    @property
    def needs_new_plan(self) -> bool:
        return bool(self.tasks_gone) or isinstance(self.error, Interrupted)

    def followed_by(self, later: Written) -> Written:
        """The sum of two writes, of which the second decides whether there is something left to do."""
        return replace(
            later,
            created=self.created + later.created,
            updated=self.updated + later.updated,
            deleted=self.deleted + later.deleted,
            settings=self.settings or later.settings,
            refused=self.refused | later.refused,
        )

    def with_missing(self, missing: Collection[int]) -> Written:
        """After an interruption, when it is known which of the unclear tasks still lack their prediction."""
        created = self.unclear - frozenset(missing) - self.tasks_gone
        return replace(self, created=self.created + len(created), unclear=frozenset())


def existing_predictions(studio: LabelStudio, project: int) -> list[ExistingPrediction]:
    """Our predictions in Label Studio, recognised by their model version."""
    predictions = studio.predictions(project)
    return [ExistingPrediction.of(one) for one in predictions if is_ours(one.model_version)]


def existing_versions(studio: LabelStudio, project: int) -> dict[str, int]:
    """Our model versions in Label Studio → how many predictions each has."""
    return {version: size for version, size in studio.versions(project).items() if is_ours(version)}


def settings_to_change(facts: ProjectFacts, take_over: bool, version: str = VERSION) -> tuple[Json, str]:
    """Project settings to change so that people see the scores of this version and are not prelabelled from it, and a
    warning if they must not be changed.

    Both settings go into one request: switching prelabelling off alone would also clear the model version.
    """
    if facts.model_version and not is_ours(facts.model_version) and not take_over:
        return {}, (
            f"The project shows the predictions of {facts.model_version!r}, so its score column is left to them. Use"
            " --take-over to show the consensus instead."
        )
    if facts.model_version == version and facts.show_collab_predictions is False:
        return {}, ""
    return {"model_version": version, "show_collab_predictions": False}, ""


def write(context: PassContext, plan: Plan, tasks: int, *, created_before: int = 0) -> Written:
    """Carry out a plan in a project with this number of tasks.

    `created_before` counts what earlier plans of this pass created.
    """
    writer = _Writer(context, plan, tasks, created_before)
    try:
        writer.run()
    except EndPass as end:
        return writer.written(ended_by=end)
    except (Interrupted, Rejected, NotFound) as error:
        wanted = frozenset(prediction.task for prediction in plan.create)
        if isinstance(error, Interrupted):
            return replace(writer.written(error=error), created=0, unclear=wanted)
        gone = wanted - context.studio.task_ids(context.project)
        written = writer.written(error=error)
        return replace(written, created=0, unclear=wanted, tasks_gone=gone, refused=written.refused | gone)
    return writer.written()


class _Writer:
    """Carries out one plan, and counts what was done."""

    def __init__(self, context: PassContext, plan: Plan, tasks: int, created_before: int) -> None:
        self._context, self._studio, self._plan = context, context.studio, plan
        self._tasks, self._created_before = tasks, created_before
        self._progress = context.progress("write")
        self._touched = 0
        self._created = self._updated = self._deleted = self._settings = 0
        self._dropped: frozenset[int] = frozenset()

    def written(self, error: LabelStudioError | None = None, ended_by: EndPass | None = None) -> Written:
        return Written(
            self._created,
            self._updated,
            self._deleted,
            self._settings,
            refused=self._dropped,
            error=error,
            ended_by=ended_by,
        )

    def run(self) -> None:
        """First create what is missing, then change the settings that show it, then update, and last delete: a pass may
        end during the updates."""
        plan = self._plan
        self._report(0)
        self._create()
        if plan.create and not (self._created or self._created_before or plan.update):
            return  # nothing was accepted: keep what exists, and do not show a version without predictions
        if plan.settings:
            self._change_settings()
        self._update()
        for prediction in plan.delete:
            with suppress(NotFound):  # already deleted
                self._studio.delete_prediction(prediction.id)
            self._deleted += 1
            self._report()
        for version, size in plan.retire.items():
            self._studio.delete_version(self._context.project, version, size)
            self._deleted += size
            self._report(size)

    def _change_settings(self) -> None:
        """Change what still has to be changed: somebody may have chosen another model since the plan was made."""
        facts = self._studio.project(self._context.project)
        settings, _ = settings_to_change(facts, self._context.flags.take_over, self._plan.version)
        if settings:
            self._studio.change_project(self._context.project, settings)
            self._settings = len(settings)

    def _update(self) -> None:
        for existing, wanted in self._plan.update:
            with suppress(NotFound):  # deleted meanwhile: the next pass creates it
                changes = {"result": wanted.result, "score": wanted.score, "model_version": self._plan.version}
                self._studio.change_prediction(existing.id, changes)
                self._updated += 1
            self._report()
            self._context.checkpoint(rest_can_wait=True)

    def _create(self) -> None:
        importable = [prediction for prediction in self._plan.create if prediction.is_importable]
        imported = {one.task for one in importable} if should_import(len(importable), self._tasks) else set()
        bodies = [
            {"task": one.task, "result": one.result, "score": one.score, "model_version": self._plan.version}
            for one in self._plan.create
        ]
        for body in bodies:
            if body["task"] not in imported:
                self._studio.create_prediction(body)
                self._created += 1
                self._report()
        if imported:
            self._import([body for body in bodies if body["task"] in imported])

    def _import(self, bodies: list[Json]) -> None:
        project = self._context.project
        created = self._studio.import_predictions(project, bodies)
        self._created += created
        self._report(len(bodies))
        if created < len(bodies):
            predictions = existing_predictions(self._studio, project)
            self._dropped = _tasks(bodies) - {one.task for one in predictions if one.version == self._plan.version}

    def _report(self, touched: int = 1) -> None:
        self._touched += touched
        self._progress(self._touched, self._plan.size)


def _tasks(bodies: Iterable[Json]) -> frozenset[int]:
    return frozenset(int(body["task"]) for body in bodies)
