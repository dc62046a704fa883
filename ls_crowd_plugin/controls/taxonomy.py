"""Taxonomy: a label is a path from the root; several may be chosen, so each path is a yes/no question of its own.

A path's name joins its parts with " / ", and the same inside a part becomes " // " so that names stay distinct. Paths
come from the config, or, where it loads them from elsewhere, from what annotators chose. With `maxUsages="1"` there is
one question whose labels are the paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .control import NONE, YES, Frame, Item, Question, each_name, each_of, one_of, texts, yes_or_no

Path = tuple[str, ...]


@dataclass(frozen=True)
class Taxonomy:
    frame: Frame
    paths: Mapping[str, Path]  # name of a path → the path
    multiple: bool
    open: bool = False  # the config does not list the paths

    @property
    def name(self) -> str:
        return self.frame.name

    @property
    def questions(self) -> tuple[Question, ...]:
        if self.multiple:
            return yes_or_no(self.frame, self.paths)
        return (Question(self.name, tuple(self.paths)),)

    def knowing(self, results: Iterable[Sequence[Item]]) -> Taxonomy:
        """This control with the paths that annotators chose, where the config does not list any."""
        if not self.open:
            return self
        paths = {path_name(path): path for items in results for path in chosen_paths(items, "taxonomy") or ()}
        return replace(self, paths=dict(sorted(paths.items())))

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        paths = chosen_paths(items, "taxonomy")
        chosen = None if paths is None else [path_name(path) for path in paths]
        return (each_of if self.multiple else one_of)(self.frame, tuple(self.paths), chosen)

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        if self.multiple:
            chosen = [path for label, path in self.paths.items() if labels.get(each_name(self.frame, label)) == YES]
        else:
            label = labels.get(self.name, NONE)
            chosen = [self.paths[label]] if label in self.paths else []
        return [self.frame.item({"taxonomy": [list(path) for path in chosen]})] if chosen else []


def path_name(path: Path) -> str:
    return " / ".join(part.replace(" / ", " // ") for part in path)


def chosen_paths(items: Sequence[Item], key: str) -> list[Path] | None:
    """The paths chosen; None where an item cannot be read."""
    found: list[Path] = []
    for item in items:
        paths = item["value"].get(key)
        if paths is None:
            continue
        if not isinstance(paths, list):
            return None
        for path in paths:
            parts = texts(path)
            if not parts:
                return None
            found.append(tuple(parts))
    return found
