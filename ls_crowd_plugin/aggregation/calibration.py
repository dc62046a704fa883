"""Calibration: of the labels with a confidence of 90%, nine in ten should be right.

    p' = (1 − λ − ε) · p^β / sum p^β  +  λ · share  +  ε / K

β < 1 because answers are not independent given the truth, so their evidence counts less than its sum. `share` is the
label's share of the weighted vote: models are overconfident where good annotators are divided. ε is there because some
tasks mislead the whole crowd, and then agreement does not help. None of the three changes which label is the most
probable. They are learned from gold; without gold they have their default values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .answers import Answers
from .fit import Fit, Posterior, Votes, normalise, weighted_shares
from .types import Floats, Integers

BETAS = np.geomspace(0.1, 2.0, 14)
LAMBDAS = np.linspace(0.0, 0.9, 10)
MISLED_FACTORS = np.geomspace(1 / 16, 16.0, 25)  # ε is the default times one of these
MAX_GOLD = 2000  # more gold than this would hardly change three numbers


@dataclass(frozen=True)
class Calibration:
    """The numbers of the formula above."""

    sharpness: float  # β
    divided: float  # λ
    misled: float  # ε
    gold: int = 0  # how many gold items they were learned from

    def apply(self, answers: Answers, posterior: Posterior, weight: Floats) -> Posterior:
        """Calibrate a posterior; `weight` [J] is what one answer of each annotator counts."""
        return Posterior.total(self.terms(answers, posterior, weight))

    def terms(self, answers: Answers, posterior: Posterior, weight: Floats) -> tuple[Posterior, Posterior, Posterior]:
        """The three terms of the formula, whose sum is the calibrated posterior."""
        with np.errstate(divide="ignore"):
            scores = (self.sharpness * np.log(posterior.options), self.sharpness * np.log(posterior.unchosen))
        option, unchosen, _ = normalise(answers, *scores)
        sharpened = Posterior(option, unchosen)
        share = weighted_shares(answers, weight)
        divided = self._divided_in_order(answers, sharpened, share)
        even = self.misled / answers.label_count
        own = 1 - divided - self.misled  # what the sharpened posterior keeps
        return (
            sharpened.times_per_item(answers, own),
            share.times_per_item(answers, divided),
            Posterior(even[answers.option_item], even),
        )

    def _divided_in_order(self, answers: Answers, posterior: Posterior, share: Posterior) -> Floats:
        """[I] λ, or less if the full λ would let another label overtake the most probable one."""
        result = np.empty(len(answers.items))
        for items, options, start, item in answers.blocks:
            own, own_share = posterior.options[options], share.options[options]
            top = np.maximum.reduceat(own, start)
            own_top = top[item]
            top_share = np.maximum.reduceat(np.where(own >= own_top, own_share, -np.inf), start)
            behind, ahead = own_top - own, own_share - top_share[item]
            highest = np.where(ahead > 0, (1 - self.misled) * behind / np.maximum(behind + ahead, 1e-300), 1.0)
            limit = np.minimum.reduceat(highest, start)
            behind, ahead = top - posterior.unchosen[items], share.unchosen[items] - top_share
            crossing = np.maximum(np.abs(behind) + np.abs(ahead), 1e-300)
            overtakes = (answers.unchosen_count[items] > 0) & ((behind > 0) == (ahead > 0)) & (behind != 0)
            limit = np.where(overtakes, np.minimum(limit, (1 - self.misled) * np.abs(behind) / crossing), limit)
            result[items] = np.minimum(self.divided, 0.999 * limit)
        return result


# Without gold, by what public crowds with known truth have in common (`benchmarks/learn.py`). An average that includes
# the votes needs nothing but ε.
DEFAULT_CALIBRATION = Calibration(sharpness=1.0, divided=0.8, misled=0.04)
POOL_CALIBRATION = Calibration(sharpness=1.0, divided=0.0, misled=0.04)
AS_IT_IS = Calibration(sharpness=1.0, divided=0.0, misled=0.0)  # nothing to change


def calibrate_fit(fit: Fit, calibration: Calibration) -> Fit:
    """The same fit with a calibrated posterior, here and wherever its annotators vote.

    People and the evidence of answers are still judged by the fit as it was.
    """

    def apply(answers: Answers, posterior: Posterior) -> Posterior:
        return calibration.apply(answers, posterior, fit.weight)

    def count_votes(table: Answers) -> Votes:
        votes = fit.count_votes(table)
        return votes._replace(posterior=apply(votes.answers, votes.posterior))

    posterior = apply(fit.answers, fit.posterior)
    return replace(fit, posterior=posterior, fitted=fit.posterior, count_votes=count_votes, main=fit)


def calibrate(
    answers: Answers,
    posterior: Posterior,
    weight: Floats,
    gold_option: Integers,
    default: Calibration = DEFAULT_CALIBRATION,
) -> Calibration:
    """Learn the most probable β, λ, ε from the posterior of items whose gold option [I] is known (else −1).

    Priors: log β is Gaussian around its default with a standard deviation of one half, λ Gaussian with one of a third;
    ε has a Gamma distribution of shape two. All three are highest at the default, so that a little gold changes little.
    """
    items = np.flatnonzero((gold_option >= 0) & answers.is_informative)
    if len(items) == 0:
        return default
    if len(items) > MAX_GOLD:
        items = items[np.linspace(0, len(items) - 1, MAX_GOLD).astype(int)]
    keep = np.isin(answers.option_item, items)
    start = np.searchsorted(np.searchsorted(items, answers.option_item[keep]), np.arange(len(items)))
    labels, others = answers.label_count[items], answers.unchosen_count[items]
    gold = gold_option[items]
    gold_share = weighted_shares(answers, weight).options[gold]
    with np.errstate(divide="ignore"):
        log_option, log_other = np.log(posterior.options[keep]), np.log(posterior.unchosen[items])
        log_gold = np.log(posterior.options[gold])
    divided, misled, log_prior = _grid(default)
    best, best_score = default, -np.inf
    for beta in BETAS:
        total = np.add.reduceat(np.exp(beta * log_option), start)
        total += np.where(others > 0, others * np.exp(beta * log_other), 0.0)
        model = np.exp(beta * log_gold) / total
        mixed = np.outer(model, 1 - divided - misled) + np.outer(gold_share, divided) + np.outer(1 / labels, misled)
        score = np.log(np.maximum(mixed, 1e-12)).sum(0) + log_prior
        score -= 0.5 * (np.log(beta / default.sharpness) / 0.5) ** 2
        winner = int(score.argmax())
        if score[winner] > best_score:
            best = Calibration(float(beta), float(divided[winner]), float(misled[winner]), gold=len(items))
            best_score = float(score[winner])
    return best


def _grid(default: Calibration) -> tuple[Floats, Floats, Floats]:
    """All pairs of λ and ε that leave something to the model, and the log prior of each pair."""
    pairs = np.array(np.meshgrid(LAMBDAS, MISLED_FACTORS, indexing="ij")).reshape(2, -1)
    divided, factor = pairs[:, pairs[0] + pairs[1] * default.misled < 1]
    log_prior = -0.5 * ((divided - default.divided) * 3) ** 2 + np.log(factor) - factor
    return divided, factor * default.misled, log_prior
