"""Connects a project in Label Studio: a webhook, tabs for reviewing, if asked for an order of tasks; and undoes it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine

from ..controls import read_config
from ..errors import LabelStudioError, NotAllowed, Rejected
from ..labelstudio import LabelStudio
from ..settings import SECRET_HEADER
from ..store import WorkList, passes
from ..store.found import SETTLED
from .meta import remove_from_tasks
from .write import is_ours

UNCERTAIN_FIRST = "Uncertainty sampling"  # by ascending score, in Label Studio's own words
LABEL_TAB = "Consensus: "
MOST_LABEL_TABS = 6
_HIDDEN = [
    f"tasks:{name}"
    for name in (
        "predictions_results",
        "annotations_results",
        "annotations_ids",
        "file_upload",
        "storage_filename",
        "created_at",
        "updated_at",
        "updated_by",
        "avg_lead_time",
        "draft_exists",
    )
]


@dataclass
class Connected:
    """What was done, each thing a sentence, and what could not be."""

    done: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


def connect(
    studio: LabelStudio,
    engine: Engine,
    work: WorkList,
    project: int,
    *,
    address: str,
    secret: str,
    uncertain_first: bool = False,
) -> Connected:
    """Makes what is missing and leaves what is right, so that it may be done again and again."""
    facts = studio.project(project)
    found = Connected()
    _connect_webhook(studio, project, f"{address}/webhook/{project}", secret, found)
    _connect_tabs(studio, project, {**TABS, **_label_tabs(str(facts["label_config"]))}, found)
    if uncertain_first and facts.get("sampling") != UNCERTAIN_FIRST:
        with engine.begin() as connection:
            passes.remember_settings(connection, project, facts, {"sampling": UNCERTAIN_FIRST})
        studio.change_project(project, {"sampling": UNCERTAIN_FIRST})
        found.done.append("Label Studio's queue serves the least certain tasks first.")
    work.want(project)
    found.done.append("It is on the work list.")
    return found


def disconnect(
    studio: LabelStudio, engine: Engine, work: WorkList, project: int, *, address: str, purge: bool = False
) -> Connected:
    """Removes webhook and tabs, and puts the settings back; with `purge` predictions and metadata go, too."""
    found = Connected()
    for hook in _hooks(studio, project, f"{address}/webhook"):
        studio.delete_webhook(int(hook["id"]))
        found.done.append(f"The webhook to {hook['url']} is gone.")
    for tab in studio.tabs(project):
        if _title(tab) in TABS or _title(tab).startswith(LABEL_TAB):
            studio.delete_tab(int(tab["id"]))
            found.done.append(f"The tab {_title(tab)!r} is gone.")
    _restore(studio, engine, project, found)
    if purge:
        for version, size in studio.versions(project).items():
            if is_ours(version):
                studio.delete_version(project, version, size)
                found.done.append(f"{size} predictions of {version!r} are gone.")
        found.done.append(f"The metadata of {remove_from_tasks(studio, engine, project)} tasks are gone.")
        with engine.begin() as connection:
            passes.forget(connection, project)
    work.forget(project)
    found.done.append("It is off the work list.")
    return found


def _connect_webhook(studio: LabelStudio, project: int, url: str, secret: str, found: Connected) -> None:
    wanted = {
        "url": url,
        "headers": {SECRET_HEADER: secret},
        "send_payload": False,  # the project is in the address, and a payload costs annotators time
        "send_for_all_actions": True,
        "is_active": True,
    }
    hooks = _hooks(studio, project, url)
    if hooks and all(hooks[0].get(name) == value for name, value in wanted.items()):
        found.done.append(f"The webhook to {url} is there.")
        return
    try:
        if hooks:
            studio.change_webhook(int(hooks[0]["id"]), wanted)
        else:
            studio.create_webhook({**wanted, "project": project})
    except NotAllowed as error:
        found.troubles.append(
            f"Label Studio does not call {url}: it refuses private addresses unless it runs with"
            f" SSRF_PROTECTION_ENABLED=false. Until then polling looks after the project. ({error})"
        )
    except Rejected as error:
        found.troubles.append(
            f"Label Studio does not take {url}: it wants a host with a dot in its name; set LS_CROWD_PUBLIC_URL."
            f" Until then polling looks after the project. ({error})"
        )
    else:
        found.done.append(f"The webhook to {url} is made.")


def _connect_tabs(studio: LabelStudio, project: int, tabs: dict[str, dict[str, Any]], found: Connected) -> None:
    there = {_title(tab) for tab in studio.tabs(project)}
    if not there:  # the first tab made by a program would take the place of the one people expect
        studio.create_tab(project, {"title": "Default", "type": "list", "target": "tasks"})
    for title, body in tabs.items():
        if title not in there:
            studio.create_tab(project, {"title": title, "type": "list", "target": "tasks", **body})
            found.done.append(f"The tab {title!r} is made.")


def _filter(name: str, operator: str, kind: str, value: Any) -> dict[str, Any]:
    item = {"filter": f"filter:tasks:{name}", "operator": operator, "type": kind, "value": value}
    return {"filters": {"conjunction": "and", "items": [item]}}


_COLUMNS = {"hiddenColumns": {"explore": _HIDDEN, "labeling": []}}
TABS: dict[str, dict[str, Any]] = {
    "Least sure first": {"ordering": ["tasks:predictions_score"], **_COLUMNS},
    "Disputed by trusted annotators": {
        "ordering": ["tasks:predictions_score"],
        **_filter("predictions_results", "contains", "String", '"disputed": true'),
        **_COLUMNS,
    },
    "Settled": {
        "ordering": ["-tasks:predictions_score"],
        **_filter("predictions_score", "greater_or_equal", "Number", SETTLED),
        **_COLUMNS,
    },
}


def _label_tabs(label_config: str) -> dict[str, dict[str, Any]]:
    """One for each label, where the project asks one question with few of them; found by how results are stored, which
    is plain for plain letters only."""
    questions = read_config(label_config).questions
    if len(questions) != 1 or len(questions[0].labels) > MOST_LABEL_TABS:
        return {}
    return {
        f"{LABEL_TAB}{label}": {
            "ordering": ["tasks:predictions_score"],
            **_filter("predictions_results", "contains", "String", json.dumps([label])),
            **_COLUMNS,
        }
        for label in questions[0].labels
        if label.isascii()
    }


def _hooks(studio: LabelStudio, project: int, url: str) -> list[dict[str, Any]]:
    return [each for each in studio.webhooks(project) if str(each.get("url", "")).startswith(url)]


def _title(tab: dict[str, Any]) -> str:
    return str((tab.get("data") or {}).get("title") or "")


def _restore(studio: LabelStudio, engine: Engine, project: int, found: Connected) -> None:
    with engine.connect() as connection:
        before = {name: json.loads(value) for name, value in passes.settings_before(connection, project).items()}
    if not before:
        return
    try:
        studio.change_project(project, before)
    except LabelStudioError as error:
        found.troubles.append(f"The settings could not be put back to {before}: {error}")
        return
    with engine.begin() as connection:
        passes.forget_settings(connection, project)
    found.done.append(f"Settings are as they were: {', '.join(before)}.")
