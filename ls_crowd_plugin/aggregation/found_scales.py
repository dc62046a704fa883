"""Which questions have labels that look like a scale by what the answers show, if nobody said so.

Labels that are numbers may be ratings, or codes of classes. On a scale, people who disagree give labels that are near
each other. So the order of the numbers is compared with other orders of the same labels, by how far apart people are
when they disagree, beyond what the popularity of the labels explains:

    N[a, b]                      pairs of people who gave a and b ≠ a to the same item, each by 1 / (answers − 1)
    E[a, b] = α u_a u_b + β (u_a + u_b)
                                 the same by how often each label is given, u: two who guess, and one who guesses beside
                                 one who knows; α, β ≥ 0 as they fit N best
    spread of an order           sum over a, b of (N − E)[a, b] · |place of a − place of b|

If the numbers were only codes, every order would be equally likely to have the smallest spread. They are taken for a
scale if at most LARGEST_SHARE of all orders have as small a one. With fewer than five labels there are too few orders.

Codes of related classes often stand side by side, and then the order is not one of many equal ones. But groups have
borders: only on a scale is every label taken for its neighbours more often than popularity explains, N > E.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from .answers import Answers
from .scales import label_number
from .types import Floats, Integers, Positions

LARGEST_SHARE = 1 / 60  # of the orders; the least that five labels can show, since the direction makes no difference
LEAST_LABELS, MOST_LABELS = 5, 30  # of a question, and the least that people gave
ALL_ORDERS = 7  # with at most so many labels all orders are compared, with more as many as RANDOM_ORDERS
RANDOM_ORDERS = 3000
SAME = 1e-9  # spreads closer than this share of all pairs are the same


def with_found_scales(answers: Answers) -> Answers:
    """The same table, with the places of labels wherever the answers show that they are a scale."""
    place = answers.place.copy()
    option_question = answers.item_question[answers.option_item]
    by_question = np.argsort(option_question, kind="stable")
    begin = np.searchsorted(option_question[by_question], np.arange(len(answers.questions) + 1))
    for question in np.flatnonzero(~answers.is_ordered).tolist():
        start, stop = answers.choice_start[question : question + 2].tolist()
        if not LEAST_LABELS <= stop - start <= MOST_LABELS:
            continue
        numbers = np.array([label_number(label) for label in answers.choices[start:stop]])
        if not np.isfinite(numbers).all() or len(np.unique(numbers)) < len(numbers):
            continue
        order = np.argsort(numbers)  # [K] the choice at each place
        options = by_question[begin[question] : begin[question + 1]]
        if is_scale(_votes(answers, options, start, stop - start)[:, order]):
            place[start:stop] = np.argsort(order)
    return answers if (place == answers.place).all() else replace(answers, place=place)


def is_scale(votes: sparse.csr_array) -> bool:
    """Whether `votes` [items, K] show that the labels, in the order in which they are, are a scale."""
    answered = np.asarray(votes.sum(axis=1))
    votes, answered = votes[answered > 1], answered[answered > 1]
    usage = np.asarray(votes.sum(axis=0))  # [K] u
    votes, usage = votes[:, usage > 0], usage[usage > 0]
    labels = len(usage)
    if labels < LEAST_LABELS:
        return False
    share: sparse.csr_array = votes.multiply(1 / (answered - 1)[:, None]).tocsr()
    disagreements = (votes.T @ share).toarray()  # [K, K] N
    a, b = np.triu_indices(labels, 1)
    excess = _excess(disagreements[a, b], usage / usage.sum(), a, b)
    same = SAME * disagreements.sum()
    if (excess[b - a == 1] <= same).any():
        return False
    orders = _orders(labels)
    spread = np.zeros(len(orders))
    for one, other, pairs in zip(a.tolist(), b.tolist(), excess.tolist(), strict=True):
        spread += pairs * np.abs(orders[:, one] - orders[:, other])
    return bool((spread <= spread[0] + same).mean() <= LARGEST_SHARE * (1 + SAME))


def _excess(disagreements: Floats, usage: Floats, a: Positions, b: Positions) -> Floats:
    """[P] N − E of the pairs of labels a, b [P], by the share of answers that each label has."""
    causes = np.stack([usage[a] * usage[b], usage[a] + usage[b]], axis=1)
    weights, _ = nnls(causes / causes.sum(axis=0), disagreements)
    by_popularity = (causes / causes.sum(axis=0)) @ weights
    total = by_popularity.sum()
    return np.asarray(disagreements - by_popularity * (disagreements.sum() / total if total > 0 else 0.0))


def _votes(answers: Answers, options: Positions, first: int, labels: int) -> sparse.csr_array:
    """[items of the options, K] how many people gave each of the K labels from the `first` on to each item."""
    items, row = np.unique(answers.option_item[options], return_inverse=True)
    entries = answers.votes[options], (row, answers.option_choice[options] - first)
    votes: sparse.csr_array = sparse.csr_array(entries, shape=(len(items), labels))
    return votes


@cache
def _orders(labels: int) -> Integers:
    """[orders, K] the place of every label in the orders to compare; the first is the one in which they are."""
    if labels <= ALL_ORDERS:
        return np.array(list(permutations(range(labels))), np.int32)
    generator = np.random.default_rng(0)
    others = [generator.permutation(labels) for _ in range(RANDOM_ORDERS)]
    return np.array([np.arange(labels), *others], np.int32)
