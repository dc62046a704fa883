"""Reads gold labels from a field of `task.data`."""

from __future__ import annotations

from collections.abc import Sequence

from .control import NO, YES, Control, yes_no_name
from .paths import path_name


def read_gold_field(controls: Sequence[Control], value: object) -> dict[str, str] | None:
    """Return question → label as a field states them; None if it names anything that the controls do not have.

    The field is a label, if there is one control; or a mapping from controls to a label or a list of labels (multiple
    choice; paths of a taxonomy are lists as well), or from single questions to a label.
    """
    by_name = {control.name: control for control in controls}
    if not isinstance(value, dict):
        if len(by_name) != 1:
            return None
        value = {next(iter(by_name)): value}
    valid = {question.name: question.labels for control in controls for question in control.questions}
    gold: dict[str, str] = {}
    for name, statement in value.items():
        if name in valid and str(statement) in valid[name]:
            gold[name] = str(statement)
        elif name in by_name and (labels := _labels_of_control(by_name[name], statement)):
            gold |= labels
        else:
            return None
    return gold


def _labels_of_control(control: Control, statement: object) -> dict[str, str]:
    """Return question → label for one control, from a label or, where several may be chosen, a list of them."""
    valid = {question.name: question.labels for question in control.questions}
    if control.name in valid:
        label = _label(statement)
        return {control.name: label} if label in valid[control.name] else {}
    chosen = statement if isinstance(statement, list) else [statement]
    names = {yes_no_name(control.name, _label(label)) for label in chosen}
    return {name: YES if name in names else NO for name in valid} if names <= valid.keys() else {}


def _label(statement: object) -> str:
    return path_name(tuple(map(str, statement))) if isinstance(statement, list) else str(statement)
