"""What every method returns, and the one normalisation that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from .answers import Answers, Floats

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Fit:
    """One method's reading of a crowd. Shapes as in `Answers`: I items, J annotators, O options.

    Posteriors are the crowd's own: for a gold item they say what the answers say with the gold label lifted.
    """

    answers: Answers  # the table that `posterior` refers to
    form: str
    posterior: Floats  # [O] probability that the option is the true label
    unchosen: Floats  # [I] probability of each single label that is no option
    skill: Floats  # [J]
    weight: Floats  # [J] what one answer of the annotator counts
    objective: float
    history: tuple[float, ...]
    converged: bool
    skill_error: Floats | None = None  # [J] standard error of the skill
    adversary: Floats | None = None  # [J] probability of being an adversary
    difficulty: Floats | None = None  # [I]
    knowing: Floats | None = None  # [J] share of the tasks, beyond what guessing gives, that the annotator knows
    knowing_error: Floats | None = None  # [J] its standard error


class Model(Protocol):
    """Something that an EM loop can climb."""

    def step(self) -> float:
        """One round of E-step and M-step; returns the objective, which never falls."""


def climb(
    model: Model,
    answers: Answers,
    progress: Callable[[float], None],
    limit: int = 300,
    tolerance: float = 3e-6,
    floor: float = -np.inf,
    least: int = 6,
) -> tuple[tuple[float, ...], bool]:
    """Steps until the objective gains less than `tolerance` per answer: its history, and whether it got there.

    At least `least` rounds are made, because a model may learn about the crowd as a whole only after some. One that
    would still lie below `floor` after fifty more rounds like the last is given up: it is only being compared with one
    that is already there.
    """
    history: list[float] = []
    for iteration in range(limit):
        history.append(model.step())
        progress((iteration + 1) / limit)
        if iteration + 1 < least:
            continue
        gain = history[-1] - history[-2]
        if gain < tolerance * max(len(answers.answer_item), 100):
            return tuple(history), True
        if history[-1] + 50 * gain < floor:
            break
    return tuple(history), False


def normalise(answers: Answers, option: Floats, unchosen: Floats) -> tuple[Floats, Floats, Floats]:
    """Probabilities from log scores, item by item.

    `option` [O] or [O, G] are log scores of the options, `unchosen` [I] or [I, 1] the log score of one label that is
    no option; there are `answers.unchosen` of those. Returns the probabilities of the options, of one such label, and
    the log of the sum they were divided by ([I] or [I, G]).
    """
    count = answers.unchosen if option.ndim == 1 else answers.unchosen[:, None]
    start, item = answers.option_start, answers.option_item
    top = np.maximum.reduceat(option, start, axis=0)
    top = np.maximum(top, np.where(count > 0, unchosen, -np.inf))
    share = np.exp(option - top[item])
    other = np.where(count > 0, np.exp(np.minimum(unchosen - top, 0.0)), 0.0)
    total = np.add.reduceat(share, start, axis=0) + count * other
    return share / total[item], other / total, top + np.log(total)


def clamped(answers: Answers) -> tuple[Floats, Floats]:
    """Log scores [O], [I] that forbid every label of a gold item but the gold one; zero elsewhere."""
    gold = answers.gold_option
    is_gold = gold >= 0
    option = np.where(is_gold[answers.option_item], -np.inf, 0.0)
    option[gold[is_gold]] = 0.0
    return option, np.where(is_gold, -np.inf, 0.0)


def hardness(answers: Answers, share: Floats) -> Floats:
    """[I] a first guess of the items' difficulty from their vote shares [O]: the less united, the harder.

    As quantiles of a standard Gaussian; 0 where there is nothing to tell it.
    """
    guess = np.zeros(len(answers.items))
    some = answers.telling
    if some.any():
        united = np.round(
            np.maximum.reduceat(share, answers.option_start)[some], 9
        )  # ties stay ties whatever the order
        _, position = np.unique(-united, return_inverse=True)
        count = np.bincount(position)
        guess[some] = ndtri(((np.cumsum(count) - count / 2) / count.sum())[position])
    return guess


def vote_shares(answers: Answers) -> tuple[Floats, Floats]:
    """Shares of the vote, [O] and [I] as in `Fit`, where every method starts; gold items are certain.

    Smoothed as if every label had a tenth of a vote more, or with many labels all of them together half a vote.
    """
    with np.errstate(divide="ignore"):
        little = np.minimum(0.1, 0.5 / answers.label_count)
        option, unchosen = clamped(answers)
        share, other, _ = normalise(
            answers, np.log(answers.votes + little[answers.option_item]) + option, np.log(little) + unchosen
        )
    return share, other
