"""Leaves out controls that would make two questions, or two answers, look the same.

The question about a choice is named `control: choice`, which may also be the name of another control.
"""

from __future__ import annotations

from collections.abc import Iterable

from .control import Control, Unsupported
from .region_control import NO_REGION, RegionControl, RegionDetail

Asker = Control | RegionControl | RegionDetail


def with_unique_names(
    regions: Iterable[RegionControl], controls: Iterable[Control]
) -> tuple[tuple[RegionControl, ...], tuple[Control, ...], list[tuple[str, str]]]:
    """Return the controls whose questions have names of their own, and name and reason of each of the others."""
    asked_by: dict[str, Asker] = {}
    left_out: list[tuple[str, str]] = []

    def is_usable(control: Control | RegionControl, askers: list[tuple[str, Asker]]) -> bool:
        try:
            _check_names(askers, asked_by)
            if isinstance(control, RegionControl):
                _check_labels(control)
        except Unsupported as reason:
            left_out.append((control.name, str(reason)))
            return False
        asked_by.update(askers)
        return True

    usable_regions = [control for control in regions if is_usable(control, _askers(control))]
    usable = [
        control
        for control in controls
        if is_usable(control, [(question.name, control) for question in control.questions])
    ]
    return tuple(usable_regions), tuple(usable), left_out


def _askers(control: RegionControl) -> list[tuple[str, Asker]]:
    """Return its questions with who asks them: several controls can share one that describes their regions."""
    return [(control.name, control), *((detail.name, detail) for detail in control.details)]


def _check_names(askers: list[tuple[str, Asker]], asked_by: dict[str, Asker]) -> None:
    own: dict[str, Asker] = {}
    for question, asker in askers:
        earlier = asked_by.get(question) or own.setdefault(question, asker)
        if earlier is not asker:
            raise Unsupported(
                f"its question {question!r} is also one of {earlier.name!r}; rename one of the two controls"
            )


def _check_labels(control: RegionControl) -> None:
    if any(NO_REGION in labels for labels in (control.labels, *(detail.labels for detail in control.details))):
        raise Unsupported(f"it has a label named {NO_REGION!r}, which here means that there is no region; rename it")
