"""The project's settings in Label Studio that a policy needs, and how they are restored."""

from __future__ import annotations

from collections.abc import Collection

from ..labelstudio import LabelStudio, ProjectFacts
from ..policy import Policy
from ..records import Json
from ..store import Store
from ..store.policies import get_policy
from ..store.project_settings import forget_settings, read_settings_before, remember_settings
from .context import PassContext

QUEUE = ("maximum_annotations", "overlap_cohort_percentage", "sampling")
IN_ORDER, UNCERTAIN_FIRST = "Sequential sampling", "Uncertainty sampling"  # Label Studio's names


def prepare_queue(context: PassContext, facts: ProjectFacts) -> bool:
    """Give the project the settings that its policy needs, or those from before it where it acts no more; return
    whether anything was changed."""
    if context.flags.dry_run:
        return False
    before = settings_before(context.store, context.project, QUEUE)
    with context.store.data.connect() as connection:
        policy = get_policy(connection, context.project)
    if policy is None or not policy.acts:
        is_changed = QUEUE[0] in before
        if is_changed:
            restore_settings(context.studio, context.store, context.project, before)
        return is_changed
    wanted = needed_settings(policy, facts)
    if QUEUE[0] not in before:  # also where nothing has to be changed: tasks will be
        with context.transaction() as connection:
            remember_settings(connection, context.project, {name: getattr(facts, name) for name in QUEUE})
    if wanted:
        context.studio.change_project(context.project, wanted)
    return bool(wanted)


def settings_before(store: Store, project: int, only: Collection[str] | None = None) -> Json:
    """The settings that were changed, or some of them, as they were before."""
    with store.data.connect() as connection:
        before = read_settings_before(connection, project)
    if before.get("model_version", "") is None:
        before["model_version"] = ""  # Label Studio sets null when it deletes a version, but does not accept it
    return {name: value for name, value in before.items() if only is None or name in only}


def restore_settings(studio: LabelStudio, store: Store, project: int, before: Json) -> None:
    """Give settings the values from before.

    Label Studio passes a new number of annotations on to all tasks only if none or all of them require more than one,
    so first all are made to require one.
    """
    steps: list[Json] = []
    if "maximum_annotations" in before:
        steps = [{"maximum_annotations": 2}, {"maximum_annotations": 1}]
    for step in (*steps, before):
        studio.change_project(project, step)
    with store.data.begin() as connection:
        forget_settings(connection, project, before)


def needed_settings(policy: Policy, facts: ProjectFacts) -> Json:
    """The settings that are not as the policy needs them.

    Label Studio itself asks for the least number of answers, so that people can work even while the service is down.
    Uncertainty sampling serves nobody a task without a prediction while others have one, even if these are all taken;
    which tasks come first is decided by which are open.
    """
    sampling = IN_ORDER if facts.sampling == UNCERTAIN_FIRST else facts.sampling
    wanted = {"maximum_annotations": policy.min_answers, "overlap_cohort_percentage": 100, "sampling": sampling}
    return {name: value for name, value in wanted.items() if getattr(facts, name) not in (value, None)}
