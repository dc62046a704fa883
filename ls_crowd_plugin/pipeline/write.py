"""Carries a plan out in Label Studio by calls that suit the pace, and finds out what really happened."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from ..errors import EndPass, Interrupted, LabelStudioError, NotFound, Rejected
from ..labelstudio import ProjectFacts
from ..records import Json
from ..store.predictions import StoredPrediction
from .context import Pace, PassContext
from .counters import note_change
from .existing import existing_predictions
from .plan import DesiredPrediction, Plan, should_import


@dataclass(frozen=True)
class Written:
    """What was written. Creation is never repeated blindly: if it is interrupted, the rest has to be planned again."""

    created: int = 0
    updated: int = 0
    deleted: int = 0
    settings: int = 0
    stored: dict[int, StoredPrediction | None] = field(default_factory=dict)  # task → what it has now
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
            stored={**self.stored, **later.stored},
            refused=self.refused | later.refused,
        )

    def with_missing(self, missing: Collection[int]) -> Written:
        """After an interruption, when it is known which of the unclear tasks still lack their prediction."""
        created = self.unclear - frozenset(missing) - self.tasks_gone
        return replace(self, created=self.created + len(created), unclear=frozenset())


def settings_to_change(facts: ProjectFacts, take_over: bool, version: str, ours: Collection[str]) -> tuple[Json, str]:
    """Project settings to change so that people see the scores of this version and are not prelabelled from it, and a
    warning if they must not be changed. `ours` are the versions that we wrote.

    Both settings go into one request: switching prelabelling off alone would also clear the model version.
    """
    if facts.model_version and facts.model_version not in (version, *ours) and not take_over:
        return {}, (
            f"The project shows the predictions of {facts.model_version!r}, so its score column is left to them. Use"
            " --take-over to show the consensus instead."
        )
    if facts.model_version == version and facts.show_collab_predictions is False:
        return {}, ""
    return {"model_version": version, "show_collab_predictions": False}, ""


def write(
    context: PassContext, plan: Plan, facts: ProjectFacts, ours: Collection[str], *, created_before: int = 0
) -> Written:
    """Carry out a plan in a project, where `ours` are the versions that we wrote.

    `created_before` counts what earlier plans of this pass created.
    """
    writer = _Writer(context, plan, facts, ours, created_before)
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

    def __init__(
        self, context: PassContext, plan: Plan, facts: ProjectFacts, ours: Collection[str], created_before: int
    ) -> None:
        self._context, self._studio, self._plan = context, context.studio, plan
        self._facts, self._ours, self._created_before = facts, ours, created_before
        self._progress = context.progress("write")
        self._touched = 0
        self._pause = 0.0  # seconds before the next request
        self._created = self._updated = self._deleted = self._settings = 0
        self._stored: dict[int, StoredPrediction | None] = {}
        self._dropped: frozenset[int] = frozenset()

    def written(self, error: LabelStudioError | None = None, ended_by: EndPass | None = None) -> Written:
        return Written(
            self._created,
            self._updated,
            self._deleted,
            self._settings,
            self._stored,
            refused=self._dropped,
            error=error,
            ended_by=ended_by,
        )

    def run(self) -> None:
        """First create what is missing, then change the settings that show it, then update, and last delete: a pass may
        end early as long as the next one can do the rest."""
        plan = self._plan
        self._report(0)
        self._create()
        if plan.create and not (self._created or self._created_before or plan.update):
            return  # nothing was accepted: keep what exists, and do not show a version without predictions
        if plan.settings:
            self._change_settings()
        self._update()
        for prediction in plan.delete:
            with self._single(), suppress(NotFound):  # already deleted
                self._studio.delete_prediction(prediction.id)
            if prediction.version == plan.version and prediction.task not in self._stored:
                self._stored[prediction.task] = None
            self._deleted += 1
        for version, size in plan.retire.items():
            self._studio.delete_version(self._context.project, version, size)
            self._deleted += size
            self._report(size)

    @contextmanager
    def _single(self) -> Iterator[None]:
        """One request, which waits in proportion to the time that the one before it took."""
        time.sleep(self._pause)
        started = time.monotonic()
        yield
        self._pause = self._context.pause_after(time.monotonic() - started)
        self._report()
        self._context.checkpoint(rest_can_wait=True)

    def _change_settings(self) -> None:
        """Change what still has to be changed: somebody may have chosen another model since the plan was made."""
        facts = self._studio.project(self._context.project)
        settings, _ = settings_to_change(facts, self._context.flags.take_over, self._plan.version, self._ours)
        if settings:
            self._studio.change_project(self._context.project, settings)
            self._settings = len(settings)

    def _update(self) -> None:
        for existing, wanted in self._plan.update:
            with self._single(), suppress(NotFound):  # deleted meanwhile: the next pass creates it
                changes = {"result": wanted.result, "score": wanted.score, "model_version": self._plan.version}
                self._studio.change_prediction(existing.id, changes)
                self._stored[wanted.task] = wanted.stored(existing.id)
                self._updated += 1

    def _create(self) -> None:
        importable = [prediction for prediction in self._plan.create if prediction.is_importable]
        imported = set()
        if self._may_import() and should_import(len(importable), self._facts.task_number):
            imported = {one.task for one in importable}
        for one in self._plan.create:
            if one.task not in imported:
                self._create_one(one)
        if imported:
            self._import([one for one in importable if one.task in imported])

    def _may_import(self) -> bool:
        """An import keeps Label Studio busy, so while people work there is one only for the first predictions."""
        return self._context.flags.pace is Pace.AT_ONCE or not (self._plan.update or self._ours)

    def _create_one(self, wanted: DesiredPrediction) -> None:
        with self._single():
            created = self._studio.create_prediction(self._body(wanted))
            self._stored[wanted.task] = wanted.stored(created)
            self._created += 1

    def _import(self, wanted: list[DesiredPrediction]) -> None:
        project = self._context.project
        note_change(self._context)
        created = self._studio.import_predictions(project, [self._body(one) for one in wanted])
        self._created += created
        self._report(len(wanted))
        if created < len(wanted):
            predictions, hidden = existing_predictions(self._studio, project, {self._plan.version})
            self._dropped = frozenset(one.task for one in wanted) - {one.task for one in predictions} - hidden
        self._stored |= {one.task: one.stored(None) for one in wanted if one.task not in self._dropped}

    def _body(self, wanted: DesiredPrediction) -> Json:
        return {
            "task": wanted.task,
            "result": wanted.result,
            "score": wanted.score,
            "model_version": self._plan.version,
        }

    def _report(self, touched: int = 1) -> None:
        self._touched += touched
        self._progress(self._touched, self._plan.size)
