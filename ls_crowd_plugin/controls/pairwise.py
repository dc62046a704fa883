"""Pairwise: which of two objects, left or right.

Label Studio's own page writes the control's name into `to_name`, and its import refuses that: written here is the
first object's name, which both accept; read is either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .control import NONE, Frame, Item, Question, one_of, texts

SIDES = ("left", "right")


@dataclass(frozen=True)
class Pairwise:
    frame: Frame

    @property
    def name(self) -> str:
        return self.frame.name

    @property
    def questions(self) -> tuple[Question, ...]:
        return (Question(self.name, SIDES),)

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        given = [item["value"].get("selected") for item in items]
        return one_of(self.frame, SIDES, texts([side for side in given if side is not None]))

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        label = labels.get(self.name, NONE)
        return [self.frame.item({"selected": label})] if label != NONE else []
