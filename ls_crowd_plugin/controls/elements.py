"""Helpers to read the XML elements of a label config."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element


class ShownObject(NamedTuple):
    """Something that a task shows, for example a text."""

    tag: str
    field: str  # of `task.data`; empty if it shows something else


def shown_objects(root: Element) -> dict[str, ShownObject]:
    """Return the objects that tasks show, by name."""
    objects = {}
    for element in root.iter():
        name, value = element.get("name"), element.get("value") or ""
        if name is not None and element.get("toName") is None:
            objects[name] = ShownObject(element.tag, value[1:] if value.startswith("$") else "")
    return objects


def walk(element: Element, conditional: bool = False) -> Iterator[tuple[Element, bool]]:
    """Yield every element, and whether it is shown only under some condition."""
    conditional = conditional or element.get("visibleWhen") is not None or element.get("whenTagName") is not None
    yield element, conditional
    for child in element:
        yield from walk(child, conditional)


def depth(root: Element) -> int:
    """Return how many elements are inside one another at most."""
    levels, level = 0, [root]
    while level:
        levels, level = levels + 1, [child for element in level for child in element]
    return levels


def tag_of(root: Element, name: str) -> str:
    """Return the tag of the first element with a name."""
    return next((element.tag for element in root.iter() if element.get("name") == name), "")


def is_true(element: Element, attribute: str) -> bool:
    return (element.get(attribute) or "").strip().lower() in ("true", "1", "yes")


def label_names(element: Element) -> tuple[str, ...]:
    """Return the names of the Label elements in an element."""
    names = (label.get("alias") or label.get("value") for label in element.iter("Label"))
    return tuple(dict.fromkeys(name for name in names if name))
