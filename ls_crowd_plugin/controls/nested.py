"""Choices with `allowNested`: a tree whose nodes are stored as paths.

In Label Studio, ticking a node ticks everything below it, and a node is ticked once everything below it is. So where
one answer is allowed, a label is any node (of a node and its only child, the child), and a ticked node stands for
everything below it. Where several are allowed, each leaf is a yes/no question, and the nodes above follow from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
from .paths import Path, chosen_paths, path_name


@dataclass(frozen=True)
class NestedChoices:
    spec: ControlSpec
    paths: Mapping[str, Path]  # name of a node → its path, in the order of the config
    multiple: bool

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def leaves(self) -> tuple[str, ...]:
        inner = {path[:-1] for path in self.paths.values()}
        return tuple(name for name, path in self.paths.items() if path not in inner)

    @property
    def questions(self) -> tuple[Question, ...]:
        if self.multiple:
            return yes_no_questions(self.spec, self.leaves)
        return (Question(self.name, self._labels),)

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        ticked = chosen_paths(items, "choices")
        if ticked is None:
            return {}
        if self.multiple:
            leaves = [name for name in self.leaves if _is_covered(self.paths[name], ticked)]
            return yes_no_answers(self.spec, self.leaves, leaves)
        topmost = [path for path in ticked if not _is_covered(path[:-1], ticked)]
        return single_answer(self.spec, self._labels, [path_name(self._only_descendant(path)) for path in topmost])

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        if self.multiple:
            chosen = {self.paths[leaf] for leaf in self.leaves if labels.get(yes_no_name(self.name, leaf)) == YES}
        else:
            label = labels.get(self.name, NONE)
            chosen = {self.paths[label]} if label in self.paths else set()
        unticked = {self.paths[leaf] for leaf in self.leaves if not _is_covered(self.paths[leaf], chosen)}
        ticked = [list(path) for path in self.paths.values() if not any(leaf[: len(path)] == path for leaf in unticked)]
        return [self.spec.item({"choices": ticked})] if ticked else []

    @property
    def _labels(self) -> tuple[str, ...]:
        return tuple(name for name, path in self.paths.items() if self._only_descendant(path) == path)

    def _only_descendant(self, path: Path) -> Path:
        """Return the node itself or, as long as a node has only one child, that child."""
        children = [child for child in self.paths.values() if child[:-1] == path]
        return self._only_descendant(children[0]) if len(children) == 1 else path


def _is_covered(path: Path, ticked: Sequence[Path] | set[Path]) -> bool:
    """Whether a node or one above it is ticked."""
    return any(path[: len(above)] == above for above in ticked)
