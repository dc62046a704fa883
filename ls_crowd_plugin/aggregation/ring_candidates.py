"""The pairs of annotators worth a test for copying: those who agree more than their agreement with others explains.

Agreement beyond chance of two people, over the items that both answered:

    κ_ab = (agreement − chance) / (1 − chance),        chance = mean over these items of sum over labels k of f_k²

where f_k is the share of label k among the crowd's answers to the question. Whoever copies half of the answers has a κ
of at least one half. If answers depend on the truth alone, κ_ab = s_a · s_b, so those who agree with a less than b does
tell s_a: their mean κ with a is s_a · s, where s² is the crowd's median κ, which a ring hardly moves. What exceeds this
product is suspect. That is no proof, because some tasks are harder than others; `ring_evidence` tests the pairs found
here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .answers import Answers
from .types import Flags, Floats, Integers, Positions

MIN_SHARED = 40  # tasks; fewer cannot prove that somebody copies
MIN_COMPARED = 10  # shared items from which κ is known well enough to say who agrees with whom
COPIED = 0.5  # the least share of copied answers that is looked for
CLEAR = 2.0  # standard errors by which agreement must exceed what is expected
LEAST_KAPPA = 0.05  # of a crowd; one that agrees less than this tells nothing about its people
SLACK = 0.1  # people whose κ is lower by less than this agree about as much
PARTNERS = 3  # with whom a person is tested; a ring is connected by far fewer pairs than it has
MAX_PAIRS = 20_000  # suspect pairs that are looked at, the most suspect first
MAX_PRODUCT = 2e7  # (answer, answer) pairs on the same item that are compared; more items than that are sampled
UNIT = 2.0**-24  # sums of up to so many of it stay below one, and are exact
PAIR_EFFORT = 200  # the effort of a test, in answers, besides the items that are shared
MAX_EFFORT = 80_000  # of all tests
MAX_ITEMS = 1500  # per pair and question that a test looks at


@dataclass(frozen=True)
class Agreement:
    """Who shares MIN_COMPARED items with whom, and how much they agree.

    P pairs (a, b) in both orders, sorted by a and then by b.
    """

    first: Integers  # [P] a
    second: Integers  # [P] b
    shared: Floats  # [P] items that both answered
    kappa: Floats  # [P]
    error: Floats  # [P] its standard error
    start: Positions  # [J + 1] the pairs of a are start[a] : start[a + 1]


@dataclass(frozen=True)
class Candidates:
    """The pairs whose agreement is suspect."""

    kappa: dict[tuple[int, int], float]  # of all of them, the most suspect first
    tested: list[tuple[int, int]]  # those worth a test: each person with a few others
    people: int  # how many share MIN_SHARED tasks with somebody


def find_candidates(answers: Answers) -> Candidates:
    """The pairs with at least MIN_SHARED items in common whose agreement is suspect."""
    agreement = _compare(answers, _active_answers(answers))
    enough = (agreement.first < agreement.second) & (agreement.shared >= MIN_SHARED)
    if not enough.any():
        return Candidates({}, [], 0)
    people = len(np.union1d(agreement.first[enough], agreement.second[enough]))
    expected = _expected(agreement)
    excess = (agreement.kappa - expected) / agreement.error  # in standard errors
    # Of two people, one of whom copies the share c, κ = c + (1 − c) · s_a · s_b.
    most_copied = (agreement.kappa + CLEAR * agreement.error - expected) / (1 - expected)
    suspect = np.flatnonzero(enough & (most_copied >= COPIED) & (excess >= CLEAR))
    order = suspect[np.argsort(-excess[suspect], kind="stable")][:MAX_PAIRS]
    pairs = list(zip(agreement.first[order].tolist(), agreement.second[order].tolist(), strict=True))
    tested = _strongest(pairs)
    effort = np.cumsum(np.minimum(agreement.shared[order[tested]], MAX_ITEMS) + PAIR_EFFORT)
    tested = tested[: int((effort <= MAX_EFFORT).sum())]
    kappa = dict(zip(pairs, agreement.kappa[order].tolist(), strict=True))
    return Candidates(kappa, [pairs[position] for position in tested], people)


def _strongest(pairs: list[tuple[int, int]]) -> list[int]:
    """The positions of the pairs that are among the first PARTNERS of one of the two; everybody's first one first."""
    partners: dict[int, int] = defaultdict(int)
    kept = []
    for position, (a, b) in enumerate(pairs):
        rank = min(partners[a], partners[b])
        if rank < PARTNERS:
            kept.append((rank, position))
            partners[a] += 1
            partners[b] += 1
    return [position for _, position in sorted(kept)]


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
    """Who shares at least MIN_COMPARED items with whom, and κ.

    One matrix product carries three sums over the items that two people share: their number, in small units the number
    of equal answers, and as its imaginary part the chance of these.
    """
    annotator, item, option = answers.answer_annotator[kept], answers.answer_item[kept], answers.answer_option[kept]
    people, row = np.unique(annotator, return_inverse=True)
    if not _anybody_shares_enough(row, item, len(people), len(answers.items)):
        nobody, nothing = np.zeros(0, np.int32), np.zeros(0)
        return Agreement(nobody, nobody, nothing, nothing, nothing, np.zeros(len(answers.annotators) + 1, np.int64))
    chance = chance_of_agreement(answers)[item]
    varies = len(chance) > 0 and chance.min() < chance.max()
    ones = np.ones(len(row))
    rows, columns = np.tile(row, 2), np.concatenate([item, option.astype(np.int64) + len(answers.items)])
    shape = (len(people), len(answers.items) + len(answers.option_item))
    left = np.concatenate([ones + 1j * chance if varies else ones, ones * UNIT])
    first_half = sparse.csr_array((left, (rows, columns)), shape=shape)
    second_half = sparse.csr_array((np.tile(ones, 2), (rows, columns)), shape=shape)
    sums = (first_half @ second_half.T).tocoo()
    keep = (sums.row != sums.col) & (sums.data.real >= MIN_COMPARED)
    order = np.lexsort((sums.col[keep], sums.row[keep]))
    first, second, both = (part[keep][order] for part in (sums.row, sums.col, sums.data))
    count = np.floor(both.real)
    share = (both.real - count) / UNIT / count
    by_chance = np.minimum(both.imag / count if varies else chance[:1].repeat(len(count)), 0.999)
    kappa = (share - by_chance) / (1 - by_chance)
    smoothed = (share * count + 1) / (count + 2)  # nobody is sure to agree for ever
    error = np.sqrt(smoothed * (1 - smoothed) / count) / (1 - by_chance)
    start = np.searchsorted(people[first], np.arange(len(answers.annotators) + 1))
    return Agreement(people[first], people[second], count, kappa, error, start)


