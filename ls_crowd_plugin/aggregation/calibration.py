"""Makes a posterior mean what it says: of the labels given with 90 %, nine in ten should be right.

    p' = (1 − ε) · p^β / sum p^β  +  ε / K

β < 1 because answers are not independent given the truth, so evidence counts less than its sum; ε because on some
tasks the whole crowd is misled and no amount of agreement helps. Both keep the order of the labels. Gold tells them;
without gold they are what their priors say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .answers import Answers, Floats, Integers
from .fit import normalise

USUAL = (0.8, 0.03)  # β and ε of a crowd of which nothing is known
BETAS = np.geomspace(0.1, 2.0, 31)
EPSILONS = np.linspace(0.0, 0.6, 31)
MOST_GOLD = 2000  # more gold than this does not move two numbers


@dataclass(frozen=True)
class Calibration:
    sharpness: float  # β
    misled: float  # ε
    gold: int = 0  # how many gold items it rests on

    def apply(self, answers: Answers, posterior: Floats, unchosen: Floats) -> tuple[Floats, Floats]:
        """[O], [I] the calibrated posterior of the options, and of each single label that is no option."""
        with np.errstate(divide="ignore"):
            option, other, _ = normalise(answers, self.sharpness * np.log(posterior), self.sharpness * np.log(unchosen))
        even = self.misled / answers.label_count
        return (1 - self.misled) * option + even[answers.option_item], (1 - self.misled) * other + even


def calibrate(answers: Answers, posterior: Floats, unchosen: Floats, gold_option: Integers) -> Calibration:
    """The most probable β and ε given what the crowd says [O], [I] of items whose gold option [I] is known (or −1).

    Priors: log β is Gaussian around its usual value, with a standard deviation of one half; ε is exponential with its
    usual value as the mean.
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
    is_gold = np.zeros(len(answers.option_item), bool)
    is_gold[gold_option[known]] = True
    with np.errstate(divide="ignore"):
        log_option, log_other = np.log(posterior[keep]), np.log(unchosen[known])
    score = np.empty((len(BETAS), len(EPSILONS)))
    for row, beta in enumerate(BETAS):
        share = np.exp(beta * log_option)
        total = np.add.reduceat(share, start) + np.where(others > 0, others * np.exp(beta * log_other), 0.0)
        gold = share[is_gold[keep]] / total
        mixed = gold[:, None] * (1 - EPSILONS) + EPSILONS / labels[:, None]
        score[row] = np.log(np.maximum(mixed, 1e-12)).sum(0)
        score[row] -= 0.5 * (np.log(beta / USUAL[0]) / 0.5) ** 2 + EPSILONS / USUAL[1]
    best = np.unravel_index(int(score.argmax()), score.shape)
    return Calibration(float(BETAS[best[0]]), float(EPSILONS[best[1]]), len(known))
