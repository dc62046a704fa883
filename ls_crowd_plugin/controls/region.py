"""Regions with one label, and how Label Studio stores the place of each shape: spans of text and boxes on images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from ..records import Json
from ..regions import Box, Kind, Span, boxes, spans
from .control import Item

BOX_DECIMALS = 3  # of a box's numbers, in percent of the image
LIMIT = 10**9  # every offset in a text and every side of an image is below it
ON_IMAGE = ("original_width", "original_height", "image_rotation", "item_index")  # what an item says about its image

Extent = Span | Box
ExtentKind = Kind[Any]  # of spans or of boxes


@dataclass(frozen=True)
class Region:
    """One region with one label."""

    extent: Extent
    label: str
    details: Mapping[str, str]  # control about regions → its label
    item: Item = field(compare=False)  # as Label Studio stores it, maybe with several labels


class Shape(NamedTuple):
    """How regions of a shape are read from items, compared, and written as the place in an item's `value`.

    `write` gets the extent, the regions it was merged from, and the text they are in, if that is known.
    """

    kind: ExtentKind
    read: Callable[[Item], Extent]
    write: Callable[[Any, Sequence[Region], str | None], Json]


def on_image(item: Item) -> Json:
    """Return what an item says about its image, as far as it makes sense."""
    names = ON_IMAGE if image_size(item) else ON_IMAGE[2:]
    return {name: item[name] for name in names if name in item}


def image_size(item: Item) -> tuple[float, float] | None:
    """Return width and height of the image in pixels, if the item has them."""
    try:
        width, height = float(item["original_width"]), float(item["original_height"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return (width, height) if 0 < width < LIMIT and 0 < height < LIMIT else None


def _read_span(item: Item) -> Span:
    return Span(_offset(item["value"]["start"]), _offset(item["value"]["end"]))


def _write_span(extent: Span, members: Sequence[Region], text: str | None) -> Json:
    return {"start": extent.start, "end": extent.end, "text": _text(extent, members, text)}


def _read_hypertext(item: Item) -> Span:
    """Use the offsets in the whole text; where they are missing, those in one element."""
    value = item["value"]
    whole = value.get("globalOffsets")
    if not {"start", "end", "startOffset", "endOffset"} <= value.keys():
        raise ValueError("no place in an element")
    first, last = value["start"], value["end"]
    if not isinstance(first, str | int) or not isinstance(last, str | int):
        raise ValueError("no name of an element")
    if whole:
        return Span(_offset(whole["start"]), _offset(whole["end"]))
    within = f"{first} {last}"
    return Span(_offset(value["startOffset"]), _offset(value["endOffset"]), within)


def _write_hypertext(extent: Span, members: Sequence[Region], text: str | None) -> Json:
    """Take each end from a region that ends there, together with the element it is in."""
    first = next(region.item["value"] for region in members if _span(region).start == extent.start)
    last = next(region.item["value"] for region in members if _span(region).end == extent.end)
    value = {"start": first["start"], "startOffset": first["startOffset"]}
    value |= {"end": last["end"], "endOffset": last["endOffset"], "text": _text(extent, members, text)}
    if not extent.within:
        value["globalOffsets"] = {"start": extent.start, "end": extent.end}
    return value


def _read_paragraphs(item: Item) -> Span:
    """Spans are compared only if they cover the same paragraphs; a paragraph counts as LIMIT characters long."""
    value = item["value"]
    first, last = _offset(value["start"]), _offset(value["end"])
    begin, end = _offset(value["startOffset"]), LIMIT * (last - first) + _offset(value["endOffset"])
    return Span(begin, end, f"{first} {last}")


def _write_paragraphs(extent: Span, members: Sequence[Region], text: str | None) -> Json:
    first, last = extent.within.split()
    value = {"start": first, "end": last, "startOffset": extent.start, "endOffset": extent.end % LIMIT}
    return {**value, "text": _text(extent, members, text)}


def _read_box(item: Item) -> Box:
    """Convert to pixels, or leave percent where the image's size is unknown; cut off what is outside the image."""
    value = item["value"]
    across, down = _pixels_per_percent(item)
    x, y, width, height = (_coordinate(value[name]) for name in ("x", "y", "width", "height"))
    rotation = _coordinate(value.get("rotation") or 0.0)
    if rotation % 360 == 0:
        right, bottom = min(x + width, 100.0), min(y + height, 100.0)
        x, y = max(x, 0.0), max(y, 0.0)
        width, height = right - x, bottom - y
    within = " ".join(str(_place_number(item.get(name))) for name in ("image_rotation", "item_index"))
    return Box(x * across, y * down, width * across, height * down, rotation % 360, within)


def _write_box(extent: Box, members: Sequence[Region], text: str | None) -> Json:
    del text
    across, down = _pixels_per_percent(members[0].item)
    values = {
        "x": extent.x / across,
        "y": extent.y / down,
        "width": extent.width / across,
        "height": extent.height / down,
        "rotation": extent.rotation,
    }
    return {name: round(value, BOX_DECIMALS) + 0.0 for name, value in values.items()}  # + 0.0: no negative zero


def _text(extent: Span, members: Sequence[Region], text: str | None) -> str:
    """Return the text of a span: cut out of a member's text that contains it, or of the whole text."""
    for region in members:
        marked, around = region.item["value"].get("text"), _span(region)
        if isinstance(marked, str) and around.start <= extent.start and extent.end <= around.end:
            return marked[extent.start - around.start : extent.end - around.start]
    return (text or "")[extent.start : extent.end]


def _span(region: Region) -> Span:
    return cast("Span", region.extent)


def _pixels_per_percent(item: Item) -> tuple[float, float]:
    """Return the pixels in one percent of the image's width and of its height; 1 and 1 where its size is unknown."""
    width, height = image_size(item) or (100.0, 100.0)
    return width / 100, height / 100


def _offset(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("no whole number")
    number = int(value)
    if not 0 <= number < LIMIT:
        raise ValueError("no place in a text")
    return number


def _coordinate(value: Any) -> float:
    number = float(value)
    if not abs(number) < LIMIT:
        raise ValueError("no place on an image")
    return number


def _place_number(value: object) -> float:
    """Return which image of several an item is on, or how far that is turned; mostly neither is stated."""
    if value is None or value is False or value == "":
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LIMIT:
        raise ValueError("no number")
    return value or 0


SHAPES = {
    "span": Shape(spans, _read_span, _write_span),
    "hypertext": Shape(spans, _read_hypertext, _write_hypertext),
    "paragraphs": Shape(spans, _read_paragraphs, _write_paragraphs),
    "box": Shape(boxes, _read_box, _write_box),
}
