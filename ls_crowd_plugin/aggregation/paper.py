"""GEM as in the paper: a point estimate of every skill, discrimination, intention and task difficulty.

`paper_answers` has the model of an answer. The E-step gives the posterior of the hidden labels of the non-probe tasks.
M1 sets each intention v_j, comparing both intentions at their own best skill; M2 climbs in d, a and D. It climbs the
objective itself, the marginal posterior, rather than the expected log-likelihood: by Fisher's identity both have the
same gradient after an E-step, so an E-step in each evaluation is all that this takes, and far fewer steps are needed.

Gaussian priors on d, D and log a determine what the likelihood does not: a common shift, a common scale, and the
infinite skill of somebody who is never wrong. The widths of the first two are learned too. Scale: log a_j has mean 0
and standard deviation 1.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
from scipy.special import expit

from .answers import Answers
from .arrays import group_sums
from .ascent import Point, Points, Trial, ascend, ascend_separately
from .em import run_em
from .fit import Fit, Posterior, Votes, gold_scores, initial_difficulty, normalise, vote_shares, with_newcomers
from .paper_answers import AnswerModel, Parameters, Probabilities
from .paper_scale import WIDTH_PRIOR, at_best_scale
from .types import FitProgress, Floats, Positions

ADVERSARY_LOG_ODDS = np.log(0.1 / 0.9)  # prior: most annotators are honest
TOLERANCE = 1e-4  # nats per answer: a fit ends when an iteration gains less
INTENTION_STEPS = 8  # at most, in each iteration; the same below
DIFFICULTY_STEPS = 3
ASCENT_STEPS = 10
SMALL_GAIN = 1e-3  # nats: an annotator or a task whose next step gains less is at its best
DIFFICULTIES = np.linspace(-3.0, 3.0, 13)  # where the difficulty of each task is tried, in widths of its prior


def fit_paper(answers: Answers, progress: FitProgress, tied: bool = False, complex_adversaries: bool = False) -> Fit:
    """Fit the paper's GEM; `tied` gives all annotators the same discrimination."""
    model = PaperModel(answers, tied, complex_adversaries)
    convergence = run_em(model, answers, progress, max_iterations=100, tolerance=TOLERANCE, min_iterations=3)
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


