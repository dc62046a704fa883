"""The consensus that `aggregate()` returns; it makes its tables on demand."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import scipy

from .. import __version__
from ..records import AnnotatorScore, Json, Ring, label_state
from .answers import Answers
from .crowd_warnings import crowd_warnings, fit_warnings
from .decisions import Decisions
from .encoding import encode_lessons
from .fit import Fit, Posterior
from .parts import GOLD, posterior_parts
from .reliability import Reliability, Standing, assess_annotators
from .rings import Voices
from .selection import MethodFit
from .types import Column, Flags, Floats, Gold, Id, Integers, Label, Lessons, Positions
from .unopposed import pool_with_prior

NEAR_TIE = 0.1  # a label whose lead is smaller than this is doubtful


class Consensus:
    """The labels of a crowd, and what the crowd says about its annotators and tasks.

    A task is named as in the input, or as (task, question) if the input has questions.
    """

    def __init__(
        self,
        method_fit: MethodFit,
        seed: int,
        seconds: float,
        voting: Answers | None = None,
        decide: str = "label",
        voices: Voices | None = None,
    ) -> None:
        """`voting` are the answers that vote, if those are not the ones that the fit has learned from. `voices` has
        everybody's answers and who speaks for whom, if some people are one annotator in the table of the fit."""
        self._method_fit, self._seed, self._seconds, self._voting = method_fit, seed, seconds, voting
        self._decide = decide
        self._fit = method_fit.fit if voting is None else method_fit.fit.vote(voting)
        self._answers: Answers = self._fit.answers  # in which a ring is one annotator
        self._voices = voices or Voices(self._answers)
        self._given = self._voices.answers  # everybody's
        self._posterior = self._calibrated(self._fit)
        self._decisions = Decisions(
            self._answers,
            self._posterior,
            seed,
            partial(_evidence, self._fit, method_fit.fit),
            by_distance=decide == "distance",
        )

    @cached_property
    def labels(self) -> dict[Id, Label]:
        """Task → label; gold tasks have their gold label."""
        choices = self._answers.choices
        return dict(zip(self._answers.items, map(choices.__getitem__, self._label_choice.tolist()), strict=True))

    @cached_property
    def confidence(self) -> dict[Id, float]:
        """Task → probability that its label is right; 1 for gold."""
        confidence = np.where(self._answers.has_gold, 1.0, self._decisions.confidence)
        return dict(zip(self._answers.items, confidence.tolist(), strict=True))

    def posterior(self, task: Id, lift_gold: bool = False) -> dict[Label, float]:
        """Label → probability. A gold label has probability one, unless `lift_gold` asks for what the crowd says."""
        answers, item = self._answers, self._item(task)
        choices = answers.choices_of(item)
        gold = answers.gold_option[item]
        if gold >= 0 and not lift_gold:
            values = [0.0] * len(choices)
            values[answers.option_choice[gold] - choices.start] = 1.0
        else:
            values = [float(self._posterior.unchosen[item])] * len(choices)
            options = answers.options_of(item)
            given = answers.option_choice[options].tolist()
            for choice, p in zip(given, self._posterior.options[options].tolist(), strict=True):
                values[choice - choices.start] = p
        return dict(zip(answers.choices[choices.start : choices.stop], values, strict=True))

    def parts(
        self, task: Id, lift_gold: bool = False, labels: Sequence[Label] | None = None
    ) -> list[tuple[str, dict[Label, float]]]:
        """Named parts whose sum is `posterior(task, lift_gold)`, of all labels or of some; see `aggregation.parts`.

        Parts that are 0 for all these labels are left out.
        """
        answers, item = self._answers, self._item(task)
        if labels is None:
            choices = answers.choices_of(item)
            labels = answers.choices[choices.start : choices.stop]
        gold = answers.gold_option[item]
        if gold >= 0 and not lift_gold:
            known = answers.choices[answers.option_choice[gold]]
            return [(GOLD, {label: float(label == known) for label in labels})]
        options = answers.options_of(item)
        given = [answers.choices[choice] for choice in answers.option_choice[options].tolist()]
        parts = []
        for name, (values, unchosen) in self._parts.items():
            value, other = dict(zip(given, values[options].tolist(), strict=True)), float(unchosen[item])
            points = {label: value.get(label, other) for label in labels}
            if any(points.values()):
                parts.append((name, points))
        return parts

    def crowd_label(self, task: Id) -> tuple[Label, float]:
        """Label and confidence of a task by what the crowd says; for a gold task, regardless of its gold label."""
        item = self._item(task)
        return self._answers.choices[self._decisions.choice[item]], float(self._decisions.confidence[item])

    def is_undecided(self, task: Id) -> bool:
        """Whether the answers to a task do not decide its label, regardless of gold; see `decisions`."""
        return bool(self._decisions.is_undecided[self._item(task)])

    def excludes_what_was_said(self, task: Id) -> bool:
        """Whether the answers to a task are evidence against every label that they name; see `decisions`."""
        return bool(self._decisions.excludes_given[self._item(task)])

    @property
    def gold_blind(self) -> Consensus:
        """The same consensus, in which nothing tells gold tasks from others.

        What this consensus says about the crowd's label of a gold task comes from fits that did not know the gold
        label, so that the two can be compared fairly. Shown beside other tasks, such numbers would reveal which tasks
        are gold. In the gold-blind consensus they come from the fit that all other tasks come from.
        """
        return self._without_gold or self  # not remembered: an object that holds itself is freed late

    @cached_property
    def _without_gold(self) -> Consensus | None:
        fit = self._method_fit.gold_blind
        if fit is None:
            return None
        blind = replace(self._method_fit, fit=fit, gold_blind=None)
        return Consensus(blind, self._seed, self._seconds, self._voting, self._decide, self._voices)

    def vote(
        self,
        tasks: Column,
        annotators: Column,
        labels: Column,
        gold: Gold | None = None,
        questions: Column | None = None,
    ) -> Consensus:
        """What other answers of the same people say, by what this consensus has learned; nothing is learned from them.

        Give all answers to each task: earlier ones do not vote. It takes a small part of the time of a fit, and says
        about these tasks what `aggregate` of all answers says with the answers of this consensus as its lessons. Raises
        UnusableInput for annotators, questions and labels that this consensus does not know. What it says about people
        is as before, but for their numbers of answers, which are those of the vote, as are the warnings.
        """
        answers = encode_lessons(Lessons(tasks, annotators, labels, questions, gold), self._given)
        voices = replace(self._voices, answers=answers)
        return Consensus(self._method_fit, self._seed, self._seconds, voices.table, self._decide, voices)

    @cached_property
    def tasks(self) -> list[Json]:
        """One row per task, with the columns of `consensus.csv`; `question` only if the input has questions."""
        answers, difficulty = self._answers, self._fit.difficulty
        undecided = (self._decisions.is_undecided & ~answers.has_gold).tolist()
        key = ("task", "question") if answers.has_questions else ("task",)
        names = (*key, "label", "confidence", "difficulty", "answers", "state")
        columns = (
            *(zip(*answers.items, strict=True) if answers.has_questions else (answers.items,)),
            self.labels.values(),
            self.confidence.values(),
            [None] * len(answers.items) if difficulty is None else difficulty.tolist(),
            self._given.answers_per_item.tolist(),
            map(label_state, self.confidence.values(), undecided),
        )
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    @cached_property
    def scores(self) -> list[AnnotatorScore]:
        """How far each annotator can be trusted; without comparable answers to learn from, nobody has a skill.

        The members of a ring have the numbers of the ring.
        """
        fit, given = self._fit, self._given
        gold_answers, gold_correct = given.gold_counts
        known = self._comparable > 0
        of_voices = [
            *zip(
                _where_known(known, fit.skill),
                _where_known(known, fit.skill_error),
                _where_known(known, fit.adversary),
                (fit.weight * fit.weight_unit).tolist(),
                self._reliability.accuracy.tolist(),
                self._reliability.verdict,
                strict=True,
            )
        ]
        own = zip(
            given.annotators,
            given.answers_per_annotator.tolist(),
            gold_answers.tolist(),
            gold_correct.tolist(),
            self._voices.voice.tolist(),
            strict=True,
        )
        return [AnnotatorScore(*counts, *of_voices[voice]) for *counts, voice in own]

    @cached_property
    def standings(self) -> dict[Id, Standing]:
        """Annotator → the numbers that the verdict must not contradict."""
        standing = [self._reliability.standing[voice] for voice in self._voices.voice.tolist()]
        return dict(zip(self._given.annotators, standing, strict=True))

    @property
    def rings(self) -> tuple[Ring, ...]:
        """The groups of people who give the same answers; `is_one_voice` if they are counted as one voice."""
        return self._voices.rings

    @cached_property
    def annotators(self) -> list[Json]:
        """One row per annotator, with the columns of `annotators.csv`."""
        return [dict(vars(score)) for score in self.scores]

    @cached_property
    def doubtful(self) -> list[Id]:
        """The tasks without gold whose most probable label leads the next one by less than NEAR_TIE."""
        close = (self._decisions.lead < NEAR_TIE) & ~self._answers.has_gold
        return [self._answers.items[item] for item in np.flatnonzero(close).tolist()]

    @cached_property
    def plurality_disagreements(self) -> int:
        """How many answered tasks have a label that is not among those with the most votes."""
        answers = self._given
        most_votes = np.maximum.reduceat(answers.votes, answers.option_start)
        is_plurality = answers.votes >= most_votes[answers.option_item]
        is_label = answers.option_choice == self._label_choice[answers.option_item]
        agrees = np.maximum.reduceat(is_plurality & is_label, answers.option_start)
        return int((~agrees & (answers.answers_per_item > 0)).sum())

    @cached_property
    def gold_agreement(self) -> tuple[int, int]:
        """How many answered gold tasks there are, and for how many of them the crowd's label is the gold label."""
        answers = self._answers
        judged = answers.has_gold & (answers.answers_per_item > 0)
        right = self._decisions.choice[judged] == answers.option_choice[answers.gold_option[judged]]
        return int(judged.sum()), int(right.sum())

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know although it did not stop the work."""
        gold = {self._answers.items[item] for item in np.flatnonzero(self._answers.has_gold).tolist()}
        return (*crowd_warnings(self._given), *fit_warnings(self._fit), *self._voices.warnings(self.labels, gold))

    @property
    def facts(self) -> Json:
        """How the consensus came about: the content of `run.json`."""
        convergence, calibration = self._fit.convergence, self._method_fit.calibration
        return {
            "method": self._method_fit.method,
            "form": self._fit.form,
            "decide": self._decide,
            "why": self._method_fit.why,
            "objective": convergence.objective,
            "iterations": len(convergence.history),
            "converged": convergence.converged,
            "history": list(convergence.history),
            "calibration": dict(vars(calibration)),
            "doubtful": len(self.doubtful),
            "rings": [dict(vars(ring)) for ring in self.rings],
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

    def _item(self, task: Id) -> int:
        if task not in self._position:
            raise KeyError(f"There is no task {task!r} among the answers or the gold.")
        return self._position[task]

    @cached_property
    def _position(self) -> dict[Id, int]:
        return {task: position for position, task in enumerate(self._answers.items)}

    @cached_property
    def _reliability(self) -> Reliability:
        fit = self._method_fit.fit
        fitted, calibrated = fit.fitted_on(fit.answers).options, self._calibrated(fit).options
        return assess_annotators(fit, _with_gold(fit.answers, fitted), _with_gold(fit.answers, calibrated))

    @property
    def _comparable(self) -> Positions:
        """How many comparable answers of each annotator of the fit's table were learned from."""
        return self._method_fit.fit.answers.comparable_per_annotator

    def _calibrated(self, fit: Fit) -> Posterior:
        calibrated = self._method_fit.calibration.apply(fit.answers, fit.posterior, fit.weight)
        return pool_with_prior(fit.answers, calibrated, self._comparable)

    @cached_property
    def _parts(self) -> dict[str, Posterior]:
        return posterior_parts(self._fit, self._method_fit.calibration, self._comparable)

    @cached_property
    def _label_choice(self) -> Integers:
        """[I] the choice that is the label: the gold label, or else the decision."""
        answers = self._answers
        choice = self._decisions.choice.copy()
        choice[answers.has_gold] = answers.option_choice[answers.gold_option[answers.has_gold]]
        return choice


def _evidence(fit: Fit, learned: Fit) -> Posterior:
    """What the answers of a fit say without how common labels are; `learned` is the fit to what was learned from.

    Not a method: decisions that refer to their consensus would keep its memory occupied.
    """
    return pool_with_prior(fit.answers, fit.evidence(fit.answers), learned.answers.comparable_per_annotator)


def _with_gold(answers: Answers, posterior: Floats) -> Floats:
    """[O] the posterior of the options, with gold labels certain."""
    posterior = np.where(answers.has_gold[answers.option_item], 0.0, posterior)
    posterior[answers.gold_option[answers.has_gold]] = 1.0
    return posterior


def _where_known(known: Flags, values: Floats | None) -> Sequence[float | None]:
    """The values of those of whom something is known."""
    if values is None:
        return [None] * len(known)
    return [value if is_known else None for value, is_known in zip(values.tolist(), known.tolist(), strict=True)]
