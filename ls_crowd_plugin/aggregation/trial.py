"""Labels of gold tasks by fits that were not shown their gold: what every comparison on gold is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import UnusableInput
from ..records import Json
from .encoding import encode_answers
from .entry import aggregate
from .types import Column, Flags, Floats, Gold, Id, Label, LabelSet, Ordered, Progress


@dataclass(frozen=True)
class Judged:
    """The labels of n gold tasks, compared with the gold; the same tasks in the same order for all of one trial."""

    confidence: Floats  # [n]
    right: Flags  # [n]
    distance: Floats  # [n] places between label and gold; NaN where labels have no order
    decide: str  # one of DECISIONS

    @property
    def loss(self) -> Floats:
        """[n] what the decision is to keep small: 1 for a wrong label, or its distance where that was asked for."""
        wrong = (~self.right).astype(float)
        return np.where(np.isnan(self.distance), wrong, self.distance) if self.decide == "distance" else wrong


class Trial:
    """The gold of a crowd, split at random into parts; each part is hidden in turn and judged by a fit to the others.

    The parameters are those of `aggregate`; `folds` is the number of parts.
    """

    def __init__(
        self,
        tasks: Column,
        annotators: Column,
        labels: Column,
        gold: Gold,
        label_set: LabelSet | None = None,
        questions: Column | None = None,
        seed: int = 0,
        folds: int = 5,
        *,
        ordered: Ordered | None = None,
        decide: str = "label",
        progress: Progress | None = None,
    ) -> None:
        self.seed = seed
        self.parts = _split(_answered_gold(tasks, gold, questions), seed, folds)
        self._columns = (tasks, annotators, labels)
        self._options: Json = {"label_set": label_set, "questions": questions, "ordered": ordered}
        self._gold, self._decide, self._progress = gold, decide, progress
        self._places = self._find_places() if ordered else {}
        self._judged: dict[tuple[str, float], Judged] = {}

    def judge(self, method: str, share: float = 1.0) -> Judged:
        """Judge a method that is shown a share of the gold that is not hidden; what was judged before is remembered.

        A smaller share is part of a larger one, and a part of the gold is shown about equally often to all others.
        Without any gold, one fit judges all parts.
        """
        if (method, share) not in self._judged:
            self._judged[method, share] = self._judge(method, share)
        return self._judged[method, share]

    def shown(self, part: int, share: float = 1.0) -> list[Id]:
        """The gold that is shown while a part is hidden: beginning with the next part, and of all others in turn."""
        others = [key for following in (*self.parts[part + 1 :], *self.parts[:part]) for key in following]
        return others[: round(share * len(others))]

    def _judge(self, method: str, share: float) -> Judged:
        rows: list[tuple[float, bool, float]] = []
        before, consensus = None, None
        for number, part in enumerate(self.parts):
            if self._progress:
                self._progress(f"Evaluating {method}", number / len(self.parts))
            shown = self._shown_labels(number, share)
            if consensus is None or shown != before:
                consensus = aggregate(
                    *self._columns, gold=shown, method=method, seed=self.seed, decide=self._decide, **self._options
                )
            before = shown
            for key in part:
                label, gold = consensus.labels[key], self._gold[key]
                rows.append((consensus.confidence[key], label == gold, self._distance(key, label, gold)))
        confidence, right, distance = zip(*rows, strict=True)
        return Judged(np.array(confidence), np.array(right, bool), np.array(distance), self._decide)

    def _shown_labels(self, part: int, share: float) -> Gold:
        if share == 1.0:  # also what nobody answered, which may name labels
            hidden = set(self.parts[part])
            return {key: label for key, label in self._gold.items() if key not in hidden}
        return {key: self._gold[key] for key in self.shown(part, share)}

    def _distance(self, key: Id, label: Label, gold: Label) -> float:
        question = None if self._options["questions"] is None else key[1]
        scale = self._places.get(question)
        return float("nan") if scale is None else float(abs(scale[label] - scale[gold]))

    def _find_places(self) -> dict[Id, dict[Label, int]]:
        """Question → label → place on its scale, by all labels of answers and gold."""
        answers = encode_answers(*self._columns, gold=self._gold, **self._options)
        start = answers.choice_start.tolist()
        return {
            answers.questions[at]: dict(
                zip(answers.choices[start[at] : start[at + 1]], answers.place[start[at] : start[at + 1]], strict=True)
            )
            for at in np.flatnonzero(answers.is_ordered).tolist()
        }


def _answered_gold(tasks: Column, gold: Gold, questions: Column | None) -> list[Id]:
    """The keys of gold that somebody answered, in an order that depends on the keys alone."""
    task_list = tasks.tolist() if isinstance(tasks, np.ndarray) else tasks
    question_list = questions.tolist() if isinstance(questions, np.ndarray) else questions
    answered = set(task_list) if question_list is None else set(zip(task_list, question_list, strict=True))
    return sorted((key for key in gold if key in answered), key=repr)


def _split(keys: Sequence[Id], seed: int, folds: int) -> list[list[Id]]:
    """Split the keys at random into parts whose sizes differ by at most one."""
    if len(keys) < 2:
        raise UnusableInput(
            f"Gold labels of tasks with answers: {len(keys)}; give at least 2 to compare methods, better 50 or more."
        )
    if folds < 2:
        raise UnusableInput(f"The gold cannot be split into {folds} part(s) for cross-validation; use at least 2.")
    shuffled = np.random.default_rng(seed).permutation(len(keys))
    return [[keys[position] for position in part] for part in np.array_split(shuffled, min(folds, len(keys)))]
