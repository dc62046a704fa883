"""GEM for ordered labels: whoever takes a 4 for a 5 is nearer to the truth than somebody who takes it for a 1.

Questions without order are as in `habits`, with the same kinds of annotator. In an ordered question, an honest
annotator (careful and sloppy are the same here) is one of a grid of *types*, each of which has three numbers:

    noise σ     how far from the truth the answers scatter, in steps of the scale
    shift b     by how many steps they lie above it
    lapse g     the share of answers that do not depend on the truth but only on how often the crowd gives each label

    P(r | z) = (1 − g) · exp(−(r − z − b)² / 2σ²) / sum over r' of the same  +  g · usage_r

A contrary annotator is one of the same types who takes the scale the other way round: P(r | z) becomes P(r | K−1−z). A
guessing annotator has a personal habit, as in `habits`. Which type somebody is is not estimated but summed over, so
whoever has given few answers stays ordinary. The shares of the types are learned from the crowd, except that a shift
upwards is as frequent as the same shift downwards: what the crowd as a whole calls a 4 is a 4. The class prior is a
slope, P(z) ∝ exp(w · x_z) with x from −1 to 1 along the scale. A free one would empty the labels in the middle
wherever people disagree.

Symbols: J annotators, K labels, V types; r, z are places on the scale.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from .answers import Answers
from .fit import Fit
from .habit_tables import CONTRARY, GUESSING, LearnedTables, QuestionTables
from .habits import HabitsModel, fit_model, habits_fit_in_memory
from .types import FitProgress, Floats

LEAST_NOISE, NOISE_RATIO = 0.3, 1.6  # the grid of σ, in steps
WIDEST_NOISE = 0.5  # no σ is larger than this share of the number of labels
SHIFTS = np.arange(-2.0, 2.5, 0.5)  # the grid of b, in steps, or in fifths of the scale if it is longer than that
LAPSES = np.array([0.02, 0.2, 0.5])  # the grid of g
TYPE_PRIOR = 10.0  # pseudo-count of all types together
SLOPE_DEVIATION = 2.0  # standard deviation of the slope w before any data
MAX_TYPE_SIZE = 1e7  # numbers in the tables of all types; a scale of more than 150 labels needs more


def fit_ordered(answers: Answers, progress: FitProgress, grades: int = 1, floor: float = -np.inf) -> Fit:
    """Fit the form; `grades` is for questions without order. `answers` must have all labels as options."""
    return fit_model(OrderedModel, answers, progress, grades, floor)


def ordered_fits_in_memory(answers: Answers, grades: int) -> bool:
    """Whether the tables of types and annotators and the posteriors are of a reasonable size."""
    labels = int(np.diff(answers.choice_start)[answers.is_ordered].max(initial=2))
    types = len(SHIFTS) * len(_noises(labels)) * len(LAPSES)
    return types * labels**2 <= MAX_TYPE_SIZE and habits_fit_in_memory(answers, grades)


class OrderedModel(HabitsModel):
    """The model of `habits`, with other tables for ordered questions."""

    name = "ordered"

    def _tables(self, question: int, grades: int, share: Floats) -> QuestionTables:
        if self.answers.is_ordered[question]:
            return OrderedTables(self.answers, question, share)
        return super()._tables(question, grades, share)


class OrderedTables(QuestionTables):
    """An ordered question's part of the model. `typical` [V, K, K] holds P(r | z) of the types, which stay fixed."""

    def __init__(self, answers: Answers, question: int, share: Floats) -> None:
        super().__init__(answers, question, 1, share)
        start, stop = answers.choice_start[question], answers.choice_start[question + 1]
        place = answers.place[start:stop]
        choice = np.argsort(place)  # [K] the choice at each place
        self.opposite = choice[self.labels - 1 - place]  # [K] the choice at the other end
        self.slant = 2.0 * place / (self.labels - 1) - 1.0  # [K] x
        scale = type_tables(self.usage[choice])
        self.typical = scale[:, :, place][:, :, :, place].reshape(-1, self.labels, self.labels)
        self.share: Floats = np.full(len(self.typical), 1.0 / len(self.typical))  # [V] share of each type in the crowd

    def update_typical_tables(self, kind: Floats) -> None:
        """Update the shares of the types, and the guessing habit."""
        belongs = kind[self.annotators]
        honest, contrary = self._type_scores()
        crowd = (1 - belongs[:, CONTRARY] - belongs[:, GUESSING]) @ _shares(honest)
        crowd = crowd + belongs[:, CONTRARY] @ _shares(contrary) + TYPE_PRIOR / len(self.share)
        by_shift = crowd.reshape(len(SHIFTS), -1)
        self.share = ((by_shift + by_shift[::-1]) / (2 * crowd.sum())).ravel()
        self._update_habit(belongs)

    def kind_evidence(self) -> Floats:
        """[J, M + 1] log probability of the annotator's expected counts under each kind."""
        honest, contrary = (logsumexp(score, axis=1) for score in self._type_scores())
        return np.stack([honest, honest, contrary, self._guessing_evidence()], axis=1)

    def _type_scores(self) -> tuple[Floats, Floats]:
        """[J, V] each: log of share · P(counts | type), with the scale as it is and the other way round."""
        log_table = np.log(self.typical).reshape(-1, self.labels**2).T
        honest, contrary = (
            counts.reshape(-1, self.labels**2) @ log_table + np.log(self.share)
            for counts in (self.counts, self.counts[:, :, self.opposite])
        )
        return honest, contrary

    def _type_means(self, tables: Floats) -> tuple[Floats, Floats]:
        """[J, K, K] each: the mean of `tables` [V, K, K] over an annotator's possible types, honest and contrary."""
        honest, contrary = (np.asarray(np.tensordot(_shares(score), tables, 1)) for score in self._type_scores())
        return honest, contrary[:, :, self.opposite]

    def _expected_log_table(self, belongs: Floats) -> Floats:
        honest, contrary = self._type_means(np.log(self.typical))
        share = belongs[:, :, None, None]
        table = (1 - share[:, CONTRARY] - share[:, GUESSING]) * honest + share[:, CONTRARY] * contrary
        return np.asarray(table + share[:, GUESSING] * self._expected_log_guess())

    def mean_tables(self) -> tuple[Floats, Floats]:
        """[M + 1, J, K, K] expected P(r | z) of each kind; [J, K] number of answers on each z."""
        honest, contrary = self._type_means(self.typical)
        return np.stack([honest, honest, contrary, self._mean_guess()]), self.counts.sum(1)

    def _update_class_prior(self) -> float:
        """Update the slope w to its most probable value: the derivative of the log posterior, which falls, is zero."""
        from scipy.optimize import brentq  # here, because to import it takes as long as all the rest of a command

        tasks, variance = self.cell.sum(0), SLOPE_DEVIATION**2

        def log_prior(slope: float) -> Floats:
            return np.asarray(slope * self.slant - logsumexp(slope * self.slant))

        def derivative(slope: float) -> float:
            return float((tasks - tasks.sum() * np.exp(log_prior(slope))) @ self.slant - slope / variance)

        limit = 2.0 * tasks.sum() * variance + 1.0  # the first term is at most 2 · tasks in size
        slope = brentq(derivative, -limit, limit)
        self.log_prior = log_prior(slope)
        return float(0.5 * slope**2 / variance)

    def _typical_log_prior(self) -> float:
        """Log prior density of the shares of the types, up to a constant."""
        return TYPE_PRIOR * float(np.log(self.share * len(self.share)).mean())

    def learned(self) -> LearnedTables:
        return LearnedTables(self.annotators, self.counts, self.typical, self.habit, self.log_prior, self.share)

    def take_over(self, learned: LearnedTables, kind: Floats) -> None:
        """Score the items by what was learned from other answers."""
        if learned.share is not None:
            self.share = learned.share
        super().take_over(learned, kind)


