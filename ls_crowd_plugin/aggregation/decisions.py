"""The label that a posterior favours; ties are drawn at random, but always in the same way."""

from __future__ import annotations

import hashlib
from functools import cached_property

import numpy as np

from .answers import Answers
from .fit import SAME, Posterior
from .types import Flags, Floats, Integers, Label


class Decisions:
    """The most probable label of every item, what its probability is, and how far it leads.

    Tied labels are drawn by a hash of seed, item and label, so a label's place in a list gives it no advantage.
    """

    def __init__(self, answers: Answers, posterior: Posterior, seed: int) -> None:
        self._answers, self._posterior, self._seed = answers, posterior, seed

    @cached_property
    def choice(self) -> Integers:
        """[I] the choice with the highest probability."""
        answers = self._answers
        top_options = np.flatnonzero(self._is_top)
        first = np.searchsorted(top_options, answers.option_start)
        choice = answers.option_choice[top_options[first]].copy()
        for item in np.flatnonzero(self._is_tied | self._unchosen_is_top).tolist():
            choice[item] = self._draw(item)
        return choice

    @cached_property
    def confidence(self) -> Floats:
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
        candidates = choices[options >= self.confidence[item] - SAME].tolist()
        if self._unchosen_is_top[item]:
            candidates += sorted(set(answers.choices_of(item)) - set(choices.tolist()))
        return int(max(candidates, key=lambda choice: self._lot(item, answers.choices[choice])))

    def _lot(self, item: int, label: Label) -> bytes:
        text = repr((self._seed, self._answers.items[item], label))
        return hashlib.blake2b(text.encode(), digest_size=8).digest()
