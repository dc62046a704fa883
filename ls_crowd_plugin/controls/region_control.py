"""Controls with which annotators draw regions, and controls that describe the regions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import UnusableInput
from .control import ControlSpec, Item, Question, string_list
from .region import ON_IMAGE, SHAPES, Extent, ExtentKind, Region, image_size

NO_REGION = "(no region)"  # the answer of somebody who saw the task and drew nothing there
UNLABELLED = "region"  # the label of regions that are drawn without one


@dataclass(frozen=True)
class RegionDetail:
    """A control that says something about each region."""

    spec: ControlSpec
    key: str  # of `value`, where the labels are
    labels: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.spec.name

    def read(self, items: Sequence[Item]) -> str | None:
        """Return the label that was chosen, if it was exactly one."""
        values = [item["value"] for item in items if item.get("from_name") == self.name]
        chosen = [label for value in values for label in string_list(value.get(self.key)) or ()]
        return chosen[0] if len(chosen) == 1 and chosen[0] in self.labels else None


@dataclass(frozen=True)
class RegionControl:
    """A control with which annotators draw."""

    spec: ControlSpec
    shape: str  # a key of SHAPES
    key: str  # of `value`, where the labels are; empty for a control that draws without labels
    labels: tuple[str, ...]
    details: tuple[RegionDetail, ...] = ()

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def kind(self) -> ExtentKind:
        return SHAPES[self.shape].kind

    @property
    def questions(self) -> tuple[Question, ...]:
        """One question about each region, whether it exists and with which label, and those about its details."""
        details = (Question(detail.name, detail.labels) for detail in self.details)
        return (Question(self.name, (*self.labels, NO_REGION)), *details)

    def image_size(self, results: Iterable[Sequence[Item]]) -> tuple[float, float] | None:
        """Return the image size that most boxes of a task state, by which all of them are then measured."""
        if self.shape != "box":
            return None
        sizes = Counter(
            image_size(item)
            for result in results
            for item in result
            if isinstance(item, dict) and item.get("from_name") == self.name
        )
        return max(sizes, key=lambda size: (size is not None, sizes[size], size or (0.0, 0.0)), default=None)

    def read(self, result: Sequence[Item], size: tuple[float, float] | None = None) -> list[Region] | None:
        """Return the regions of one annotation; None if any of them cannot be read.

        A region with several labels is returned once for each. One with an unknown label cannot be read: without it the
        annotation would say that there is nothing.
        """
        readable = [item for item in result if isinstance(item, dict) and isinstance(item.get("value"), dict)]
        same_region = self._items_by_region(readable)
        regions = []
        for item in readable:
            if item.get("from_name") != self.name:
                continue
            item = item if size is None else {**item, "original_width": size[0], "original_height": size[1]}
            extent = self._extent(item)
            labels = (string_list(item["value"].get(self.key)) or []) if self.key else [UNLABELLED]
            if extent is None or not labels or not set(labels) <= set(self.labels):
                return None
            details = self._details(same_region[item["id"]] if isinstance(item.get("id"), str) else [])
            regions += [Region(extent, label, details, item) for label in labels]
        return None if len(readable) < len(result) else regions

    def write(
        self,
        region_id: str,
        extent: Extent,
        label: str,
        details: Mapping[str, str],
        members: Sequence[Region],
        text: str | None,
    ) -> list[Item]:
        """Return the items of one region; `members` are the regions it was merged from, `text` the whole text."""
        place = SHAPES[self.shape].write(extent, members, text)
        shared = {"id": region_id, "to_name": self.spec.to_name}
        if self.shape == "box":
            shared |= {name: members[0].item[name] for name in ON_IMAGE if name in members[0].item}
        value = {**place, self.key: [label]} if self.key else place
        items = [{**shared, "from_name": self.name, "type": self.spec.type, "value": value}]
        for detail in self.details:
            if detail.name in details:
                value = {**place, detail.key: [details[detail.name]]}
                items.append({**shared, "from_name": detail.name, "type": detail.spec.type, "value": value})
        return items

    def _items_by_region(self, items: Iterable[Item]) -> Mapping[str, list[Item]]:
        """Return the items by the id that those about one region share; none are needed without details."""
        by_region: dict[str, list[Item]] = defaultdict(list)
        for item in items if self.details else ():
            if isinstance(item.get("id"), str):
                by_region[item["id"]].append(item)
        return by_region

    def _details(self, items: Sequence[Item]) -> dict[str, str]:
        labels = {detail.name: detail.read(items) for detail in self.details}
        return {name: label for name, label in labels.items() if label is not None}

    def _extent(self, item: Item) -> Extent | None:
        try:
            return SHAPES[self.shape].read(item)
        except (KeyError, TypeError, ValueError, AttributeError, UnusableInput):
            return None
