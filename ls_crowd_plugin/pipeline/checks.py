"""Every reason why nothing happens, checked one by one; each result is a sentence, a bad one with its cure.

A check is a generator of `Check`s. To add one, write it and name it in `check_everything` or `check_project`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError

from ..controls import Config, read_config
from ..errors import CrowdError, LabelStudioError, NotAllowed
from ..labelstudio import LabelStudio, ProjectFacts
from ..policy import MIN_CHECKED
from ..records import Json, address_shown, count
from ..settings import SECRET_HEADER, Settings
from ..store import Store, queue
from ..store.heartbeats import alive_workers
from ..store.passes import get_last_pass
from ..store.policies import get_policy
from ..store.results import load_results
from ..store.secrets import get_secret
from .existing import our_versions
from .inputs import read_inputs
from .plan import VERSION
from .queue_settings import needed_settings
from .write import settings_to_change

OK, NOTE, BAD = "ok", "note", "bad"
NEEDED_ACTIONS = {"ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED", "TASKS_CREATED", "TASKS_DELETED"}


@dataclass(frozen=True)
class Check:
    kind: str  # OK, NOTE or BAD
    sentence: str


@dataclass(frozen=True)
class Checked:
    """What the checks look at."""

    settings: Settings
    studio: LabelStudio
    store: Store
    answers: Callable[[str], bool] = lambda _: True  # whether something answers at an address


def check_everything(checked: Checked, project: int | None) -> Iterator[Check]:
    """Check Label Studio, the service, and one project or the state of all."""
    try:
        yield from _label_studio(checked)
    except NotAllowed as error:
        yield Check(BAD, str(error))
        return
    except LabelStudioError as error:
        yield Check(BAD, f"{error} Check LABEL_STUDIO_URL, and that Label Studio is running.")
        return
    yield from _service_address(checked)
    try:
        yield from check_service(checked)
        yield from check_project(checked, project) if project else _all_projects(checked)
    except SQLAlchemyError as error:
        yield Check(BAD, f"The database cannot be read ({type(error).__name__}); check LS_CROWD_DATABASE_URL.")


def check_project(checked: Checked, project: int) -> Iterator[Check]:
    try:
        facts = checked.studio.project(project)
        config = read_config(facts.label_config)
    except CrowdError as error:
        yield Check(BAD, str(error))
        return
    yield Check(OK, f"Project {project} exists: {facts.title!r} with {facts.task_number} tasks.")
    yield from _controls(config)
    yield from _webhooks(checked, project)
    yield from _predictions(checked, facts)
    yield from _queue_entry(checked, project)
    yield from _answers(checked, facts)
    yield from _last_pass(checked, project)
    yield from _policy(checked, facts)


def _label_studio(checked: Checked) -> Iterator[Check]:
    yield Check(OK, f"Label Studio {checked.studio.version()} answers at {checked.settings.url_shown}.")
    projects = checked.studio.projects()
    yield Check(OK, f"The API key works, and can see {len(projects)} project(s).")
    if not projects:
        yield Check(BAD, "The key's user sees no project; use the key of a member of the organization.")


def _service_address(checked: Checked) -> Iterator[Check]:
    """Whether Label Studio would accept the service's address for a webhook."""
    host = urlsplit(checked.settings.public_url).hostname or ""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        if "." not in host:
            yield Check(
                BAD,
                f"Label Studio refuses the one-word host name {host!r} in webhooks; give the service a name with a dot"
                " in it and set LS_CROWD_PUBLIC_URL.",
            )
        return
    if not address.is_global:
        yield Check(
            NOTE,
            f"{host} is a private address: Label Studio only calls it with SSRF_PROTECTION_ENABLED=false in its own"
            " environment. Without that, polling finds changes.",
        )


