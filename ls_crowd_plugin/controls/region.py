"""Regions: spans of text and boxes on images, read from an annotation's `result` and written into a prediction's."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import UnusableInput
from ..regions import Box, Kind, Span, boxes, spans
from .control import Frame, Item, Question, texts

NO_REGION = "(no region)"  # the answer of somebody who saw the task and drew nothing there
REGION = "region"  # the label of regions that have none
DECIMALS = 3  # of a box, in percent of the image
FAR = 10**9  # from the beginning of one paragraph to that of the next

Extent = Span | Box


@dataclass(frozen=True)
class Region:
    """One region with one label; `item` is what Label Studio holds, which may have several labels."""

    extent: Extent
    label: str
    details: Mapping[str, str]  # control about regions → what was chosen
    item: Item = field(compare=False)


@dataclass(frozen=True)
class Detail:
    """A control that says something about each region."""

    frame: Frame
    key: str  # of `value`, where the labels are
    labels: tuple[str, ...]

    def read(self, items: Sequence[Item]) -> str | None:
        """The one label that was chosen, if it was one."""
        own = [item["value"] for item in items if item.get("from_name") == self.frame.name]
        said = [label for value in own for label in texts(value.get(self.key)) or ()]
        return said[0] if len(said) == 1 and said[0] in self.labels else None


@dataclass(frozen=True)
class Regions:
    """A control with which annotators draw."""

    frame: Frame
    shape: str  # span, hypertext, paragraphs, box
    key: str  # of `value`, where the labels are; empty for a control that draws without labels
    labels: tuple[str, ...]
    details: tuple[Detail, ...] = ()

    @property
    def name(self) -> str:
        return self.frame.name

    @property
    def kind(self) -> Kind[Any]:
        return boxes if self.shape == "box" else spans

    @property
    def questions(self) -> tuple[Question, ...]:
        """One about each region, whether and what it is; and those about its details."""
        about = (Question(detail.frame.name, detail.labels) for detail in self.details)
        return (Question(self.name, (*self.labels, NO_REGION)), *about)

    def size(self, results: Iterable[Sequence[Item]]) -> tuple[float, float] | None:
        """The size of a task's image that most of its boxes name: all are measured by one, whoever drew them."""
        if self.shape != "box":
            return None
        sizes = Counter(
            _size(item)
            for result in results
            for item in result
            if isinstance(item, dict) and item.get("from_name") == self.name
        )
        return max(sizes, key=lambda size: (size is not None, sizes[size], size or (0.0, 0.0)), default=None)

    def read(self, result: Sequence[Item], size: tuple[float, float] | None = None) -> list[Region] | None:
        """The regions somebody drew, one for each label of each; None where any of them cannot be read, or has no label
        that is known: who said something else has not said that there is nothing."""
        proper = [item for item in result if isinstance(item, dict) and isinstance(item.get("value"), dict)]
        about: dict[Any, list[Item]] = defaultdict(list)  # by the id that items about one region share
        for item in proper if self.details else ():
            if isinstance(item.get("id"), str):
                about[item["id"]].append(item)
        found = []
        for item in proper:
            if item.get("from_name") != self.name:
                continue
            item = item if size is None else {**item, "original_width": size[0], "original_height": size[1]}
            extent = self._extent(item)
            labels = (texts(item["value"].get(self.key)) or []) if self.key else [REGION]
            if extent is None or not labels or not set(labels) <= set(self.labels):
                return None
            same = about[item["id"]] if isinstance(item.get("id"), str) else []
            known = {detail.frame.name: detail.read(same) for detail in self.details}
            details = {name: label for name, label in known.items() if label is not None}
            found += [Region(extent, label, details, item) for label in labels]
        return None if len(proper) < len(result) else found

    def write(
        self,
        identity: str,
        extent: Extent,
        label: str,
        details: Mapping[str, str],
        members: Sequence[Region],
        text: str | None,
    ) -> list[Item]:
        """The items that say this; `members` are regions it was made of, `text` is the whole text where it is known."""
        place = _WRITERS[self.shape](extent, members, text)
        shared = {"id": identity, "to_name": self.frame.to_name}
        if self.shape == "box":
            names = ("original_width", "original_height", "image_rotation", "item_index")
            shared |= {name: members[0].item[name] for name in names if name in members[0].item}
        value = {**place, self.key: [label]} if self.key else place
        items = [{**shared, "from_name": self.name, "type": self.frame.type, "value": value}]
        for detail in self.details:
            if detail.frame.name in details:
                said = {**place, detail.key: [details[detail.frame.name]]}
                items.append({**shared, "from_name": detail.frame.name, "type": detail.frame.type, "value": said})
        return items

    def _extent(self, item: Item) -> Extent | None:
        try:
            return _READERS[self.shape](item)
        except (KeyError, TypeError, ValueError, AttributeError, UnusableInput):
            return None


