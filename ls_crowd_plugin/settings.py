"""One table of settings: their names, defaults, meanings and allowed values; help, docs and checks come from it.

A setting comes from the environment, or from the TOML file that LS_CROWD_CONFIG names, under the same name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import UnusableInput

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Setting:
    name: str
    default: str
    meaning: str
    allowed: tuple[str, ...] = ()  # empty: anything


SETTINGS = (
    Setting("LS_CROWD_CONFIG", "", "a TOML file with any of these settings; the environment goes before it"),
    Setting("LABEL_STUDIO_URL", "", "address of Label Studio, for example http://localhost:8080"),
    Setting("LABEL_STUDIO_API_KEY", "", "a personal access token, or a legacy token where those are switched on"),
    Setting("LABEL_STUDIO_API_KEY_FILE", "", "a file that holds the key instead"),
    Setting("LABEL_STUDIO_CA_BUNDLE", "", "file of the authority that signed Label Studio's certificate"),
    Setting("LS_CROWD_DATABASE_URL", "", "SQLAlchemy URL; empty is a SQLite file in the user's data folder"),
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
    when_complete: bool
    task_meta: str
    annotator_scores: bool


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Reads environment and file; raises UnusableInput with what is missing or wrong."""
    value = _values(os.environ if environment is None else environment)
    if not value["LABEL_STUDIO_URL"]:
        raise UnusableInput(
            "LABEL_STUDIO_URL is not set; set it to Label Studio's address, like http://localhost:8080."
        )
    key = value["LABEL_STUDIO_API_KEY"] or _key_from_file(value["LABEL_STUDIO_API_KEY_FILE"])
    if not key:
        raise UnusableInput(
            "LABEL_STUDIO_API_KEY is not set; set it to an access token from Account & Settings in Label Studio."
        )
    try:
        experts = frozenset(int(part) for part in value["LS_CROWD_EXPERTS"].split(",") if part.strip())
    except ValueError:
        raise UnusableInput("LS_CROWD_EXPERTS holds something else than user ids with commas between.") from None
    return Settings(
        url=value["LABEL_STUDIO_URL"],
        key=key,
        ca_bundle=_existing(value, "LABEL_STUDIO_CA_BUNDLE"),
        database_url=value["LS_CROWD_DATABASE_URL"],
        method=value["LS_CROWD_METHOD"],
        apart=value["LS_CROWD_FIT"] == "apart",
        experts=experts,
        gold_field=value["LS_CROWD_GOLD_FIELD"],
        when_complete=value["LS_CROWD_WRITE_WHEN"] == "complete",
        task_meta=value["LS_CROWD_TASK_META"],
        annotator_scores=value["LS_CROWD_ANNOTATOR_SCORES"] == "on",
    )


def _values(environment: Mapping[str, str]) -> dict[str, str]:
    """Every setting by its name, checked against what it may be."""
    file = _file(environment.get("LS_CROWD_CONFIG", "").strip())
    values = {}
    for setting in SETTINGS:
        value = environment.get(setting.name, "").strip() or file.get(setting.name, "").strip() or setting.default
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


def _key_from_file(name: str) -> str:
    if not name:
        return ""
    try:
        key = Path(name).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UnusableInput(f"LABEL_STUDIO_API_KEY_FILE {name} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise UnusableInput(f"LABEL_STUDIO_API_KEY_FILE {name} is not text; put the key alone into it.") from None
    if not key:
        raise UnusableInput(f"LABEL_STUDIO_API_KEY_FILE {name} is empty; put the key into it.")
    return key
