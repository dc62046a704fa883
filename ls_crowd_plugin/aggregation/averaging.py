"""Averages of forms: forms that err in different ways are together right more often, and know better how sure to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .answers import Answers
from .fit import Posterior


@dataclass(frozen=True)
class Average:
    """Which forms to average, and how:  P  =  sum_f w_f · P_f^β_f / sum_k P_f^β_f.

    A power β < 1 makes a posterior less sure before it is averaged. Otherwise the form that is surest would decide,
    and models that take answers for independent are surest where they are wrong.
    """

    weights: Mapping[str, float]  # form → w; they sum to one
    powers: Mapping[str, float] = field(default_factory=dict)  # form → β; 1 for forms that are not named

    def of(self, table: Answers, posteriors: Mapping[str, Posterior]) -> Posterior:
        """Average posteriors on the same table; items whose posteriors are all zero stay so."""
        options, unchosen = np.zeros(len(table.option_item)), np.zeros(len(table.items))
        for name, weight in self.weights.items():
            softened = _to_power(table, posteriors[name], self.powers.get(name, 1.0))
            options += weight * softened.options
            unchosen += weight * softened.unchosen
        return Posterior(options, unchosen)


def _to_power(table: Answers, posterior: Posterior, power: float) -> Posterior:
    if power == 1.0:
        return posterior
    options, unchosen = posterior.options**power, posterior.unchosen**power
    total = np.add.reduceat(options, table.option_start) + table.unchosen_count * unchosen
    total = np.where(total > 0, total, 1.0)
    return Posterior(options / total[table.option_item], unchosen / total)