def check_service(checked: Checked) -> Iterator[Check]:
    """Whether somebody keeps the monitored projects up to date."""
    with checked.store.work.connect() as connection:
        workers = alive_workers(connection)
        monitored = len(queue.list_entries(connection))
    projects = count(monitored, "connected project")
    kind, connected = (
        (BAD, f", and {projects} {'waits' if monitored == 1 else 'wait'} for one") if monitored else (NOTE, "")
    )
    if not workers:
        yield Check(kind, f"No worker is running{connected}; 'ls-crowd serve' starts one.")
    if monitored and not checked.answers(checked.settings.public_url):
        yield Check(
            BAD,
            f"No service answers at {checked.settings.public_url_shown}, so webhooks of"
            f" {projects} are lost; start 'ls-crowd serve' there, or set"
            " LS_CROWD_PUBLIC_URL to where it runs and repeat 'ls-crowd connect'.",
        )
    for name, problem in workers.items():
        yield Check(BAD, f"Worker {name}: {problem}") if problem else Check(OK, f"Worker {name} is running.")


def _all_projects(checked: Checked) -> Iterator[Check]:
    with checked.store.work.connect() as connection:
        entries = queue.list_entries(connection)
    if not entries:
        yield Check(
            NOTE,
            "No project is monitored: run 'ls-crowd connect', add a webhook, or name projects in LS_CROWD_PROJECTS.",
        )
    for entry in entries:
        if entry.error:
            yield Check(BAD, f"Project {entry.project}: {entry.error}")
        else:
            yield Check(OK, f"Project {entry.project} is monitored.")


def _controls(config: Config) -> Iterator[Check]:
    names = [control.name for control in config.controls] + [control.name for control in config.regions]
    if names:
        yield Check(OK, f"These controls are aggregated: {', '.join(names)}.")
    else:
        yield Check(BAD, "It has no control that can be aggregated.")
    for control in config.left_out:
        yield Check(NOTE, f"{control.name} ({control.tag}) is left out: {control.reason}.")


def _webhooks(checked: Checked, project: int) -> Iterator[Check]:
    settings = checked.settings
    try:
        listed = checked.studio.webhooks(project)
    except LabelStudioError as error:
        yield Check(NOTE, f"Its webhooks cannot be listed: {error}")
        return
    with checked.store.data.connect() as connection:
        secret = settings.webhook_secret or get_secret(connection, "webhook secret")
    with checked.store.work.connect() as connection:
        is_queued = queue.get_entry(connection, project) is not None
    ours = [webhook for webhook in listed if str(webhook.get("url", "")).startswith(settings.public_url)]
    if not ours:
        is_polled = is_queued or settings.projects.include(project)
        cure = (
            "polling finds its changes"
            if is_polled
            else f"run 'ls-crowd connect {project}', or name the project in LS_CROWD_PROJECTS"
        )
        yield Check(NOTE if is_polled else BAD, f"It has no webhook to {settings.public_url_shown}: {cure}.")
    for webhook in ours:
        problem, shown = _problem_with(webhook, project, secret), address_shown(str(webhook["url"]))
        if problem:
            cure = f"'ls-crowd connect {project}' repairs it"
            yield Check(BAD, f"The webhook to {shown} {problem}; {cure}.")
        else:
            yield Check(OK, f"Its webhook to {shown} is set up correctly.")


def _problem_with(webhook: Json, project: int, secret: str | None) -> str:
    """What keeps a webhook from working, if anything does."""
    path = urlsplit(str(webhook["url"])).path.rstrip("/")
    headers = {str(name).lower(): value for name, value in (webhook.get("headers") or {}).items()}
    actions = set(webhook.get("actions") or ())
    if not webhook.get("is_active"):
        return "is switched off"
    if not webhook.get("send_for_all_actions") and not actions >= NEEDED_ACTIONS:
        return f"is not sent for {', '.join(sorted(NEEDED_ACTIONS - actions))}"
    if path not in ("/webhook", f"/webhook/{project}"):
        return f"has an address other than /webhook/{project}"
    if path == "/webhook" and not webhook.get("send_payload"):
        return "sends no payload, and its address does not name the project"
    if SECRET_HEADER.lower() not in headers:
        return f"does not send the header {SECRET_HEADER}"
    if secret is not None and headers[SECRET_HEADER.lower()] != secret:
        return "sends a different secret from the one the service expects"
    return ""


