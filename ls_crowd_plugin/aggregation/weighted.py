"""Weighted plurality: PLU, SS-PLU, SW, NEG and HYB, which need no model of how answers come about.

NEG maximises  sum_j w_j b_j,  b_j = sum_i [1 if r_ij = z_i else −1/(K_i−1)],  alternating between labels z and weights
w; a negative weight marks an adversary, a weight near zero a spammer. SW maximises  sum_j w_j c_j  with w_j >= 0 and
c_j = sum_i [1(r_ij = z_i) if v_j else 1(r_ij != z_i)/(K_i−1)],  alternating between z, w and the intentions v. HYB is
SW started from the labels and signs of NEG. Probes keep their gold label throughout.

The weights need a bound. The paper's is sum_j w_j² = 1, whose optimum grows with how much an annotator answered. The
default here counts the energy per answer, sum_j n_j w_j² = 1, whose optimum is w_j proportional to b_j / n_j: the same
if everybody gives the same number of answers, and fair if not. Every update still maximises its objective.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betainc

from .answers import Answers
from .arrays import group_sums
from .em import Convergence, run_until_converged
from .fit import Fit, Posterior, Votes, normalise, weighted_shares, with_newcomers
from .types import FitProgress, Flags, Floats
from .unopposed import prior_weight

PRIOR_ANSWERS = 2.0  # pseudo-answers at the crowd's own rate in every annotator's share of agreement


def fit_plurality(answers: Answers, progress: FitProgress) -> Fit:
    """PLU without gold. With gold SS-PLU: an annotator's weight is the share of probes answered right.

    The share is shrunk to the crowd's share, in case of few probes: (right + 2 · share) / (answered + 2).
    """
    answered, right = answers.gold_counts
    if answered.sum() == 0:
        weight = np.ones(len(answers.annotators))
    else:
        crowd = (right.sum() + 1.0) / (answered.sum() + 2.0)
        weight = (right + PRIOR_ANSWERS * crowd) / (answered + PRIOR_ANSWERS)
    score = answers.weighted_votes(weight)
    winner = best_labels(answers, score)
    convergence = Convergence((float(score @ winner),), converged=True)
    progress(1.0)
    form = "ss-plu" if answered.sum() else "plu"
    return _to_fit(answers, form, weight, NegModel.scores, winner, convergence, with_adversaries=False)


def fit_agreement(answers: Answers, progress: FitProgress) -> Fit:
    """Votes weighted by agreement: an annotator's weight is the share of answers that are the plurality's label, or the
    gold label; shrunk to the crowd's share as for PLU. The posterior is each label's share of the weighted vote."""
    winner = best_labels(answers, answers.votes)
    agrees = answers.sum_by_annotator(winner * answers.has_comparable[answers.option_item])
    answered = answers.comparable_per_annotator
    crowd = (agrees.sum() + 1.0) / (answered.sum() + 2.0)
    weight = (agrees + PRIOR_ANSWERS * crowd) / (answered + PRIOR_ANSWERS)
    progress(1.0)
    return Fit(
        answers=answers,
        form="agreement",
        posterior=weighted_shares(answers, weight),
        skill=weight,
        weight=weight,
        convergence=Convergence((float(agrees.sum()),), converged=True),
        count_votes=lambda table: Votes(table, weighted_shares(table, weight)),
    )


def fit_neg(answers: Answers, progress: FitProgress, printed: bool = False) -> Fit:
    """US-NEG, and SS-NEG if there is gold; `printed` bounds the weights as in the paper."""
    model = NegModel(answers, printed)
    convergence = _alternate(model, progress)
    return _to_fit(answers, "printed" if printed else "neg", model.signed, model.scores, model.winner, convergence)


def fit_sw(answers: Answers, progress: FitProgress, printed: bool = False) -> Fit:
    """US-SW, and SS-SW if there is gold; `printed` bounds the weights as in the paper."""
    model = SwModel(answers, printed)
    convergence = _alternate(model, progress)
    return _to_fit(answers, "printed" if printed else "sw", model.signed, model.scores, model.winner, convergence)


def fit_hyb(answers: Answers, progress: FitProgress, printed: bool = False) -> Fit:
    """US-HYB, and SS-HYB if there is gold: SW's objective, started from NEG; `printed` as for both."""
    neg = NegModel(answers, printed)
    _alternate(neg, lambda fraction: progress(fraction / 2))
    model = SwModel(answers, printed)
    model.start_from(neg.winner, neg.signed >= 0)
    convergence = _alternate(model, lambda fraction: progress(0.5 + fraction / 2))
    return _to_fit(answers, "printed" if printed else "hyb", model.signed, model.scores, model.winner, convergence)


