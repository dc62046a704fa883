"""GEM as in the paper: a point estimate of every skill, discrimination, intention and task difficulty.

    s = 1 / (1 + exp(−a_j (d_j − D_i)))          probability that annotator j can solve task i
    honest             hit s + (1−s)/K           miss (1−s)/K
    simple adversary   hit (1−s)/K               miss (1−s)/K + s/(K−1)
    complex adversary  hit (1−s)/K + t·s         miss (1−s)/K + (1−t)·s/(K−1),   t = 1/(1 + exp(−b_j (θ_j − D_i)))

`hit` is the probability of an answer if it is the true label, `miss` if another label is. The E-step gives the
posterior of the hidden labels of the non-probe tasks. M1 sets each intention v_j, comparing both intentions at their
own best skill; M2 maximises over d, a and D; M1 and M2 alternate until no intention changes. Gaussian priors on d, D
and log a determine what the likelihood does not: a common shift, a common scale, and the infinite skill of somebody who
is never wrong. The widths of the first two are learned too. Scale: log a_j has mean 0 and standard deviation 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from .answers import Answers
from .arrays import group_sums
from .em import run_em
from .fit import Fit, Posterior, Votes, gold_scores, initial_difficulty, normalise, vote_shares, with_newcomers
from .types import FitProgress, Flags, Floats

ADVERSARY_LOG_ODDS = np.log(0.1 / 0.9)  # prior: most annotators are honest
WIDTH_PRIOR = 4.0  # a prior's width is learned as if this many values of width 1 had been seen before
MIN_PROBABILITY = 1e-12
MAX_ASCENT_STEPS = 50


def fit_paper(answers: Answers, progress: FitProgress, tied: bool = False, complex_adversaries: bool = False) -> Fit:
    """Fit the paper's GEM; `tied` gives all annotators the same discrimination."""
    model = PaperModel(answers, tied, complex_adversaries)
    convergence = run_em(model, answers, progress, max_iterations=100, tolerance=1e-4, min_iterations=3)
    posterior, _ = model.label_posterior(model.parameters, with_gold=False)
    log_hit, log_miss = model.log_hit_and_miss(model.parameters)
    parameters = model.parameters
    weight = model.sum_by_annotator(log_hit - log_miss) / np.maximum(model.answered, 1)

    def count_votes(table: Answers) -> Votes:
        known = dict(zip(answers.items, parameters.difficulty.tolist(), strict=True))
        difficulty = np.array([known.get(item, 0.0) for item in table.items])
        voting = PaperModel(table, tied, complex_adversaries)
        votes, _ = voting.label_posterior(replace(parameters, difficulty=difficulty), with_gold=False)
        return Votes(table, votes, difficulty)

    return Fit(
        answers=answers,
        form="paper" + ("-tied" if tied else "") + ("-complex" if complex_adversaries else ""),
        posterior=posterior,
        skill=parameters.skill,
        skill_error=model.skill_error(),
        adversary=expit(model.adversary_log_odds),
        weight=with_newcomers(answers, weight),
        difficulty=parameters.difficulty,
        convergence=convergence,
        count_votes=count_votes,
    )


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


