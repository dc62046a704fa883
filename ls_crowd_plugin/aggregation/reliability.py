"""The reliability of annotators, whatever the method: expected accuracy, and a verdict in one careful word.

A verdict is about answers, never about intent. It rests on how much an annotator's answers tell:

    recall_k = P(answers k | k is true)        informedness = (mean over labels k of recall_k − 1/K) / (1 − 1/K)

Every label counts the same. So always giving the most common label, which is often right, tells nothing: informedness
is 1 for answers that are always right, 0 for answers that do not depend on the truth, and negative for answers that
avoid it. If an annotator saw few tasks of a label, the recall is shrunk to usage + κ (1 − usage), where usage is how
often the annotator gives that label at all and κ is the annotator's overall agreement beyond chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .answers import Answers
from .arrays import group_sums
from .fit import Fit
from .types import Floats, Positions

MIN_ANSWERS = 5  # with fewer answers there is no verdict
MAX_ERROR = 0.4  # nor, usually, with a larger standard error
MANY_ANSWERS = 30
MIN_CONTRARY_ANSWERS = 10
CONTRARY_PROBABILITY = 0.9
RANDOM, RELIABLE, TRUSTED = 0.2, 0.5, 0.7  # thresholds of informedness
PRIOR_ANSWERS = 2.0  # pseudo-answers in every share, at the rate that it is shrunk to
NEGLIGIBLE = 0.01  # labels less probable than this are ignored


@dataclass(frozen=True)
class Reliability:
    """[J] each."""

    accuracy: Floats  # expected share of right answers
    informedness: Floats
    informedness_error: Floats  # its standard error
    verdict: list[str]


def assess_annotators(fit: Fit, posterior: Floats, calibrated: Floats) -> Reliability:
    """Assess every annotator by the posteriors [O] as fitted and as calibrated, both with probability one for
    gold labels.

    The accuracy follows the calibrated posterior. The verdict follows the other one: calibration adds a little doubt to
    every task, and for rare labels this would add up to tasks that nobody saw. If the model has an estimate of its own
    of what an annotator knows, the verdict follows that, because a model learns from the whole crowd. But answers that
    show no dependence on the truth are called random whatever the model says.
    """
    answers = fit.answers
    count = len(answers.annotators)
    answered = answers.answers_per_annotator.astype(float)
    right = group_sums(answers.answer_annotator, calibrated[answers.answer_option], count)
    crowd = right.sum() / max(answered.sum(), 1)
    accuracy = (right + PRIOR_ANSWERS * crowd) / (answered + PRIOR_ANSWERS)
    informedness, error = _informedness(answers, posterior)
    level, level_error = informedness, error
    if fit.knowledge is not None and fit.knowledge_error is not None:
        level, level_error = fit.knowledge, fit.knowledge_error
    level = np.where(informedness + error < RANDOM, informedness, level)
    adversary = np.zeros(count) if fit.adversary is None else fit.adversary
    decidable = group_sums(answers.answer_annotator, answers.is_decidable, count)
    rows = zip(decidable.tolist(), level.tolist(), level_error.tolist(), adversary.tolist(), strict=True)
    return Reliability(accuracy, informedness, error, [_verdict(*row) for row in rows])


def _verdict(answered: float, level: float, error: float, adversary: float) -> str:
    """The verdict on one annotator; with little evidence, the milder word."""
    if answered >= MIN_CONTRARY_ANSWERS and adversary >= CONTRARY_PROBABILITY:
        return "contrary"
    if answered < MIN_ANSWERS:
        return "too little to say"
    if error > MAX_ERROR:
        # Many answers in which the model sees no clear knowledge are unreliable. An error of 1 means that there is no
        # evidence at all.
        doubtful = answered >= MANY_ANSWERS and level < RELIABLE and error < 1
        return "unreliable" if doubtful else "too little to say"
    if level < RANDOM:
        return "random"
    if level + error / 2 < RELIABLE:
        return "unreliable"
    if level - error >= TRUSTED:
        return "trusted"
    return "ordinary"


@dataclass(frozen=True)
class _LabelCounts:
    """Counts by annotator and label, for the P pairs that occur; a group is a pair of annotator and question."""

    group: Positions  # [P] annotator · Q + question
    groups: int  # J · Q
    tasks: Floats  # [P] expected number of tasks of this label that the annotator saw
    hits: Floats  # [P] how many of them the annotator got right
    usage: Floats  # [P] share of the annotator's answers to the question that name this label
    total: Floats  # [J · Q] expected number of tasks that the annotator saw

    def sums(self, values: Floats) -> Floats:
        """[J · Q] sums of the values of a group's pairs."""
        return group_sums(self.group, values, self.groups)


