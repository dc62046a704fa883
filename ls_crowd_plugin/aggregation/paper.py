"""GEM as the paper has it: a point estimate of every skill, discrimination, intention and task difficulty.

    s = 1 / (1 + exp(−a_j (d_j − D_i)))          whether annotator j can solve task i
    honest             hit s + (1−s)/K           miss (1−s)/K
    simple adversary   hit (1−s)/K               miss (1−s)/K + s/(K−1)
    complex adversary  hit (1−s)/K + t·s         miss (1−s)/K + (1−t)·s/(K−1),   t = 1/(1 + exp(−b_j (θ_j − D_i)))

`hit` is the probability of an answer if it is the true label, `miss` if another label is. The E-step gives the
posterior of the hidden labels of the non-probe tasks; M1 sets each intention v_j, compared at each intention's own
best skill; M2 climbs in d, a, D; M1 and M2 alternate until no intention changes. Gaussian priors on d, D and log a,
the widths of the first two learned as well, settle what the likelihood leaves open (a common shift, a common scale,
the infinite skill of somebody who is never wrong). Scale: log a_j has mean 0 and standard deviation 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from .answers import Answers, Flags, Floats, sums
from .fit import Fit, clamped, climb, hardness, normalise, vote_shares

ADVERSARY_ODDS = np.log(0.1 / 0.9)  # most people are honest
WIDTH_SEEN = 4.0  # a prior's width is learned as if so many values of width 1 had been seen before
LEAST = 1e-12


def fit_paper(answers: Answers, progress: Callable[[float], None], tied: bool = False, complex_: bool = False) -> Fit:
    """The paper's GEM; `tied` gives all annotators one discrimination, `complex_` makes adversaries the crafty kind."""
    model = PaperModel(answers, tied, complex_)
    history, converged = climb(model, answers, progress, limit=100, tolerance=1e-4, least=3)
    posterior, unchosen, _ = model.label_posterior(model.parameters, lift_gold=True)
    own = model.parameters
    log_ratio = np.subtract(*model.log_hit_and_miss(own)[:2])
    answered = np.maximum(model.answered, 1)
    return Fit(
        answers=answers,
        form="paper" + ("-tied" if tied else "") + ("-complex" if complex_ else ""),
        posterior=posterior,
        unchosen=unchosen,
        skill=own.skill,
        skill_error=model.skill_error(),
        adversary=expit(model.adversary_log_odds),
        weight=sums(model.annotator, log_ratio, len(answered)) / answered,
        difficulty=own.difficulty,
        objective=history[-1],
        history=history,
        converged=converged,
    )


@dataclass(frozen=True)
class Parameters:
    """Λ: [J] each but `difficulty` [I]; the last two only matter for complex adversaries."""

    adversary: Flags  # 1 − v_j
    skill: Floats  # d_j
    log_discrimination: Floats  # log a_j
    difficulty: Floats  # D_i
    log_gap: Floats  # θ_j = d_j − exp(log_gap): always below the skill
    log_craft: Floats  # log b_j

    @property
    def annotators(self) -> Floats:
        """[4, J] the real-valued parameters of the annotators."""
        return np.stack([self.skill, self.log_discrimination, self.log_gap, self.log_craft])

    def with_annotators(self, values: Floats) -> Parameters:
        return replace(self, skill=values[0], log_discrimination=values[1], log_gap=values[2], log_craft=values[3])