def type_tables(usage: Floats) -> Floats:
    """[shifts, noises · lapses, K, K] P(r | z) of every type by places on the scale; `usage` [K] by place, too."""
    labels = len(usage)
    noise = _noises(labels)
    place = np.arange(labels)
    shift = SHIFTS * max(1.0, (labels - 1) / 5)
    distance = place[:, None] - place - shift[:, None, None]  # [shifts, r, z]
    log_kernel = -0.5 * (distance[:, None] / noise[:, None, None]) ** 2  # [shifts, noises, r, z]
    kernel = np.exp(log_kernel - logsumexp(log_kernel, axis=2, keepdims=True))
    lapse = LAPSES[:, None, None]
    tables = (1 - lapse) * kernel[:, :, None] + lapse * usage[:, None]
    return np.asarray(tables.reshape(len(SHIFTS), -1, labels, labels))


def _noises(labels: int) -> Floats:
    """The grid of σ for a scale of this many labels."""
    count = 1 + int(np.log(WIDEST_NOISE * labels / LEAST_NOISE) / np.log(NOISE_RATIO))
    return np.asarray(LEAST_NOISE * NOISE_RATIO ** np.arange(count))


def _shares(score: Floats) -> Floats:
    """Rows of log scores as probabilities."""
    return np.asarray(np.exp(score - logsumexp(score, axis=1, keepdims=True)))
