"""Paths in a tree of choices, as a config lists them and as annotators choose them.

The name of a path joins its parts with " / "; the same text inside a part becomes " // ", so that names stay distinct.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from .control import Item, string_list

Path = tuple[str, ...]


def path_name(path: Path) -> str:
    return " / ".join(part.replace(" / ", " // ") for part in path)


def config_paths(element: Element) -> dict[str, Path]:
    """Return the paths to all choices of a control, by name, in the order of the config."""
    return {path_name(path): path for path in _paths(element, ())}


def chosen_paths(items: Sequence[Item], key: str) -> list[Path] | None:
    """Return the paths under a key of the items' values; None if an item cannot be read."""
    chosen: list[Path] = []
    for item in items:
        paths = item["value"].get(key)
        if paths is None:
            continue
        if not isinstance(paths, list):
            return None
        for path in paths:
            parts = string_list(path)
            if not parts:
                return None
            chosen.append(tuple(parts))
    return chosen


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
