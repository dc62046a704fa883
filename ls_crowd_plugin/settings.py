"""One table of settings: their names, defaults, meanings and allowed values; help, docs and checks come from it.

A setting comes from the environment, or from the TOML file that LS_CROWD_CONFIG names, under the same name. One that is
secret may also be read from a file of its own, named by the same name with _FILE.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from .errors import UnusableInput

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


SECRET_HEADER = "X-LS-Crowd-Secret"  # noqa: S105  (the header's name, in which a webhook brings the secret)


@dataclass(frozen=True)
class Setting:
    name: str
    default: str
    meaning: str
    allowed: tuple[str, ...] = ()  # empty: anything
    secret: bool = False
    least: float | None = None  # for numbers


SETTINGS = (
    Setting("LS_CROWD_CONFIG", "", "a TOML file with any of these settings; the environment goes before it"),
    Setting("LABEL_STUDIO_URL", "", "address of Label Studio, for example http://localhost:8080"),
    Setting(
        "LABEL_STUDIO_API_KEY",
        "",
        "a personal access token, or a legacy token where those are switched on",
        secret=True,
    ),
    Setting("LABEL_STUDIO_CA_BUNDLE", "", "file of the authority that signed Label Studio's certificate"),
    Setting(
        "LS_CROWD_DATABASE_URL",
        "",
        "SQLAlchemy URL, of SQLite or Postgres; empty is a SQLite file in the user's data folder",
        secret=True,
    ),
    Setting(
        "LS_CROWD_METHOD",
        "auto",
        "auto, gem, neg, sw, hyb or plu",
        ("auto", "gem", "neg", "sw", "hyb", "plu"),
    ),
    Setting(
        "LS_CROWD_FIT",
        "together",
        "one fit for all controls of a project, which share the annotators; apart fits each control by itself",
        ("together", "apart"),
    ),
    Setting("LS_CROWD_EXPERTS", "", "user ids, with commas between, whose annotations are gold"),
    Setting("LS_CROWD_GOLD_FIELD", "", "field of task.data that holds the right label where it is known"),
    Setting(
        "LS_CROWD_REGION_OVERLAP",
        "0.5",
        "how much regions of two people must share (intersection over union) to be one; above 0, at most 1",
    ),
    Setting(
        "LS_CROWD_WRITE_WHEN",
        "always",
        "complete writes only about tasks with as many answers as the project asks for",
        ("always", "complete"),
    ),
    Setting(
        "LS_CROWD_TASK_META",
        "auto",
        "also write task.meta: auto for finished tasks of projects of up to 2,000; on for all tasks; off for none",
        ("auto", "on", "off"),
    ),
    Setting(
        "LS_CROWD_ANNOTATOR_SCORES",
        "on",
        "off leaves people's scores out of what is written into Label Studio",
        ("on", "off"),
    ),
    Setting(
        "LS_CROWD_HOST",
        "127.0.0.1",
        "where the service listens; 0.0.0.0 is everywhere, and then LS_CROWD_PUBLIC_URL is needed",
    ),
    Setting("LS_CROWD_PORT", "9090", "the port it listens at", least=1),
    Setting("LS_CROWD_PUBLIC_URL", "", "where Label Studio reaches the service; empty is made of host and port"),
    Setting(
        "LS_CROWD_WEBHOOK_SECRET",
        "",
        f"what a webhook must bring in the header {SECRET_HEADER}; empty has one made, and printed once",
        secret=True,
    ),
    Setting(
        "LS_CROWD_PASSWORD",
        "",
        "for the pages of the service; empty has one made, and printed once",
        secret=True,
    ),
    Setting("LS_CROWD_PROJECTS", "", "ids of projects to look after without waiting for a webhook, or all"),
    Setting("LS_CROWD_QUIET_SECONDS", "1", "how long nothing may have come before a project has its turn", least=0),
    Setting("LS_CROWD_MAX_WAIT_SECONDS", "15", "how long it waits for that at most", least=0),
    Setting("LS_CROWD_POLL_SECONDS", "60", "how often Label Studio is asked for what no webhook told", least=1),
)


@dataclass(frozen=True)
class Settings:
    """The settings as given; secrets are kept out of every representation."""

    url: str
    key: str = field(repr=False)
    ca_bundle: str
    database_url: str = field(repr=False)  # may hold a password
    method: str
    apart: bool
    experts: frozenset[int]
    gold_field: str
    overlap: float
    when_complete: bool
    task_meta: str
    annotator_scores: bool
    host: str
    port: int
    public_url: str
    webhook_secret: str = field(repr=False)
    password: str = field(repr=False)
    projects: frozenset[int]
    all_projects: bool
    quiet_seconds: float
    longest_seconds: float
    poll_seconds: float

    @property
    def url_shown(self) -> str:
        """Label Studio's address without a password in it."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def read_settings(environment: Mapping[str, str] | None = None, *, studio: bool = True) -> Settings:
    """Reads environment and file; raises UnusableInput with what is missing or wrong.

    Without `studio` it may be unknown where Label Studio is: for who only reads the database.
    """
    value = _values(os.environ if environment is None else environment)
    if studio and not value["LABEL_STUDIO_URL"]:
        raise UnusableInput(
            "LABEL_STUDIO_URL is not set; set it to Label Studio's address, like http://localhost:8080."
        )
    if studio and not value["LABEL_STUDIO_API_KEY"]:
        raise UnusableInput(
            "LABEL_STUDIO_API_KEY is not set; set it to an access token from Account & Settings in Label Studio."
        )
    everything = value["LS_CROWD_PROJECTS"].lower() == "all"
    host, port = value["LS_CROWD_HOST"], int(_number(value, "LS_CROWD_PORT"))
    if port > 65535:
        raise UnusableInput(f"LS_CROWD_PORT is {port}; use a port below 65536.")
    return Settings(
        url=value["LABEL_STUDIO_URL"],
        key=value["LABEL_STUDIO_API_KEY"],
        ca_bundle=_existing(value, "LABEL_STUDIO_CA_BUNDLE"),
        database_url=value["LS_CROWD_DATABASE_URL"],
        method=value["LS_CROWD_METHOD"],
        apart=value["LS_CROWD_FIT"] == "apart",
        experts=_ids(value["LS_CROWD_EXPERTS"], "LS_CROWD_EXPERTS holds something else than user ids"),
        gold_field=value["LS_CROWD_GOLD_FIELD"],
        overlap=_share(value, "LS_CROWD_REGION_OVERLAP"),
        when_complete=value["LS_CROWD_WRITE_WHEN"] == "complete",
        task_meta=value["LS_CROWD_TASK_META"],
        annotator_scores=value["LS_CROWD_ANNOTATOR_SCORES"] == "on",
        host=host,
        port=port,
        public_url=value["LS_CROWD_PUBLIC_URL"].rstrip("/") or f"http://{host}:{port}",
        webhook_secret=value["LS_CROWD_WEBHOOK_SECRET"],
        password=value["LS_CROWD_PASSWORD"],
        projects=frozenset() if everything else _ids(value["LS_CROWD_PROJECTS"], "LS_CROWD_PROJECTS is not all or ids"),
        all_projects=everything,
        quiet_seconds=_number(value, "LS_CROWD_QUIET_SECONDS"),
        longest_seconds=_number(value, "LS_CROWD_MAX_WAIT_SECONDS"),
        poll_seconds=_number(value, "LS_CROWD_POLL_SECONDS"),
    )


