"""Choices with `allowNested`: a tree whose nodes are named by their paths, as Label Studio's page stores them.

Ticking a node there ticks everything under it, and a node is ticked once all under it is. So with one answer allowed,
a label is any node (of a node and its only child, the child), and a ticked node speaks for what is under it; with
several, each leaf is a yes/no question and the nodes above follow from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .control import NONE, YES, Frame, Item, Question, each_name, each_of, one_of, yes_or_no
from .taxonomy import Path, chosen_paths, path_name


@dataclass(frozen=True)
class NestedChoices:
    frame: Frame
    paths: Mapping[str, Path]  # name of a node → its path, in the order of the config
    multiple: bool

    @property
    def name(self) -> str:
        return self.frame.name

    @property
    def leaves(self) -> tuple[str, ...]:
        inner = {path[:-1] for path in self.paths.values()}
        return tuple(name for name, path in self.paths.items() if path not in inner)

    @property
    def questions(self) -> tuple[Question, ...]:
        if self.multiple:
            return yes_or_no(self.frame, self.leaves)
        return (Question(self.name, self._labels),)

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        ticked = chosen_paths(items, "choices")
        if self.multiple:
            under = None if ticked is None else [name for name in self.leaves if _covered(self.paths[name], ticked)]
            return each_of(self.frame, self.leaves, under)
        top = None if ticked is None else [path for path in ticked if not _covered(path[:-1], ticked)]
        return one_of(
            self.frame, self._labels, None if top is None else [path_name(self._lowest(path)) for path in top]
        )

    @property
    def _labels(self) -> tuple[str, ...]:
        return tuple(name for name, path in self.paths.items() if self._lowest(path) == path)

    def _lowest(self, path: Path) -> Path:
        """The same node, or its only child, as far down as that goes."""
        below = [each for each in self.paths.values() if each[:-1] == path]
        return self._lowest(below[0]) if len(below) == 1 else path

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        if self.multiple:
            chosen = {self.paths[leaf] for leaf in self.leaves if labels.get(each_name(self.frame, leaf)) == YES}
        else:
            label = labels.get(self.name, NONE)
            chosen = {self.paths[label]} if label in self.paths else set()
        unticked = {self.paths[leaf] for leaf in self.leaves if not _covered(self.paths[leaf], chosen)}
        ticked = [list(path) for path in self.paths.values() if not any(leaf[: len(path)] == path for leaf in unticked)]
        return [self.frame.item({"choices": ticked})] if ticked else []


def _covered(path: Path, ticked: Sequence[Path] | set[Path]) -> bool:
    """Whether a node, or one above it, is ticked."""
    return any(path[: len(each)] == each for each in ticked)
