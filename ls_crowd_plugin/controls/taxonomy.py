"""Taxonomy: a label is a path from the root. Several may be chosen, so each path is a yes/no question.

The paths come from the config or, where it loads them from elsewhere, from the annotators' choices. With
`maxUsages="1"` there is one question whose labels are the paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from .control import (
    NONE,
    YES,
    ControlSpec,
    Item,
    Question,
    single_answer,
    yes_no_answers,
    yes_no_name,
    yes_no_questions,
)
from .paths import Path, chosen_paths, config_paths, path_name


def from_element(element: Element, spec: ControlSpec) -> Taxonomy:
    """Return the control for a Taxonomy element."""
    paths = config_paths(element)
    return Taxonomy(spec, paths, multiple=element.get("maxUsages") != "1", open=not paths)


@dataclass(frozen=True)
class Taxonomy:
    spec: ControlSpec
    paths: Mapping[str, Path]  # name of a path → the path
    multiple: bool
    open: bool = False  # whether the config leaves the paths open

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def questions(self) -> tuple[Question, ...]:
        if self.multiple:
            return yes_no_questions(self.spec, self.paths)
        return (Question(self.name, tuple(self.paths)),)

    def with_observed_labels(self, results: Iterable[Sequence[Item]]) -> Taxonomy:
        """Return this control with the paths that annotators chose, if the config lists none."""
        if not self.open:
            return self
        paths = {path_name(path): path for items in results for path in chosen_paths(items, "taxonomy") or ()}
        return replace(self, paths=dict(sorted(paths.items())))

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        paths = chosen_paths(items, "taxonomy")
        chosen = None if paths is None else [path_name(path) for path in paths]
        return (yes_no_answers if self.multiple else single_answer)(self.spec, tuple(self.paths), chosen)

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        if self.multiple:
            chosen = [path for label, path in self.paths.items() if labels.get(yes_no_name(self.name, label)) == YES]
        else:
            label = labels.get(self.name, NONE)
            chosen = [self.paths[label]] if label in self.paths else []
        return [self.spec.item({"taxonomy": [list(path) for path in chosen]})] if chosen else []
