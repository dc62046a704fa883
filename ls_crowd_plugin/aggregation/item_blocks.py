"""Blocks of items: the E-step of the skill forms computes all about a few items before it goes on to the next.

A block is small enough to stay in the processor's cache, and what its cells (label, node) say is added up per annotator
at once. So there is never a table of all items and nodes in memory.

Symbols: J annotators, G nodes, L distinct numbers of labels.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .answers import Answers
from .arrays import log_sum_exp
from .fit import normalise
from .types import Floats

BLOCK_NUMBERS = 40_000  # options times nodes in a block of items: a few arrays of this size stay in the cache
BLOCK_PER_ANNOTATOR = 2  # but at least this many options for each annotator, whose counts each block adds to


class Cells(NamedTuple):
    """The posterior of some items: I items, O options, G nodes."""

    share: Floats  # [O, G] P(label | node) of every option
    unchosen: Floats  # [I, G] P(label | node) of every label that is not an option
    node: Floats  # [I, G] P(node)
    evidence: Floats  # [I] log P(answers)


class ItemBlock:
    """Items next to each other, with their options and answers."""

    def __init__(self, answers: Answers, items: slice, given: sparse.csr_array, log_node: Floats) -> None:
        """`given` [O, J·L] has a one for each answer; `log_node` [G]."""
        start = answers.option_start
        stop = start[items.stop] if items.stop < len(start) else len(answers.option_item)
        self.items, self.options = items, slice(int(start[items.start]), int(stop))
        self.option_start = start[items] - self.options.start
        self.option_item = answers.option_item[self.options] - items.start
        self.unchosen_count = answers.unchosen_count[items]
        self.given = given[self.options]
        self.log_prior = log_node - np.log(answers.label_count[items])[:, None]  # [I, G] of each cell
        options = len(self.option_item)
        self.belongs: sparse.csr_array = sparse.csr_array(  # [I, O] one if the item has the option
            (np.ones(options), np.arange(options), np.append(self.option_start, options)),
            shape=(len(self.option_start), options),
        )
        gold = answers.gold_option[items]
        self.gold_items = np.flatnonzero(gold >= 0)
        self.gold_options = gold[self.gold_items] - self.options.start
        self.excluded = np.flatnonzero((gold >= 0)[self.option_item])  # their options, with the gold labels

    def sum_options(self, values: Floats) -> Floats:
        """[I, G] the sum of values [O, G] over the options of each item."""
        return np.asarray(self.belongs @ values)

    def posterior(self, logs: Floats, gold: bool = True) -> Cells:
        """The posterior of the block's items; `logs` [J·L, 2G] are those of `SkillModel.expected_logs`."""
        nodes = logs.shape[1] // 2
        score = self.given @ logs  # [O, 2G]
        lead, base = score[:, :nodes], self.sum_options(score[:, nodes:])  # [O, G], [I, G]
        share, other, total = normalise(self, lead, np.zeros((len(base), 1)))
        if gold:
            share[self.excluded], other[self.gold_items] = 0.0, 0.0
            share[self.gold_options], total[self.gold_items] = 1.0, lead[self.gold_options]
        joint = base + total + self.log_prior
        evidence = log_sum_exp(joint)
        return Cells(share, other, np.exp(joint - evidence[:, None]), evidence)

    def count_answers(self, share: Floats, node: Floats) -> Floats:
        """[J·L, 2G] expected right and wrong answers; `share` [O, G] or [O, 1] and `node` [I, G] as in `Cells`."""
        at_node = node[self.option_item]  # [O, G]
        right = share * at_node
        both = np.concatenate([right, np.maximum(at_node - right, 0.0)], axis=1)
        return np.asarray(self.given.T @ both)


def divide_items(answers: Answers, given: sparse.csr_array, log_node: Floats) -> list[ItemBlock]:
    """All items in blocks; `given` and `log_node` as for `ItemBlock`."""
    size = max(BLOCK_NUMBERS // len(log_node), BLOCK_PER_ANNOTATOR * given.shape[1])
    bounds = np.searchsorted(answers.option_start, np.arange(0, len(answers.option_item), size))
    edges = np.unique(np.append(bounds, len(answers.items))).tolist()
    return [ItemBlock(answers, slice(first, last), given, log_node) for first, last in pairwise(edges)]
