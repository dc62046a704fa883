"""The pairs of annotators worth a test for copying: those who agree more than their agreement with others explains.

Agreement beyond chance of two people, over the items that both answered:

    κ_ab = (agreement − chance) / (1 − chance),        chance = mean over these items of sum over labels k of f_k²

where f_k is the share of label k among the crowd's answers to the question. Whoever copies half of the answers has a κ
of at least one half. If answers depend on the truth alone, κ_ab = s_a · s_b, so the people who agree with a less than b
does tell s_a: their mean κ with a is s_a · s, and s² is the crowd's mean κ. What exceeds this product is suspect.
That is no proof, because some tasks are harder than others; `ring_evidence` tests the pairs found here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .answers import Answers
from .types import Flags, Floats, Integers, Positions

MIN_SHARED = 40  # tasks; fewer cannot prove that somebody copies
MIN_COMPARED = 10  # shared items from which κ is known well enough to say who agrees with whom
COPIED = 0.5  # the least share of copied answers that is looked for
CLEAR = 2.0  # standard errors by which agreement must exceed what is expected
SLACK = 0.1  # people whose κ is lower by less than this, or by less than its error, agree about as much
MAX_PRODUCT = 5e7  # (answer, answer) pairs on the same item that are compared; more items than that are sampled
PAIR_EFFORT = 200  # the effort of a test, in answers, besides the items that are shared
LEAST_EFFORT = 40_000  # of all tests; or a quarter of all answers, so that the search takes no longer than the fit


@dataclass(frozen=True)
class Agreement:
    """Who shares items with whom, and how much they agree. P pairs (a, b) in both orders, sorted by a and then by b."""

    first: Integers  # [P] a
    second: Integers  # [P] b
    shared: Floats  # [P] items that both answered
    kappa: Floats  # [P]
    error: Floats  # [P] its standard error
    start: Positions  # [J + 1] the pairs of a are start[a] : start[a + 1]

    def is_nearest(self) -> Flags:
        """[P] whether neither of the two agrees clearly more with anybody else, of those with MIN_SHARED items."""
        best = np.full(len(self.start) - 1, -np.inf)
        np.maximum.at(best, self.first, np.where(self.shared >= MIN_SHARED, self.kappa, -np.inf))
        slack = np.maximum(SLACK, CLEAR * self.error)
        return np.asarray(self.kappa + slack >= np.maximum(best[self.first], best[self.second]))

    def peers(self, a: int, b: int) -> Positions:
        """The annotators who agree with a or with b about as much as these two with each other, both included."""
        of_a, of_b = (slice(self.start[person], self.start[person + 1]) for person in (a, b))
        own = self.start[a] + int(np.searchsorted(self.second[of_a], b))
        found = [np.array([a, b], np.int64)]
        for pairs in (of_a, of_b):
            slack = np.maximum(SLACK, self.error[pairs])
            found.append(self.second[pairs][self.kappa[pairs] >= self.kappa[own] - slack].astype(np.int64))
        return np.unique(np.concatenate(found))


@dataclass(frozen=True)
class Candidates:
    """Pairs to test, the most suspect first, and how many pairs they were chosen from."""

    pairs: list[tuple[int, int]]
    nearest: list[tuple[int, int]]  # those of whom each agrees with nobody clearly more than with the other
    compared: int
    agreement: Agreement


def find_candidates(answers: Answers) -> Candidates:
    """The pairs with at least MIN_SHARED tasks in common whose agreement is suspect."""
    kept = _active_answers(answers)
    agreement = _compare(answers, kept)
    enough = (agreement.first < agreement.second) & (agreement.shared >= MIN_SHARED)
    compared = int(enough.sum())
    if not compared:
        return Candidates([], [], 0, agreement)
    expected = _expected(agreement)
    excess = (agreement.kappa - expected) / agreement.error  # in standard errors
    # Of two people, one of whom copies the share c, κ = c + (1 − c) · s_a · s_b.
    most_copied = (agreement.kappa + CLEAR * agreement.error - expected) / (1 - expected)
    suspect = np.flatnonzero(enough & (most_copied >= COPIED) & (excess >= CLEAR))
    order = suspect[np.argsort(-excess[suspect], kind="stable")]
    effort = np.cumsum(agreement.shared[order] + PAIR_EFFORT)
    order = order[effort <= max(LEAST_EFFORT, len(answers.answer_item) / 4)]
    pairs = list(zip(agreement.first[order].tolist(), agreement.second[order].tolist(), strict=True))
    is_nearest = agreement.is_nearest()[order].tolist()
    nearest = [pair for pair, near in zip(pairs, is_nearest, strict=True) if near]
    return Candidates(pairs, nearest, compared, agreement)


def _active_answers(answers: Answers) -> Flags:
    """[n] whether an answer takes part: its item has several labels, and its author MIN_SHARED such answers."""
    count = np.bincount(answers.answer_annotator[answers.is_comparable], minlength=len(answers.annotators))
    kept = answers.is_comparable & (count >= MIN_SHARED)[answers.answer_annotator]
    per_item = np.bincount(answers.answer_item[kept], minlength=len(answers.items)).astype(float)
    product = float((per_item**2).sum())
    if product > MAX_PRODUCT:
        sampled = np.random.default_rng(0).random(len(answers.items)) < MAX_PRODUCT / product
        kept &= sampled[answers.answer_item]
    return kept


def _compare(answers: Answers, kept: Flags) -> Agreement:
    annotator, item, option = answers.answer_annotator[kept], answers.answer_item[kept], answers.answer_option[kept]
    people, row = np.unique(annotator, return_inverse=True)
    ones = np.ones(len(row))
    chance = _chance(answers)[item]

    def together(values: Floats, column: Integers, columns: int, weight: Floats) -> sparse.csr_array:
        """[people, people] the sum over columns of the values that two people both have there, times the weight."""
        shape = (len(people), columns)
        left = sparse.csr_array((values * weight, (row, column)), shape=shape)
        return (left @ sparse.csr_array((values, (row, column)), shape=shape).T).tocsr()

    shared = together(ones, item, len(answers.items), ones)
    off_diagonal = shared.copy()
    off_diagonal.setdiag(0)
    if off_diagonal.data.max(initial=0.0) < MIN_SHARED:
        nobody, nothing = np.zeros(0, np.int32), np.zeros(0)
        return Agreement(nobody, nobody, nothing, nothing, nothing, np.zeros(len(answers.annotators) + 1, np.int64))
    agreed = together(ones, option, len(answers.option_item), ones)
    same_chance = len(chance) > 0 and chance.min() == chance.max()
    expected = shared * chance[0] if same_chance else together(ones, item, len(answers.items), chance)
    for matrix in (shared, agreed, expected):
        matrix.sort_indices()
    found = shared.tocoo()
    keep = (found.row != found.col) & (found.data >= MIN_COMPARED)
    first, second, count = found.row[keep], found.col[keep], found.data[keep].astype(float)
    share = _at(agreed, shared)[keep] / count
    by_chance = np.minimum(_at(expected, shared)[keep] / count, 0.999)
    kappa = (share - by_chance) / (1 - by_chance)
    smoothed = (share * count + 1) / (count + 2)  # nobody is sure to agree for ever
    error = np.sqrt(smoothed * (1 - smoothed) / count) / (1 - by_chance)
    start = np.searchsorted(people[first], np.arange(len(answers.annotators) + 1))
    return Agreement(people[first], people[second], count, kappa, error, start)


def _at(matrix: sparse.csr_array, pattern: sparse.csr_array) -> Floats:
    """The values of a matrix at the entries of a pattern that includes all of its own; 0 where it has none."""
    width = matrix.shape[1]
    keys, wanted = (
        np.repeat(np.arange(width, dtype=np.int64), np.diff(one.indptr)) * width + one.indices
        for one in (matrix, pattern)
    )
    values = np.zeros(len(wanted))
    values[np.searchsorted(wanted, keys)] = matrix.data
    return values


def _chance(answers: Answers) -> Floats:
    """[I] the probability that two answers to the item's question agree by chance."""
    used = np.bincount(answers.answer_choice, minlength=len(answers.choices)).astype(float)
    total = np.maximum(np.add.reduceat(used, answers.choice_start[:-1]), 1.0)
    share = used / np.repeat(total, np.diff(answers.choice_start))
    return np.add.reduceat(share**2, answers.choice_start[:-1])[answers.item_question]