def _read_span(item: Item) -> Span:
    return Span(_whole(item["value"]["start"]), _whole(item["value"]["end"]))


def _read_hypertext(item: Item) -> Span:
    """By the places in the text as a whole; by those in one element where only they are known."""
    value = item["value"]
    whole = value.get("globalOffsets")
    if not {"start", "end", "startOffset", "endOffset"} <= value.keys():
        raise ValueError("no place in an element")
    if whole:
        return Span(_whole(whole["start"]), _whole(whole["end"]))
    within = f"{value['start']} {value['end']}"
    return Span(_whole(value["startOffset"]), _whole(value["endOffset"]), within)


def _read_paragraphs(item: Item) -> Span:
    """Spans over the same paragraphs can be compared."""
    value = item["value"]
    first, last = _whole(value["start"]), _whole(value["end"])
    begin, end = _whole(value["startOffset"]), FAR * (last - first) + _whole(value["endOffset"])
    return Span(begin, end, f"{first} {last}")


def _read_box(item: Item) -> Box:
    """In pixels, or in percent where the image's size is unknown; what is outside the image is cut off."""
    value = item["value"]
    across, down = _scale(item)
    x, y, width, height = (float(value[name]) for name in ("x", "y", "width", "height"))
    rotation = float(value.get("rotation") or 0.0)
    if rotation % 360 == 0:
        right, bottom = min(x + width, 100.0), min(y + height, 100.0)
        x, y = max(x, 0.0), max(y, 0.0)
        width, height = right - x, bottom - y
    within = f"{item.get('image_rotation') or 0} {item.get('item_index') or 0}"
    return Box(x * across, y * down, width * across, height * down, rotation % 360, within)


def _write_span(extent: Span, members: Sequence[Region], text: str | None) -> dict[str, Any]:
    return {"start": extent.start, "end": extent.end, "text": _text(extent, members, text)}


def _write_hypertext(extent: Span, members: Sequence[Region], text: str | None) -> dict[str, Any]:
    """Each end is where somebody's is, with the element they drew it in."""
    first = next(each.item["value"] for each in members if _span(each).start == extent.start)
    last = next(each.item["value"] for each in members if _span(each).end == extent.end)
    value = {"start": first["start"], "startOffset": first["startOffset"]}
    value |= {"end": last["end"], "endOffset": last["endOffset"], "text": _text(extent, members, text)}
    if not extent.within:
        value["globalOffsets"] = {"start": extent.start, "end": extent.end}
    return value


def _write_paragraphs(extent: Span, members: Sequence[Region], text: str | None) -> dict[str, Any]:
    first, last = extent.within.split()
    value = {"start": first, "end": last, "startOffset": extent.start, "endOffset": extent.end % FAR}
    return {**value, "text": _text(extent, members, text)}


def _write_box(extent: Box, members: Sequence[Region], text: str | None) -> dict[str, Any]:
    del text
    across, down = _scale(members[0].item)
    values = {
        "x": extent.x / across,
        "y": extent.y / down,
        "width": extent.width / across,
        "height": extent.height / down,
        "rotation": extent.rotation,
    }
    return {name: round(value, DECIMALS) + 0.0 for name, value in values.items()}


def _text(extent: Span, members: Sequence[Region], text: str | None) -> str:
    """What is in a span: cut out of what somebody marked, or of the whole text."""
    for each in members:
        marked, around = each.item["value"].get("text"), _span(each)
        if isinstance(marked, str) and around.start <= extent.start and extent.end <= around.end:
            return marked[extent.start - around.start : extent.end - around.start]
    return (text or "")[extent.start : extent.end]


def _span(region: Region) -> Span:
    return cast("Span", region.extent)


def _scale(item: Item) -> tuple[float, float]:
    """Pixels in a percent of the image's width and height; the same for both where the size is unknown."""
    width, height = _size(item) or (100.0, 100.0)
    return width / 100, height / 100


def _size(item: Item) -> tuple[float, float] | None:
    try:
        width, height = float(item["original_width"]), float(item["original_height"])
    except (KeyError, TypeError, ValueError):
        return None
    return (width, height) if 0 < width < FAR and 0 < height < FAR else None


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("no whole number")
    number = int(value)
    if not 0 <= number < FAR:
        raise ValueError("no place in a text")
    return number


_READERS: dict[str, Callable[[Item], Extent]] = {
    "span": _read_span,
    "hypertext": _read_hypertext,
    "paragraphs": _read_paragraphs,
    "box": _read_box,
}
_WRITERS: dict[str, Callable[[Any, Sequence[Region], str | None], dict[str, Any]]] = {
    "span": _write_span,
    "hypertext": _write_hypertext,
    "paragraphs": _write_paragraphs,
    "box": _write_box,
}