def _values(environment: Mapping[str, str]) -> dict[str, str]:
    """Every setting by its name, checked against what it may be."""
    file = _file(environment.get("LS_CROWD_CONFIG", "").strip())
    values = {}

    def given(name: str) -> str:
        return environment.get(name, "").strip() or file.get(name, "").strip()

    for setting in SETTINGS:
        value = given(setting.name) or setting.default
        if setting.secret and not value:
            value = _from_file(f"{setting.name}_FILE", given(f"{setting.name}_FILE"))
        if setting.allowed:
            value = value.lower()
            if value not in setting.allowed:
                raise UnusableInput(f"{setting.name} is {value!r}; use {_either(setting.allowed)}.")
        values[setting.name] = value
    return values


def _file(name: str) -> dict[str, str]:
    """The settings in a TOML file; numbers, true and lists are read as one would type them into the environment."""
    if not name:
        return {}
    try:
        found = tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise UnusableInput(f"LS_CROWD_CONFIG {name} cannot be read ({error.strerror}).") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnusableInput(f"LS_CROWD_CONFIG {name} is not TOML ({error}).") from None
    names = [setting.name for setting in SETTINGS if setting.name != "LS_CROWD_CONFIG"]
    names += [f"{setting.name}_FILE" for setting in SETTINGS if setting.secret]
    unknown = sorted(found.keys() - set(names))
    if unknown:
        raise UnusableInput(f"LS_CROWD_CONFIG {name} holds {unknown[0]!r}, which is no setting; use {_either(names)}.")
    return {key: _typed(value) for key, value in found.items()}


def _typed(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _either(words: tuple[str, ...] | list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _existing(value: Mapping[str, str], name: str) -> str:
    if value[name] and not Path(value[name]).is_file():
        raise UnusableInput(f"{name} {value[name]} is no file; name the one with the authority's certificate.")
    return value[name]


def _ids(value: str, complaint: str) -> frozenset[int]:
    try:
        return frozenset(int(part) for part in value.split(",") if part.strip())
    except ValueError:
        raise UnusableInput(f"{complaint} with commas between.") from None


def _number(value: Mapping[str, str], name: str) -> float:
    least = next(setting.least for setting in SETTINGS if setting.name == name) or 0.0
    try:
        number = float(value[name])
    except ValueError:
        number = float("nan")
    if not least <= number < float("inf"):
        raise UnusableInput(f"{name} is {value[name]!r}; use a number, {least:g} or more.")
    return number


def _share(value: Mapping[str, str], name: str) -> float:
    number = _number(value, name)
    if not 0 < number <= 1:
        raise UnusableInput(f"{name} is {value[name]!r}; use a number above 0 and at most 1.")
    return number


def _from_file(setting: str, name: str) -> str:
    if not name:
        return ""
    try:
        secret = Path(name).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UnusableInput(f"{setting} {name} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise UnusableInput(f"{setting} {name} is not text; put the secret alone into it.") from None
    if not secret:
        raise UnusableInput(f"{setting} {name} is empty; put the secret into it.")
    return secret
