"""The regions of a task where they are: texts with marked pieces, and boxes on the image's area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup
from sqlalchemy import Connection

from ..controls import NO_REGION
from ..records import LabelRegion, TaskLabel
from ..store.mirror import read_texts
from . import charts

Piece = tuple[str, str]  # a piece of text, and the labels of the spans it is in


@dataclass(frozen=True)
class RegionView:
    texts: list[list[Piece]]
    boxes: Markup


def region_view(connection: Connection, project: int, task: int, labels: Sequence[TaskLabel]) -> RegionView:
    existing = [
        (label.label, label.region)
        for label in labels
        if label.region is not None and label.question == label.region.control and label.label != NO_REGION
    ]
    texts = read_texts(connection, project, [task]).get(task, {})
    spans = [(label, region) for label, region in existing if region.shape == "span"]
    marked = sorted({region.object for _, region in spans} & texts.keys())
    return RegionView(
        [_pieces(texts[name], [one for one in spans if one[1].object == name]) for name in marked],
        _draw_boxes([(label, region) for label, region in existing if region.shape == "box"]),
    )


def _pieces(text: str, spans: Sequence[tuple[str, LabelRegion]]) -> list[Piece]:
    """Cut a text at the ends of its spans."""
    places = [(int(region.value["start"]), int(region.value["end"]), label) for label, region in spans]
    cuts = sorted({0, len(text), *(min(cut, len(text)) for start, end, _ in places for cut in (start, end))})
    return [
        (text[start:end], ", ".join(label for first, last, label in places if first <= start and end <= last))
        for start, end in pairwise(cuts)
    ]


def _draw_boxes(boxes: Sequence[tuple[str, LabelRegion]]) -> Markup:
    if not boxes:
        return Markup("")
    first = boxes[0][1]
    size = (float(first.original_width or 100), float(first.original_height or 100))
    description = f"{len(boxes)} boxes: {', '.join(label for label, _ in boxes)}."
    return charts.boxes([(label, region.value) for label, region in boxes], *size, description)
