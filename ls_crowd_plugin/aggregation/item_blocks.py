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
from .arrays import SAFE
from .types import Floats, Integers, Positions

BLOCK_NUMBERS = 40_000  # options times nodes in a block of items: a few arrays of this size stay in the cache
BLOCK_PER_ANNOTATOR = 2  # but at least this many options for each annotator, whose counts each block adds to


class Logs(NamedTuple):
    """What an answer says at every node, expected over the beliefs about its author."""

    lead: Floats  # [J·L, G] E[log hit − log miss]
    miss: Floats  # [J·L, G] E[log miss]
    largest: float  # the largest size of any of these numbers


class Cells(NamedTuple):
    """The posterior of some items: I items, O options, G nodes."""

    option: Floats  # [O, G] P(label, node) of every option
    unchosen: Floats  # [I, G] P(label, node) of every label that is not an option, if there is any
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
        options = len(self.option_item)
        first_option = np.append(self.option_start, options)
        # [I, O] one if the item has the option
        self.belongs = _rows(np.ones(options), np.arange(options), first_option, options)
        end = given.indptr[self.options.start : self.options.stop + 1]  # of the answers with each option
        own, end = slice(end[0], end[-1]), end - end[0]
        ones, columns = given.data[own], given.indices[own]
        self.given = _rows(ones, columns, end, given.shape[1])  # [O, J·L]
        answered = _rows(ones, columns, end[first_option], given.shape[1])  # [I, J·L]
        self.answered, self.given_by, self.answered_by = answered, self.given.T, answered.T
        self.most_answers = int(np.diff(answered.indptr).max(initial=0))
        self.log_node, self.log_labels = log_node, np.log(answers.label_count[items])
        gold = answers.gold_option[items]
        self.gold_items = np.flatnonzero(gold >= 0)
        self.gold_options = gold[self.gold_items] - self.options.start
        self.excluded = np.flatnonzero((gold >= 0)[self.option_item])  # their options, with the gold labels
        self.unchosen_count = answers.unchosen_count[items][:, None]
        self.unchosen_allowed = np.where(gold[:, None] >= 0, 0.0, self.unchosen_count)

    def posterior(self, logs: Logs, gold: bool = True) -> Cells:
        """The posterior of the block's items.

        The weight of a label at a node is the product of hit / miss over the answers that name it: one if nobody does.
        The weight of a node is its prior, times the product of miss over all answers, times the sum of these weights.
        """
        lead, base = self.given @ logs.lead, self.answered @ logs.miss  # [O, G], [I, G]
        base += self.log_node
        count = self.unchosen_count
        if gold and len(self.gold_items):
            known = lead[self.gold_options]
            lead[self.excluded] = -np.inf
            lead[self.gold_options], count = known, self.unchosen_allowed
        is_safe = self.most_answers * logs.largest < SAFE
        unchosen, shift = (np.ones((1, 1)), np.zeros(1)) if is_safe else self._take_out_largest(lead, base, count)
        weight: Floats = np.exp(lead, out=lead)
        total = self.belongs @ weight + count * unchosen  # [I, G]
        node: Floats = np.exp(base, out=base)
        node *= total
        sums = node @ np.ones(node.shape[1])  # faster than node.sum(1), whose rows are short
        node /= sums[:, None]
        each = node / total  # [I, G] P(label, node) of a label of weight one
        weight *= each.take(self.option_item, axis=0)  # much faster than each[self.option_item], whose rows are short
        return Cells(weight, each * unchosen, node, np.log(sums) + shift - self.log_labels)

    def _take_out_largest(self, lead: Floats, base: Floats, count: Floats) -> tuple[Floats, Floats]:
        """Divide the weights of labels, then those of nodes, by the largest of the item, so that exp stays in range.

        Changes their logs `lead` [O, G] and `base` [I, G]; `count` [I, 1] labels of weight one are not options. Returns
        what those weigh now [I, G], and the log of what the item was divided by [I].
        """
        top = np.maximum.reduceat(lead, self.option_start, axis=0)
        top = np.where(count > 0, np.maximum(top, 0.0), top)
        lead -= top.take(self.option_item, axis=0)
        base += top
        shift = base.max(1)
        base -= shift[:, None]
        return np.exp(np.minimum(-top, 0.0)), shift

    def count_answers(self, option: Floats, node: Floats) -> Floats:
        """[J·L, 2G] expected right and wrong answers; `option` [O, G] and `node` [I, G] as in `Cells`."""
        right, both = self.given_by @ option, self.answered_by @ node
        return np.concatenate([right, np.maximum(both - right, 0.0)], axis=1)


def _rows(ones: Floats, columns: Integers | Positions, start: Integers | Positions, width: int) -> sparse.csr_array:
    """A matrix of ones at these columns; row i has those from start[i] to start[i + 1]."""
    return sparse.csr_array((ones, columns, start), shape=(len(start) - 1, width))


def divide_items(answers: Answers, given: sparse.csr_array, log_node: Floats) -> list[ItemBlock]:
    """All items in blocks; `given` and `log_node` as for `ItemBlock`."""
    size = max(BLOCK_NUMBERS // len(log_node), BLOCK_PER_ANNOTATOR * given.shape[1])
    bounds = np.searchsorted(answers.option_start, np.arange(0, len(answers.option_item), size))
    edges = np.unique(np.append(bounds, len(answers.items))).tolist()
    return [ItemBlock(answers, slice(first, last), given, log_node) for first, last in pairwise(edges)]
