"""Taxonomy: a label is a path from the root. Several may be chosen, so each path is a yes/no question.

The paths come from the config or, where it loads them from elsewhere, from the annotators' choices; from these, too,
where the config has so many that most are never chosen. With `maxUsages="1"` there is one question whose labels are the
paths.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from ..records import LeftOut
from .bounds import MAX_CHOICES, MAX_OBSERVED_PATHS, MAX_RARE_ANSWERS
from .control import (
    NONE,
    YES,
    ControlSpec,
    Item,
    Question,
    Unreadable,
    single_answer,
    yes_no_answers,
    yes_no_name,
    yes_no_questions,
)
from .paths import Path, chosen_paths, config_paths, path_name

MAX_SHOWN = 60  # characters of a path that is named in a sentence

Chosen = tuple[object, Sequence[Item]]  # who annotated, and what this control's items say


def from_element(element: Element, spec: ControlSpec) -> Taxonomy:
    """Return the control for a Taxonomy element."""
    paths = config_paths(element)
    multiple = element.get("maxUsages") != "1"
    if multiple and len(paths) > MAX_CHOICES:
        return Taxonomy(spec, {}, multiple, open=True, config=paths)
    return Taxonomy(spec, paths, multiple, open=not paths)


@dataclass(frozen=True)
class Taxonomy:
    spec: ControlSpec
    paths: Mapping[str, Path]  # name of a path → the path
    multiple: bool
    open: bool = False  # whether the paths depend on what annotators choose
    config: Mapping[str, Path] | None = None  # the paths that they can choose from, if these are known

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def questions(self) -> tuple[Question, ...]:
        if self.multiple:
            return yes_no_questions(self.spec, self.paths)
        return (Question(self.name, tuple(self.paths)),)

    def with_observed_labels(self, results: Iterable[Chosen], taken: Container[str]) -> tuple[Taxonomy, list[LeftOut]]:
        """Return this control with the paths that annotators chose, if the config leaves them open, and what is left
        out: paths that few people chose, where there are too many, and those whose question would have a name that is
        `taken`. Otherwise one annotation could multiply the questions of a whole project."""
        if not self.open:
            return self, []
        results = list(results)
        paths, people = self._observed(results)
        by_people = sorted(paths, key=lambda name: (-people[name], name))
        unusable = [name for name in by_people if self._is_taken(name, taken)]
        usable = [name for name in by_people if not self._is_taken(name, taken)]
        most = MAX_OBSERVED_PATHS
        if self.multiple and len({who for who, _ in results}) > 1:
            common = sum(people[name] > 1 for name in usable)
            most = min(most, common + max(common, MAX_RARE_ANSWERS // len(results)))
        left_out = []
        if usable[most:]:
            left_out.append(self._left_out(usable[most:], f"they are not among the {most} that most people chose"))
        if unusable:
            left_out.append(self._left_out(unusable, "other questions have their names"))
        return replace(self, paths={name: paths[name] for name in sorted(usable[:most])}), left_out

    def chosen(self, items: Sequence[Item]) -> list[Path]:
        return chosen_paths(items, "taxonomy", len(self.config or self.paths))

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        chosen = [path_name(path) for path in self.chosen(items)]
        return (yes_no_answers if self.multiple else single_answer)(self.spec, tuple(self.paths), chosen)

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        if self.multiple:
            chosen = [path for label, path in self.paths.items() if labels.get(yes_no_name(self.name, label)) == YES]
        else:
            label = labels.get(self.name, NONE)
            chosen = [self.paths[label]] if label in self.paths else []
        return [self.spec.item({"taxonomy": [list(path) for path in chosen]})] if chosen else []

    def _observed(self, results: Iterable[Chosen]) -> tuple[dict[str, Path], Counter[str]]:
        """Return the paths that were chosen, by name, and how many people chose each."""
        paths: dict[str, Path] = {}
        chosen_by: dict[object, set[str]] = defaultdict(set)
        for annotator, items in results:
            try:
                chosen = {path_name(path): path for path in self.chosen(items)}
            except Unreadable:
                continue
            for name, path in chosen.items():
                if self.config is None or name in self.config:
                    paths.setdefault(name, path if self.config is None else self.config[name])
                    chosen_by[annotator].add(name)
        return paths, Counter(name for names in chosen_by.values() for name in names)

    def _is_taken(self, name: str, taken: Container[str]) -> bool:
        return self.multiple and yes_no_name(self.name, name) in taken

    def _left_out(self, names: Sequence[str], why: str) -> LeftOut:
        example = names[0] if len(names[0]) <= MAX_SHOWN else names[0][:MAX_SHOWN] + "…"
        number = "1 of its paths" if len(names) == 1 else f"{len(names):,} of its paths"
        return LeftOut(self.name, "Taxonomy", f"{number}, for example {example!r}: {why}")
