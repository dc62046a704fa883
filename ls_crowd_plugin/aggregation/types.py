"""The types that the whole room shares: arrays, and values as the caller gave them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int32]
Positions = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# Values as the caller gave them. Any hashable value will do, and it comes back as a plain Python value.
Id: TypeAlias = Any  # a task, an annotator, a question, or a (task, question) pair
Label: TypeAlias = Any

Column = Sequence[Hashable] | npt.NDArray[Any]  # one value per answer
Gold = Mapping[Id, Hashable]  # task → label, or (task, question) → label
LabelSet = Sequence[Hashable] | Mapping[Id, Sequence[Hashable]]  # all labels, or question → labels
Ordered = bool | Collection[Id]  # whether all questions are ordered, or which


class Lessons(NamedTuple):
    """Answers to learn from, as columns, with the gold that may be seen."""

    tasks: Column
    annotators: Column
    labels: Column
    questions: Column | None = None
    gold: Gold | None = None


Progress = Callable[[str, float], None]  # receives the stage and the fraction of it that is done
FitProgress = Callable[[float], None]  # receives the fraction of one fit that is done
