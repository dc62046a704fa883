"""Choices: one label (single, single-radio), or one yes/no question per choice (multiple)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from .control import (
    NONE,
    YES,
    Control,
    ControlSpec,
    Item,
    Question,
    Unsupported,
    check_number,
    single_answer,
    string_list,
    yes_no_answers,
    yes_no_name,
    yes_no_questions,
)
from .elements import is_true
from .nested import NestedChoices
from .paths import config_paths


def from_element(element: Element, spec: ControlSpec) -> Control:
    """Return the control for a Choices element."""
    if not element.findall(".//Choice"):
        raise Unsupported("its choices come from the task's data")
    multiple = element.get("choice") == "multiple"
    paths = config_paths(element)
    if multiple:
        check_number(paths)
    if is_true(element, "allowNested"):
        return NestedChoices(spec, paths, multiple)
    return Choices(spec, tuple(dict.fromkeys(path[-1] for path in paths.values())), multiple)


@dataclass(frozen=True)
class Choices:
    spec: ControlSpec
    labels: tuple[str, ...]  # aliases where the config has them, because these are what Label Studio stores
    multiple: bool

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def questions(self) -> tuple[Question, ...]:
        if self.multiple:
            return yes_no_questions(self.spec, self.labels)
        return (Question(self.name, self.labels),)

    def chosen(self, items: Sequence[Item]) -> list[str]:
        return [label for item in items for label in string_list(item["value"].get("choices"), "a choice")]

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        return (yes_no_answers if self.multiple else single_answer)(self.spec, self.labels, self.chosen(items))

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        if self.multiple:
            chosen = [label for label in self.labels if labels.get(yes_no_name(self.name, label)) == YES]
        else:
            label = labels.get(self.name, NONE)
            chosen = [label] if label in self.labels else []
        return [self.spec.item({"choices": chosen})] if chosen else []
