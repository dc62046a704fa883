"""The table of settings: their names, defaults, meanings and allowed values. Help, docs and checks are made from it.

A setting comes from the environment, or from the TOML file that LS_CROWD_CONFIG names, under the same name. A secret
can also be read from a file of its own, named by the same name with _FILE.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from . import setting_values as values
from .errors import UnusableInput
from .recipe import Recipe
from .records import DECISIONS, GOLD_SOURCES, METHODS, RINGS, Json, address_shown

SECRET_HEADER = "X-LS-Crowd-Secret"  # noqa: S105  (the name of the header in which a webhook brings the secret)


@dataclass(frozen=True)
class Setting:
    """A row of the table. `parse(name, text)` returns the value, or raises UnusableInput."""

    name: str
    field: str  # of Settings, or of Recipe
    default: str
    meaning: str
    parse: Callable[[str, str], object] = values.text
    secret: bool = False
    recipe: bool = False  # decides what is written: a field of Recipe
    alias: str = ""  # an older name that is still read

    @property
    def allowed(self) -> tuple[str, ...]:
        """The values to choose from; empty: anything."""
        return tuple(self.parse.values) if isinstance(self.parse, values.OneOf) else ()


SETTINGS = (
    Setting("LABEL_STUDIO_URL", "url", "", "address of Label Studio, for example http://localhost:8080"),
    Setting(
        "LABEL_STUDIO_API_KEY",
        "key",
        "",
        "a personal access token, or a legacy token where those are enabled",
        secret=True,
    ),
    Setting(
        "LABEL_STUDIO_CA_BUNDLE",
        "ca_bundle",
        "",
        "file with the certificate of the authority that signed Label Studio's certificate",
        values.existing_file,
    ),
    Setting(
        "LS_CROWD_DATABASE_URL",
        "database_url",
        "",
        "SQLAlchemy URL of a SQLite or Postgres database; empty: a SQLite file in the user's data folder",
        secret=True,
    ),
    Setting(
        "LS_CROWD_METHOD",
        "method",
        "auto",
        "auto, gem, neg, sw, hyb or plu",
        values.OneOf({method: method for method in METHODS}),
        recipe=True,
    ),
    Setting(
        "LS_CROWD_FIT",
        "separate_fits",
        "together",
        "together: one fit for all controls of a project, which share the annotators; separate: one for each control",
        values.OneOf({"together": False, "separate": True}, older={"apart": "separate"}),
        recipe=True,
    ),
    Setting(
        "LS_CROWD_ORDERED",
        "ordered",
        "",
        "names of Choices whose labels are a scale, in the order of the label config, separated by commas; a Rating"
        " always is one",
        values.names,
        recipe=True,
    ),
    Setting(
        "LS_CROWD_DECIDE",
        "decide",
        "label",
        "label: the most probable label; distance: on a scale, the label of least expected distance from the truth",
        values.OneOf({decision: decision for decision in DECISIONS}),
        recipe=True,
    ),
    Setting(
        "LS_CROWD_RINGS",
        "rings",
        "show",
        "people who give the same answers against everybody else: show them on the page of annotators; count: also"
        " count them as one person; off: do not look for them",
        values.OneOf({use: use for use in RINGS}),
        recipe=True,
    ),
    Setting(
        "LS_CROWD_GOLD_SOURCES",
        "gold_sources",
        "plugin",
        "where gold may come from, separated by commas: plugin (ls-crowd gold, and the dashboard), ground_truth (marks"
        " in Label Studio), experts (annotations of LS_CROWD_EXPERTS), task_data (LS_CROWD_GOLD_FIELD)",
        values.AnyOf(GOLD_SOURCES),
        recipe=True,
    ),
    Setting(
        "LS_CROWD_EXPERTS",
        "experts",
        "",
        "ids of users who may say what is right, separated by commas; like the project's owner they may correct others'"
        " annotations, and mark them as ground truth",
        values.ids,
        recipe=True,
    ),
    Setting(
        "LS_CROWD_GOLD_FIELD",
        "gold_field",
        "",
        "field of task.data that holds the right label of tasks where it is known",
        recipe=True,
    ),
    Setting(
        "LS_CROWD_MIN_IOU",
        "min_iou",
        "0.5",
        "intersection over union from which regions of two people count as the same object; above 0, at most 1",
        values.share,
        recipe=True,
        alias="LS_CROWD_REGION_OVERLAP",
    ),
    Setting(
        "LS_CROWD_WRITE_WHEN",
        "only_complete",
        "always",
        "always: write a prediction for every answered task; complete: only for tasks with as many answers as required",
        values.OneOf({"always": False, "complete": True}),
        recipe=True,
    ),
    Setting(
        "LS_CROWD_TASK_META",
        "task_meta",
        "auto",
        "also write task.meta: auto for finished tasks of projects of up to 2,000 tasks, on for all tasks, off",
        values.OneOf({"auto": "auto", "on": "on", "off": "off"}),
        recipe=True,
    ),
    Setting(
        "LS_CROWD_ANNOTATOR_SCORES",
        "annotator_scores",
        "on",
        "off: leave people's scores out of what is written into Label Studio",
        values.OneOf({"on": True, "off": False}),
        recipe=True,
    ),
    Setting(
        "LS_CROWD_HOST",
        "host",
        "127.0.0.1",
        "address the service listens on; 0.0.0.0 means all, and then LS_CROWD_PUBLIC_URL is needed",
    ),
    Setting("LS_CROWD_PORT", "port", "9090", "port the service listens on", values.port),
    Setting(
        "LS_CROWD_PUBLIC_URL",
        "configured_url",
        "",
        "address at which Label Studio reaches the service; empty: made from host and port",
    ),
    Setting(
        "LS_CROWD_TRUSTED_PROXIES",
        "trusted_proxies",
        "",
        "addresses or networks of proxies, separated by commas, whose X-Forwarded-For and X-Forwarded-Proto count",
        values.networks,
    ),
    Setting(
        "LS_CROWD_WEBHOOK_SECRET",
        "webhook_secret",
        "",
        f"what a webhook must send in the header {SECRET_HEADER}; empty: generated, and printed once",
        secret=True,
    ),
    Setting(
        "LS_CROWD_PASSWORD",
        "password",
        "",
        "password of the dashboard; empty: generated, and printed once",
        secret=True,
    ),
    Setting(
        "LS_CROWD_PROJECTS",
        "projects",
        "",
        "ids of projects to monitor without waiting for a webhook, separated by commas, or all",
        values.projects,
    ),
    Setting(
        "LS_CROWD_SETTLE_SECONDS",
        "settle_seconds",
        "300",
        "seconds without a new answer before small changes of scores and metadata are written, too",
        values.Number(0),
    ),
    Setting(
        "LS_CROWD_AUDIT_SECONDS",
        "audit_seconds",
        "600",
        "how often all tasks are compared with Label Studio's list of them, while people work",
        values.Number(0),
    ),
    Setting(
        "LS_CROWD_QUIET_SECONDS",
        "quiet_seconds",
        "0.5",
        "seconds without a new event before a project is processed",
        values.Number(0),
    ),
    Setting(
        "LS_CROWD_MAX_WAIT_SECONDS",
        "max_wait_seconds",
        "15",
        "seconds that a project waits for that at most",
        values.Number(0),
    ),
    Setting(
        "LS_CROWD_POLL_SECONDS",
        "poll_seconds",
        "60",
        "how often Label Studio is polled for changes that no webhook reported",
        values.Number(1),
    ),
    Setting(
        "LS_CROWD_ANSWER_PRICE",
        "answer_price",
        "0",
        "what one answer costs, in your currency: the page about answers then shows money, too",
        values.Number(0),
    ),
    Setting(
        "LS_CROWD_TRAIL_DAYS",
        "trail_days",
        "365",
        "days that the trail keeps what annotations said in the past; 0: for ever",
        values.Number(0),
    ),
    Setting(
        "LS_CROWD_MEMORY_MB",
        "memory_mb",
        "4096",
        "megabytes of memory that a worker may use, at least 512, or 0 for any amount; a project that needs more is"
        " parked",
        values.megabytes,
    ),
)
CONFIG_FILE = Setting(
    "LS_CROWD_CONFIG", "", "", "a TOML file with any of these settings; the environment takes precedence"
)


@dataclass(frozen=True)
class Settings:
    """The settings as configured; secrets are kept out of every representation."""

    recipe: Recipe
    url: str = field(repr=False)  # may hold a password
    key: str = field(repr=False)
    ca_bundle: str
    database_url: str = field(repr=False)  # may hold a password
    host: str
    port: int
    configured_url: str = field(repr=False)  # may hold a password
    trusted_proxies: tuple[values.Network, ...]
    webhook_secret: str = field(repr=False)
    password: str = field(repr=False)
    projects: values.Projects
    settle_seconds: float
    audit_seconds: float
    quiet_seconds: float
    max_wait_seconds: float
    poll_seconds: float
    answer_price: float
    trail_days: float
    memory_mb: int

    @property
    def public_url(self) -> str:
        """Where Label Studio reaches the service."""
        return self.configured_url.rstrip("/") or f"http://{self.host}:{self.port}"

    @property
    def url_shown(self) -> str:
        """Label Studio's address without a password in it."""
        return address_shown(self.url)

    @property
    def public_url_shown(self) -> str:
        """The service's address without a password in it."""
        return address_shown(self.public_url)


