"""The parts of a probability: a published number can be explained only by terms that add up to it.

With the terms of `calibration` and of `unopposed`, the probability of a label is

    r · (1 − λ − ε) · p^β / sum p^β  +  r · λ · share  +  r · ε / K  +  (1 − r) · prior

The first term is one part, named after the form of the fit. If the fit is an average p = sum of w_f · p_f, every form
gets the share w_f · p_f / p of that term, which is linear, (1 − λ − ε) · w_f · p_f, where β is one. If gold has
calibrated every form by itself, λ = ε = 0, and the part of a form includes its own share of votes and doubt.
"""

from __future__ import annotations

import numpy as np

from .calibration import Calibration
from .fit import Fit, Posterior
from .types import Floats, Positions
from .unopposed import model_share, prior_term

GOLD = "gold"  # the label is known
VOTES = "votes"  # λ: the share of the weighted vote
MISLED = "misled"  # ε: some tasks mislead everybody
UNKNOWN = "unknown"  # 1 − r: what is believed of somebody unknown


def posterior_parts(fit: Fit, calibration: Calibration, comparable: Positions) -> dict[str, Posterior]:
    """Name → part, on the fit's own table; their sum is the calibrated posterior, pooled with the prior.

    `comparable` [J] is how many comparable answers of each annotator were learned from.
    """
    answers = fit.answers
    model, votes, misled = calibration.terms(answers, fit.posterior, fit.weight)
    parts = {fit.form: model} if fit.members is None else _shares(model, fit)
    parts |= {VOTES: votes, MISLED: misled}
    known = model_share(answers, comparable)
    parts = {name: part.times_per_item(answers, known) for name, part in parts.items()}
    return {**parts, UNKNOWN: prior_term(answers, known)}


def _shares(model: Posterior, average: Fit) -> dict[str, Posterior]:
    """The term of an average, divided among its members as they make it up."""
    options, unchosen = average.posterior
    return {
        name: Posterior(
            model.options * _ratio(member.options, options), model.unchosen * _ratio(member.unchosen, unchosen)
        )
        for name, member in (average.members or {}).items()
    }


def _ratio(part: Floats, whole: Floats) -> Floats:
    """part / whole, and 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)
