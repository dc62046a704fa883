"""Rating: one label out of 1 … maxRating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .control import NONE, Frame, Item, Question, one_of


@dataclass(frozen=True)
class Rating:
    frame: Frame
    most: int

    @property
    def name(self) -> str:
        return self.frame.name

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(str(stars) for stars in range(1, self.most + 1))

    @property
    def questions(self) -> tuple[Question, ...]:
        return (Question(self.name, self.labels),)

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        given = [item["value"].get("rating") for item in items]
        numbers = [stars for stars in given if isinstance(stars, int | float) and not isinstance(stars, bool)]
        if any(stars is not None for stars in given if stars not in numbers):
            return {}
        return one_of(self.frame, self.labels, [f"{stars:g}" for stars in numbers if stars])

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        label = labels.get(self.name, NONE)
        return [self.frame.item({"rating": int(label)})] if label != NONE else []
