"""Connects a project in Label Studio: webhook, review tabs and, if asked for, the order of tasks; and undoes it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..controls import read_config
from ..errors import LabelStudioError, NotAllowed, Rejected, UnusableInput
from ..labelstudio import LabelStudio, ProjectFacts
from ..policy import Policy
from ..records import Json, address_shown
from ..settings import SECRET_HEADER
from ..store import Store, queue
from ..store.forget import forget_written
from ..store.policies import forget_policy, get_policy, save_policy
from ..store.predictions import forget_tab, read_tabs, remember_tab
from ..store.project_settings import read_settings_before, remember_settings
from .existing import our_versions
from .queue_settings import UNCERTAIN_FIRST, restore_settings
from .review_tabs import is_as_made, review_tabs, tab_title
from .task_meta import remove_task_meta


@dataclass
class Changes:
    """What was done and what could not be done, each a sentence."""

    done: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def connect(
    studio: LabelStudio,
    store: Store,
    project: int,
    *,
    address: str,
    secret: str,
    uncertain_first: bool = False,
    policy: Policy | None = None,
) -> Changes:
    """Create what is missing and leave what is right, so that it can be repeated; a `policy` replaces the last one."""
    if policy is not None and policy.problem is not None:
        raise UnusableInput(policy.problem)
    if uncertain_first:
        with store.data.connect() as connection:
            acting = policy or get_policy(connection, project)
        if acting is not None and acting.acts:
            raise UnusableInput(
                f"The policy of project {project} decides which tasks come first; end it with"
                f" 'ls-crowd connect {project} --no-adaptive' before you use --uncertain-first."
            )
    facts = studio.project(project)
    problem = read_config(facts.label_config).problem
    if problem is not None:
        raise UnusableInput(f"Project {project} was not connected: it {problem}.")
    changes = Changes()
    _connect_webhook(studio, project, f"{address}/webhook/{project}", secret, changes)
    _connect_tabs(studio, store, facts, changes)
    if uncertain_first and facts.sampling != UNCERTAIN_FIRST:
        with store.data.begin() as connection:
            remember_settings(connection, project, {"sampling": facts.sampling})
        studio.change_project(project, {"sampling": UNCERTAIN_FIRST})
        changes.done.append("Label Studio's queue serves the least confident tasks first.")
    if policy is not None:
        with store.data.begin() as connection:
            save_policy(connection, project, policy)
        changes.done.append(policy.sentence)
    with store.work.begin() as connection:
        queue.enqueue(connection, project)
    changes.done.append("The project is monitored.")
    return changes


def disconnect(studio: LabelStudio, store: Store, project: int, *, address: str, purge: bool = False) -> Changes:
    """Remove webhook and tabs and restore the settings; with `purge` also remove predictions and metadata."""
    changes = Changes()
    for webhook in _webhooks_to(studio, project, f"{address}/webhook"):
        studio.delete_webhook(int(webhook["id"]))
        changes.done.append(f"Removed the webhook to {address_shown(str(webhook['url']))}.")
    _disconnect_tabs(studio, store, project, changes)
    with store.data.begin() as connection:
        forget_policy(connection, project)
    _restore_settings(studio, store, project, changes)
    if purge:
        for version, size in our_versions(studio, store, project)[0].items():
            studio.delete_version(project, version, size)
            changes.done.append(f"Removed {size} predictions of {version!r}.")
        changes.done.append(f"Removed the metadata of {remove_task_meta(studio, store, project)} tasks.")
        with store.data.begin() as connection:
            forget_written(connection, project)
    with store.work.begin() as connection:
        queue.remove(connection, project)
    changes.done.append("The project is no longer monitored.")
    return changes


def _connect_webhook(studio: LabelStudio, project: int, url: str, secret: str, changes: Changes) -> None:
    wanted: Json = {
        "url": url,
        "headers": {SECRET_HEADER: secret},
        "send_payload": False,  # the address names the project, and a payload costs annotators time
        "send_for_all_actions": True,
        "is_active": True,
    }
    existing, shown = _webhooks_to(studio, project, url), address_shown(url)
    if existing and all(existing[0].get(name) == value for name, value in wanted.items()):
        changes.done.append(f"The webhook to {shown} exists.")
        return
    try:
        if existing:
            studio.change_webhook(int(existing[0]["id"]), wanted)
            done = f"Repaired the webhook to {shown}."
        else:
            studio.create_webhook({**wanted, "project": project})
            done = f"Created the webhook to {shown}."
    except NotAllowed as error:
        changes.problems.append(
            f"Label Studio will not call {shown}: it refuses private addresses unless it runs with"
            f" SSRF_PROTECTION_ENABLED=false. Until then polling finds the project's changes. ({error})"
        )
    except Rejected as error:
        changes.problems.append(
            f"Label Studio does not accept {shown}: it requires a host name with a dot in it; set LS_CROWD_PUBLIC_URL."
            f" Until then polling finds the project's changes. ({error})"
        )
    else:
        changes.done.append(done)


def _connect_tabs(studio: LabelStudio, store: Store, facts: ProjectFacts, changes: Changes) -> None:
    existing = {tab_title(tab) for tab in studio.tabs(facts.id)}
    if not existing:  # the first tab created through the API would replace the one people expect
        studio.create_tab(facts.id, {"title": "Default", "type": "list", "target": "tasks"})
    for title, body in review_tabs(read_config(facts.label_config)).items():
        if title not in existing:
            tab = studio.create_tab(facts.id, {"title": title, "type": "list", "target": "tasks", **body})
            with store.data.begin() as connection:
                remember_tab(connection, facts.id, tab)
            changes.done.append(f"Created the tab {title!r}.")


def _disconnect_tabs(studio: LabelStudio, store: Store, project: int, changes: Changes) -> None:
    """Remove the tabs that we made: those remembered, and those exactly as we make them, which an earlier database may
    have remembered. A tab of people's own stays, whatever its title."""
    with store.data.connect() as connection:
        ours = read_tabs(connection, project)
    for tab in studio.tabs(project):
        number = int(tab["id"])
        if number in ours or is_as_made(tab):
            studio.delete_tab(number)
            changes.done.append(f"Removed the tab {tab_title(tab)!r}.")
    with store.data.begin() as connection:
        for number in ours:
            forget_tab(connection, project, number)


def _webhooks_to(studio: LabelStudio, project: int, url: str) -> list[Json]:
    return [webhook for webhook in studio.webhooks(project) if str(webhook.get("url", "")).startswith(url)]


def _restore_settings(studio: LabelStudio, store: Store, project: int, changes: Changes) -> None:
    try:
        restored = restore_settings(studio, store, project)
    except LabelStudioError as error:
        with store.data.connect() as connection:
            left = read_settings_before(connection, project)
        changes.problems.append(f"The settings could not be restored to {left}: {error}")
        return
    if restored:
        changes.done.append(f"Restored the settings {', '.join(restored)}.")