def _informedness(answers: Answers, posterior: Floats) -> tuple[Floats, Floats]:
    """[J], [J] informedness and its standard error, averaged over an annotator's questions."""
    counts = _count_labels(answers, posterior)
    recall, variance = _recall(counts)
    weight = np.minimum(counts.tasks, 1.0)  # a label that the annotator hardly saw hardly counts
    counted = np.maximum(counts.sums(weight), 1e-12)
    mean = counts.sums(weight * recall) / counted
    spread = counts.sums(weight**2 * variance) / counted**2
    # An annotator who saw tasks of some labels only is measured against guessing among those.
    chance = counts.sums(weight * counts.usage) / counted
    constant = chance > 0.999  # gave the only label seen: these answers cannot tell being right from not looking
    chance = np.clip(chance, 1e-9, 0.75)
    informedness = np.where(constant, 0.0, (mean - chance) / (1 - chance))
    error = np.where(constant, 1.0, np.sqrt(spread) / (1 - chance))

    annotators = len(answers.annotators)
    share = counts.total.reshape(annotators, -1)
    share = share / np.maximum(share.sum(1, keepdims=True), 1e-12)
    nothing = (share.sum(1) < 0.5) | (answers.answers_per_annotator == 0)
    joint_error = np.sqrt((share**2 * error.reshape(annotators, -1) ** 2).sum(1))
    return (share * informedness.reshape(annotators, -1)).sum(1), np.where(nothing, 1.0, joint_error)


def _count_labels(answers: Answers, posterior: Floats) -> _LabelCounts:
    annotators, choices = len(answers.annotators), len(answers.choices)
    saw: sparse.csr_array = sparse.csr_array(  # [J, I]
        (np.ones(len(answers.answer_item)), (answers.answer_annotator, answers.answer_item)),
        shape=(annotators, len(answers.items)),
    )
    likely = (posterior > NEGLIGIBLE) & (answers.label_count[answers.option_item] > 1)
    truth: sparse.csr_array = sparse.csr_array(  # [I, C]
        (posterior[likely], (answers.option_item[likely], answers.option_choice[likely])),
        shape=(len(answers.items), choices),
    )
    seen = (saw @ truth).tocoo()  # [J, C] expected number of tasks of each label that the annotator saw
    pair = seen.row.astype(np.int64) * choices + seen.col
    given = answers.answer_annotator.astype(np.int64) * choices + answers.answer_choice
    hits = _sum_by_key(pair, given, np.where(posterior > NEGLIGIBLE, posterior, 0.0)[answers.answer_option])
    usage = _sum_by_key(pair, given, np.ones(len(given)))
    labels = np.diff(answers.choice_start)
    question = np.repeat(np.arange(len(labels)), labels)[seen.col]
    group = seen.row.astype(np.int64) * len(labels) + question
    total = group_sums(group, seen.data, annotators * len(labels))
    usage = np.minimum(usage / np.maximum(total[group], 1e-12), 1.0)
    return _LabelCounts(group, annotators * len(labels), seen.data, hits, usage, total)


def _recall(counts: _LabelCounts) -> tuple[Floats, Floats]:
    """[P], [P] recall of each label, shrunk to what the overall agreement makes likely, and its variance."""
    total = np.maximum(counts.total, 1e-12)
    right = counts.sums(counts.hits) / total
    expected = counts.sums(counts.usage * counts.tasks) / total
    beyond_chance = np.clip((right - expected) / np.maximum(1 - expected, 1e-9), 0.0, 1.0)  # [J · Q] κ
    beyond_chance[expected > 0.999] = 0.0
    likely = counts.usage + beyond_chance[counts.group] * (1 - counts.usage)
    recall = (counts.hits + PRIOR_ANSWERS * likely) / (counts.tasks + PRIOR_ANSWERS)
    return recall, np.clip(recall * (1 - recall), 0.0, None) / (counts.tasks + PRIOR_ANSWERS + 1)


def _sum_by_key(keys: Positions, given: Positions, values: Floats) -> Floats:
    """The sum of the values under each of the distinct `keys`; values under other keys are ignored."""
    total = np.zeros(len(keys))
    if len(keys) == 0:
        return total
    order = np.argsort(keys)
    position = np.minimum(np.searchsorted(keys[order], given), len(keys) - 1)
    matches = keys[order][position] == given
    total[order] = group_sums(position[matches], values[matches], len(keys))
    return total