def read_settings(environment: Mapping[str, str] | None = None, *, needs_label_studio: bool = True) -> Settings:
    """Read environment and file; raise UnusableInput for what is missing or wrong."""
    environment = os.environ if environment is None else environment
    sources = [environment, _read_file(environment.get(CONFIG_FILE.name, "").strip())]
    found = {setting.field: setting.parse(*_written(setting, sources)) for setting in SETTINGS}
    if needs_label_studio and not found["url"]:
        raise UnusableInput(
            "LABEL_STUDIO_URL is not set; set it to Label Studio's address, such as http://localhost:8080."
        )
    if needs_label_studio and not found["key"]:
        raise UnusableInput(
            "LABEL_STUDIO_API_KEY is not set; set it to an access token from Account & Settings in Label Studio."
        )
    recipe: Json = {setting.field: found.pop(setting.field) for setting in SETTINGS if setting.recipe}
    others: Json = found
    return Settings(recipe=Recipe(**recipe), **others)


def _written(setting: Setting, sources: Sequence[Mapping[str, str]]) -> tuple[str, str]:
    """The name and the text of a setting as it was written; the environment comes first, then the file."""
    names = [setting.name, *([setting.alias] if setting.alias else [])]
    for source in sources:
        for name in names:
            if text := source.get(name, "").strip():
                return name, text
        if setting.secret and (file := source.get(f"{setting.name}_FILE", "").strip()):
            return setting.name, values.secret_from_file(f"{setting.name}_FILE", file)
    return setting.name, setting.default


def _read_file(name: str) -> dict[str, str]:
    """What a file of settings says; empty without a file."""
    content = values.read_toml(CONFIG_FILE.name, name) if name else {}
    names = [setting.name for setting in SETTINGS]
    names += [f"{setting.name}_FILE" for setting in SETTINGS if setting.secret]
    unknown = sorted(content.keys() - set(names) - {setting.alias for setting in SETTINGS if setting.alias})
    if unknown:
        message = f"LS_CROWD_CONFIG {name} holds {unknown[0]!r}, which is not a setting; use {values.listed(names)}."
        raise UnusableInput(message)
    return content
