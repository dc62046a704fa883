"""Weighted plurality: PLU, SS-PLU, SW, NEG and HYB, which assume no model of how answers come about.

NEG maximises  sum_j w_j b_j,  b_j = sum_i [1 if r_ij = z_i else −1/(K_i−1)],  by turns over labels z and weights w; a
negative weight marks an adversary, a weight near zero a spammer. SW maximises  sum_j w_j c_j  with w_j >= 0 and
c_j = sum_i [1(r_ij = z_i) if v_j else 1(r_ij != z_i)/(K_i−1)],  by turns over z, w and the intentions v. HYB is SW
started from NEG's labels and signs. Probes keep their gold label throughout.

The weights need a bound. Printed: sum_j w_j² = 1, whose optimum grows with how much somebody answered. Default: the
energy is counted per answer, sum_j n_j w_j² = 1, whose optimum is w_j proportional to b_j / n_j: the same where
everybody answers equally much, and fair where they do not. Each step then still climbs its own objective.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betainc

from .answers import Answers, Flags, Floats, sums
from .fit import Fit, climb, normalise

PRIOR_ANSWERS = 2.0  # an annotator's share of agreement counts so many answers at the crowd's own rate


def fit_plurality(answers: Answers, progress: Callable[[float], None]) -> Fit:
    """PLU without gold; with gold SS-PLU: an annotator weighs as much as the share of probes answered right.

    Whoever answered few probes is drawn to the crowd's share: (right + 2 · share) / (asked + 2).
    """
    asked, right = answers.agrees_with_gold
    if asked.sum() == 0:
        weight = np.ones(len(answers.annotators))
    else:
        crowd = (right.sum() + 1.0) / (asked.sum() + 2.0)
        weight = (right + PRIOR_ANSWERS * crowd) / (asked + PRIOR_ANSWERS)
    score = _votes(answers, weight)
    winner = _winners(answers, score)
    objective = float(score @ winner)
    progress(1.0)
    form = "ss-plu" if asked.sum() else "plu"
    return _fit(answers, form, weight, score, winner, (objective,), True, with_adversaries=False)


def fit_neg(answers: Answers, progress: Callable[[float], None], printed: bool = False) -> Fit:
    """US-NEG, and SS-NEG where there is gold."""
    model = _Weighted(answers, printed)
    history, converged = climb(model, answers, progress, tolerance=1e-12, least=2)
    return _fit(answers, "printed" if printed else "neg", model.signed, model.score(), model.winner, history, converged)


def fit_sw(answers: Answers, progress: Callable[[float], None], printed: bool = False) -> Fit:
    """US-SW, and SS-SW where there is gold."""
    model = _WeightedWithIntention(answers, printed)
    history, converged = climb(model, answers, progress, tolerance=1e-12, least=2)
    return _fit(answers, "printed" if printed else "sw", model.signed, model.score(), model.winner, history, converged)


def fit_hyb(answers: Answers, progress: Callable[[float], None], printed: bool = False) -> Fit:
    """US-HYB, and SS-HYB where there is gold: SW's objective from where NEG ends."""
    neg = _Weighted(answers, printed)
    climb(neg, answers, lambda fraction: progress(fraction / 2), tolerance=1e-12, least=2)
    model = _WeightedWithIntention(answers, printed)
    model.start_from(neg.winner, neg.signed >= 0)
    history, converged = climb(model, answers, lambda fraction: progress(0.5 + fraction / 2), tolerance=1e-12, least=2)
    return _fit(answers, "printed" if printed else "hyb", model.signed, model.score(), model.winner, history, converged)


class _Weighted:
    """NEG: weights of either sign."""

    def __init__(self, answers: Answers, printed: bool) -> None:
        self.answers = answers
        answered = sums(answers.answer_annotator, answers.decidable, len(answers.annotators))
        self.energy = np.ones(len(answered)) if printed else np.maximum(answered, 1.0)  # [J] price of a weight
        self.signed: Floats = np.full(len(answered), 1.0 / np.sqrt(self.energy.sum()))  # [J] w_j
        self.apart = np.maximum(answers.label_count[answers.answer_item] - 1, 1.0)  # [n] K_i − 1
        self.decided = answers.decidable  # [n] there is something to get right
        self.winner: Floats = np.zeros(len(answers.option_item))  # [O] z

    def step(self) -> float:
        """Labels for fixed weights, then weights for fixed labels; both maximise sum_j w_j b_j."""
        self.winner = _winners(self.answers, self.score())
        bracket = self._bracket()
        self.signed = self._normalised(bracket)
        return float(self.signed @ bracket)

    def score(self) -> Floats:
        """[O] what speaks for each option."""
        return _votes(self.answers, self.signed)

    def _agrees(self) -> Floats:
        """[n] one where the answer is the current label of its item."""
        return self.winner[self.answers.answer_option]

    def _bracket(self) -> Floats:
        """[J] b_j"""
        agrees = self._agrees()
        each = np.where(self.decided, agrees - (1 - agrees) / self.apart, 0.0)
        return sums(self.answers.answer_annotator, each, len(self.signed))

    def _normalised(self, gain: Floats) -> Floats:
        """[J] the weights that maximise sum_j w_j gain_j under the bound on their energy."""
        weight = gain / self.energy
        size = np.sqrt(self.energy @ weight**2)
        return weight / size if size > 0 else self.signed


