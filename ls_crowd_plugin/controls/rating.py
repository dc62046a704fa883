"""Rating: one label out of 1 … maxRating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from ..errors import UnusableInput
from .control import NONE, ControlSpec, Item, Question, single_answer

DEFAULT_MAX_RATING = "5"


def from_element(element: Element, spec: ControlSpec) -> Rating:
    """Return the control for a Rating element."""
    max_rating = element.get("maxRating") or DEFAULT_MAX_RATING
    if not max_rating.isdecimal() or int(max_rating) < 1:
        raise UnusableInput(f"Rating {spec.name!r} has maxRating {max_rating!r}; use a whole number.")
    return Rating(spec, int(max_rating))


@dataclass(frozen=True)
class Rating:
    spec: ControlSpec
    max_rating: int

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(str(stars) for stars in range(1, self.max_rating + 1))

    @property
    def questions(self) -> tuple[Question, ...]:
        return (Question(self.name, self.labels),)

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        ratings = [item["value"].get("rating") for item in items]
        numbers = [stars for stars in ratings if isinstance(stars, int | float) and not isinstance(stars, bool)]
        if any(stars is not None for stars in ratings if stars not in numbers):
            return {}
        return single_answer(self.spec, self.labels, [f"{stars:g}" for stars in numbers if stars])

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        label = labels.get(self.name, NONE)
        return [self.spec.item({"rating": int(label)})] if label != NONE else []
