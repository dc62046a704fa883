"""The pairs of annotators worth a test for copying: those who agree more than their agreement with others explains.

Agreement beyond chance of two people, over the items that both answered:

    κ_ab = (agreement − chance) / (1 − chance),        chance = mean over these items of sum over labels k of f_k²

where f_k is the share of label k among the crowd's answers to the question. Whoever copies half of the answers has a κ
of at least one half. If answers depend on the truth alone, κ_ab = s_a · s_b, so those who agree with a less than b does
tell s_a: their mean κ with a is s_a · s, where s² is the crowd's median κ, which a ring hardly moves. What exceeds this
product is suspect, but no proof, because some tasks are harder than others; `ring_evidence` tests the pairs found
here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .answers import Answers
from .types import Flags, Floats, Integers

MIN_SHARED = 40  # tasks; fewer cannot prove that somebody copies
MIN_COMPARED = 10  # shared items from which κ is known well enough to say who agrees with whom
COPIED = 0.5  # the least share of copied answers that is looked for
CLEAR = 2.0  # standard errors by which agreement must exceed what is expected
LEAST_KAPPA = 0.05  # of a crowd; one that agrees less than this tells nothing about its people
SLACK = 0.1  # people whose κ is lower by less than this agree about as much
PARTNERS = 3  # with whom a person is tested; a ring is connected by far fewer pairs than it has
MAX_PAIRS = 20_000  # suspect pairs that are looked at, those who surely agree most first
MAX_PRODUCT = 2e7  # (answer, answer) pairs on the same item that are compared; more items than that are sampled
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

    def part(self, kept: Flags) -> Agreement:
        """Some of the pairs [P]."""
        first, second, shared, kappa, error = (values[kept] for values in vars(self).values())
        return Agreement(first, second, shared, kappa, error)


@dataclass(frozen=True)
class Candidates:
    """The pairs whose agreement is suspect."""

    kappa: dict[tuple[int, int], float]  # of all of them, those who surely agree most first
    tested: list[tuple[int, int]]  # those worth a test: each person with a few others
    people: int  # how many share MIN_SHARED tasks with somebody


def find_candidates(answers: Answers) -> Candidates:
    """The pairs with at least MIN_SHARED items in common whose agreement is suspect."""
    agreement = _compare(answers, _active_answers(answers))
    if agreement is None:
        return Candidates({}, [], 0)
    enough = agreement.part(agreement.shared >= MIN_SHARED)
    people = len(np.unique(enough.first))
    expected = _expected(agreement, enough)
    # Of two people, one of whom copies the share c, κ = c + (1 − c) · s_a · s_b.
    least, most = (enough.kappa + sign * CLEAR * enough.error for sign in (-1, 1))
    is_suspect = (least >= expected) & (most - expected >= COPIED * (1 - expected))
    suspect = np.flatnonzero(is_suspect & (enough.first < enough.second))
    order = suspect[np.argsort(-least[suspect], kind="stable")][:MAX_PAIRS]
    pairs = list(zip(enough.first[order].tolist(), enough.second[order].tolist(), strict=True))
    tested = _strongest(pairs)
    effort = np.cumsum(np.minimum(enough.shared[order[tested]], MAX_ITEMS) + PAIR_EFFORT)
    tested = tested[: int((effort <= MAX_EFFORT).sum())]
    kappa = dict(zip(pairs, enough.kappa[order].tolist(), strict=True))
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


def _compare(answers: Answers, kept: Flags) -> Agreement | None:
    """Who shares at least MIN_COMPARED items with whom, and κ; None if nobody shares MIN_SHARED with anybody."""
    active = np.bincount(answers.answer_annotator[kept], minlength=len(answers.annotators)) > 0
    people = np.flatnonzero(active)
    person = (np.cumsum(active, dtype=np.int32) - np.int32(1))[answers.answer_annotator[kept]]
    item, option = answers.answer_item[kept], answers.answer_option[kept]
    shared = _count_pairs(person, item)
    compared = np.flatnonzero(shared.data >= MIN_COMPARED)
    first = np.repeat(np.arange(len(people)), np.diff(np.searchsorted(compared, shared.indptr)))
    second, count = shared.indices[compared], shared.data[compared].astype(float)
    other = first != second
    first, second, count = first[other], second[other], count[other]
    if not (count >= MIN_SHARED).any():
        return None
    share = _count_pairs(person, option)[first, second] / count
    chance = chance_of_agreement(answers)[item]
    if chance.min() < chance.max():
        chance = _count_pairs(person, item, chance)[first, second] / count
    else:
        chance = chance[:1].repeat(len(count))
    by_chance = np.minimum(chance, 0.999)
    kappa = (share - by_chance) / (1 - by_chance)
    smoothed = (share * count + 1) / (count + 2)  # nobody is sure to agree for ever
    error = np.sqrt(smoothed * (1 - smoothed) / count) / (1 - by_chance)
    return Agreement(people[first], people[second], count, kappa, error)


def _count_pairs(person: Integers, key: Integers, weight: Floats | None = None) -> sparse.csr_array:
    """[A, A] for how many keys two of A people have an answer, or the sum of the weights [n] of these.

    `person` and `key` [n] are those of each answer; the columns of a row ascend.
    """
    order = np.argsort(key, kind="stable")
    start = np.append(0, np.cumsum(np.bincount(key)))
    ones = np.ones(len(key), np.float32)  # takes half the memory, and counts up to 2²⁴ are exact
    weighted = ones if weight is None else weight[order]
    shape = (len(start) - 1, int(person.max(initial=0)) + 1)
    one, other = (sparse.csr_array((value, person[order], start), shape=shape) for value in (ones, weighted))
    pairs: sparse.csr_array = (one.T @ other).tocsr()
    return pairs


def chance_of_agreement(answers: Answers) -> Floats:
    """[I] the probability that two answers to the item's question agree by chance."""
    used = np.bincount(answers.answer_choice, minlength=len(answers.choices)).astype(float)
    total = np.maximum(np.add.reduceat(used, answers.choice_start[:-1]), 1.0)
    share = used / np.repeat(total, np.diff(answers.choice_start))
    return np.add.reduceat(share**2, answers.choice_start[:-1])[answers.item_question]


