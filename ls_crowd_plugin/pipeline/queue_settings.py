"""The project's settings in Label Studio that a policy needs, and how settings are restored."""

from __future__ import annotations

from collections.abc import Mapping

from ..controls import read_config
from ..labelstudio import LabelStudio, ProjectFacts
from ..policy import Policy
from ..records import Json
from ..store import Store
from ..store.policies import get_policy
from ..store.project_settings import OF_POLICY, forget_settings, read_settings_before, remember_settings
from .context import PassContext

NUMBER = "maximum_annotations"
IN_ORDER, UNCERTAIN_FIRST = "Sequential sampling", "Uncertainty sampling"  # Label Studio's names


def prepare_queue(context: PassContext, facts: ProjectFacts) -> bool:
    """Give the project the settings that its policy needs, or those from before it where it acts no more; return
    whether anything was changed."""
    if context.flags.dry_run:
        return False
    with context.store.data.connect() as connection:
        policy = get_policy(connection, context.project)
        before = read_settings_before(connection, context.project)
    if policy is None or not policy.acts:
        return restore_queue(context.studio, context.store, context.project)
    if read_config(facts.label_config).problem is not None:
        return False
    wanted = needed_settings(policy, facts)
    changed = {NUMBER: facts.maximum_annotations, **{name: getattr(facts, name) for name in wanted}}
    unknown = {f"{OF_POLICY}{name}": value for name, value in changed.items() if f"{OF_POLICY}{name}" not in before}
    if unknown:  # the number also where it stays as it is: what tasks require will change
        with context.transaction() as connection:
            remember_settings(connection, context.project, unknown)
    _change(context.studio, context.project, wanted)
    return bool(wanted)


def needed_settings(policy: Policy, facts: ProjectFacts) -> Json:
    """The settings that are not as the policy needs them.

    Label Studio itself asks for the least number of answers, so that people can work even while the service is down.
    Uncertainty sampling serves nobody a task without a prediction while others have one, even if these are all taken;
    which tasks come first is decided by which are open.
    """
    sampling = IN_ORDER if facts.sampling == UNCERTAIN_FIRST else facts.sampling
    wanted = {NUMBER: policy.min_answers, "overlap_cohort_percentage": 100, "sampling": sampling}
    return {name: value for name, value in wanted.items() if getattr(facts, name) not in (value, None)}


def restore_queue(studio: LabelStudio, store: Store, project: int) -> bool:
    """Restore what a policy changed; return whether there was anything."""
    before = {name: value for name, value in _before(store, project).items() if name.startswith(OF_POLICY)}
    if before:
        _change(studio, project, {name.removeprefix(OF_POLICY): value for name, value in before.items()})
        with store.data.begin() as connection:
            forget_settings(connection, project, before)
    return bool(before)


def restore_settings(studio: LabelStudio, store: Store, project: int) -> Json:
    """Restore all settings that were changed and return them; what a policy changed first and by itself, because Label
    Studio may refuse the others."""
    before = _before(store, project)
    restore_queue(studio, store, project)
    others = {name: value for name, value in before.items() if not name.startswith(OF_POLICY)}
    if others:
        _change(studio, project, others)
        with store.data.begin() as connection:
            forget_settings(connection, project, others)
    return {name.removeprefix(OF_POLICY): value for name, value in before.items()}


def _before(store: Store, project: int) -> Json:
    with store.data.connect() as connection:
        before = read_settings_before(connection, project)
    if before.get("model_version", "") is None:
        before["model_version"] = ""  # Label Studio sets null when it deletes a version, but does not accept it
    return before


def _change(studio: LabelStudio, project: int, settings: Mapping[str, object]) -> None:
    """Change settings. Label Studio passes a new number of annotations on to all tasks only if none or all of them
    require more than one, so first all are made to require one."""
    steps: list[Json] = [{NUMBER: 2}, {NUMBER: 1}] if NUMBER in settings else []
    if settings:
        steps.append(dict(settings))
    for step in steps:
        studio.change_project(project, step)
