"""The reliability of annotators, whatever the method: expected accuracy, and a verdict in one careful word.

A verdict is about answers, never about intent. It rests on how much an annotator's answers tell:

    recall_k = P(answers k | k is true)        informedness = (mean over labels k of recall_k − 1/K) / (1 − 1/K)

Every label counts the same. So always giving the most common label, which is often right, tells nothing: informedness
is 1 for answers that are always right, 0 for answers that do not depend on the truth, and negative for answers that
avoid it. If an annotator saw few tasks of a label, the recall is shrunk to usage + κ (1 − usage), where usage is how
often the annotator gives that label at all and κ is the annotator's overall agreement beyond chance.

Only *comparable* answers count: those to tasks with another person's answer, or with gold. An unopposed answer is its
task's label, so agreeing with it is no evidence.

A verdict never contradicts the numbers beside it. `consistent_verdict` has the last word wherever a verdict is made or
merged, and replaces a verdict whose conditions do not hold by the milder one. With c = chance, the mean of 1/K over
the annotator's answers, and the weight in nats:

    trusted      accuracy and agreement ≥ c + (1 − c)/2,  weight > 0                           else ordinary
    ordinary     accuracy and agreement > c,  weight > 0                                       else unreliable
    random       |weight| ≤ log(1 + 1/(4c)), that of somebody who knows a fifth of the tasks   else unreliable
    contrary     accuracy < c,  agreement ≤ c,  weight ≤ 0,  10 comparable answers,
                 informedness < −2 standard errors                                            else unreliable
    any of them, and unreliable: 5 comparable answers                                          else too little to say

Accuracy and agreement are over comparable answers, too. What they are close to is not the same: somebody who always
gives a common label is often right, and random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .answers import Answers
from .arrays import group_sums
from .fit import SAME, Fit
from .types import Floats, Positions
from .unopposed import prior_accuracy

MIN_ANSWERS = 5  # with fewer comparable answers there is no verdict
MAX_ERROR = 0.4  # nor, usually, with a larger standard error
MANY_ANSWERS = 30
MIN_CONTRARY_ANSWERS = 10
CONTRARY_PROBABILITY = 0.9
CONTRARY_ERRORS = 2.0  # standard errors
RANDOM, RELIABLE, TRUSTED = 0.2, 0.5, 0.7  # thresholds of informedness
MARGIN = 0.5  # of what guessing leaves to be known, the share that trusted answers have at least
PRIOR_ANSWERS = 2.0  # pseudo-answers in every share, at the rate that it is shrunk to
NEGLIGIBLE = 0.01  # labels less probable than this are ignored


@dataclass(frozen=True)
class Standing:
    """The numbers that a verdict must not contradict; those that do not exist contradict nothing."""

    comparable: int  # number of comparable answers
    chance: float  # c
    accuracy: float | None
    agreement: float | None  # share of the comparable answers that are the consensus
    weight: float | None  # nats


def consistent_verdict(verdict: str, standing: Standing) -> str:
    """The verdict, or the milder one if the numbers do not satisfy its conditions, which are at the top of the file."""
    if standing.comparable < MIN_ANSWERS:
        return "too little to say"
    chance = standing.chance
    shares = [share for share in (standing.accuracy, standing.agreement) if share is not None]
    weight = standing.weight
    counts = weight is None or weight > 0
    if verdict == "trusted" and not (counts and all(share >= chance + MARGIN * (1 - chance) for share in shares)):
        verdict = "ordinary"
    if verdict == "ordinary" and not (counts and all(share > chance for share in shares)):
        return "unreliable"
    if verdict == "random" and weight is not None and abs(weight) > near_zero(chance):
        return "unreliable"
    if verdict == "contrary":
        avoids = standing.accuracy is None or standing.accuracy < chance
        avoids &= standing.agreement is None or standing.agreement <= chance
        avoids &= weight is None or weight <= 0
        return verdict if avoids and standing.comparable >= MIN_CONTRARY_ANSWERS else "unreliable"
    return verdict


def near_zero(chance: float) -> float:
    """The largest weight, in nats, of answers that are called random: of somebody who knows that share of the tasks."""
    return float(np.log1p(RANDOM / (1 - RANDOM) / max(chance, 1e-12)))


@dataclass(frozen=True)
class Reliability:
    """[J] each."""

    accuracy: Floats  # expected share of right answers
    informedness: Floats
    informedness_error: Floats  # its standard error
    standing: list[Standing]
    verdict: list[str]


def assess_annotators(fit: Fit, posterior: Floats, calibrated: Floats) -> Reliability:
    """Assess every annotator by the posteriors [O] as fitted and as calibrated, both with probability one for
    gold labels.

    The accuracy follows the calibrated posterior. The verdict follows the other one: calibration adds a little doubt to
    every task, and for rare labels this would add up to tasks that nobody saw. If the model has an estimate of its own
    of what an annotator knows, the verdict follows that, because a model learns from the whole crowd; the model's
    standard error grows by √(answers / comparable answers), because it takes unopposed answers for evidence. But
    answers that show no dependence on the truth are called random whatever the model says. And somebody is contrary
    only if the informedness is below 0 by two standard errors, too: a model that has learned how contrary people
    answer from a few of them is too sure about others whose luck was bad.
    """
    answers = fit.answers
    comparable = answers.comparable_per_annotator
    accuracy = _accuracy(answers, calibrated)
    informedness, error = _informedness(*_comparable_part(answers, posterior))
    level, level_error = informedness, error
    if fit.knowledge is not None and fit.knowledge_error is not None:
        learned_from = group_sums(answers.answer_annotator, answers.is_decidable, len(comparable))
        inflation = np.sqrt(np.maximum(learned_from, 1.0) / np.maximum(comparable, 1.0))
        level, level_error = fit.knowledge, fit.knowledge_error * inflation
    level = np.where(informedness + error < RANDOM, informedness, level)
    adversary = np.zeros(len(accuracy)) if fit.adversary is None else fit.adversary
    avoids = (adversary >= CONTRARY_PROBABILITY) & (informedness + CONTRARY_ERRORS * error < 0)
    standing = _standings(fit, accuracy)
    rows = zip(comparable.tolist(), level.tolist(), level_error.tolist(), avoids.tolist(), strict=True)
    verdict = [consistent_verdict(_verdict(*row), own) for row, own in zip(rows, standing, strict=True)]
    return Reliability(accuracy, informedness, error, standing, verdict)


def _verdict(comparable: int, level: float, error: float, avoids: bool) -> str:
    """The verdict that the evidence suggests; with little of it, the milder word."""
    if comparable >= MIN_CONTRARY_ANSWERS and avoids:
        return "contrary"
    if error > MAX_ERROR:
        # Many answers in which the model sees no clear knowledge are unreliable. An error of 1 means that there is no
        # evidence at all.
        doubtful = comparable >= MANY_ANSWERS and level < RELIABLE and error < 1
        return "unreliable" if doubtful else "too little to say"
    if level < RANDOM:
        return "random"
    if level + error / 2 < RELIABLE:
        return "unreliable"
    if level - error >= TRUSTED:
        return "trusted"
    return "ordinary"


def _accuracy(answers: Answers, calibrated: Floats) -> Floats:
    """[J] share of right answers among the comparable ones, shrunk to the crowd's share, or where there is none to the
    prior's: (right + 2 · share) / (answered + 2)."""
    used = answers.is_comparable
    comparable = answers.comparable_per_annotator.astype(float)
    right = group_sums(answers.answer_annotator[used], calibrated[answers.answer_option[used]], len(comparable))
    if used.any():
        crowd = right.sum() / comparable.sum()
    else:
        crowd = float(prior_accuracy(answers.label_count)[answers.answer_item].mean())
    return np.asarray((right + PRIOR_ANSWERS * crowd) / (comparable + PRIOR_ANSWERS))