class PaperModel:
    """The state of GEM: Λ, the widths of its priors, and the posterior of the labels."""

    def __init__(self, answers: Answers, tied: bool = False, complex_: bool = False) -> None:
        self.answers, self.tied, self.complex = answers, tied, complex_
        some = answers.decidable  # of n answers, those to items with something to decide
        self.item, self.annotator = answers.answer_item[some], answers.answer_annotator[some]
        self.option = answers.answer_option[some]
        self.labels = answers.label_count[self.item]  # [n] K
        self.answered = np.bincount(self.annotator, minlength=len(answers.annotators))  # [J]
        share, _ = vote_shares(answers)
        count = len(answers.annotators)
        self.parameters = Parameters(
            adversary=np.zeros(count, bool),
            skill=np.zeros(count),
            log_discrimination=np.zeros(count),
            difficulty=hardness(answers, share),
            log_gap=np.zeros(count),
            log_craft=np.zeros(count),
        )
        self.widths = np.array([2.0, 2.0, 1.0])  # standard deviations of d, D and log a
        self.right: Floats = share[self.option]  # [n] P(the answer is the true label)
        self.adversary_log_odds: Floats = np.full(count, ADVERSARY_ODDS)

    def step(self) -> float:
        for _ in range(5):
            before = self.parameters.adversary
            self._set_intentions()
            self._climb_parameters()
            if (before == self.parameters.adversary).all():
                break
        self._learn_widths()
        posterior, _, evidence = self.label_posterior(self.parameters)
        self.right = posterior[self.option]
        return float(evidence.sum() + self.log_prior(self.parameters).sum())

    def label_posterior(self, parameters: Parameters, lift_gold: bool = False) -> tuple[Floats, Floats, Floats]:
        """E-step: [O], [I] posterior of the labels, and [I] log of (1/K) sum_k prod_j P(r_ij | z_i = k)."""
        log_hit, log_miss, *_ = self.log_hit_and_miss(parameters)
        answers = self.answers
        ratio = sums(self.option, log_hit - log_miss, len(answers.option_item))
        base = sums(self.item, log_miss, len(answers.items))
        option, unchosen = clamped(answers)
        if lift_gold:
            option, unchosen = np.zeros_like(option), np.zeros_like(unchosen)
        posterior, each, total = normalise(answers, ratio + option, unchosen)
        return posterior, each, base + total - np.log(answers.label_count)

    def log_hit_and_miss(self, parameters: Parameters) -> tuple[Floats, Floats, Floats, Floats]:
        """[n] each: log hit, log miss, and the s and t of every answer."""
        knows, crafty = self._solves(parameters)
        hit, miss = self._pmf(parameters, knows, crafty)
        return np.log(hit), np.log(miss), knows, crafty

    def _solves(self, parameters: Parameters) -> tuple[Floats, Floats]:
        annotator = self.annotator
        difficulty = parameters.difficulty[self.item]
        skill = parameters.skill[annotator]
        knows = expit(np.exp(parameters.log_discrimination)[annotator] * (skill - difficulty))
        if not self.complex:
            return knows, np.zeros_like(knows)
        threshold = skill - np.exp(parameters.log_gap)[annotator]
        return knows, expit(np.exp(parameters.log_craft)[annotator] * (threshold - difficulty))

    def _pmf(self, parameters: Parameters, knows: Floats, crafty: Floats) -> tuple[Floats, Floats]:
        adversary = parameters.adversary[self.annotator]
        guess = (1 - knows) / self.labels + LEAST
        hit = guess + np.where(adversary, crafty * knows, knows)
        miss = guess + np.where(adversary, (1 - crafty) * knows / (self.labels - 1), 0.0)
        return hit, miss

    def expected_log_likelihood(self, parameters: Parameters) -> tuple[Floats, Floats, Floats]:
        """[J] each annotator's part of E[log L_c], its gradient [4, J] in `annotators`, and [I] in the difficulty."""
        annotator = self.annotator
        knows, crafty = self._solves(parameters)
        hit, miss = self._pmf(parameters, knows, crafty)
        value = self.right * np.log(hit) + (1 - self.right) * np.log(miss)
        adversary = parameters.adversary[annotator]
        by_hit, by_miss = self.right / hit, (1 - self.right) / miss
        others = self.labels - 1
        by_knows = by_hit * (np.where(adversary, crafty, 1.0) - 1 / self.labels)
        by_knows += by_miss * (np.where(adversary, (1 - crafty) / others, 0.0) - 1 / self.labels)
        slope = by_knows * knows * (1 - knows)  # d value / d (a_j (d_j − D_i))
        discrimination = np.exp(parameters.log_discrimination)[annotator]
        distance = parameters.skill[annotator] - parameters.difficulty[self.item]
        gradient = np.zeros((4, len(parameters.skill)))
        by_skill = slope * discrimination
        by_difficulty = -by_skill
        gradient[1] = self._per_annotator(slope * discrimination * distance)
        if self.complex:
            by_crafty = np.where(adversary, knows * (by_hit - by_miss / others), 0.0) * crafty * (1 - crafty)
            craft, gap = np.exp(parameters.log_craft)[annotator], np.exp(parameters.log_gap)[annotator]
            by_skill = by_skill + by_crafty * craft
            by_difficulty = by_difficulty - by_crafty * craft
            gradient[2] = self._per_annotator(-by_crafty * craft * gap)
            gradient[3] = self._per_annotator(by_crafty * craft * (distance - gap))
        gradient[0] = self._per_annotator(by_skill)
        return (
            self._per_annotator(value),
            gradient,
            sums(self.item, by_difficulty, len(parameters.difficulty)),
        )

    def _per_annotator(self, values: Floats) -> Floats:
        return sums(self.annotator, values, len(self.parameters.skill))

    def log_prior(self, parameters: Parameters) -> Floats:
        """[J + 1] log prior of each annotator's parameters, last that of the difficulties and of the widths."""
        skill, difficulty, discrimination = self.widths
        own = -0.5 * (parameters.skill / skill) ** 2 - np.log(skill)
        own -= 0.5 * (parameters.log_discrimination / discrimination) ** 2 + np.log(discrimination)
        own -= 0.5 * (parameters.log_gap**2 + parameters.log_craft**2) if self.complex else 0.0
        own += np.where(parameters.adversary, ADVERSARY_ODDS - self._charge(), 0.0)
        decided = parameters.difficulty[self.answers.telling]
        shared = (-0.5 * (decided / difficulty) ** 2 - np.log(difficulty)).sum()
        shared -= WIDTH_SEEN * (np.log(self.widths) + 0.5 / self.widths**2).sum()
        return np.append(own, shared)

    def _charge(self) -> Floats | float:
        """What a complex adversary pays for θ_j and b_j: half the log of the answers each, as in BIC."""
        return np.log(np.maximum(self.answered, 1)) if self.complex else 0.0

    def _objective(self, parameters: Parameters) -> tuple[Floats, Floats, Floats]:
        """E[log L_c] + log prior: [J] by annotator, gradient [4, J] in the annotators', [I] in the difficulty."""
        value, gradient, by_difficulty = self.expected_log_likelihood(parameters)
        skill, difficulty, discrimination = self.widths
        gradient[0] -= parameters.skill / skill**2
        gradient[1] -= parameters.log_discrimination / discrimination**2
        if self.complex:
            gradient[2] -= parameters.log_gap
            gradient[3] -= parameters.log_craft
        return value + self.log_prior(parameters)[:-1], gradient, by_difficulty - parameters.difficulty / difficulty**2

    def _set_intentions(self) -> None:
        """M1: each v_j on its own, both intentions at the best annotator parameters they can have."""
        count = len(self.parameters.skill)
        best = self.parameters
        present = self._objective(best)[0]
        best_value: Floats = present
        at_best = []
        for adversary in (False, True):
            start = replace(
                self.parameters, adversary=np.full(count, adversary), skill=np.maximum(self.parameters.skill, 0.0)
            )
            tried = self._best_annotators(start)
            value = self._objective(tried)[0]
            stays = self.parameters.adversary == adversary
            at_best.append(np.where(stays, np.maximum(value, present), value))
            better = value > best_value
            best = replace(
                best.with_annotators(np.where(better, tried.annotators, best.annotators)),
                adversary=np.where(better, adversary, best.adversary),
            )
            best_value = np.asarray(np.maximum(value, best_value))
        self.parameters = best
        self.adversary_log_odds = at_best[1] - at_best[0]

    def _best_annotators(self, start: Parameters) -> Parameters:
        """The annotators' own parameters at their best for fixed intentions and difficulties."""
        shape = start.annotators.shape
        free = self._free()

        def negative(flat: Floats) -> tuple[float, Floats]:
            values = start.annotators
            values[free] = flat.reshape(-1, shape[1])
            value, gradient, _ = self._objective(start.with_annotators(values))
            return -float(value.sum()), -gradient[free].ravel()

        found = minimize(negative, start.annotators[free].ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 50})
        values = start.annotators
        values[free] = found.x.reshape(-1, shape[1])
        return start.with_annotators(values)

    def _free(self) -> list[int]:
        """Rows of `annotators` that each annotator may choose alone."""
        return [0, *([] if self.tied else [1]), *([2, 3] if self.complex else [])]

    def _climb_parameters(self) -> None:
        """M2: ascent in d, a and D together for fixed intentions."""
        start, free = self.parameters, self._free()
        count = len(start.skill)

        def unpack(flat: Floats) -> Parameters:
            values = start.annotators
            values[free] = flat[: len(free) * count].reshape(-1, count)
            if self.tied:
                values[1] = flat[-1]
            return replace(
                start.with_annotators(values),
                difficulty=flat[len(free) * count : len(free) * count + len(start.difficulty)],
            )

        def negative(flat: Floats) -> tuple[float, Floats]:
            parameters = unpack(flat)
            value, gradient, by_difficulty = self._objective(parameters)
            total = value.sum() - 0.5 * ((parameters.difficulty / self.widths[1]) ** 2).sum()
            parts = [gradient[free].ravel(), by_difficulty]
            if self.tied:
                parts.append(gradient[1].sum(keepdims=True))
            return -float(total), -np.concatenate(parts)

        parts = [start.annotators[free].ravel(), start.difficulty]
        if self.tied:
            parts.append(start.log_discrimination[:1])
        found = minimize(negative, np.concatenate(parts), jac=True, method="L-BFGS-B", options={"maxiter": 50})
        self.parameters = unpack(found.x)

    def _learn_widths(self) -> None:
        """The widths of the priors at their own maximum: as if WIDTH_SEEN more values of width 1 had been seen."""
        own = self.parameters
        for position, values in enumerate(
            (own.skill, own.difficulty[self.answers.telling])
        ):  # that of log a stays: it sets the scale
            self.widths[position] = np.sqrt((values @ values + WIDTH_SEEN) / (len(values) + WIDTH_SEEN))

    def skill_error(self) -> Floats:
        """[J] standard error of d_j: one over the root of the curvature of its own objective."""
        step = 1e-4
        rows = []
        for sign in (1, -1):
            moved = replace(self.parameters, skill=self.parameters.skill + sign * step)
            rows.append(self._objective(moved)[1][0])
        curvature = (rows[1] - rows[0]) / (2 * step)
        return np.asarray(1 / np.sqrt(np.maximum(curvature, 1 / (100 * self.widths[0] ** 2))))
