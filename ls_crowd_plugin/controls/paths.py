"""Paths in a tree of choices, as a config lists them and as annotators choose them.

The name of a path joins its parts with " / "; the same text inside a part becomes " // ". Should two paths still have
the same name, the first of them stands for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from .bounds import MAX_CHOSEN_PATHS, MAX_PATH_CHARACTERS
from .control import Item, Unreadable, string_list

Path = tuple[str, ...]


def path_name(path: Path) -> str:
    return " / ".join(part.replace(" / ", " // ") for part in path)


def config_paths(element: Element) -> dict[str, Path]:
    """Return the paths to all choices of a control, by name, in the order of the config."""
    paths: dict[str, Path] = {}
    for path in _paths(element, ()):
        paths.setdefault(path_name(path), path)
    return paths


def chosen_paths(items: Sequence[Item], key: str, known: int) -> list[Path]:
    """Return the paths under a key of the items' values, where the config lists a `known` number of them."""
    chosen: list[Path] = []
    for item in items:
        paths = item["value"].get(key)
        if paths is None:
            continue
        if not isinstance(paths, list):
            raise Unreadable("chosen paths that are no list")
        chosen += map(_chosen_path, paths)
        if len(chosen) > max(MAX_CHOSEN_PATHS, known):
            raise Unreadable(f"more than {max(MAX_CHOSEN_PATHS, known):,} chosen paths")
    return chosen


def _chosen_path(path: object) -> Path:
    parts = string_list(path, "a path")
    if not parts:
        raise Unreadable("an empty path")
    if sum(map(len, parts)) + 3 * len(parts) > MAX_PATH_CHARACTERS:
        raise Unreadable(f"a path of more than {MAX_PATH_CHARACTERS:,} characters")
    if any("\0" in part for part in parts):
        raise Unreadable("a path with a character that databases refuse")
    return tuple(parts)


def _paths(element: Element, parent: Path) -> Iterator[Path]:
    for child in element:
        if child.tag != "Choice":  # for example a View that arranges choices
            yield from _paths(child, parent)
            continue
        name = child.get("alias") or child.get("value")
        if not name:
            continue
        path = (*parent, name)
        yield path
        yield from _paths(child, path)
