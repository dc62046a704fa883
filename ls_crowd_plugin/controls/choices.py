"""Choices: one label (single, single-radio), or one yes/no question per choice (multiple)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .control import NONE, YES, Frame, Item, Question, each_name, each_of, one_of, texts, yes_or_no


@dataclass(frozen=True)
class Choices:
    frame: Frame
    labels: tuple[str, ...]  # aliases where the config has them: that is what Label Studio stores
    multiple: bool

    @property
    def name(self) -> str:
        return self.frame.name

    @property
    def questions(self) -> tuple[Question, ...]:
        if self.multiple:
            return yes_or_no(self.frame, self.labels)
        return (Question(self.name, self.labels),)

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        said = [texts(item["value"].get("choices")) for item in items]
        chosen = None if None in said else [label for labels in said for label in labels or ()]
        return (each_of if self.multiple else one_of)(self.frame, self.labels, chosen)

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        if self.multiple:
            chosen = [label for label in self.labels if labels.get(each_name(self.frame, label)) == YES]
        else:
            label = labels.get(self.name, NONE)
            chosen = [label] if label in self.labels else []
        return [self.frame.item({"choices": chosen})] if chosen else []
