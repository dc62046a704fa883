"""What is said of annotators, whatever the method: expected accuracy, and a verdict in one careful word.

A verdict is about answers, never about intent. It rests on how much somebody's answers tell:

    recall_k = P(answers k | k is true)        informed = (mean over labels k of recall_k − 1/K) / (1 − 1/K)

Every label counts alike, so that always giving the commonest label, which is often right, tells nothing: informed is 1
for always right, 0 for any answers that do not depend on the truth, negative for answers that avoid it. Where an
annotator met few tasks of a label, the recall is drawn to what it would be with the annotator's overall agreement
beyond chance κ: usage + κ (1 − usage), where usage is how often the annotator gives that label at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .answers import Answers, Floats, sums
from .fit import Fit

LEAST_ANSWERS = 5  # with fewer nothing is said
MOST_ERROR = 0.4  # nor, as a rule, with a larger standard error
MANY_ANSWERS = 30
LEAST_CONTRARY_ANSWERS = 10
CONTRARY_PROBABILITY = 0.9
RANDOM, RELIABLE, TRUSTED = 0.2, 0.5, 0.7  # of the tasks on which guessing would not do, how many somebody knows
PRIOR_ANSWERS = 2.0  # a share counts so many answers at the rate it is drawn to
NEGLIGIBLE = 0.01  # labels less probable than this are left out of an item's truth


@dataclass(frozen=True)
class People:
    """[J] each."""

    accuracy: Floats  # expected share of right answers
    informed: Floats
    informed_error: Floats  # its standard error
    verdict: list[str]


def describe(fit: Fit, posterior: Floats, calibrated: Floats) -> People:
    """Accuracy and verdict of every annotator from the posteriors [O] as fitted and as calibrated, gold set.

    Accuracy takes the calibrated one. The verdict takes the other: a little doubt about every task, which calibration
    adds, would add up to tasks of rare labels that nobody ever met. It follows the model's own probability of knowing
    where there is one, because a model pools what it learned from the whole crowd; but answers that show no dependence
    on the truth are called random whatever a model says.
    """
    answers = fit.answers
    count = len(answers.annotators)
    answered = answers.answers_per_annotator.astype(float)
    right = sums(answers.answer_annotator, calibrated[answers.answer_option], count)
    crowd = right.sum() / max(answered.sum(), 1)
    accuracy = (right + PRIOR_ANSWERS * crowd) / (answered + PRIOR_ANSWERS)
    informed, error = _informed(answers, posterior)
    level, level_error = informed, error
    if fit.knowing is not None and fit.knowing_error is not None:
        level, level_error = fit.knowing, fit.knowing_error
    level = np.where(informed + error < RANDOM, informed, level)
    suspected = np.zeros(count) if fit.adversary is None else fit.adversary
    telling = sums(answers.answer_annotator, answers.decidable, count)
    numbers = zip(telling.tolist(), level.tolist(), level_error.tolist(), suspected.tolist(), strict=True)
    return People(accuracy, informed, error, [_verdict(*values) for values in numbers])


def _verdict(answered: float, level: float, error: float, adversary: float) -> str:
    """A word for each; where the evidence is thin, the milder one."""
    if answered >= LEAST_CONTRARY_ANSWERS and adversary >= CONTRARY_PROBABILITY:
        return "contrary"
    if answered < LEAST_ANSWERS:
        return "too little to say"
    if error > MOST_ERROR:
        # Many answers of which a model doubts that there is knowledge behind them cannot be relied on; an error of 1 is
        # no doubt but no evidence at all.
        doubted = answered >= MANY_ANSWERS and level < RELIABLE and error < 1
        return "unreliable" if doubted else "too little to say"
    if level < RANDOM:
        return "random"
    if level + error / 2 < RELIABLE:
        return "unreliable"
    if level - error >= TRUSTED:
        return "trusted"
    return "ordinary"


def _informed(answers: Answers, posterior: Floats) -> tuple[Floats, Floats]:
    """[J], [J] informedness and its standard error, over all (annotator, choice) pairs that occur."""
    count, choices = len(answers.annotators), len(answers.choices)
    asked: sparse.csr_array = sparse.csr_array(  # [J, I]
        (np.ones(len(answers.answer_item)), (answers.answer_annotator, answers.answer_item)),
        shape=(count, len(answers.items)),
    )
    labels = np.diff(answers.choice_start)
    true = (posterior > NEGLIGIBLE) & (answers.label_count[answers.option_item] > 1)
    truth: sparse.csr_array = sparse.csr_array(  # [I, C]
        (posterior[true], (answers.option_item[true], answers.option_choice[true])), shape=(len(answers.items), choices)
    )
    met = (asked @ truth).tocoo()  # [J, C] expected number of tasks of each label that the annotator met
    annotator, choice, tasks = met.row, met.col, met.data
    pair = annotator.astype(np.int64) * choices + choice
    given = answers.answer_annotator.astype(np.int64) * choices + answers.answer_choice
    hits = _lookup(pair, given, np.where(posterior > NEGLIGIBLE, posterior, 0.0)[answers.answer_option])
    usage = _lookup(pair, given, np.ones(len(given)))
    question = np.repeat(np.arange(len(labels)), labels)[choice]
    place = annotator.astype(np.int64) * len(labels) + question
    total = sums(place, tasks, count * len(labels))  # [J · Q] answers to questions with something to decide
    usage = np.minimum(usage / np.maximum(total[place], 1e-12), 1.0)

    right = sums(place, hits, count * len(labels)) / np.maximum(total, 1e-12)
    expected = sums(place, usage * tasks, count * len(labels)) / np.maximum(total, 1e-12)
    beyond = np.clip((right - expected) / np.maximum(1 - expected, 1e-9), 0.0, 1.0)  # [J · Q] κ
    beyond[expected > 0.999] = 0.0
    likely = usage + beyond[place] * (1 - usage)
    recall = (hits + PRIOR_ANSWERS * likely) / (tasks + PRIOR_ANSWERS)
    variance = np.clip(recall * (1 - recall), 0.0, None) / (tasks + PRIOR_ANSWERS + 1)
    weight = np.minimum(tasks, 1.0)  # a label hardly met is hardly counted
    counted = sums(place, weight, count * len(labels))
    mean = sums(place, weight * recall, count * len(labels)) / np.maximum(counted, 1e-12)
    spread = sums(place, weight**2 * variance, count * len(labels)) / np.maximum(counted, 1e-12) ** 2
    # Somebody who met tasks of some labels only is measured against guessing among those.
    chance = sums(place, weight * usage, count * len(labels)) / np.maximum(counted, 1e-12)
    constant = chance > 0.999  # gave the only label met: right, or not looking; these answers cannot tell
    chance = np.clip(chance, 1e-9, 0.75)
    informed = ((mean - chance) / (1 - chance)).reshape(count, -1)
    informed[constant.reshape(count, -1)] = 0.0
    error = np.where(constant, 1.0, np.sqrt(spread) / (1 - chance)).reshape(count, -1)
    share = total.reshape(count, -1)
    share = share / np.maximum(share.sum(1, keepdims=True), 1e-12)
    answered = answers.answers_per_annotator
    unknown = share.sum(1) < 0.5
    return (share * informed).sum(1), np.where(unknown | (answered == 0), 1.0, np.sqrt((share**2 * error**2).sum(1)))


def _lookup(keys: npt.NDArray[np.int64], given: npt.NDArray[np.int64], values: Floats) -> Floats:
    """The sum of the values given under each of the (distinct) keys."""
    found = np.zeros(len(keys))
    if len(keys) == 0:
        return found
    order = np.argsort(keys)
    place = np.minimum(np.searchsorted(keys[order], given), len(keys) - 1)
    known = keys[order][place] == given
    found[order] = sums(place[known], values[known], len(keys))
    return found
