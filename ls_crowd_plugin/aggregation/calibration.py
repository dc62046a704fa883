"""Makes a posterior mean what it says: of the labels given with 90 %, nine in ten should be right.

    p' = (1 − λ − ε) · p^β / sum p^β  +  λ · share  +  ε / K

β < 1 because answers are not independent given the truth, so evidence counts less than its sum. `share` is the label's
share of the weighted vote: models are surer of themselves than they should be where good annotators are divided. ε
because on some tasks the whole crowd is misled and no agreement helps. None of them changes which label is the most
probable. Gold tells the three numbers; without gold they are what their priors say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .answers import Answers, Floats, Integers, sums
from .fit import normalise

USUAL = (0.8, 0.3, 0.02)  # β, λ and ε of a crowd of which nothing is known
BETAS = np.geomspace(0.1, 2.0, 14)
LAMBDAS = np.linspace(0.0, 0.9, 10)
EPSILONS = np.linspace(0.0, 0.6, 25)
MOST_GOLD = 2000  # more gold than this does not move three numbers


@dataclass(frozen=True)
class Calibration:
    sharpness: float  # β
    divided: float  # λ
    misled: float  # ε
    gold: int = 0  # how many gold items it rests on

    def apply(self, answers: Answers, posterior: Floats, unchosen: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """[O], [I] the calibrated posterior of the options, and of each single label that is no option.

        `weight` [J] is what one answer of each annotator counts.
        """
        with np.errstate(divide="ignore"):
            option, other, _ = normalise(answers, self.sharpness * np.log(posterior), self.sharpness * np.log(unchosen))
        share, other_share = weighted_shares(answers, weight)
        divided = self._order_kept(answers, option, other, share, other_share)
        even = self.misled / answers.label_count
        sure = 1 - divided - self.misled
        item = answers.option_item
        return (
            sure[item] * option + divided[item] * share + even[item],
            sure * other + divided * other_share + even,
        )

    def _order_kept(
        self, answers: Answers, option: Floats, other: Floats, share: Floats, other_share: Floats
    ) -> Floats:
        """[I] λ, or less where the whole of it would let another label overtake the most probable one."""
        item, start = answers.option_item, answers.option_start
        top = np.maximum.reduceat(option, start)
        is_top = option >= top[item]
        top_share = np.maximum.reduceat(np.where(is_top, share, -np.inf), start)
        behind, ahead = top[item] - option, share - top_share[item]
        most = np.where(ahead > 0, (1 - self.misled) * behind / np.maximum(behind + ahead, 1e-300), 1.0)
        limit = np.minimum.reduceat(most, start)
        behind, ahead = top - other, other_share - top_share
        crossing = np.maximum(np.abs(behind) + np.abs(ahead), 1e-300)
        overtakes = (answers.unchosen > 0) & ((behind > 0) == (ahead > 0)) & (behind != 0)
        limit = np.where(overtakes, np.minimum(limit, (1 - self.misled) * np.abs(behind) / crossing), limit)
        return np.minimum(self.divided, 0.999 * limit)


def weighted_shares(answers: Answers, weight: Floats) -> tuple[Floats, Floats]:
    """[O], [I] share of the vote by positive weight, slightly smoothed, of the options and of each other label."""
    weight = np.maximum(weight, 0.0)
    if weight.sum() == 0:
        weight = np.ones(len(weight))
    little = 0.1 * weight.mean() / answers.label_count
    votes = sums(answers.answer_option, weight[answers.answer_annotator], len(answers.option_item))
    total = np.add.reduceat(votes, answers.option_start) + little * answers.label_count
    return (votes + little[answers.option_item]) / total[answers.option_item], little / total


def calibrate(
    answers: Answers, posterior: Floats, unchosen: Floats, weight: Floats, gold_option: Integers
) -> Calibration:
    """The most probable β, λ, ε given what the crowd says [O], [I] of items whose gold option [I] is known (or −1).

    Priors: log β is Gaussian around its usual value with a standard deviation of one half, λ Gaussian with one of a
    third; ε is exponential with its usual value as the mean.
    """
    known = np.flatnonzero((gold_option >= 0) & (answers.label_count > 1) & (answers.answers_per_item > 0))
    if len(known) == 0:
        return Calibration(*USUAL)
    if len(known) > MOST_GOLD:
        known = known[np.linspace(0, len(known) - 1, MOST_GOLD).astype(int)]
    keep = np.isin(answers.option_item, known)
    item = np.searchsorted(known, answers.option_item[keep])
    start = np.searchsorted(item, np.arange(len(known)))
    labels, others = answers.label_count[known], answers.unchosen[known]
    gold = gold_option[known]
    gold_share = weighted_shares(answers, weight)[0][gold]
    with np.errstate(divide="ignore"):
        log_option, log_other = np.log(posterior[keep]), np.log(unchosen[known])
        log_gold = np.log(posterior[gold])
    divided, misled = (part.ravel() for part in np.meshgrid(LAMBDAS, EPSILONS, indexing="ij"))
    possible = divided + misled < 1
    divided, misled = divided[possible], misled[possible]
    prior = -0.5 * ((divided - USUAL[1]) * 3) ** 2 - misled / USUAL[2]
    best, best_score = USUAL, -np.inf
    for beta in BETAS:
        total = np.add.reduceat(np.exp(beta * log_option), start)
        total += np.where(others > 0, others * np.exp(beta * log_other), 0.0)
        model = np.exp(beta * log_gold) / total
        mixed = np.outer(model, 1 - divided - misled) + np.outer(gold_share, divided) + np.outer(1 / labels, misled)
        score = np.log(np.maximum(mixed, 1e-12)).sum(0) + prior - 0.5 * (np.log(beta / USUAL[0]) / 0.5) ** 2
        winner = int(score.argmax())
        if score[winner] > best_score:
            best, best_score = (float(beta), float(divided[winner]), float(misled[winner])), float(score[winner])
    return Calibration(*best, gold=len(known))
