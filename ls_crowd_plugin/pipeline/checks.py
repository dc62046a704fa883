"""Every reason why nothing happens, looked for one by one; each finding is a sentence, a bad one with the cure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from ..controls import read_config
from ..errors import CrowdError, LabelStudioError, NotAllowed
from ..labelstudio import LabelStudio
from ..settings import SECRET_HEADER, Settings
from ..store import Mirror, WorkList, passes
from ..store.gold import list_gold
from ..store.secrets import known_secret
from .crowd import crowd_of
from .write import is_ours, settings_to_change

GOOD, NOTE, BAD = "ok", "note", "bad"
NEEDED_ACTIONS = {"ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED", "TASKS_CREATED", "TASKS_DELETED"}


@dataclass(frozen=True)
class Finding:
    kind: str  # ok, note, bad
    sentence: str


def check_everything(
    settings: Settings, studio: LabelStudio, engine: Engine, work: WorkList, project: int | None
) -> Iterator[Finding]:
    """From the outside in: Label Studio, the service, then one project, as far as one can look."""
    try:
        version = str(studio.http.get("/api/version").get("release", "unknown"))
        yield Finding(GOOD, f"Label Studio {version} answers at {settings.url_shown}.")
        seen = studio.projects()
        yield Finding(GOOD, f"The key is taken, and may see {len(seen)} project(s).")
        if not seen:
            yield Finding(BAD, "The key's user sees no project; use the key of a member of the organisation.")
    except NotAllowed as error:
        yield Finding(BAD, str(error))
        return
    except LabelStudioError as error:
        yield Finding(BAD, f"{error} Check LABEL_STUDIO_URL, and that Label Studio runs.")
        return
    yield from _address(settings.public_url)
    yield from _workers(work)
    if project is None:
        yield from _all_projects(work)
    else:
        yield from check_project(settings, studio, engine, work, project)


def check_project(
    settings: Settings, studio: LabelStudio, engine: Engine, work: WorkList, project: int
) -> Iterator[Finding]:
    try:
        facts = studio.project(project)
        config = read_config(str(facts["label_config"]))
    except CrowdError as error:
        yield Finding(BAD, str(error))
        return
    yield Finding(GOOD, f"Project {project} is there: {facts['title']!r} with {facts['task_number']} tasks.")
    yield from _controls(config)
    secret = settings.webhook_secret or known_secret(engine, "webhook secret")
    yield from _webhooks(settings, studio, work, secret, project)
    yield from _standing(studio, facts)
    yield from _list(work, project)
    with engine.connect() as connection:
        mirror = Mirror(connection, project)
        annotations, gold, known = mirror.annotations(), list_gold(connection, project), mirror.known()
        last = passes.last_pass(connection, project)
    crowd = crowd_of(config, annotations, gold, settings.experts, known, settings.overlap)
    yield from _crowd(crowd, facts)
    if last is None:
        yield Finding(NOTE, "No pass over it has ended well yet; run 'ls-crowd sync' to see one.")


def _address(public_url: str) -> Iterator[Finding]:
    """Whether Label Studio would accept the service's address for a webhook."""
    host = urlsplit(public_url).hostname or ""
    address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        address = None
        if "." not in host:
            yield Finding(
                BAD,
                f"Label Studio refuses the one-word host {host!r} in webhooks; give the service a name with a dot in it"
                " and set LS_CROWD_PUBLIC_URL.",
            )
    if address is not None and not address.is_global:
        yield Finding(
            NOTE,
            f"{host} is a private address: Label Studio calls it only with SSRF_PROTECTION_ENABLED=false in its own"
            " environment. Without that, polling does the work.",
        )


def _workers(work: WorkList) -> Iterator[Finding]:
    try:
        workers = work.workers()
    except SQLAlchemyError as error:
        yield Finding(BAD, f"The work list cannot be read ({type(error).__name__}); check LS_CROWD_DATABASE_URL.")
        return
    if not workers:
        yield Finding(NOTE, "No worker is alive; 'ls-crowd serve' starts one. 'ls-crowd sync' works without.")
    for name, trouble in workers.items():
        yield Finding(BAD, f"Worker {name}: {trouble}") if trouble else Finding(GOOD, f"Worker {name} is alive.")


def _all_projects(work: WorkList) -> Iterator[Finding]:
    rows = work.rows()
    if not rows:
        yield Finding(NOTE, "No project is looked after: add a webhook, or name projects in LS_CROWD_PROJECTS.")
    for row in rows:
        if row.error:
            yield Finding(BAD, f"Project {row.project}: {row.error}")
        else:
            yield Finding(GOOD, f"Project {row.project} is looked after.")