def _anybody_shares_enough(row: Positions, item: Integers, people: int, items: int) -> bool:
    """Whether two people share MIN_SHARED items; in most large crowds nobody does, which is quickly seen."""
    ones = np.ones(len(row), np.float32)
    answered: sparse.csr_array = sparse.csr_array((ones, (row, item)), shape=(people, items))
    shared = (answered @ answered.T).tocsr()
    return bool((shared.data >= MIN_SHARED).sum() > (shared.diagonal() >= MIN_SHARED).sum())


def chance_of_agreement(answers: Answers) -> Floats:
    """[I] the probability that two answers to the item's question agree by chance."""
    used = np.bincount(answers.answer_choice, minlength=len(answers.choices)).astype(float)
    total = np.maximum(np.add.reduceat(used, answers.choice_start[:-1]), 1.0)
    share = used / np.repeat(total, np.diff(answers.choice_start))
    return np.add.reduceat(share**2, answers.choice_start[:-1])[answers.item_question]


def _expected(agreement: Agreement) -> Floats:
    """[P] s_a · s_b, where s_a is told by those who agree with a less than b does."""
    order = np.argsort(agreement.kappa)
    middle = np.searchsorted(np.cumsum(agreement.shared[order]), agreement.shared.sum() / 2)
    crowd = np.sqrt(max(float(agreement.kappa[order[middle]]), LEAST_KAPPA))
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