class PaperModel:
    """The state of GEM: Λ, the widths of its priors, and the posterior of the labels."""

    def __init__(self, answers: Answers, tied: bool = False, complex_adversaries: bool = False) -> None:
        self.answers, self.tied, self.complex = answers, tied, complex_adversaries
        used = answers.is_decidable  # n: the answers to items with several labels
        self.item, self.annotator = answers.answer_item[used], answers.answer_annotator[used]
        self.option = answers.answer_option[used]
        self.labels = answers.label_count[self.item]  # [n] K
        self.answered = np.bincount(self.annotator, minlength=len(answers.annotators))  # [J]
        share = vote_shares(answers).options
        count = len(answers.annotators)
        self.parameters = Parameters(
            adversary=np.zeros(count, bool),
            skill=np.zeros(count),
            log_discrimination=np.zeros(count),
            difficulty=initial_difficulty(answers, share),
            log_gap=np.zeros(count),
            log_craft=np.zeros(count),
        )
        self.widths = np.array([2.0, 2.0, 1.0])  # standard deviations of d, D and log a
        self.right: Floats = share[self.option]  # [n] P(the answer is the true label)
        self.adversary_log_odds: Floats = np.full(count, ADVERSARY_LOG_ODDS)

    def m_step(self) -> None:
        """Update Λ and the widths of its priors."""
        for _ in range(5):
            before = self.parameters.adversary
            self._set_intentions()
            self._maximise_parameters()
            if (before == self.parameters.adversary).all():
                break
        self._learn_widths()

    def e_step(self) -> float:
        """Update the posterior of the labels."""
        posterior, evidence = self.label_posterior(self.parameters)
        self.right = posterior.options[self.option]
        return float(evidence.sum() + self.log_prior(self.parameters).sum())

    def label_posterior(self, parameters: Parameters, with_gold: bool = True) -> tuple[Posterior, Floats]:
        """The posterior of the labels, and [I] log of (1/K) sum_k prod_j P(r_ij | z_i = k)."""
        log_hit, log_miss = self.log_hit_and_miss(parameters)
        answers = self.answers
        ratio = group_sums(self.option, log_hit - log_miss, len(answers.option_item))
        base = group_sums(self.item, log_miss, len(answers.items))
        gold_option, unchosen = gold_scores(answers)
        option = ratio + gold_option if with_gold else ratio
        share, other, total = normalise(answers, option, unchosen if with_gold else np.zeros_like(unchosen))
        return Posterior(share, other), base + total - np.log(answers.label_count)

    def log_hit_and_miss(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """[n] each: log hit and log miss of every answer."""
        hit, miss = self._hit_and_miss(parameters, *self._solves(parameters))
        return np.log(hit), np.log(miss)

    def _solves(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """[n] each: s and t of every answer."""
        annotator = self.annotator
        difficulty = parameters.difficulty[self.item]
        skill = parameters.skill[annotator]
        solves = expit(np.exp(parameters.log_discrimination)[annotator] * (skill - difficulty))
        if not self.complex:
            return solves, np.zeros_like(solves)
        threshold = skill - np.exp(parameters.log_gap)[annotator]
        return solves, expit(np.exp(parameters.log_craft)[annotator] * (threshold - difficulty))

    def _hit_and_miss(self, parameters: Parameters, solves: Floats, crafty: Floats) -> tuple[Floats, Floats]:
        adversary = parameters.adversary[self.annotator]
        guess = (1 - solves) / self.labels + MIN_PROBABILITY
        hit = guess + np.where(adversary, crafty * solves, solves)
        miss = guess + np.where(adversary, (1 - crafty) * solves / (self.labels - 1), 0.0)
        return hit, miss

    def expected_log_likelihood(self, parameters: Parameters) -> tuple[Floats, Floats, Floats]:
        """[J] each annotator's part of E[log L_c], its gradient [4, J] in `annotators`, and [I] in the difficulty."""
        annotator = self.annotator
        solves, crafty = self._solves(parameters)
        hit, miss = self._hit_and_miss(parameters, solves, crafty)
        value = self.right * np.log(hit) + (1 - self.right) * np.log(miss)
        adversary = parameters.adversary[annotator]
        by_hit, by_miss = self.right / hit, (1 - self.right) / miss
        others = self.labels - 1
        by_solves = by_hit * (np.where(adversary, crafty, 1.0) - 1 / self.labels)
        by_solves += by_miss * (np.where(adversary, (1 - crafty) / others, 0.0) - 1 / self.labels)
        slope = by_solves * solves * (1 - solves)  # d value / d (a_j (d_j − D_i))
        discrimination = np.exp(parameters.log_discrimination)[annotator]
        distance = parameters.skill[annotator] - parameters.difficulty[self.item]
        gradient = np.zeros((4, len(parameters.skill)))
        by_skill = slope * discrimination
        by_difficulty = -by_skill
        gradient[1] = self.sum_by_annotator(slope * discrimination * distance)
        if self.complex:
            by_crafty = np.where(adversary, solves * (by_hit - by_miss / others), 0.0) * crafty * (1 - crafty)
            craft, gap = np.exp(parameters.log_craft)[annotator], np.exp(parameters.log_gap)[annotator]
            by_skill = by_skill + by_crafty * craft
            by_difficulty = by_difficulty - by_crafty * craft
            gradient[2] = self.sum_by_annotator(-by_crafty * craft * gap)
            gradient[3] = self.sum_by_annotator(by_crafty * craft * (distance - gap))
        gradient[0] = self.sum_by_annotator(by_skill)
        by_item = group_sums(self.item, by_difficulty, len(parameters.difficulty))
        return self.sum_by_annotator(value), gradient, by_item

    def sum_by_annotator(self, values: Floats) -> Floats:
        """[J] sums of one value per answer [n]."""
        return group_sums(self.annotator, values, len(self.answered))

    def log_prior(self, parameters: Parameters) -> Floats:
        """[J + 1] log prior of each annotator's parameters, and last that of the difficulties and the widths."""
        skill, difficulty, discrimination = self.widths
        own = -0.5 * (parameters.skill / skill) ** 2 - np.log(skill)
        own -= 0.5 * (parameters.log_discrimination / discrimination) ** 2 + np.log(discrimination)
        own -= 0.5 * (parameters.log_gap**2 + parameters.log_craft**2) if self.complex else 0.0
        own += np.where(parameters.adversary, ADVERSARY_LOG_ODDS - self._complexity_cost(), 0.0)
        informative = parameters.difficulty[self.answers.is_informative]
        shared = (-0.5 * (informative / difficulty) ** 2 - np.log(difficulty)).sum()
        shared -= WIDTH_PRIOR * (np.log(self.widths) + 0.5 / self.widths**2).sum()
        return np.append(own, shared)

    def _complexity_cost(self) -> Floats | float:
        """What θ_j and b_j cost a complex adversary: half the log of the number of answers each, as in BIC."""
        return np.log(np.maximum(self.answered, 1)) if self.complex else 0.0

    def penalised_log_likelihood(self, parameters: Parameters) -> tuple[Floats, Floats, Floats]:
        """E[log L_c] + log prior: [J] by annotator, gradient [4, J] in `annotators`, and [I] in the difficulty."""
        value, gradient, by_difficulty = self.expected_log_likelihood(parameters)
        skill, difficulty, discrimination = self.widths
        gradient[0] -= parameters.skill / skill**2
        gradient[1] -= parameters.log_discrimination / discrimination**2
        if self.complex:
            gradient[2] -= parameters.log_gap
            gradient[3] -= parameters.log_craft
        return value + self.log_prior(parameters)[:-1], gradient, by_difficulty - parameters.difficulty / difficulty**2

    def _set_intentions(self) -> None:
        """M1: set each v_j separately, comparing both intentions at their own best annotator parameters."""
        count = len(self.parameters.skill)
        best = self.parameters
        current = self.penalised_log_likelihood(best)[0]
        best_value: Floats = current
        value_at_best = []
        for adversary in (False, True):
            start = replace(
                self.parameters, adversary=np.full(count, adversary), skill=np.maximum(self.parameters.skill, 0.0)
            )
            candidate = self._best_annotators(start)
            value = self.penalised_log_likelihood(candidate)[0]
            unchanged = self.parameters.adversary == adversary
            value_at_best.append(np.where(unchanged, np.maximum(value, current), value))
            better = value > best_value
            best = replace(
                best.with_annotators(np.where(better, candidate.annotators, best.annotators)),
                adversary=np.where(better, adversary, best.adversary),
            )
            best_value = np.asarray(np.maximum(value, best_value))
        self.parameters = best
        self.adversary_log_odds = value_at_best[1] - value_at_best[0]

    def _best_annotators(self, start: Parameters) -> Parameters:
        """Maximise over the annotators' own parameters, with fixed intentions and difficulties."""
        free, shape = self._free_rows(), start.annotators.shape

        def unpack(flat: Floats) -> Parameters:
            values = start.annotators
            values[free] = flat.reshape(-1, shape[1])
            return start.with_annotators(values)

        def loss(flat: Floats) -> tuple[float, Floats]:
            value, gradient, _ = self.penalised_log_likelihood(unpack(flat))
            return -float(value.sum()), -gradient[free].ravel()

        return unpack(_minimise(loss, start.annotators[free].ravel()))

    def _free_rows(self) -> list[int]:
        """The rows of `annotators` that each annotator has separately."""
        return [0, *([] if self.tied else [1]), *([2, 3] if self.complex else [])]

    def _maximise_parameters(self) -> None:
        """M2: maximise over d, a and D together, with fixed intentions."""
        start, free = self.parameters, self._free_rows()
        count = len(start.skill)
        own = len(free) * count  # the flat vector holds the annotators' rows, the difficulties, and the tied log a

        def unpack(flat: Floats) -> Parameters:
            values = start.annotators
            values[free] = flat[:own].reshape(-1, count)
            if self.tied:
                values[1] = flat[-1]
            return replace(start.with_annotators(values), difficulty=flat[own : own + len(start.difficulty)])

        def loss(flat: Floats) -> tuple[float, Floats]:
            parameters = unpack(flat)
            value, gradient, by_difficulty = self.penalised_log_likelihood(parameters)
            total = value.sum() - 0.5 * ((parameters.difficulty / self.widths[1]) ** 2).sum()
            parts = [gradient[free].ravel(), by_difficulty]
            if self.tied:
                parts.append(gradient[1].sum(keepdims=True))
            return -float(total), -np.concatenate(parts)

        parts = [start.annotators[free].ravel(), start.difficulty]
        if self.tied:
            parts.append(start.log_discrimination[:1])
        self.parameters = unpack(_minimise(loss, np.concatenate(parts)))

    def _learn_widths(self) -> None:
        """Set the widths of d's and D's priors to their own maximum; that of log a stays, because it sets the scale."""
        difficulty = self.parameters.difficulty[self.answers.is_informative]
        for position, values in enumerate((self.parameters.skill, difficulty)):
            self.widths[position] = np.sqrt((values @ values + WIDTH_PRIOR) / (len(values) + WIDTH_PRIOR))

    def skill_error(self) -> Floats:
        """[J] standard error of d_j: one over the root of the curvature of its objective."""
        step = 1e-4
        slopes = []
        for sign in (1, -1):
            moved = replace(self.parameters, skill=self.parameters.skill + sign * step)
            slopes.append(self.penalised_log_likelihood(moved)[1][0])
        curvature = (slopes[1] - slopes[0]) / (2 * step)
        return np.asarray(1 / np.sqrt(np.maximum(curvature, 1 / (100 * self.widths[0] ** 2))))


def _minimise(loss: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Floats:
    """Minimise a loss that returns its value and gradient."""
    result = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_ASCENT_STEPS})
    return np.asarray(result.x)
