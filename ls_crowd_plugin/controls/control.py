"""What all controls share: their interface, the attributes every one has, and the two ways to answer one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Protocol

from ..records import Json
from .bounds import MAX_CHOICES

Item = Json  # one entry of the `result` of an annotation or a prediction

NONE = "(none)"  # the answer of somebody who saw an optional control and left it empty
YES, NO = "yes", "no"


@dataclass(frozen=True)
class Question:
    """One thing to decide about a task; `name` is unique in its project."""

    name: str
    labels: tuple[str, ...]


class Control(Protocol):
    """A categorical control of a label config."""

    @property
    def spec(self) -> ControlSpec: ...

    @property
    def name(self) -> str: ...

    @property
    def questions(self) -> tuple[Question, ...]: ...

    def chosen(self, items: Sequence[Item]) -> Sequence[object]:
        """Return what this control's items of one annotation say; raise Unreadable if they have no meaning."""

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        """Return question → label from this control's items of one annotation; raise Unreadable like `chosen`."""

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        """Return the result items for these labels (question → label); empty if they say nothing."""


class Unsupported(Exception):
    """A control cannot be aggregated; the message is the reason."""


class Unreadable(Exception):
    """An annotation cannot be read; the message is the reason, a short phrase that repeats nothing of its content."""


@dataclass(frozen=True)
class ControlSpec:
    """The attributes that every control has.

    An empty control in a submitted annotation is an answer only if it was certainly shown and could be left empty. Then
    the answer is `NONE`, or `no` to every choice of a multiple one. A required control cannot be left empty, and a
    conditional one may have been hidden: for these an empty control is no answer. Neither is it for an ordered control:
    `NONE` has no place on its scale.
    """

    name: str
    to_name: str
    type: str
    empty_is_answer: bool
    ordered: bool = False  # the labels are a scale, from the first to the last

    def item(self, value: Json) -> Item:
        return {"value": value, "from_name": self.name, "to_name": self.to_name, "type": self.type}


def string_list(values: object, what: str) -> list[str]:
    """Return a list of strings as it is, and None as an empty list; raise Unreadable for anything else."""
    if values is None:
        return []
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return values
    raise Unreadable(f"{what} that is no list of texts")


def single_answer(spec: ControlSpec, labels: Sequence[str], chosen: Sequence[str]) -> dict[str, str]:
    """Return the answer to a question with one label: exactly one valid label, or nothing chosen at all."""
    if len(chosen) == 1 and chosen[0] in labels:
        return {spec.name: chosen[0]}
    if not chosen and spec.empty_is_answer and not spec.ordered:
        return {spec.name: NONE}
    return {}


def yes_no_answers(spec: ControlSpec, labels: Iterable[str], chosen: Sequence[str]) -> dict[str, str]:
    """Return the answers to one yes/no question per label; labels that are no longer in the config are ignored."""
    if not chosen and not spec.empty_is_answer:
        return {}
    ticked = set(chosen)
    return {yes_no_name(spec.name, label): YES if label in ticked else NO for label in labels}


def yes_no_questions(spec: ControlSpec, labels: Iterable[str]) -> tuple[Question, ...]:
    return tuple(Question(yes_no_name(spec.name, label), (NO, YES)) for label in labels)


def yes_no_name(control: str, label: str) -> str:
    """Return the name of the yes/no question about one label of a control."""
    return f"{control}: {label}"


def check_number(choices: Sized) -> None:
    """Raise Unsupported for the choices of a multiple control if they would be too many questions."""
    if len(choices) > MAX_CHOICES:
        raise Unsupported(f"it has more than {MAX_CHOICES:,} choices, each of which would be a question")
