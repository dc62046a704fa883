"""Choices with `allowNested`: a tree whose nodes are stored as paths.

In Label Studio, ticking a node ticks everything below it, and a node is ticked once everything below it is. So where
one answer is allowed, a label is any node (of a node and its only child, the child), and a ticked node stands for
everything below it. Where several are allowed, each leaf is a yes/no question, and the nodes above follow from them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

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

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        inner = {path[:-1] for path in self.paths.values()}
        return tuple(name for name, path in self.paths.items() if path not in inner)

    @property
    def questions(self) -> tuple[Question, ...]:
        if self.multiple:
            return yes_no_questions(self.spec, self.leaves)
        return (Question(self.name, self._labels),)

    def chosen(self, items: Sequence[Item]) -> list[Path]:
        return chosen_paths(items, "choices", len(self.paths))

    def read(self, items: Sequence[Item]) -> dict[str, str]:
        chosen = self.chosen(items)
        ticked = set(chosen)
        if self.multiple:
            leaves = [name for name in self.leaves if _is_covered(self.paths[name], ticked)]
            return yes_no_answers(self.spec, self.leaves, leaves)
        topmost = [path for path in chosen if not _is_covered(path[:-1], ticked)]
        return single_answer(self.spec, self._labels, [path_name(self._only_descendant(path)) for path in topmost])

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        if self.multiple:
            chosen = {self.paths[leaf] for leaf in self.leaves if labels.get(yes_no_name(self.name, leaf)) == YES}
        else:
            label = labels.get(self.name, NONE)
            chosen = {self.paths[label]} if label in self.paths else set()
        unticked = {self.paths[leaf] for leaf in self.leaves if not _is_covered(self.paths[leaf], chosen)}
        incomplete = {leaf[:length] for leaf in unticked for length in range(1, len(leaf) + 1)}
        ticked = [list(path) for path in self.paths.values() if path not in incomplete]
        return [self.spec.item({"choices": ticked})] if ticked else []

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        return tuple(name for name, path in self.paths.items() if self._only_descendant(path) == path)

    @cached_property
    def _children(self) -> Mapping[Path, list[Path]]:
        children: dict[Path, list[Path]] = {}
        for path in self.paths.values():
            children.setdefault(path[:-1], []).append(path)
        return children

    def _only_descendant(self, path: Path) -> Path:
        """Return the node itself or, as long as a node has only one child, that child."""
        children = self._children.get(path, ())
        return self._only_descendant(children[0]) if len(children) == 1 else path


def _is_covered(path: Path, ticked: Container[Path]) -> bool:
    """Whether a node or one above it is ticked."""
    return any(path[:length] in ticked for length in range(1, len(path) + 1))
