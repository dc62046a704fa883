"""The label that a posterior favours: the most probable one, or on a scale the one of least expected distance.

Ties are drawn at random, but always in the same way.
"""

from __future__ import annotations

import hashlib
from functools import cached_property, partial

import numpy as np

from .answers import Answers
from .fit import SAME, Posterior
from .types import Flags, Floats, Integers, Positions


class Decisions:
    """The label of every item, what its probability is, and how far the most probable label leads.

    With `by_distance`, the label of an item with ordered labels is the one whose expected distance from the truth, in
    places on the scale, is the least: the median of the posterior. If two are as near, the more probable one counts.
    Tied labels are drawn by a hash of seed, item and label, so a label's place in a list gives it no advantage.
    """

    def __init__(self, answers: Answers, posterior: Posterior, seed: int, by_distance: bool = False) -> None:
        self._answers, self._posterior, self._seed = answers, posterior, seed
        self._scales = np.flatnonzero(answers.is_ordered).tolist() if by_distance else []

    @cached_property
    def choice(self) -> Integers:
        """[I] the choice that is the label."""
        return self._label[0]

    @cached_property
    def confidence(self) -> Floats:
        """[I] the probability of the label."""
        return self._label[1]

    @cached_property
    def _label(self) -> tuple[Integers, Floats]:
        choice, probability = self._most_probable.copy(), self._highest.copy()
        for question in self._scales:
            items = np.flatnonzero(self._answers.item_question == question)
            choice[items], probability[items] = self._nearest(question, items)
        return choice, probability

    def _nearest(self, question: int, items: Positions) -> tuple[Integers, Floats]:
        """The choice of least expected distance, and its probability, of the items [n] of an ordered question."""
        answers = self._answers
        first, stop = answers.choice_start[question], answers.choice_start[question + 1]
        own = np.flatnonzero(answers.item_question[answers.option_item] == question)  # the items' options
        probability = np.repeat(self._posterior.unchosen[items][:, None], stop - first, axis=1)  # [n, K]
        row = np.searchsorted(items, answers.option_item[own])
        probability[row, answers.option_choice[own] - first] = self._posterior.options[own]
        place = answers.place[first:stop]
        distance = probability @ np.abs(place[:, None] - place)  # [n, K] expected
        is_near = distance <= distance.min(1, keepdims=True) + SAME
        highest = np.where(is_near, probability, -1.0).max(1)
        is_best = is_near & (probability >= highest[:, None] - SAME)
        choice = (first + is_best.argmax(1)).astype(np.int32)
        for position in np.flatnonzero(is_best.sum(1) > 1).tolist():
            candidates = (first + np.flatnonzero(is_best[position])).tolist()
            choice[position] = max(candidates, key=partial(self._lot, int(items[position])))
        return choice, highest

    @cached_property
    def _most_probable(self) -> Integers:
        """[I] the choice with the highest probability."""
        answers = self._answers
        top_options = np.flatnonzero(self._is_top)
        first = np.searchsorted(top_options, answers.option_start)
        choice = answers.option_choice[top_options[first]].copy()
        for item in np.flatnonzero(self._is_tied | self._unchosen_is_top).tolist():
            choice[item] = self._draw(item)
        return choice

    @cached_property
    def _highest(self) -> Floats:
        """[I] the highest probability."""
        return np.where(self._unchosen_is_top, np.maximum(self._posterior.unchosen, self._top), self._top)

    @cached_property
    def lead(self) -> Floats:
        """[I] the highest probability minus the second highest; 0 for a tie and 1 for an item with one label."""
        answers = self._answers
        others = np.where(self._is_top, -np.inf, self._posterior.options)
        second = np.maximum.reduceat(others, answers.option_start)
        second = np.where(answers.unchosen_count > 0, np.maximum(second, self._posterior.unchosen), second)
        lead = np.where(self._is_tied | (second >= self._top), 0.0, self._top - np.maximum(second, 0.0))
        return np.where(answers.label_count < 2, 1.0, lead)

    @cached_property
    def _top(self) -> Floats:
        """[I] the highest probability of an option."""
        return np.maximum.reduceat(self._posterior.options, self._answers.option_start)

    @cached_property
    def _is_top(self) -> Flags:
        """[O] whether the option is the most probable of its item, or tied for it."""
        return self._posterior.options >= self._top[self._answers.option_item] - SAME

    @cached_property
    def _is_tied(self) -> Flags:
        """[I] whether several options are the most probable."""
        return np.add.reduceat(self._is_top.astype(np.int32), self._answers.option_start) > 1

    @cached_property
    def _unchosen_is_top(self) -> Flags:
        """[I] whether labels that are not an option are as probable as the most probable option, or more."""
        return (self._answers.unchosen_count > 0) & (self._posterior.unchosen >= self._top - SAME)

    def _draw(self, item: int) -> int:
        """Draw one of the choices that are tied for the highest probability."""
        answers = self._answers
        position = answers.options_of(item)
        options = self._posterior.options[position]
        choices = answers.option_choice[position]
        candidates = choices[options >= self._highest[item] - SAME].tolist()
        if self._unchosen_is_top[item]:
            candidates += sorted(set(answers.choices_of(item)) - set(choices.tolist()))
        return int(max(candidates, key=partial(self._lot, item)))

    def _lot(self, item: int, choice: int) -> bytes:
        text = repr((self._seed, self._answers.items[item], self._answers.choices[choice]))
        return hashlib.blake2b(text.encode(), digest_size=8).digest()
