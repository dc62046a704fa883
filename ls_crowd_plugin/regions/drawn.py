"""Regions as annotators drew them, whatever their kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from .boxes import Box
from .spans import Span
from .sweep import Pairs

Extent = TypeVar("Extent", bound=Span | Box)


@dataclass(frozen=True)
class Drawn(Generic[Extent]):
    """A region with the label that its annotator gave it."""

    annotator: int
    label: str
    extent: Extent

    @property
    def key(self) -> tuple[Any, ...]:
        """What regions are ordered by, except for who drew them: comparing tuples is much faster than dataclasses."""
        return (*vars(self.extent).values(), self.label)


class Kind(Protocol[Extent]):
    """What can be done with one kind of extent; the modules `spans` and `boxes` are kinds."""

    def pairs(self, extents: Sequence[Extent], others: Sequence[Extent] | None = None, /) -> Pairs: ...

    def merged(self, extents: Sequence[Extent], weights: Sequence[float], /) -> Extent: ...


def centre(members: Sequence[Drawn[Extent]], kind: Kind[Extent]) -> Extent:
    """The merged extent of regions that count alike."""
    return kind.merged([member.extent for member in members], [1.0] * len(members))