def _predictions(checked: Checked, facts: ProjectFacts) -> Iterator[Check]:
    versions, _ = our_versions(checked.studio, checked.store, facts.id)
    yield Check(OK if versions else NOTE, f"It has {sum(versions.values())} predictions of the plugin.")
    settings, warning = settings_to_change(facts, False, next(iter(versions), VERSION), versions)
    if warning:
        yield Check(NOTE, warning)
    elif settings and versions:
        yield Check(
            BAD,
            "It shows another model version than the plugin's, or fills in annotations from predictions. The next pass"
            " repairs that.",
        )


def _queue_entry(checked: Checked, project: int) -> Iterator[Check]:
    with checked.store.work.connect() as connection:
        entry = queue.get_entry(connection, project)
    if entry is None:
        yield Check(NOTE, f"It is not monitored; its first webhook event or 'ls-crowd connect {project}' changes that.")
        return
    if entry.error:
        what = "Its last pass failed" if entry.waiting is not None else "It is parked until something changes"
        yield Check(BAD, f"{what}: {entry.error}")
    if entry.waiting is not None and not entry.held_by and entry.due > 60:
        yield Check(BAD, f"It has been due for {entry.due:.0f} s, and no worker processes it; is one running?")
    if entry.completed is not None:
        yield Check(OK, f"Its last pass ended {entry.completed:.0f} s ago.")


def _answers(checked: Checked, facts: ProjectFacts) -> Iterator[Check]:
    crowd = read_inputs(checked.store, facts, checked.settings.recipe).crowd
    if not crowd.units:
        yield Check(BAD, "There are no answers to aggregate yet; annotate some tasks, or run 'ls-crowd sync'.")
        return
    several = sum(number > 1 for number in crowd.answer_counts.values())
    if several == 0:
        yield Check(
            BAD,
            "No task has more than one answer: ask for 3 or more (maximum_annotations, now"
            f" {facts.maximum_annotations}).",
        )
    else:
        yield Check(OK, f"{several} of {len(crowd.answer_counts)} answered tasks have several answers.")
    if crowd.gold:
        yield Check(OK, f"There are {len(crowd.gold)} gold labels.")
    else:
        yield Check(NOTE, "There is no gold; a few dozen labels ('ls-crowd gold add') make scores much more reliable.")


def _last_pass(checked: Checked, project: int) -> Iterator[Check]:
    with checked.store.data.connect() as connection:
        last = get_last_pass(connection, project)
    if last is None:
        yield Check(NOTE, "No pass over it has completed yet; run 'ls-crowd sync' to see one.")
        return
    for warning in last.summary.warnings:
        yield Check(NOTE, warning)


def _policy(checked: Checked, facts: ProjectFacts) -> Iterator[Check]:
    """Whether tasks are opened and closed as the project's policy says."""
    with checked.store.data.connect() as connection:
        policy = get_policy(connection, facts.id)
        results = load_results(connection, facts.id)
    if policy is None:
        return
    yield Check(OK, policy.sentence)
    if not policy.acts:
        return
    if needed_settings(policy, facts):
        yield Check(NOTE, "Somebody changed the settings that its queue needs; the next pass changes them back.")
    asking = results.figures.asking if results is not None else None
    if asking is not None and not asking.closes:
        yield Check(
            NOTE,
            f"People have answered {asking.checked} gold tasks; from {MIN_CHECKED} on, confidence is trusted to close"
            " tasks. Until then only the order of tasks is decided.",
        )
    if asking is not None and asking.stuck:
        yield Check(
            NOTE,
            f"{len(asking.stuck)} tasks need one more answer, and everybody who is active has answered or skipped them;"
            " ask somebody new.",
        )