def _controls(config: Any) -> Iterator[Finding]:
    names = [control.name for control in (*config.controls, *config.regions)]
    if names:
        yield Finding(GOOD, f"Aggregated are: {', '.join(names)}.")
    else:
        yield Finding(BAD, "It has no control that can be aggregated.")
    for each in config.left_out:
        yield Finding(NOTE, f"{each.name} ({each.tag}) is left out: {each.reason}.")


def _webhooks(
    settings: Settings, studio: LabelStudio, work: WorkList, secret: str | None, project: int
) -> Iterator[Finding]:
    try:
        hooks = [each for each in studio.webhooks(project) if str(each.get("url", "")).startswith(settings.public_url)]
    except LabelStudioError as error:
        yield Finding(NOTE, f"Its webhooks cannot be listed: {error}")
        return
    if not hooks:
        named = settings.all_projects or project in settings.projects or project in work.snapshots()
        how = "polling looks after it" if named else "add one, or name the project in LS_CROWD_PROJECTS"
        yield Finding(NOTE if named else BAD, f"It has no webhook to {settings.public_url}: {how}.")
    for hook in hooks:
        wrong = _wrong_with(hook, project, secret)
        if wrong:
            yield Finding(BAD, f"The webhook to {hook['url']} {wrong}; 'ls-crowd connect {project}' puts it right.")
        else:
            yield Finding(GOOD, f"Its webhook to {hook['url']} is in order.")


def _wrong_with(hook: dict[str, Any], project: int, secret: str | None) -> str:
    """What keeps a webhook from working, if anything does."""
    path = urlsplit(str(hook["url"])).path.rstrip("/")
    headers = {str(name).lower(): value for name, value in (hook.get("headers") or {}).items()}
    actions = set(hook.get("actions") or ())
    if not hook.get("is_active"):
        return "is switched off"
    if not hook.get("send_for_all_actions") and not actions >= NEEDED_ACTIONS:
        return f"is not told of {', '.join(sorted(NEEDED_ACTIONS - actions))}"
    if path not in ("/webhook", f"/webhook/{project}"):
        return f"has an address that is not /webhook/{project}"
    if path == "/webhook" and not hook.get("send_payload"):
        return "sends no payload, and its address does not name the project"
    if SECRET_HEADER.lower() not in headers:
        return f"brings no header {SECRET_HEADER}"
    if secret is not None and headers[SECRET_HEADER.lower()] != secret:
        return "brings another secret than the service expects"
    return ""


def _standing(studio: LabelStudio, facts: dict[str, Any]) -> Iterator[Finding]:
    ours = {version: size for version, size in studio.versions(int(facts["id"])).items() if is_ours(version)}
    yield Finding(GOOD if ours else NOTE, f"{sum(ours.values())} predictions of ours stand.")
    settings, warning = settings_to_change(facts, take_over=False, version=next(iter(ours), "crowd-consensus"))
    if warning:
        yield Finding(NOTE, warning)
    elif settings and ours:
        yield Finding(
            BAD,
            "It does not show our version, or prelabels from it: the score column is empty, or annotators are led. The"
            " next pass puts that right.",
        )


def _list(work: WorkList, project: int) -> Iterator[Finding]:
    row = next((each for each in work.rows() if each.project == project), None)
    if row is None:
        yield Finding(NOTE, "It is not on the work list; its first webhook event puts it there.")
        return
    if row.error:
        yield Finding(BAD, f"Its last pass says: {row.error}")
    if row.waiting is not None and not row.held_by and row.due > 60:
        yield Finding(BAD, f"It has been due for {row.due:.0f} s and nobody takes it; is a worker alive?")
    if row.done is not None:
        yield Finding(GOOD, f"Its last pass ended {row.done:.0f} s ago.")


def _crowd(crowd: Any, facts: dict[str, Any]) -> Iterator[Finding]:
    if not crowd.tasks:
        yield Finding(BAD, "No answers are known yet that count; annotate some tasks, or run 'ls-crowd sync'.")
        return
    several = sum(number > 1 for number in crowd.answered.values())
    if several == 0:
        yield Finding(
            BAD,
            "No task has more than one answer: ask for 3 or more (maximum_annotations, now"
            f" {facts['maximum_annotations']}).",
        )
    else:
        yield Finding(GOOD, f"{several} of {len(crowd.answered)} answered tasks have several answers.")
    if crowd.gold:
        yield Finding(GOOD, f"{len(crowd.gold)} gold labels are known.")
    else:
        yield Finding(NOTE, "No gold is known; a few dozen labels ('ls-crowd gold add') make the scores much surer.")
    for warning in crowd.warnings:
        yield Finding(NOTE, warning)
