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

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.special import expit

from .answers import Answers
from .types import Flags, Floats, Integers, Positions

MIN_PROBABILITY = 1e-12  # no answer is impossible
MAX_EXPONENT = 700.0  # exp of more is out of range


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
    """Of every answer: [n] each, and the derivatives (`slopes`) [4, n] of `hit` in the rows of `Parameters.annotators`.

    Without complex adversaries there are only the first two rows. `hit` depends on d_j − D_i alone, so its derivative
    in the difficulty is the first row with the opposite sign.
    """

    hit: Floats
    miss: Floats
    find_slopes: Callable[[], Floats]
    others: Floats  # K − 1

    @cached_property
    def slopes(self) -> Floats:
        return self.find_slopes()

    @cached_property
    def log_hit(self) -> Floats:
        return np.log(self.hit)

    @cached_property
    def log_miss(self) -> Floats:
        return np.log(self.miss)

    def log_likelihood(self, right: Floats) -> Floats:
        """[n] E[log of the answer's probability]; `right` [n] is the probability that the answer is the true label."""
        value = self.log_hit - self.log_miss
        value *= right
        value += self.log_miss
        return np.asarray(value)

    @cached_property
    def _by_miss(self) -> Floats:
        """[n] 1/(1−p), where p is `hit` and 1−p = (K−1) miss."""
        product = self.miss * self.others
        return np.divide(1, product, out=product)

    def score(self, right: Floats) -> Floats:
        """[n] derivative of `log_likelihood` in `hit`; miss falls by 1/(K−1) of what hit rises."""
        score = right * self.information
        score -= self._by_miss
        return score

    @cached_property
    def information(self) -> Floats:
        """[n] Fisher's information about `hit`: 1/p + 1/(1−p)."""
        information = 1 / self.hit
        information += self._by_miss
        return np.asarray(information)


