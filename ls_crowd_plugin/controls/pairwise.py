"""Pairwise: which of two objects is chosen, left or right.

Label Studio's own page writes the control's name into `to_name`, but its import refuses that. This control writes the
name of the first object, which both accept, and reads either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from .control import NONE, ControlSpec, Item, Question, single_answer, string_list

SIDES = ("left", "right")


def from_element(element: Element, spec: ControlSpec) -> Pairwise:
    """Return the control for a Pairwise element."""
    del element
    return Pairwise(spec)


@dataclass(frozen=True)
class Pairwise:
    spec: ControlSpec

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def questions(self) -> tuple[Question, ...]:
        return (Question(self.name, SIDES),)

    def chosen(self, items: Sequence[Item]) -> list[str]:
        sides = [item["value"].get("selected") for item in items]
        return string_list([side for side in sides if side is not None], "a side")

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        return single_answer(self.spec, SIDES, self.chosen(items))

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        label = labels.get(self.name, NONE)
        return [self.spec.item({"selected": label})] if label != NONE else []
