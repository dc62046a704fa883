"""How the text of a setting becomes a value: one parser for each kind of value."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from .errors import UnusableInput

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Projects(NamedTuple):
    """The projects that LS_CROWD_PROJECTS names."""

    everything: bool
    ids: frozenset[int]

    def include(self, project: int) -> bool:
        return self.everything or project in self.ids


MIN_MEGABYTES = 512  # a worker alone needs a third of it
NO_PROJECTS = Projects(False, frozenset())


@dataclass(frozen=True)
class OneOf:
    """One of a few words, each of which stands for a value."""

    values: Mapping[str, str | bool]
    older: Mapping[str, str] = field(default_factory=dict)  # older words that are still read → the present ones

    def __call__(self, name: str, written: str) -> str | bool:
        word = self.older.get(written.lower(), written.lower())
        if word not in self.values:
            raise UnusableInput(f"{name} is {word!r}; use {listed(list(self.values))}.")
        return self.values[word]


@dataclass(frozen=True)
class AnyOf:
    """Some of a few words, separated by commas."""

    words: Sequence[str]

    def __call__(self, name: str, written: str) -> frozenset[str]:
        chosen = frozenset(part.strip().lower() for part in written.split(",") if part.strip())
        if unknown := sorted(chosen - set(self.words)):
            raise UnusableInput(f"{name} contains {unknown[0]!r}; use any of {listed(self.words)}.")
        return chosen


@dataclass(frozen=True)
class Number:
    """A finite number of at least `minimum`."""

    minimum: float

    def __call__(self, name: str, written: str) -> float:
        try:
            number = float(written)
        except ValueError:
            number = float("nan")
        if not self.minimum <= number < float("inf"):
            raise UnusableInput(f"{name} is {written!r}; use a number, {self.minimum:g} or more.")
        return number


def text(name: str, written: str) -> str:
    del name
    return written


def port(name: str, written: str) -> int:
    number = int(Number(1)(name, written))
    if number > 65535:
        raise UnusableInput(f"{name} is {number}; use a port below 65536.")
    return number


def megabytes(name: str, written: str) -> int:
    number = Number(0)(name, written)
    if 0 < number < MIN_MEGABYTES or number != int(number):
        raise UnusableInput(f"{name} is {written!r}; use 0, or a whole number of {MIN_MEGABYTES} or more.")
    return int(number)


def share(name: str, written: str) -> float:
    number = Number(0)(name, written)
    if not 0 < number <= 1:
        raise UnusableInput(f"{name} is {written!r}; use a number above 0 and at most 1.")
    return number


def ids(name: str, written: str) -> frozenset[int]:
    try:
        return frozenset(int(part) for part in written.split(",") if part.strip())
    except ValueError:
        raise UnusableInput(f"{name} is {written!r}; use ids separated by commas, such as 1,2.") from None


def names(name: str, written: str) -> frozenset[str]:
    del name
    return frozenset(part.strip() for part in written.split(",") if part.strip())


def projects(name: str, written: str) -> Projects:
    if written.lower() == "all":
        return Projects(True, frozenset())
    try:
        return Projects(False, ids(name, written))
    except UnusableInput:
        raise UnusableInput(f"{name} is {written!r}; use ids separated by commas, such as 1,2, or all.") from None


def networks(name: str, written: str) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in written.split(",") if part.strip())
    except ValueError:
        example = "such as 10.0.0.2 or 10.0.0.0/24"
        raise UnusableInput(f"{name} is {written!r}; use addresses or networks, {example}, with commas.") from None


def existing_file(name: str, written: str) -> str:
    if written and not Path(written).is_file():
        raise UnusableInput(f"{name} {written} is not a file; name the file with the authority's certificate.")
    return written


def secret_from_file(name: str, file: str) -> str:
    """The secret that a file holds; `name` is the setting that names the file."""
    try:
        secret = Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UnusableInput(f"{name} {file} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise UnusableInput(f"{name} {file} is not text; put only the secret into it.") from None
    if not secret:
        raise UnusableInput(f"{name} {file} is empty; put the secret into it.")
    return secret


def as_typed(value: object) -> str:
    """A value of a TOML file as one would type it into the environment."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def listed(words: Sequence[str]) -> str:
    """ "a, b or c" """
    return f"{', '.join(words[:-1])} or {words[-1]}"


def read_toml(setting: str, name: str) -> dict[str, str]:
    """The content of a TOML file; numbers, true and lists are read as one would type them into the environment."""
    try:
        content = tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise UnusableInput(f"{setting} {name} cannot be read ({error.strerror}).") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnusableInput(f"{setting} {name} is not TOML ({error}).") from None
    return {key: as_typed(value) for key, value in content.items()}
