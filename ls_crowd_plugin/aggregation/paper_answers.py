"""The paper's model of one answer: how probable it is for given parameters, and how that changes with them.

    s = 1 / (1 + exp(−a_j (d_j − D_i)))          probability that annotator j can solve task i
    honest             hit s + (1−s)/K           miss (1−s)/K
    simple adversary   hit (1−s)/K               miss (1−s)/K + s/(K−1)
    complex adversary  hit (1−s)/K + t·s         miss (1−s)/K + (1−t)·s/(K−1),   t = 1/(1 + exp(−b_j (θ_j − D_i)))

`hit` is the probability of an answer if it is the true label, `miss` if another label is. All probabilities sum to
one, hit + (K−1) miss = 1, so everything follows from the derivatives of `hit`.

Symbols: n answers, I items, J annotators, K labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from .answers import Answers
from .types import Flags, Floats

MIN_PROBABILITY = 1e-12  # no answer is impossible


@dataclass(frozen=True)
class Parameters:
    """Λ: [J] each except `difficulty` [I]; the last two only matter for complex adversaries."""

    adversary: Flags  # 1 − v_j
    skill: Floats  # d_j
    log_discrimination: Floats  # log a_j
    difficulty: Floats  # D_i
    log_gap: Floats  # θ_j = d_j − exp(log_gap), so it is always below the skill
    log_craft: Floats  # log b_j

    @property
    def annotators(self) -> Floats:
        """[4, J] the real-valued parameters of the annotators."""
        return np.stack([self.skill, self.log_discrimination, self.log_gap, self.log_craft])

    def with_annotators(self, values: Floats) -> Parameters:
        return replace(self, skill=values[0], log_discrimination=values[1], log_gap=values[2], log_craft=values[3])

    def moved(self, shift: float, log_scale: float) -> Parameters:
        """The same probabilities on another scale: d and D are shifted and then multiplied, a and b divided."""
        scale = np.exp(log_scale)
        return replace(
            self,
            skill=(self.skill + shift) * scale,
            difficulty=(self.difficulty + shift) * scale,
            log_discrimination=self.log_discrimination - log_scale,
            log_gap=self.log_gap + log_scale,
            log_craft=self.log_craft - log_scale,
        )


@dataclass(frozen=True)
class Probabilities:
    """Of every answer: [n] each, and the derivatives [4, n] of `hit` in the rows of `Parameters.annotators`.

    Without complex adversaries there are only the first two rows. `hit` depends on d_j − D_i alone, so its derivative
    in the difficulty is the first row with the opposite sign.
    """

    hit: Floats
    miss: Floats
    slopes: Floats
    others: Floats  # K − 1

    def log_likelihood(self, right: Floats) -> Floats:
        """[n] E[log of the answer's probability]; `right` [n] is the probability that the answer is the true label."""
        return np.asarray(right * np.log(self.hit) + (1 - right) * np.log(self.miss))

    def score(self, right: Floats) -> Floats:
        """[n] derivative of `log_likelihood` in `hit`; miss falls by 1/(K−1) of what hit rises."""
        return np.asarray(right / self.hit - (1 - right) / (self.miss * self.others))

    def information(self) -> Floats:
        """[n] Fisher's information about `hit`: 1/p + 1/(1−p), where 1−p = (K−1) miss."""
        return np.asarray(1 / self.hit + 1 / (self.miss * self.others))


class AnswerModel:
    """The answers to items with several labels, and their probabilities."""

    def __init__(self, answers: Answers, complex_adversaries: bool) -> None:
        used = answers.is_decidable
        self.complex = complex_adversaries
        self.item, self.annotator = answers.answer_item[used], answers.answer_annotator[used]  # [n]
        self.option = answers.answer_option[used]  # [n]
        self.labels = answers.label_count[self.item]  # [n] K

    def hit_and_miss(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """[n] each: hit and miss of every answer."""
        distance = self._distance(parameters)
        return self._hit_and_miss(self._solves(parameters, distance), self._helps(parameters, distance))

    def probabilities(self, parameters: Parameters) -> Probabilities:
        """Hit and miss of every answer, with derivatives."""
        distance = self._distance(parameters)
        solves, helps = self._solves(parameters, distance), self._helps(parameters, distance)
        hit, miss = self._hit_and_miss(solves, helps)
        slopes = np.empty((4 if self.complex else 2, len(distance)))
        discrimination = np.exp(parameters.log_discrimination)[self.annotator]
        slopes[0] = (helps - 1 / self.labels) * solves * (1 - solves) * discrimination
        slopes[1] = slopes[0] * distance
        if self.complex:  # t is `helps` of the adversaries; that of honest annotators is 1 and does not change
            craft, gap = np.exp(parameters.log_craft)[self.annotator], np.exp(parameters.log_gap)[self.annotator]
            by_threshold = solves * helps * (1 - helps) * craft
            slopes[0] += by_threshold
            slopes[2] = -by_threshold * gap
            slopes[3] = by_threshold * (distance - gap)
        return Probabilities(hit, miss, slopes, self.labels - 1)

    def _distance(self, parameters: Parameters) -> Floats:
        """[n] d_j − D_i"""
        return np.asarray(parameters.skill[self.annotator] - parameters.difficulty[self.item])

    def _solves(self, parameters: Parameters, distance: Floats) -> Floats:
        """[n] s"""
        return np.asarray(expit(np.exp(parameters.log_discrimination)[self.annotator] * distance))

    def _helps(self, parameters: Parameters, distance: Floats) -> Floats:
        """[n] the probability that somebody who can solve the task gives the right label: 1 if honest, else 0 or t."""
        honest = ~parameters.adversary[self.annotator]
        if not self.complex:
            return honest.astype(float)
        craft, gap = np.exp(parameters.log_craft)[self.annotator], np.exp(parameters.log_gap)[self.annotator]
        return np.where(honest, 1.0, expit(craft * (distance - gap)))

    def _hit_and_miss(self, solves: Floats, helps: Floats) -> tuple[Floats, Floats]:
        guess = (1 - solves) / self.labels + MIN_PROBABILITY
        return guess + helps * solves, guess + (1 - helps) * solves / (self.labels - 1)
