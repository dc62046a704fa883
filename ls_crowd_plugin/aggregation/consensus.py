"""`aggregate()`: answers in, consensus out; and the consensus itself, which makes its tables when asked for them."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from .. import __version__
from ..errors import UnusableInput
from .answers import Answers, Floats, answers_from_triples
from .choice import FORMS, WEIGHTED, Choice, fit_method
from .fit import Progress
from .people import People, describe

METHODS = ("auto", "gem", "neg", "sw", "hyb", "plu")
NEAR_TIE = 0.1  # a label that leads the next by less than this leaves honest doubt
SAME = 1e-9  # posteriors nearer to each other than this are tied


def aggregate(
    tasks: Sequence[Hashable] | npt.NDArray[Any],
    annotators: Sequence[Hashable] | npt.NDArray[Any],
    labels: Sequence[Hashable] | npt.NDArray[Any],
    gold: Mapping[Any, Hashable] | None = None,
    method: str = "auto",
    label_set: Sequence[Hashable] | Mapping[Any, Sequence[Hashable]] | None = None,
    questions: Sequence[Hashable] | npt.NDArray[Any] | None = None,
    seed: int = 0,
    *,
    form: str | None = None,
    progress: Progress | None = None,
) -> Consensus:
    """Finds the most probable label of every task and how far each annotator can be trusted.

    `tasks`, `annotators` and `labels` are equally long columns of answers; the last of several answers by one
    annotator to one task counts. `questions` names the question of each answer where tasks have several. `gold` maps
    task → label, or (task, question) → label. `label_set` lists all labels, or maps question → labels, where some were
    never chosen. `method` is one of METHODS; `form` one of FORMS for `gem`, or `printed` for `neg`, `sw` and `hyb`.
    `progress(stage, fraction)` is called now and then. The same input and seed give the same result.
    """
    started = time.perf_counter()
    if method not in METHODS:
        raise UnusableInput(f"There is no method {method!r}; choose one of {', '.join(METHODS)}.")
    forms = FORMS if method == "gem" else {"printed"} if method in WEIGHTED else set()
    if form is not None and form not in forms:
        choices = f"choose one of {', '.join(forms)}" if forms else "leave it out"
        raise UnusableInput(f"Method {method!r} has no form {form!r}; {choices}.")
    table = answers_from_triples(tasks, annotators, labels, gold, label_set, questions)
    choice = fit_method(table, method, form, seed, progress or _unheard)
    return Consensus(choice, seed, time.perf_counter() - started)


class Consensus:
    """The labels of a crowd, and what it says of its annotators and tasks.

    A task is named as it was given, or as (task, question) where questions were given.
    """

    def __init__(self, choice: Choice, seed: int, seconds: float) -> None:
        self._choice, self._seed, self._seconds = choice, seed, seconds
        self._answers: Answers = choice.fit.answers
        self._crowd, self._crowd_unchosen = choice.calibration.apply(
            self._answers, choice.fit.posterior, choice.fit.unchosen, choice.fit.weight
        )

    @cached_property
    def labels(self) -> dict[Any, Any]:
        """Task → label; gold tasks have their gold label."""
        choices = self._answers.choices
        return {
            item: choices[choice] for item, choice in zip(self._answers.items, self._label_choice.tolist(), strict=True)
        }

    @cached_property
    def confidence(self) -> dict[Any, float]:
        """Task → probability that its label is right; 1 for gold."""
        return dict(zip(self._answers.items, self._confidence.tolist(), strict=True))

    def posterior(self, task: Any, lift_gold: bool = False) -> dict[Any, float]:
        """Label → probability; of a gold task, with `lift_gold`, what the crowd says."""
        if task not in self._position:
            raise KeyError(f"There is no task {task!r} among the answers or the gold.")
        answers, item = self._answers, self._position[task]
        question = answers.item_question[item]
        first, after = answers.choice_start[question], answers.choice_start[question + 1]
        options = self._options_of(item)
        gold = answers.gold_option[item]
        if gold >= 0 and not lift_gold:
            values = np.zeros(after - first)
            values[answers.option_choice[gold] - first] = 1.0
        else:
            values = np.full(after - first, self._crowd_unchosen[item])
            values[answers.option_choice[options] - first] = self._crowd[options]
        return dict(zip(answers.choices[first:after], values.tolist(), strict=True))

    def lifted(self, task: Any) -> tuple[Any, float]:
        """Label and confidence of a task as the crowd gives them: for a gold task, with the gold label lifted."""
        if task not in self._position:
            raise KeyError(f"There is no task {task!r} among the answers or the gold.")
        choice, confidence = self._most_probable
        item = self._position[task]
        return self._answers.choices[choice[item]], float(confidence[item])

    @cached_property
    def alike(self) -> Consensus:
        """The same with gold tasks, where their gold is lifted, judged by the fit that judges all others.

        Of a gold task this one says what fits say that did not know its label, which is fair where it is compared with
        it. Shown beside other tasks, such a number would give away which tasks are gold.
        """
        if self._choice.alike is None:
            return self
        return Consensus(replace(self._choice, fit=self._choice.alike, alike=None), self._seed, self._seconds)

    @cached_property
    def tasks(self) -> list[dict[str, Any]]:
        """One row per task: task, question if given, label, confidence, difficulty, answers."""
        difficulty = self._choice.fit.difficulty
        hard = [None] * len(self._answers.items) if difficulty is None else difficulty.tolist()
        with_questions = self._answers.questions != [None]
        rows = []
        for name, label, confidence, hardness, count in zip(
            self._answers.items,
            self.labels.values(),
            self.confidence.values(),
            hard,
            self._answers.answers_per_item.tolist(),
            strict=True,
        ):
            key = {"task": name[0], "question": name[1]} if with_questions else {"task": name}
            rows.append({**key, "label": label, "confidence": confidence, "difficulty": hardness, "answers": count})
        return rows

    @cached_property
    def annotators(self) -> list[dict[str, Any]]:
        """One row per annotator, with the columns of `annotators.csv`."""
        fit, people = self._choice.fit, self._people
        none = [None] * len(self._answers.annotators)
        asked, right = self._answers.agrees_with_gold
        columns: dict[str, Sequence[Any]] = {
            "annotator": self._answers.annotators,
            "answers": self._answers.answers_per_annotator.tolist(),
            "gold_answers": asked.tolist(),
            "gold_correct": right.tolist(),
            "skill": fit.skill.tolist(),
            "skill_se": none if fit.skill_error is None else fit.skill_error.tolist(),
            "adversary_probability": none if fit.adversary is None else fit.adversary.tolist(),
            "weight": fit.weight.tolist(),
            "accuracy": people.accuracy.tolist(),
            "verdict": people.verdict,
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    @cached_property
    def doubtful(self) -> list[Any]:
        """Tasks without gold whose label leads the next by less than NEAR_TIE: honest doubt, whatever was printed."""
        close = (self._lead < NEAR_TIE) & (self._answers.gold_option < 0)
        return [self._answers.items[item] for item in np.flatnonzero(close).tolist()]

    @cached_property
    def plurality_disagreements(self) -> int:
        """How many answered tasks have a label that is not among those with the most votes."""
        answers = self._answers
        most = np.maximum.reduceat(answers.votes, answers.option_start)
        leads = answers.votes >= most[answers.option_item]
        same = leads & (answers.option_choice == self._label_choice[answers.option_item])
        agreed = np.maximum.reduceat(same, answers.option_start)
        return int((~agreed & (answers.answers_per_item > 0)).sum())

    @cached_property
    def gold_agreement(self) -> tuple[int, int]:
        """How many answered gold tasks there are, and how many of them the crowd labels right with the gold lifted."""
        answers = self._answers
        judged = (answers.gold_option >= 0) & (answers.answers_per_item > 0)
        best = self._most_probable[0]
        right = best[judged] == answers.option_choice[answers.gold_option[judged]]
        return int(judged.sum()), int(right.sum())

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know; none of it stopped the work."""
        found = list(self._answers.warnings)
        fit = self._choice.fit
        if not fit.converged:
            found.append(
                f"The fit had not settled after {len(fit.history)} rounds; the labels may still move a little."
            )
        if fit.adversary is not None and not self._answers.gold_option.max(initial=-1) >= 0:
            share = float(fit.adversary @ self._answers.answers_per_annotator) / len(self._answers.answer_item)
            if share > 1 / 3 and np.diff(self._answers.choice_start).max() <= 2:
                found.append(
                    f"{share:.0%} of the answers look contrary, and without gold a crowd of two labels looks the"
                    " same as its mirror image; give a few gold labels to tell which it is."
                )
        return tuple(found)

    @property
    def facts(self) -> dict[str, Any]:
        """How the consensus came about: the content of `run.json`."""
        fit, calibration = self._choice.fit, self._choice.calibration
        return {
            "method": self._choice.method,
            "form": self._choice.form,
            "why": self._choice.why,
            "objective": fit.objective,
            "iterations": len(fit.history),
            "converged": fit.converged,
            "history": list(fit.history),
            "calibration": {
                "sharpness": calibration.sharpness,
                "divided": calibration.divided,
                "misled": calibration.misled,
                "gold": calibration.gold,
            },
            "doubtful": len(self.doubtful),
            "seconds": self._seconds,
            "versions": {
                "ls-crowd-plugin": __version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "scipy": scipy.__version__,
            },
            "seed": self._seed,
            "warnings": list(self.warnings),
        }

    @cached_property
    def _position(self) -> dict[Any, int]:
        return {name: position for position, name in enumerate(self._answers.items)}

    @cached_property
    def _people(self) -> People:
        return describe(self._choice.fit, self._with_gold(self._choice.fit.posterior), self._with_gold(self._crowd))

    def _with_gold(self, posterior: Floats) -> Floats:
        """[O] the posterior with gold items certain."""
        known = self._answers.gold_option >= 0
        posterior = np.where(known[self._answers.option_item], 0.0, posterior)
        posterior[self._answers.gold_option[known]] = 1.0
        return posterior

    def _options_of(self, item: int) -> slice:
        start = self._answers.option_start
        return slice(
            int(start[item]), int(start[item + 1]) if item + 1 < len(start) else len(self._answers.option_item)
        )

    @cached_property
    def _label_choice(self) -> npt.NDArray[np.int32]:
        """[I] the choice given as label."""
        best = self._most_probable[0].copy()
        known = self._answers.gold_option >= 0
        best[known] = self._answers.option_choice[self._answers.gold_option[known]]
        return best

    @cached_property
    def _confidence(self) -> Floats:
        return np.where(self._answers.gold_option >= 0, 1.0, self._most_probable[1])

    @cached_property
    def _lead(self) -> Floats:
        """[I] how far the most probable label leads the next."""
        answers = self._answers
        top = np.maximum.reduceat(self._crowd, answers.option_start)
        below = np.where(self._is_top, -np.inf, self._crowd)
        second = np.maximum.reduceat(below, answers.option_start)
        second = np.where(answers.unchosen > 0, np.maximum(second, self._crowd_unchosen), second)
        several = np.add.reduceat(self._is_top, answers.option_start) > 1
        alone = answers.label_count < 2
        return np.where(alone, 1.0, np.where(several | (second >= top), 0.0, top - np.maximum(second, 0.0)))

    @cached_property
    def _is_top(self) -> npt.NDArray[np.bool_]:
        """[O] the options that are most probable among their item's."""
        top = np.maximum.reduceat(self._crowd, self._answers.option_start)
        return self._crowd >= top[self._answers.option_item] - SAME

    @cached_property
    def _most_probable(self) -> tuple[npt.NDArray[np.int32], Floats]:
        """[I], [I] the choice with the highest probability and that probability, gold lifted.

        Tied labels are drawn by a hash of seed, task and label, so no label is favoured for its place in a list.
        """
        answers = self._answers
        top = np.maximum.reduceat(self._crowd, answers.option_start)
        where_top = np.flatnonzero(self._is_top)
        first = np.searchsorted(where_top, answers.option_start)
        choice = answers.option_choice[where_top[first]].copy()
        tied = np.add.reduceat(self._is_top.astype(np.int32), answers.option_start) > 1
        nobody = (answers.unchosen > 0) & (self._crowd_unchosen >= top - SAME)
        for item in np.flatnonzero(tied | nobody).tolist():
            choice[item] = self._draw(item, bool(nobody[item]), float(top[item]))
        return choice, np.where(nobody, np.maximum(self._crowd_unchosen, top), top)

    def _draw(self, item: int, with_unchosen: bool, top: float) -> int:
        answers = self._answers
        place = self._options_of(item)
        options = np.arange(place.start, place.stop)
        best = max(top, float(self._crowd_unchosen[item])) if with_unchosen else top
        candidates = answers.option_choice[options[self._crowd[options] >= best - SAME]].tolist()
        if with_unchosen:
            question = answers.item_question[item]
            everything = range(answers.choice_start[question], answers.choice_start[question + 1])
            candidates += sorted(set(everything) - set(answers.option_choice[options].tolist()))
        return int(max(candidates, key=lambda choice: self._lot(answers.items[item], answers.choices[choice])))

    def _lot(self, task: Any, label: Any) -> bytes:
        return hashlib.blake2b(repr((self._seed, task, label)).encode(), digest_size=8).digest()


def _unheard(stage: str, fraction: float) -> None:
    """Nobody asked for progress."""
