"""Carries a plan out in Label Studio by the cheapest calls for its size, and finds out what really happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..errors import NotThere, Unknown
from ..labelstudio import LabelStudio
from .plan import VERSION, Desired, Existing, Plan, digest, make_plan

BULK = 50  # from so many on, one import is cheaper than single requests
ROUNDS = 4  # how often a plan is made anew after a request broke off


@dataclass(frozen=True)
class Written:
    """What a write changed, and what Label Studio would not take."""

    created: int = 0
    updated: int = 0
    deleted: int = 0
    settings: int = 0
    refused: tuple[int, ...] = ()  # tasks whose prediction was dropped


def standing_predictions(studio: LabelStudio, project: int) -> list[Existing]:
    """Our predictions as they stand in Label Studio, found by their model version."""
    return [
        Existing(int(each["id"]), int(each["task"]), str(each["model_version"]), digest(each["result"], each["score"]))
        for each in studio.predictions(project)
        if str(each.get("model_version") or "").startswith(VERSION)
    ]


def write(
    studio: LabelStudio,
    project: int,
    desired: Sequence[Desired],
    plan: Plan,
    told: Callable[[int, int], None] | None = None,
) -> Written:
    """Makes the plan true. Creating is never repeated blindly: after a request that broke off, what stands is read
    again and the rest planned anew, so nothing is made twice."""
    created = updated = deleted = 0
    refused: set[int] = set()
    for round_ in range(ROUNDS):
        try:
            updated += _update(studio, plan, told)
            deleted += _delete(studio, plan)
            made, dropped = _create(studio, project, plan.create)
            created += made
            refused |= dropped
            break
        except Unknown:
            if round_ == ROUNDS - 1:
                raise
            before = len(plan.create)
            plan = make_plan(desired, standing_predictions(studio, project), plan.settings)
            created += max(before - len(plan.create), 0)
    shown = bool(plan.settings) and len(refused) < len(desired)  # a version without predictions cannot be shown
    if shown:
        studio.change_project(project, plan.settings)
    return Written(created, updated, deleted, len(plan.settings) if shown else 0, tuple(sorted(refused)))


def settings_to_change(facts: dict[str, Any], take_over: bool) -> tuple[dict[str, Any], str]:
    """Project settings that must change so that people see the score and are not led, and a warning if they may not.

    Both go in one request: switching prelabelling off alone would also wipe the model version.
    """
    version = str(facts.get("model_version") or "")
    if version and not version.startswith(VERSION) and not take_over:
        return {}, (
            f"The project shows the predictions of {version!r}; its score column is left to them. Use --take-over to"
            " show the consensus instead."
        )
    wanted = {"model_version": VERSION, "show_collab_predictions": False}
    if all(facts.get(name) == value for name, value in wanted.items()):
        return {}, ""
    return wanted, ""


def _create(studio: LabelStudio, project: int, wanted: Sequence[Desired]) -> tuple[int, set[int]]:
    """Creates; how many, and the tasks whose prediction was dropped."""
    if len(wanted) < BULK:
        for each in wanted:
            studio.create_prediction(_body(each))
        return len(wanted), set()
    made = studio.import_predictions(project, [_body(each) for each in wanted])
    if made == len(wanted):
        return made, set()
    there = {each.task for each in standing_predictions(studio, project)}
    return made, {each.task for each in wanted} - there


def _update(studio: LabelStudio, plan: Plan, told: Callable[[int, int], None] | None) -> int:
    done = 0
    for existing, wanted in plan.update:
        with suppress(NotThere):  # deleted meanwhile: the next pass creates it
            changes = {"result": wanted.result, "score": wanted.score, "model_version": VERSION}
            studio.change_prediction(existing.id, changes)
            done += 1
        if told is not None:
            told(done, len(plan.update))
    return done


def _delete(studio: LabelStudio, plan: Plan) -> int:
    for each in plan.delete:
        with suppress(NotThere):  # gone already is as good
            studio.delete_prediction(each.id)
    return len(plan.delete)


def _body(wanted: Desired) -> dict[str, Any]:
    return {"task": wanted.task, "result": wanted.result, "score": wanted.score, "model_version": VERSION}
