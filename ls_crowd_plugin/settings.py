"""One table of settings: their names in the environment, defaults and meanings; help, docs and checks come from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .errors import UnusableInput


@dataclass(frozen=True)
class Setting:
    name: str  # in the environment
    default: str
    meaning: str


SETTINGS = (
    Setting("LABEL_STUDIO_URL", "", "address of Label Studio, for example http://localhost:8080"),
    Setting("LABEL_STUDIO_API_KEY", "", "a personal access token, or a legacy token where those are switched on"),
    Setting("LABEL_STUDIO_API_KEY_FILE", "", "a file that holds the key instead"),
    Setting("LABEL_STUDIO_CA_BUNDLE", "", "file of the authority that signed Label Studio's certificate"),
    Setting("LS_CROWD_DATABASE_URL", "", "SQLAlchemy URL; empty is a SQLite file in the user's data folder"),
    Setting("LS_CROWD_METHOD", "auto", "auto, gem, neg, sw, hyb or plu"),
    Setting("LS_CROWD_EXPERTS", "", "user ids, with commas between, whose annotations are gold"),
    Setting("LS_CROWD_ANNOTATOR_SCORES", "on", "off leaves people's scores out of what is written into Label Studio"),
)


@dataclass(frozen=True)
class Settings:
    """The settings as given; the key is kept out of every representation."""

    url: str
    key: str = field(repr=False)
    ca_bundle: str
    database_url: str = field(repr=False)  # may hold a password
    method: str
    experts: frozenset[int]
    annotator_scores: bool


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Reads the environment; raises UnusableInput with what is missing or wrong."""
    given = os.environ if environment is None else environment
    value = {setting.name: given.get(setting.name, "").strip() or setting.default for setting in SETTINGS}
    if not value["LABEL_STUDIO_URL"]:
        raise UnusableInput(
            "LABEL_STUDIO_URL is not set; set it to Label Studio's address, like http://localhost:8080."
        )
    key = value["LABEL_STUDIO_API_KEY"] or _key_from_file(value["LABEL_STUDIO_API_KEY_FILE"])
    if not key:
        raise UnusableInput(
            "LABEL_STUDIO_API_KEY is not set; set it to an access token from Account & Settings in Label Studio."
        )
    switch = value["LS_CROWD_ANNOTATOR_SCORES"].lower()
    if switch not in ("on", "off"):
        raise UnusableInput(f"LS_CROWD_ANNOTATOR_SCORES is {switch!r}; use on or off.")
    try:
        experts = frozenset(int(part) for part in value["LS_CROWD_EXPERTS"].split(",") if part.strip())
    except ValueError:
        raise UnusableInput("LS_CROWD_EXPERTS holds something else than user ids with commas between.") from None
    return Settings(
        url=value["LABEL_STUDIO_URL"],
        key=key,
        ca_bundle=value["LABEL_STUDIO_CA_BUNDLE"],
        database_url=value["LS_CROWD_DATABASE_URL"],
        method=value["LS_CROWD_METHOD"],
        experts=experts,
        annotator_scores=switch == "on",
    )


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