def _expected(agreement: Agreement) -> Floats:
    """[P] s_a · s_b, where s_a is told by those who agree with a less than b does."""
    crowd = np.sqrt(max(float(np.average(agreement.kappa, weights=agreement.shared)), 0.05))
    lower = _mean_of_lower(agreement) / crowd
    return np.asarray(np.clip(lower, 0, 0.99) * np.clip(lower[_reverse(agreement)], 0, 0.99))


def _mean_of_lower(agreement: Agreement) -> Floats:
    """[P] the mean κ of a with those who agree with a less than b does, by more than SLACK; 0 if there is nobody."""
    first, kappa, weight = agreement.first, agreement.kappa, agreement.shared
    order = np.lexsort((kappa, first))
    sums = np.concatenate([[0.0], np.cumsum((weight * kappa)[order])])
    counts = np.concatenate([[0.0], np.cumsum(weight[order])])
    width = 4.0  # κ is between −1000 and 1; clipped to this range, (a, κ) becomes one ascending number
    key = first[order] * width + np.clip(kappa[order], -1, 1)
    stop = np.searchsorted(key, first * width + np.clip(kappa, -1, 1) - SLACK)
    begin = agreement.start[first]
    stop = np.maximum(stop, begin)
    return np.asarray((sums[stop] - sums[begin]) / np.maximum(counts[stop] - counts[begin], 1e-9))


def _reverse(agreement: Agreement) -> Positions:
    """[P] the position of (b, a) for each pair (a, b)."""
    return np.asarray(np.lexsort((agreement.first, agreement.second)))
