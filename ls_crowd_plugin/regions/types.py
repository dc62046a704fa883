"""Regions as annotators drew them, and what can be done with their extents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from .boxes import Box
from .overlaps import Bounds, OverlappingPairs
from .spans import Span

Extent = TypeVar("Extent", bound=Span | Box)
SortKey = tuple[float | str, ...]


@dataclass(frozen=True)
class DrawnRegion(Generic[Extent]):
    """A region with the label that its annotator gave it."""

    annotator: int
    label: str
    extent: Extent

    @property
    def sort_key(self) -> SortKey:
        """Extent and label, without the annotator; a tuple because dataclasses are much slower to compare."""
        return (*vars(self.extent).values(), self.label)


class Kind(Protocol[Extent]):
    """What can be done with one kind of extent; the modules `spans` and `boxes` have this interface."""

    def overlapping_pairs(
        self, extents: Sequence[Extent], others: Sequence[Extent] | None = None, owners: Sequence[int] | None = None, /
    ) -> OverlappingPairs: ...

    def bounds(self, extents: Sequence[Extent], /) -> Bounds: ...

    def merge(self, extents: Sequence[Extent], weights: Sequence[float], /) -> Extent: ...


def extent_key(extent: Span | Box) -> SortKey:
    return tuple(vars(extent).values())


def centre(members: Sequence[DrawnRegion[Extent]], kind: Kind[Extent]) -> Extent:
    """Return the merged extent of regions with equal weights."""
    return kind.merge([member.extent for member in members], [1.0] * len(members))
