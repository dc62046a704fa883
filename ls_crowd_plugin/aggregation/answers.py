"""The answer table: who gave which label to which task, as sorted integer arrays.

An *item* is one thing to decide: a task, or a (task, question) pair. A *choice* is one label of one question. An
*option* is a choice that somebody gave to an item, or the item's gold label. Only options can gain from evidence, so
the table lists answers and options and needs no dense matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .arrays import PIECE, first_of_each, group_sums
from .types import Flags, Floats, Id, Integers, Label, Positions

SAMPLE_ANSWERS = 50_000  # about this many answers are enough to compare forms


class Block(NamedTuple):
    """Items next to each other and their options; both are counted from the first of the block."""

    items: slice  # in the table
    options: slice  # in the table
    option_start: Positions  # [I] the first option of each item
    option_item: Integers  # [O]


@dataclass(frozen=True)
class Answers:
    """A crowd's answers, one per annotator and item, sorted by item and then by annotator.

    Shapes: n answers, I items, J annotators, C choices, O options, Q questions.
    """

    items: Sequence[Id]  # [I] tasks, or (task, question) pairs
    annotators: Sequence[Id]  # [J]
    questions: Sequence[Id]  # [Q]; one entry, None, if the answers have no questions
    choices: Sequence[Label]  # [C] grouped by question
    choice_start: Integers  # [Q + 1] choices of question q are choice_start[q] : choice_start[q + 1]
    place: Integers  # [C] place of the label on its question's scale: 0, 1, …; -1 if the question has no order
    item_question: Integers  # [I]
    answer_item: Integers  # [n] ascending
    answer_annotator: Integers  # [n]
    answer_option: Integers  # [n]
    option_item: Integers  # [O] ascending
    option_choice: Integers  # [O] ascending within an item
    gold_option: Integers  # [I] the option that is the item's gold label, or -1

    @property
    def has_questions(self) -> bool:
        return list(self.questions) != [None]

    @cached_property
    def is_ordered(self) -> Flags:
        """[Q] whether the question's labels have an order that matters."""
        return np.asarray(self.place[self.choice_start[:-1]] >= 0)

    @property
    def answer_choice(self) -> Integers:
        """[n] the choice that each answer names."""
        return self.option_choice[self.answer_option]

    @property
    def has_gold(self) -> Flags:
        """[I] whether the item's label is known."""
        return self.gold_option >= 0

    @cached_property
    def label_count(self) -> Floats:
        """[I] K: how many labels the item's question has."""
        return np.diff(self.choice_start)[self.item_question].astype(float)

    @cached_property
    def is_decidable(self) -> Flags:
        """[n] whether the answered item has several labels; other answers say nothing about their annotators."""
        return self.label_count[self.answer_item] > 1

    @cached_property
    def is_informative(self) -> Flags:
        """[I] whether the item has several labels and an answer; other items say nothing about difficulty."""
        return (self.label_count > 1) & (self.answers_per_item > 0)

    @cached_property
    def option_start(self) -> Positions:
        """[I] the first option of each item; every item has at least one."""
        return first_of_each(self.option_item)

    @cached_property
    def unchosen_count(self) -> Floats:
        """[I] how many labels of the item's question are not an option of the item."""
        return np.asarray(self.label_count - np.diff(self.option_start, append=len(self.option_item)))

    @cached_property
    def blocks(self) -> Sequence[Block]:
        """All items in blocks of about PIECE options, to work on one after the other."""
        count = len(self.option_item)
        edges = np.searchsorted(self.option_start, np.arange(0, count, PIECE))
        edges = np.unique(np.append(edges, len(self.items)))
        firsts = np.append(self.option_start, count)[edges].tolist()
        return [
            Block(
                slice(*items),
                slice(*options),
                self.option_start[slice(*items)] - options[0],
                self.option_item[slice(*options)] - np.int32(items[0]),
            )
            for items, options in zip(pairwise(edges.tolist()), pairwise(firsts), strict=True)
        ]

    @cached_property
    def answers_per_item(self) -> Positions:
        """[I]"""
        return group_sums(self.option_item, self.votes, len(self.items)).astype(np.int64)

    @cached_property
    def answers_per_annotator(self) -> Positions:
        """[J]"""
        return self.sum_by_annotator(np.ones(len(self.option_item))).astype(np.int64)

    @cached_property
    def annotators_per_question(self) -> Positions:
        """[Q] how many people answered each question."""
        if len(self.questions) == 1:
            return np.array([np.count_nonzero(self.answers_per_annotator)])
        answered = np.zeros((len(self.questions), len(self.annotators)), bool)
        answered[self.item_question[self.answer_item], self.answer_annotator] = True
        return np.asarray(answered.sum(1))

    @cached_property
    def has_comparable(self) -> Flags:
        """[I] whether answers to the item can be compared with something: it has several labels, and answers from
        several people or a gold label. Other answers say nothing about their annotators."""
        return (self.label_count > 1) & ((self.answers_per_item > 1) | self.has_gold)

    @cached_property
    def is_comparable(self) -> Flags:
        """[n] whether the answer can be compared with something."""
        return self.has_comparable[self.answer_item]

    @cached_property
    def comparable_per_annotator(self) -> Positions:
        """[J] how many answers of each annotator can be compared with something."""
        return self.sum_by_annotator(self.has_comparable[self.option_item]).astype(np.int64)

    @cached_property
    def votes(self) -> Floats:
        """[O] how many annotators gave each option."""
        return self.weighted_votes(np.ones(len(self.annotators)))

    @cached_property
    def given(self) -> sparse.coo_array:
        """[O, J] one if the annotator gave the option: products with it read the answers once, and copy nothing."""
        ones, places = np.ones(len(self.answer_item)), (self.answer_option, self.answer_annotator)
        return sparse.coo_array((ones, places), shape=(len(self.option_item), len(self.annotators)))

    @cached_property
    def given_by_option(self) -> sparse.csr_array:
        """[O, J] the same, sorted by option."""
        return self.given.tocsr()

    def weighted_votes(self, weight: Floats) -> Floats:
        """[O] the sum of the weights [J] of the annotators who gave each option."""
        return np.asarray(self.given @ weight).reshape(-1)  # scipy makes a scalar of one number

    def sum_by_annotator(self, value: Floats | Flags) -> Floats:
        """[J] the sum of the values [O] of the options that each annotator gave."""
        return np.asarray(self.given.T @ value).reshape(-1)

    @cached_property
    def gold_counts(self) -> tuple[Positions, Positions]:
        """[J], [J] how many gold items each annotator answered, and how many of those answers are the gold label."""
        gold = self.gold_option[self.answer_item]
        answered = np.bincount(self.answer_annotator[gold >= 0], minlength=len(self.annotators))
        correct = np.bincount(self.answer_annotator[gold == self.answer_option], minlength=len(self.annotators))
        return answered, correct

    def option_label(self, option: int) -> Label:
        return self.choices[self.option_choice[option]]

    def options_of(self, item: int) -> slice:
        """The positions of the item's options."""
        start = self.option_start
        stop = int(start[item + 1]) if item + 1 < len(start) else len(self.option_item)
        return slice(int(start[item]), stop)

    def choices_of(self, item: int) -> range:
        """The choices of the item's question."""
        question = self.item_question[item]
        return range(int(self.choice_start[question]), int(self.choice_start[question + 1]))

    def with_gold(self, gold_option: Integers) -> Answers:
        """Replace the gold; `gold_option` [I] names an option of each item or is -1."""
        return replace(self, gold_option=gold_option)

    def with_all_options(self) -> Answers:
        """Make every label of an item's question an option of the item."""
        count = self.label_count.astype(np.int64)
        start = np.concatenate([[0], np.cumsum(count)])
        first_choice = self.choice_start[self.item_question]
        option_item = np.repeat(np.arange(len(self.items), dtype=np.int32), count)
        option_choice = (np.arange(start[-1]) - (start[:-1] - first_choice)[option_item]).astype(np.int32)
        new_option = (start[self.option_item] + self.option_choice - first_choice[self.option_item]).astype(np.int32)
        return replace(
            self,
            answer_option=new_option[self.answer_option],
            option_item=option_item,
            option_choice=option_choice,
            gold_option=np.where(self.has_gold, new_option[self.gold_option], -1).astype(np.int32),
        )

    def subset(self, items: Positions) -> Answers:
        """Keep some items (ascending positions) and their answers; annotators and labels stay the same."""
        kept = np.zeros(len(self.items), bool)
        kept[items] = True
        new_item = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        options, answers = kept[self.option_item], kept[self.answer_item]
        new_option = np.cumsum(options, dtype=np.int32) - np.int32(1)
        gold = self.gold_option[items]
        return replace(
            self,
            items=[self.items[position] for position in items.tolist()],
            item_question=self.item_question[items],
            answer_item=new_item[self.answer_item[answers]],
            answer_annotator=self.answer_annotator[answers],
            answer_option=new_option[self.answer_option[answers]],
            option_item=new_item[self.option_item[options]],
            option_choice=self.option_choice[options],
            gold_option=np.where(gold >= 0, new_option[gold], -1).astype(np.int32),
        )

    def sample(self, seed: int) -> Answers:
        """Keep about SAMPLE_ANSWERS answers, to all gold items and some other items; a smaller table stays whole."""
        if len(self.answer_item) <= 1.5 * SAMPLE_ANSWERS:
            return self
        chance = np.random.default_rng(seed).random(len(self.items))
        shuffled = np.argsort(chance)
        is_gold = self.has_gold[shuffled]
        gold_first = np.concatenate([shuffled[is_gold], shuffled[~is_gold]])
        running = np.cumsum(self.answers_per_item[gold_first])
        count = max(int(np.searchsorted(running, SAMPLE_ANSWERS)), 1)
        return self.subset(np.sort(gold_first[:count]))