class _WeightedWithIntention(_Weighted):
    """SW: weights are never negative, `honest` says which way they point."""

    def __init__(self, answers: Answers, printed: bool) -> None:
        super().__init__(answers, printed)
        self.size: Floats = self.signed.copy()  # [J] w_j
        self.honest: Flags = np.ones(len(self.size), bool)  # [J] v_j
        self.started = False

    def start_from(self, winner: Floats, honest: Flags) -> None:
        self.winner, self.honest, self.started = winner, honest, True

    def step(self) -> float:
        """Labels, weights and intentions in turn; each maximises sum_j w_j c_j with the others fixed."""
        if not self.started:
            self.winner = _winners(self.answers, self.score())
        self.started = False
        agreeing, differing = self._gains()
        self.size = self._normalised(np.where(self.honest, agreeing, differing))
        # An annotator's best intention does not depend on the weight, so one who never agrees and has weight 0 is
        # compared all the same; the weight follows at once, or the next labels would not know.
        self.honest = agreeing >= differing
        gain = np.where(self.honest, agreeing, differing)
        self.size = self._normalised(gain)
        self.signed = np.where(self.honest, self.size, -self.size)
        return float(self.size @ gain)

    def score(self) -> Floats:
        """[O] an honest weight goes to the label given, an adversary's in equal parts to all the others."""
        answers = self.answers
        score = _votes(answers, np.where(self.honest, self.size, 0.0))
        against = np.where(self.honest, 0.0, self.size)[answers.answer_annotator] / self.apart
        return score - sums(answers.answer_option, against, len(score))

    def _gains(self) -> tuple[Floats, Floats]:
        """[J], [J] c_j if honest and if adversary."""
        agrees = self._agrees()
        annotator, count = self.answers.answer_annotator, len(self.size)
        agreeing = sums(annotator, agrees * self.decided, count)
        differing = sums(annotator, (1 - agrees) / self.apart * self.decided, count)
        return agreeing, differing


def _votes(answers: Answers, weight: Floats) -> Floats:
    """[O] sum of the weights of those who gave the option."""
    return sums(answers.answer_option, weight[answers.answer_annotator], len(answers.option_item))


def _winners(answers: Answers, score: Floats) -> Floats:
    """[O] z: one for the label of the item; options tied for it share it, since any split maximises the objective.

    A label that nobody chose scores 0, so where all options score less none of them wins. Gold items keep their gold.
    """
    top = np.maximum.reduceat(score, answers.option_start)
    tolerance = 1e-9 * (1 + np.abs(top))
    beaten = (top < -tolerance) & (answers.unchosen > 0)
    best = (score >= (top - tolerance)[answers.option_item]).astype(float)
    winner: Floats = best / np.add.reduceat(best, answers.option_start)[answers.option_item]
    winner[(beaten | (answers.gold_option >= 0))[answers.option_item]] = 0.0
    winner[answers.gold_option[answers.gold_option >= 0]] = 1.0
    return winner


def _fit(
    answers: Answers,
    form: str,
    weight: Floats,
    score: Floats,
    winner: Floats,
    history: tuple[float, ...],
    converged: bool,
    with_adversaries: bool = True,
) -> Fit:
    """Turns the labels' scores [O] into posteriors: log P(label) = slope · score + constant.

    The slope is what a vote is worth: the mean log(hit / miss) of the annotators' agreement with the labels, per unit
    of weight, counted per answer.
    """
    some = answers.decidable
    annotator, count = answers.answer_annotator[some], len(weight)
    answered = np.bincount(annotator, minlength=count)
    agrees = sums(annotator, winner[answers.answer_option[some]], count)
    crowd = agrees.sum() / max(answered.sum(), 1)
    labels = sums(annotator, answers.label_count[answers.answer_item[some]], count) / np.maximum(answered, 1)
    labels = np.maximum(labels, 2.0)
    share = (agrees + PRIOR_ANSWERS * crowd) / (answered + PRIOR_ANSWERS)
    share = np.clip(share, 0.5 / (answered + 1), 1 - 0.5 / (answered + 1))
    log_odds = np.log(share * (labels - 1) / (1 - share))
    slope = (answered * weight) @ log_odds / max(float(answered @ weight**2), 1e-12)
    slope = max(float(slope), 1e-3)
    posterior, unchosen, _ = normalise(answers, slope * score, np.zeros(len(answers.items)))
    adversary: Floats | None = None
    if with_adversaries:
        # P(accuracy below chance | agreements), with a prior whose mean is chance
        adversary = np.asarray(betainc(agrees + 1.0, answered - agrees + labels - 1.0, 1 / labels), float)
    return Fit(
        answers=answers,
        form=form,
        posterior=posterior,
        unchosen=unchosen,
        skill=weight,
        weight=weight,
        adversary=adversary,
        objective=history[-1],
        history=history,
        converged=converged,
    )