class NegModel:
    """NEG: weights of either sign."""

    def __init__(self, answers: Answers, printed: bool) -> None:
        self.answers = answers
        decides = np.where(answers.label_count > 1, 1.0, 0.0)  # [I]
        against = decides / np.maximum(answers.label_count - 1, 1.0)  # [I]
        self.decides = decides.take(answers.option_item)  # [O] zero where there is one label
        self.against = against.take(answers.option_item)  # [O] 1 / (K_i − 1), or zero
        self.difference = self.decides + self.against  # [O] what an answer gains if it is the label
        answered = answers.sum_by_annotator(self.decides)
        self.all_against = answers.sum_by_annotator(self.against)  # [J]
        self.energy = np.ones(len(answered)) if printed else np.maximum(answered, 1.0)  # [J] cost of a squared weight
        self.signed: Floats = np.full(len(answered), 1.0 / np.sqrt(self.energy.sum()))  # [J] w_j
        self.winner: Floats = np.zeros(len(answers.option_item))  # [O] z

    def update(self) -> float:
        """Update the labels and then the weights; returns the objective, which both maximise."""
        self.update_labels()
        return self.update_weights()

    def update_labels(self) -> None:
        """Set z to the best labels for the current weights."""
        self.winner = best_labels(self.answers, self.scores(self.answers, self.signed))

    def update_weights(self) -> float:
        """Set w to the best weights for the current labels; returns sum_j w_j b_j."""
        gain = self._gain()
        self.signed = self._best_weights(gain)
        return float(self.signed @ gain)

    @staticmethod
    def scores(answers: Answers, signed: Floats) -> Floats:
        """[O] the weighted vote for each option, by weights w [J]."""
        return answers.weighted_votes(signed)

    def _gain(self) -> Floats:
        """[J] b_j"""
        return self.answers.sum_by_annotator(self.winner * self.difference) - self.all_against

    def _best_weights(self, gain: Floats) -> Floats:
        """[J] the weights that maximise sum_j w_j gain_j under the bound on their energy."""
        weight = gain / self.energy
        size = np.sqrt(self.energy @ weight**2)
        return weight / size if size > 0 else self.signed


class SwModel(NegModel):
    """SW: weights are never negative; `honest` says in which direction they count."""

    def __init__(self, answers: Answers, printed: bool) -> None:
        super().__init__(answers, printed)
        self.size: Floats = self.signed.copy()  # [J] w_j
        self.honest: Flags = np.ones(len(self.size), bool)  # [J] v_j
        self.has_initial_labels = False

    def start_from(self, winner: Floats, honest: Flags) -> None:
        """Start from labels z [O] and intentions v [J]; the first update keeps the labels."""
        self.winner, self.honest, self.has_initial_labels = winner, honest, True

    def update_labels(self) -> None:
        """Set z to the best labels for the current weights and intentions."""
        if not self.has_initial_labels:
            super().update_labels()
        self.has_initial_labels = False

    def update_weights(self) -> float:
        """Set w and v to the best for the current labels; returns sum_j w_j c_j."""
        agreeing, differing = self._gains()
        self.size = self._best_weights(np.where(self.honest, agreeing, differing))
        # The best intention does not depend on the weight, so it is also compared for an annotator who never agrees
        # and has weight 0. The weights follow at once: otherwise the next labels would not take it into account.
        self.honest = agreeing >= differing
        gain = np.where(self.honest, agreeing, differing)
        self.size = self._best_weights(gain)
        self.signed = np.where(self.honest, self.size, -self.size)
        return float(self.size @ gain)

    @staticmethod
    def scores(answers: Answers, signed: Floats) -> Floats:
        """[O] an honest weight goes to the label of the answer, an adversary's in equal parts to all other labels."""
        against = answers.weighted_votes(np.maximum(-signed, 0.0))
        others = np.maximum(answers.label_count - 1, 1.0)[answers.option_item]
        return np.asarray(answers.weighted_votes(np.maximum(signed, 0.0)) - against / others)

    def _gains(self) -> tuple[Floats, Floats]:
        """[J], [J] c_j if the annotator is honest, and if an adversary."""
        agreeing = self.answers.sum_by_annotator(self.winner * self.decides)
        differing = self.all_against - self.answers.sum_by_annotator(self.winner * self.against)
        return agreeing, differing


