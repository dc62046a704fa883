"""Controls with which annotators draw regions, and controls that describe the regions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .bounds import MAX_REGIONS
from .control import ControlSpec, Item, Question, Unreadable, string_list
from .region import SHAPES, Extent, ExtentKind, Region, image_size, on_image

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
        chosen = [label for value in values for label in string_list(value.get(self.key), "a label of a region")]
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
        """Return the regions of one annotation; None if any of them cannot be read."""
        try:
            return self.read_strictly(result, size)
        except Unreadable:
            return None

    def read_strictly(self, result: Sequence[Item], size: tuple[float, float] | None = None) -> list[Region]:
        """Return the regions of one annotation; raise Unreadable if any of them cannot be read.

        A region with several labels is returned once for each. One with an unknown label cannot be read: without it the
        annotation would say that there is nothing.
        """
        own = self._own_items(result)
        described = self._details_by_region(own)
        regions: list[Region] = []
        for item in own:
            if item["from_name"] != self.name:
                continue
            item = item if size is None else {**item, "original_width": size[0], "original_height": size[1]}
            extent, labels = self._extent(item), self._labels(item)
            region_id = item.get("id")
            details = described.get(region_id, {}) if isinstance(region_id, str) else {}
            regions += [Region(extent, label, details, item) for label in labels]
            if len(regions) > MAX_REGIONS:
                raise Unreadable(f"more than {MAX_REGIONS:,} regions")
        return regions

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
            shared |= on_image(members[0].item)
        value = {**place, self.key: [label]} if self.key else place
        items = [{**shared, "from_name": self.name, "type": self.spec.type, "value": value}]
        for detail in self.details:
            if detail.name in details:
                value = {**place, detail.key: [details[detail.name]]}
                items.append({**shared, "from_name": detail.name, "type": detail.spec.type, "value": value})
        return items

    def _own_items(self, result: Sequence[Item]) -> list[Item]:
        """Return the items of this control and of those that describe its regions."""
        names = {self.name, *(detail.name for detail in self.details)}
        own = []
        for item in result:
            if not isinstance(item, dict):
                raise Unreadable("an entry that is no object")
            name = item.get("from_name")
            if isinstance(name, str) and name in names:
                if not isinstance(item.get("value"), dict):
                    raise Unreadable("an entry without a value")
                own.append(item)
        return own

    def _details_by_region(self, items: Iterable[Item]) -> Mapping[str, dict[str, str]]:
        """Return details by the id that all items about one region share; without such controls there are none."""
        by_region: dict[str, list[Item]] = defaultdict(list)
        for item in items if self.details else ():
            if isinstance(item.get("id"), str):
                by_region[item["id"]].append(item)
        return {region_id: self._details(own) for region_id, own in by_region.items()}

    def _details(self, items: Sequence[Item]) -> dict[str, str]:
        labels = {detail.name: detail.read(items) for detail in self.details}
        return {name: label for name, label in labels.items() if label is not None}

    def _labels(self, item: Item) -> list[str]:
        labels = string_list(item["value"].get(self.key), "a label of a region") if self.key else [UNLABELLED]
        if not labels:
            raise Unreadable("a region without a label")
        if not set(labels) <= set(self.labels):
            raise Unreadable("a region with a label that the label config does not have")
        return list(dict.fromkeys(labels))

    def _extent(self, item: Item) -> Extent:
        try:
            return SHAPES[self.shape].read(item)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):  # UnusableInput is a ValueError
            what = "a box" if self.shape == "box" else "a span"
            raise Unreadable(f"{what} whose place cannot be read") from None