def _expected(agreement: Agreement, enough: Agreement) -> Floats:
    """[p] s_a · s_b of pairs in both orders, where s_a is told by those who agree with a less than b does."""
    order = np.argsort(agreement.kappa)
    middle = np.searchsorted(np.cumsum(agreement.shared[order]), agreement.shared.sum() / 2)
    crowd = np.sqrt(max(float(agreement.kappa[order[middle]]), LEAST_KAPPA))
    lower = np.clip(_mean_of_lower(agreement, enough) / crowd, 0, 0.99)
    reverse = np.lexsort((enough.first, enough.second))  # the position of (b, a) for each pair (a, b)
    return np.asarray(lower * lower[reverse])


def _mean_of_lower(agreement: Agreement, enough: Agreement) -> Floats:
    """[p] the mean κ of a with those who agree with a less than b does, by more than SLACK; 0 if there is nobody."""
    others = agreement.part(np.isin(agreement.first, enough.first))
    order = np.lexsort((others.kappa, others.first))
    sums = np.append(0.0, np.cumsum((others.shared * others.kappa)[order]))
    counts = np.append(0.0, np.cumsum(others.shared[order]))
    width = 4.0  # κ is between −1000 and 1; clipped to −1 to 1, (a, κ) becomes one ascending number
    key = (others.first * width + np.clip(others.kappa, -1, 1))[order]
    begin = np.searchsorted(key, enough.first * width - 1)
    stop = np.searchsorted(key, enough.first * width + np.clip(enough.kappa, -1, 1) - SLACK)
    stop = np.maximum(stop, begin)
    return np.asarray((sums[stop] - sums[begin]) / np.maximum(counts[stop] - counts[begin], 1e-9))
