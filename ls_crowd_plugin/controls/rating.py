"""Rating: one label out of 1 … maxRating, which are a scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from ..records import MIN_ORDERED
from .bounds import MAX_STARS
from .control import NONE, ControlSpec, Item, Question, Unreadable, Unsupported, single_answer

DEFAULT_MAX_RATING = "5"
LIMIT = 10**9  # no control has so many stars


def from_element(element: Element, spec: ControlSpec) -> Rating:
    """Return the control for a Rating element."""
    max_rating = element.get("maxRating") or DEFAULT_MAX_RATING
    if not max_rating.isdecimal() or len(max_rating) > len(str(MAX_STARS)) or not 1 <= int(max_rating) <= MAX_STARS:
        raise Unsupported(f"its maxRating is no whole number from 1 to {MAX_STARS:,}")
    return Rating(replace(spec, ordered=int(max_rating) >= MIN_ORDERED), int(max_rating))


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

    def chosen(self, items: Sequence[Item]) -> list[str]:
        ratings = [item["value"].get("rating") for item in items]
        numbers = [_stars(rating) for rating in ratings if rating is not None]
        return [str(int(stars) if stars == int(stars) else stars) for stars in numbers if stars]

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        return single_answer(self.spec, self.labels, self.chosen(items))

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        label = labels.get(self.name, NONE)
        return [self.spec.item({"rating": int(label)})] if label != NONE else []


def _stars(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable("a rating that is no number")
    if not abs(value) < LIMIT:  # nor is it NaN
        raise Unreadable("a rating with an absurd number of stars")
    return value