class PaperModel:
    """The state of GEM: Λ, the widths of its priors, and the posterior of the labels. n answers, I items, J people."""

    def __init__(self, answers: Answers, tied: bool = False, complex_adversaries: bool = False) -> None:
        self.answers, self.tied, self.complex = answers, tied, complex_adversaries
        self.given = AnswerModel(answers, complex_adversaries)
        count = len(answers.annotators)
        self.answered = np.bincount(self.given.annotator, minlength=count)  # [J]
        self.gold_option, self.gold_unchosen = gold_scores(answers)
        share = vote_shares(answers).options
        self.parameters = Parameters(
            adversary=np.zeros(count, bool),
            skill=np.zeros(count),
            log_discrimination=np.zeros(count),
            difficulty=initial_difficulty(answers, share),
            log_gap=np.zeros(count),
            log_craft=np.zeros(count),
        )
        self.widths = np.array([2.0, 2.0, 1.0])  # standard deviations of d, D and log a
        self.right: Floats = share[self.given.option]  # [n] P(the answer is the true label)
        self.adversary_log_odds: Floats = np.full(count, ADVERSARY_LOG_ODDS)
        # The rows of `Parameters.annotators` that each annotator has separately
        self.own_rows = [0, *([] if tied else [1]), *([2, 3] if complex_adversaries else [])]

    def m_step(self) -> None:
        """Update Λ and the widths of its priors."""
        self._set_intentions()
        self._climb()
        self._set_difficulties()
        self.parameters, self.widths = at_best_scale(self.parameters, self.widths, self.answers, self.complex)

    def e_step(self) -> float:
        """Update the posterior of the labels."""
        posterior, evidence = self.label_posterior(self.parameters)
        self.right = posterior.options[self.given.option]
        return float(evidence.sum() + self.log_prior(self.parameters).sum())

    def label_posterior(self, parameters: Parameters, with_gold: bool = True) -> tuple[Posterior, Floats]:
        """The posterior of the labels, and [I] log of (1/K) sum_k prod_j P(r_ij | z_i = k)."""
        log_hit, log_miss = self.log_hit_and_miss(parameters)
        return self._label_posterior(log_hit - log_miss, log_miss, with_gold)

    def _label_posterior(self, lead: Floats, log_miss: Floats, with_gold: bool = True) -> tuple[Posterior, Floats]:
        """The same; `lead` [n] is log hit − log miss."""
        answers = self.answers
        option = group_sums(self.given.option, lead, len(answers.option_item))
        unchosen: Floats = np.zeros(len(answers.items))
        if with_gold:
            option, unchosen = option + self.gold_option, self.gold_unchosen
        share, other, total = normalise(answers, option, unchosen)
        return Posterior(share, other), self.sum_by_item(log_miss) + total - np.log(answers.label_count)

    def log_hit_and_miss(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """[n] each: log hit and log miss of every answer."""
        hit, miss = self.given.hit_and_miss(parameters)
        return np.log(hit), np.log(miss)

    def sum_by_annotator(self, values: Floats) -> Floats:
        """[J] sums of one value per answer [n]."""
        return self.given.sum_by_annotator(values)

    def sum_by_item(self, values: Floats) -> Floats:
        """[I] sums of one value per answer [n]."""
        return group_sums(self.given.item, values, len(self.answers.items))

    def log_prior(self, parameters: Parameters) -> Floats:
        """[J + 1] log prior of each annotator's parameters, and last that of the difficulties and the widths."""
        width = self.widths[1]
        informative = parameters.difficulty[self.answers.is_informative]
        shared = (-0.5 * (informative / width) ** 2 - np.log(width)).sum()
        shared -= WIDTH_PRIOR * (np.log(self.widths) + 0.5 / self.widths**2).sum()
        return np.append(self._log_prior_by_annotator(parameters), shared)

    def _log_prior_by_annotator(self, parameters: Parameters) -> Floats:
        """[J] log prior of each annotator's parameters."""
        skill, _, discrimination = self.widths
        own = -0.5 * (parameters.skill / skill) ** 2 - np.log(skill)
        own -= 0.5 * (parameters.log_discrimination / discrimination) ** 2 + np.log(discrimination)
        own -= 0.5 * (parameters.log_gap**2 + parameters.log_craft**2) if self.complex else 0.0
        own += np.where(parameters.adversary, ADVERSARY_LOG_ODDS - self._complexity_cost(), 0.0)
        return np.asarray(own)

    def _complexity_cost(self) -> Floats | float:
        """What θ_j and b_j cost a complex adversary: half the log of the number of answers each, as in BIC."""
        return np.log(np.maximum(self.answered, 1)) if self.complex else 0.0

    def _precision(self) -> Floats:
        """[4, 1] one over the variance of the priors of the rows of `Parameters.annotators`."""
        skill, _, discrimination = self.widths
        return np.array([[1 / skill**2], [1 / discrimination**2], [float(self.complex)], [float(self.complex)]])

    def penalised_log_likelihood(self, parameters: Parameters) -> tuple[Floats, Floats, Floats]:
        """E[log L_c] + log prior: [J] by annotator, gradient [4, J] in `annotators`, and [I] in the difficulty."""
        chances = self.given.probabilities(parameters)
        value = self._value_by_annotator(parameters, chances)
        gradient = np.zeros((4, len(self.answered)))
        rows = list(range(len(chances.slopes)))
        score = chances.score(self.right)
        gradient[rows] = self._annotator_gradient(parameters, chances, score, rows)
        return value, gradient, self._difficulty_gradient(parameters, chances, score)

    def _value_by_annotator(self, parameters: Parameters, chances: Probabilities) -> Floats:
        """[J] E[log L_c] + log prior of each annotator."""
        return self.sum_by_annotator(chances.log_likelihood(self.right)) + self._log_prior_by_annotator(parameters)

    def _annotator_gradient(
        self, parameters: Parameters, chances: Probabilities, score: Floats, rows: list[int]
    ) -> Floats:
        """[R, J] gradient of E[log L_c] + log prior in some rows of `Parameters.annotators`, by `chances.score` [n]."""
        likelihood = np.stack([self.sum_by_annotator(score * chances.slopes[row]) for row in rows])
        return np.asarray(likelihood - (self._precision() * parameters.annotators)[rows])

    def _annotator_curvature(self, chances: Probabilities, rows: list[int]) -> Floats:
        """[J, R, R] Fisher's information about some rows of `Parameters.annotators`, with that of the prior."""
        information = chances.information
        curvature = np.empty((len(self.answered), len(rows), len(rows)))
        for first, row in enumerate(rows):
            weighted = information * chances.slopes[row]
            for second, other in enumerate(rows[: first + 1]):
                curvature[:, first, second] = self.sum_by_annotator(weighted * chances.slopes[other])
                curvature[:, second, first] = curvature[:, first, second]
            curvature[:, first, first] += self._precision()[row]
        return curvature

    def _difficulty_gradient(self, parameters: Parameters, chances: Probabilities, score: Floats) -> Floats:
        """[I] gradient of E[log L_c] + log prior in the difficulty, by `chances.score` [n]."""
        likelihood = -self.sum_by_item(score * chances.slopes[0])
        return np.asarray(likelihood - parameters.difficulty / self.widths[1] ** 2)

    def _difficulty_curvature(self, chances: Probabilities) -> Floats:
        """[I] Fisher's information about the difficulty, with that of the prior."""
        likelihood = self.sum_by_item(chances.information * chances.slopes[0] ** 2)
        return np.asarray(likelihood + 1 / self.widths[1] ** 2)

    def _set_intentions(self) -> None:
        """M1: set each v_j separately, comparing both intentions at their own best annotator parameters."""
        count = len(self.parameters.skill)
        best = self.parameters
        current = best_value = self._value_by_annotator(best, self.given.probabilities(best))
        value_at_best = []
        for adversary in (False, True):
            unchanged = self.parameters.adversary == adversary
            skill = np.maximum(self.parameters.skill, 0.0)
            start = replace(self.parameters, adversary=np.full(count, adversary), skill=skill)
            candidate, value = self._best_annotators(start)
            value_at_best.append(np.where(unchanged, np.maximum(value, current), value))
            better = value > best_value
            best = replace(
                best.with_annotators(np.where(better, candidate.annotators, best.annotators)),
                adversary=np.where(better, adversary, best.adversary),
            )
            best_value = np.maximum(value, best_value)
        self.parameters = best
        self.adversary_log_odds = value_at_best[1] - value_at_best[0]

    def _best_annotators(self, start: Parameters) -> tuple[Parameters, Floats]:
        """Maximise E[log L_c] over the annotators' own parameters only; returns them and each annotator's value [J]."""
        rows, part, people = self.own_rows, self, len(start.skill)

        def evaluate(values: Floats, who: Positions) -> Points:
            nonlocal part, people
            if len(who) < people:
                part, people = self._with_answers_of(who), len(who)
            annotators = start.annotators
            annotators[np.array(rows)[:, None], who] = values
            parameters = start.with_annotators(annotators)
            chances = part.given.probabilities(parameters)
            value = part._value_by_annotator(parameters, chances)
            gradient = part._annotator_gradient(parameters, chances, chances.score(part.right), rows)
            return Points(value[who], gradient[:, who], part._annotator_curvature(chances, rows)[who])

        values, value = ascend_separately(evaluate, start.annotators[rows], INTENTION_STEPS, SMALL_GAIN)
        return _with_rows(start, rows, values), value

    def _with_answers_of(self, who: Positions) -> PaperModel:
        """The same state with the answers of some annotators only."""
        part, kept = copy(self), np.zeros(len(self.answered), bool)
        kept[who] = True
        answers = np.flatnonzero(kept[self.given.annotator])
        part.given, part.right = self.given.subset(answers), self.right[answers]
        return part

    def _climb(self) -> None:
        """M2, first part: climb the objective in d, a and D together, with fixed intentions."""
        start, rows = self.parameters, self.own_rows
        count = len(start.skill)
        own = len(rows) * count  # the flat vector holds the annotators' rows, the difficulties, and the tied log a
        end = own + len(start.difficulty)

        def unpack(flat: Floats) -> Parameters:
            parameters = _with_rows(start, rows, flat[:own].reshape(-1, count))
            if self.tied:
                parameters = replace(parameters, log_discrimination=np.full(count, flat[-1]))
            return replace(parameters, difficulty=flat[own:end])

        def evaluate(flat: Floats) -> Trial:
            parameters = unpack(flat)
            chances, posterior, evidence = self._with_posterior(parameters)
            value = float(evidence.sum() + self.log_prior(parameters).sum())
            return Trial(value, lambda: derive(flat, value, parameters, chances, posterior))

        def derive(
            flat: Floats, value: float, parameters: Parameters, chances: Probabilities, posterior: Posterior
        ) -> Point:
            score = chances.score(posterior.options.take(self.given.option))
            gradient = [
                self._annotator_gradient(parameters, chances, score, rows).ravel(),
                self._difficulty_gradient(parameters, chances, score),
            ]
            curvature = self._annotator_curvature(chances, rows)
            rest = [self._difficulty_curvature(chances)]
            if self.tied:
                gradient.append(self._annotator_gradient(parameters, chances, score, [1]).sum(keepdims=True)[0])
                rest.append(self._annotator_curvature(chances, [1]).sum(0)[0])

            def divide_by_curvature(vector: Floats) -> Floats:
                annotators = np.linalg.solve(curvature, vector[:own].reshape(-1, count).T[:, :, None])[:, :, 0].T
                return np.concatenate([annotators.ravel(), vector[own:] / np.concatenate(rest)])

            return Point(flat, value, np.concatenate(gradient), divide_by_curvature)

        parts = [start.annotators[rows].ravel(), start.difficulty]
        if self.tied:
            parts.append(start.log_discrimination[:1])
        min_gain = 0.1 * TOLERANCE * len(self.right)
        self.parameters = unpack(ascend(evaluate, np.concatenate(parts), ASCENT_STEPS, min_gain))

    def _with_posterior(self, parameters: Parameters) -> tuple[Probabilities, Posterior, Floats]:
        """E-step at some parameters: the answers' probabilities, the posterior of the labels, and log evidence [I]."""
        chances = self.given.probabilities(parameters)
        return chances, *self._label_posterior(chances.log_hit - chances.log_miss, chances.log_miss)

    def _set_difficulties(self) -> None:
        """M2, second part: move each task by itself, and try some difficulties, because there are many summits."""

        def penalised(evidence: Floats, difficulty: Floats | float) -> Floats:
            return np.asarray(evidence - 0.5 * (difficulty / self.widths[1]) ** 2)

        def evaluate(values: Floats, who: Positions) -> Points:
            difficulty = best.copy()
            difficulty[who] = values[0]
            parameters = replace(self.parameters, difficulty=difficulty)
            chances, posterior, evidence = self._with_posterior(parameters)
            score = chances.score(posterior.options.take(self.given.option))
            gradient = self._difficulty_gradient(parameters, chances, score)[who]
            curvature = self._difficulty_curvature(chances)[who]
            return Points(penalised(evidence, difficulty)[who], gradient[None], curvature[:, None, None])

        best = self.parameters.difficulty
        value = penalised(self.label_posterior(self.parameters)[1], best)
        for candidate in DIFFICULTIES * self.widths[1]:
            evidence = self._label_posterior(*self.given.at_difficulty(self.parameters, candidate))[1]
            new = penalised(evidence, candidate)
            best, value = np.where(new > value, candidate, best), np.maximum(new, value)

        values, _ = ascend_separately(evaluate, best[None], DIFFICULTY_STEPS, SMALL_GAIN)
        self.parameters = replace(self.parameters, difficulty=values[0])

    def skill_error(self) -> Floats:
        """[J] standard error of d_j: one over the root of the curvature of its objective."""
        step = 1e-4
        slopes = []
        for sign in (1, -1):
            moved = replace(self.parameters, skill=self.parameters.skill + sign * step)
            slopes.append(self.penalised_log_likelihood(moved)[1][0])
        curvature = (slopes[1] - slopes[0]) / (2 * step)
        return np.asarray(1 / np.sqrt(np.maximum(curvature, 1 / (100 * self.widths[0] ** 2))))


def _with_rows(parameters: Parameters, rows: list[int], values: Floats) -> Parameters:
    """Replace some rows of `Parameters.annotators` by values [R, J]."""
    annotators = parameters.annotators
    annotators[rows] = values
    return parameters.with_annotators(annotators)
