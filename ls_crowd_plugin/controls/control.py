"""What every kind of control offers: its questions, the answers in an annotation, the result items of a consensus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Item = dict[str, Any]  # one entry of an annotation's or a prediction's `result`

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
    def name(self) -> str: ...

    @property
    def questions(self) -> tuple[Question, ...]: ...

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        """Question → label, from this control's items of one annotation; an unreadable item gives no answer."""

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        """The result items that say these labels (question → label); none where there is nothing to say."""


@dataclass(frozen=True)
class Frame:
    """What all controls share: where they stand, and what an empty one means.

    An empty control of an annotation that was submitted is an answer only if it was surely shown and might be left
    empty: then it says `NONE` (or `no` to every choice of a multiple one). A required control cannot be empty, and a
    conditional one may have been hidden: there an empty control says nothing.
    """

    name: str
    to_name: str
    type: str
    empty_is_answer: bool

    def item(self, value: Mapping[str, Any]) -> Item:
        return {"value": dict(value), "from_name": self.name, "to_name": self.to_name, "type": self.type}


def texts(values: Any) -> list[str] | None:
    """A list of texts as it should be; None for anything else, which says nothing."""
    if values is None:
        return []
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return values
    return None


def one_of(frame: Frame, labels: Sequence[str], chosen: Sequence[str] | None) -> dict[str, str]:
    """The answer to a question with one label: exactly one known label, or none at all."""
    if chosen is None:
        return {}
    known = [label for label in chosen if label in labels]
    if len(known) == 1 and len(chosen) == 1:
        return {frame.name: known[0]}
    if not chosen and frame.empty_is_answer:
        return {frame.name: NONE}
    return {}


def each_of(frame: Frame, labels: Sequence[str], chosen: Sequence[str] | None) -> dict[str, str]:
    """The answers to one yes/no question per label; labels that are no longer in the config are passed over."""
    if chosen is None or (not chosen and not frame.empty_is_answer):
        return {}
    return {each_name(frame, label): YES if label in chosen else NO for label in labels}


def yes_or_no(frame: Frame, labels: Iterable[str]) -> tuple[Question, ...]:
    """One yes/no question per label."""
    return tuple(Question(each_name(frame, label), (NO, YES)) for label in labels)


def each_name(frame: Frame, label: str) -> str:
    """The name of the yes/no question about one label of a control."""
    return f"{frame.name}: {label}"