def _standings(fit: Fit, accuracy: Floats) -> list[Standing]:
    answers, posterior = fit.answers, fit.posterior
    used = answers.is_comparable
    annotator, count = answers.answer_annotator[used], len(accuracy)
    comparable = np.maximum(answers.comparable_per_annotator, 1)
    top = np.maximum.reduceat(posterior.options, answers.option_start)
    top = np.maximum(top, np.where(answers.unchosen_count == 0, 0.0, posterior.unchosen))
    is_consensus = posterior.options >= top[answers.option_item] - SAME  # [O]
    is_consensus[answers.has_gold[answers.option_item]] = False
    is_consensus[answers.gold_option[answers.has_gold]] = True
    agrees = is_consensus[answers.answer_option[used]]
    agreement = group_sums(annotator, agrees, count) / comparable
    chance = group_sums(annotator, 1 / answers.label_count[answers.answer_item[used]], count) / comparable
    columns = (
        answers.comparable_per_annotator.tolist(),
        chance.tolist(),
        accuracy.tolist(),
        agreement.tolist(),
        (fit.weight * fit.weight_unit).tolist(),
    )
    return [Standing(*row) for row in zip(*columns, strict=True)]


def _comparable_part(answers: Answers, posterior: Floats) -> tuple[Answers, Floats]:
    """The items whose answers can be compared with something, and their posterior [O]."""
    kept = np.zeros(len(answers.items), bool)
    kept[answers.answer_item[answers.is_comparable]] = True
    return answers.subset(np.flatnonzero(kept)), posterior[kept[answers.option_item]]


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