class AnswerModel:
    """The answers to items with several labels, sorted by annotator and then by item, and their probabilities."""

    def __init__(self, answers: Answers, complex_adversaries: bool) -> None:
        self.complex, self.annotators = complex_adversaries, len(answers.annotators)
        used = np.flatnonzero(answers.is_decidable)
        used = used[np.argsort(answers.answer_annotator[used], kind="stable")]
        # As positions, which are the fastest to index with. [n]
        self.item, self.annotator = _positions(answers.answer_item[used]), _positions(answers.answer_annotator[used])
        self.option = _positions(answers.answer_option[used])
        self.labels = answers.label_count[self.item]  # [n] K
        self.chance = 1 / self.labels  # [n]
        self.others = self.labels - 1  # [n]
        self._honest: tuple[Flags, Floats] | None = None

    def hit_and_miss(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """[n] each: hit and miss of every answer."""
        distance = self._distance(parameters)
        solves = _logistic(self._of_annotator(np.exp(parameters.log_discrimination)) * distance)
        return self._hit_and_miss(solves, 1 - solves, self._helps(parameters, distance))

    def probabilities(self, parameters: Parameters) -> Probabilities:
        """Hit and miss of every answer, with derivatives."""
        distance = self._distance(parameters)
        discrimination = self._of_annotator(np.exp(parameters.log_discrimination))
        solves = _logistic(discrimination * distance)
        fails = 1 - solves
        helps = self._helps(parameters, distance)
        hit, miss = self._hit_and_miss(solves, fails, helps)

        def find_slopes() -> Floats:
            slopes = np.empty((4 if self.complex else 2, len(distance)))
            np.subtract(helps, self.chance, out=slopes[0])
            for factor in (solves, fails, discrimination):
                slopes[0] *= factor
            np.multiply(slopes[0], distance, out=slopes[1])
            if self.complex:  # t is `helps` of the adversaries; that of honest annotators is 1 and does not change
                craft, gap = np.exp(parameters.log_craft)[self.annotator], np.exp(parameters.log_gap)[self.annotator]
                by_threshold = solves * helps * (1 - helps) * craft
                slopes[0] += by_threshold
                slopes[2] = -by_threshold * gap
                slopes[3] = by_threshold * (distance - gap)
            return slopes

        return Probabilities(hit, miss, find_slopes, self.others)

    def at_difficulty(self, parameters: Parameters, difficulty: float) -> tuple[Floats, Floats]:
        """[n] each: log hit − log miss, and log miss, if all tasks had this difficulty: the same for all answers of an
        annotator to questions with as many labels, so few logarithms are needed."""
        kinds, kind = self._kinds
        everywhere = np.full(len(parameters.difficulty), difficulty)
        hit, miss = kinds.hit_and_miss(replace(parameters, difficulty=everywhere))
        log_miss = np.log(miss)
        return (np.log(hit) - log_miss).take(kind), log_miss.take(kind)

    @cached_property
    def _kinds(self) -> tuple[AnswerModel, Positions]:
        """One answer for each pair of annotator and number of labels, and [n] which pair each answer belongs to."""
        counts, count = np.unique(self.labels, return_inverse=True)
        _, first, kind = np.unique(self.annotator * len(counts) + count, return_index=True, return_inverse=True)
        return self.subset(first), kind

    def sum_by_annotator(self, values: Floats) -> Floats:
        """[J] sums of one value per answer [n]."""
        return np.asarray(self._own @ values).reshape(-1)

    @cached_property
    def _own(self) -> sparse.csr_array:
        """[J, n] one if the annotator gave the answer: a product with it takes less than half as long as a bincount."""
        n, first = len(self.annotator), np.searchsorted(self.annotator, np.arange(self.annotators + 1))
        return sparse.csr_array((np.ones(n), np.arange(n), first), shape=(self.annotators, n))

    def subset(self, answers: Positions) -> AnswerModel:
        """Some of the answers, by ascending positions."""
        part = copy(self)
        part.item, part.annotator, part.option = self.item[answers], self.annotator[answers], self.option[answers]
        part.labels, part.chance, part.others = self.labels[answers], self.chance[answers], self.others[answers]
        part._honest = None
        for cached in ("_own", "_kinds"):
            part.__dict__.pop(cached, None)
        return part

    def _distance(self, parameters: Parameters) -> Floats:
        """[n] d_j − D_i"""
        distance = self._of_annotator(parameters.skill)
        distance -= parameters.difficulty.take(self.item)
        return distance

    def _of_annotator(self, values: Floats) -> Floats:
        """[n] the value [J] of each answer's annotator."""
        return np.repeat(values, np.diff(self._own.indptr))  # three times as fast as take

    def _helps(self, parameters: Parameters, distance: Floats) -> Floats:
        """[n] the probability that somebody who can solve the task gives the right label: 1 if honest, else 0 or t."""
        if self._honest is None or self._honest[0] is not parameters.adversary:  # it seldom changes
            self._honest = parameters.adversary, (~parameters.adversary)[self.annotator].astype(float)
        honest = self._honest[1]
        if not self.complex:
            return honest
        craft, gap = np.exp(parameters.log_craft)[self.annotator], np.exp(parameters.log_gap)[self.annotator]
        return np.where(honest > 0, 1.0, expit(craft * (distance - gap)))

    def _hit_and_miss(self, solves: Floats, fails: Floats, helps: Floats) -> tuple[Floats, Floats]:
        """[n], [n] by the probabilities that the annotator can solve the task or not; `helps` as from `_helps`."""
        guess = fails * self.chance
        guess += MIN_PROBABILITY
        hit = helps * solves
        miss = solves - hit
        miss /= self.others
        hit += guess
        miss += guess
        return hit, miss


def _positions(values: Integers) -> Positions:
    return values.astype(np.int64)


def _logistic(values: Floats) -> Floats:
    """1 / (1 + exp(−x)); scipy's function takes five times as long."""
    result = np.negative(values)
    np.minimum(result, MAX_EXPONENT, out=result)
    np.exp(result, out=result)
    result += 1
    return np.asarray(np.divide(1, result, out=result))