def _alternate(model: NegModel, progress: FitProgress) -> Convergence:
    return run_until_converged(model.update, model.answers, progress, tolerance=1e-12, min_iterations=2)


def best_labels(answers: Answers, score: Floats) -> Floats:
    """[O] z: one for the label of the item. Options tied for it share it, because any split maximises the objective.

    A label that nobody chose scores 0, so if all options score less, none of them wins. Gold items keep their gold.
    """
    winner, has_gold = np.empty(len(score)), answers.has_gold
    for items, options, start, item in answers.blocks:
        top = np.maximum.reduceat(score[options], start)
        tolerance = 1e-9 * (1 + np.abs(top))
        best = (score[options] >= (top - tolerance)[item]).astype(float)
        share = 1 / group_sums(item, best, len(top))
        share[(top < -tolerance) & (answers.unchosen_count[items] > 0)] = 0.0
        share[has_gold[items]] = 0.0
        np.multiply(best, share[item], out=winner[options])
    winner[answers.gold_option[has_gold]] = 1.0
    return winner


def _to_fit(
    answers: Answers,
    form: str,
    weight: Floats,
    scores: Callable[[Answers, Floats], Floats],
    winner: Floats,
    convergence: Convergence,
    with_adversaries: bool = True,
) -> Fit:
    """Turn the labels' scores, by a table and the weights, into posteriors: log P(label) = slope · score + constant.

    The slope is what a vote is worth: the mean over answers of the annotators' log(hit / miss), from their agreement
    with the labels, per unit of weight. Only comparable answers count for it, because an answer that nothing can be
    compared with is its task's label and always agrees. If there are none, a vote is worth what the prior says.
    """
    weight = with_newcomers(answers, weight)
    comparable = answers.has_comparable[answers.option_item]
    answered = answers.comparable_per_annotator
    agrees = answers.sum_by_annotator(winner * comparable)
    labels = answers.sum_by_annotator(answers.label_count[answers.option_item] * comparable) / np.maximum(answered, 1)
    labels = np.maximum(labels, 2.0)  # [J] mean number of labels of the questions answered
    if answered.any():
        crowd = agrees.sum() / answered.sum()
        share = (agrees + PRIOR_ANSWERS * crowd) / (answered + PRIOR_ANSWERS)
        share = np.clip(share, 0.5 / (answered + 1), 1 - 0.5 / (answered + 1))
        log_odds = np.log(share * (labels - 1) / (1 - share))
        slope = (answered * weight) @ log_odds / max(float(answered @ weight**2), 1e-12)
    else:
        slope = prior_weight(answers.label_count).mean() / max(float(weight[answers.answer_annotator].mean()), 1e-12)
    slope = max(float(slope), 1e-3)

    def count_votes(table: Answers) -> Votes:
        options, unchosen, _ = normalise(table, slope * scores(table, weight), np.zeros(len(table.items)))
        return Votes(table, Posterior(options, unchosen))

    adversary: Floats | None = None
    if with_adversaries:
        # P(accuracy below chance | agreements), with a prior whose mean is chance
        adversary = np.asarray(betainc(agrees + 1.0, answered - agrees + labels - 1.0, 1 / labels), float)
    return Fit(
        answers=answers,
        form=form,
        posterior=count_votes(answers).posterior,
        skill=weight,
        weight=weight,
        adversary=adversary,
        convergence=convergence,
        count_votes=count_votes,
        weight_unit=slope,
    )
