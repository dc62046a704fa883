"""The label of every item: the most probable one, or the most frequent answer if nobody gave that; or, on a scale where
that is asked for, the one of least expected distance.

A label must come from the answers. With E_k = the log evidence of the item's answers for label k, without what is
known beforehand about how common labels are, an item is *undecided*

- if |E of the most probable label − E of the next| < NEGLIGIBLE: the answers say next to nothing between the two, or
- if nobody gave the most probable label, unless E of it − E of every label that was given is at least CLEAR: then the
  answers themselves exclude everything that was given, as answers of adversaries can.

In the second case the label is the most frequent answer; in the first it stays the most probable one, which is right
more often where labels are rare. Ties are drawn at random, but always in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from .answers import Answers
from .arrays import first_of_each
from .fit import SAME, Posterior
from .types import Flags, Floats, Integers, Positions

NEGLIGIBLE = 0.2  # nats: odds of 1.2 to 1
CLEAR = 3.0  # nats: odds of 20 to 1


class Decisions:
    """The label of every item, its probability, and how far the most probable label leads.

    With `by_distance`, the label of an item with ordered labels is the one whose expected distance from the truth, in
    places on the scale, is the least: the median of the posterior. If two are as near, the more probable one counts.
    Tied labels are drawn by a hash of seed, item and label, so a label's place in a list gives it no advantage.
    """

    def __init__(
        self,
        answers: Answers,
        posterior: Posterior,
        seed: int,
        evidence: Callable[[], Posterior] | None = None,
        by_distance: bool = False,
    ) -> None:
        """`evidence` gives what the posterior would be if all labels were equally common; by default the same."""
        self._answers, self._posterior, self._seed = answers, posterior, seed
        self._evidence = evidence or (lambda: posterior)
        self._scales = np.flatnonzero(answers.is_ordered).tolist() if by_distance else []

    @cached_property
    def choice(self) -> Integers:
        """[I] the choice that is the label."""
        choice = self._founded.copy()
        for question in self._scales:
            items = np.flatnonzero(self._answers.item_question == question)
            choice[items] = self._nearest(question, items)
        return choice

    @cached_property
    def confidence(self) -> Floats:
        """[I] the probability of the label."""
        return self._probability_of(self.choice, self._posterior)

    def _nearest(self, question: int, items: Positions) -> Integers:
        """The choice of least expected distance of the items [n] of an ordered question."""
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
        choice: Integers = (first + is_best.argmax(1)).astype(np.int32)
        for position in np.flatnonzero(is_best.sum(1) > 1).tolist():
            choice[position] = self._draw(int(items[position]), (first + np.flatnonzero(is_best[position])).tolist())
        return choice

    @cached_property
    def _founded(self) -> Integers:
        """[I] the most probable choice, or the most frequent answer where nobody gave that."""
        answers = self._answers
        choice = self._favourite.copy()
        for item in np.flatnonzero(self._is_unfounded).tolist():
            votes = answers.votes[answers.options_of(item)]
            options = np.flatnonzero(votes >= votes.max()) + answers.option_start[item]
            probability = self._posterior.options[options]
            tied = options[probability >= probability.max() - SAME]
            choice[item] = self._draw(item, answers.option_choice[tied].tolist())
        return choice

    @cached_property
    def lead(self) -> Floats:
        """[I] the highest probability minus the second highest; 0 for a tie, or if nobody gave the most probable label,
        and 1 for an item with one label."""
        answers = self._answers
        others = np.where(self._is_top, -np.inf, self._posterior.options)
        second = np.maximum.reduceat(others, answers.option_start)
        second = np.where(answers.unchosen_count > 0, np.maximum(second, self._posterior.unchosen), second)
        lead = np.where(self._is_tied | (second >= self._top), 0.0, self._top - np.maximum(second, 0.0))
        lead = np.where(self._is_unfounded, 0.0, lead)
        return np.where(answers.label_count < 2, 1.0, lead)

    @cached_property
    def is_undecided(self) -> Flags:
        """[I] whether the answers do not decide; see the top of the file."""
        says_nothing = np.abs(self._own_evidence - self._next_evidence) < NEGLIGIBLE
        return np.asarray(self._answers.is_informative & says_nothing | self._is_unfounded)

    @cached_property
    def _is_unfounded(self) -> Flags:
        """[I] whether nobody gave the most probable label, and the answers do not exclude what was given."""
        answers = self._answers
        was_given = np.maximum.reduceat(self._is_favourite & (answers.votes > 0), answers.option_start)
        unfounded = np.asarray(answers.is_informative & ~was_given)
        return unfounded & ~self.excludes_given if unfounded.any() else unfounded

    @cached_property
    def excludes_given(self) -> Flags:
        """[I] whether the answers themselves favour the most probable label over all that were given."""
        answers = self._answers
        given = np.where(answers.votes > 0, self._log_evidence.options, -np.inf)
        return np.asarray(self._own_evidence - np.maximum.reduceat(given, answers.option_start) >= CLEAR)

    @cached_property
    def _log_evidence(self) -> Posterior:
        options, unchosen = self._evidence()
        with np.errstate(divide="ignore"):
            return Posterior(np.log(options), np.log(unchosen))

    @cached_property
    def _own_evidence(self) -> Floats:
        """[I] the log evidence for the most probable label."""
        return self._probability_of(self._favourite, self._log_evidence)

    @property
    def _next_evidence(self) -> Floats:
        """[I] the log evidence for the second most probable label; of several, the one with the most evidence."""
        answers, item, evidence = self._answers, self._answers.option_item, self._log_evidence
        others = np.where(self._is_favourite, -np.inf, self._posterior.options)
        second = np.maximum.reduceat(others, answers.option_start)
        is_second = ~self._is_favourite & (others >= second[item] - SAME)
        found = np.maximum.reduceat(np.where(is_second, evidence.options, -np.inf), answers.option_start)
        is_option = np.maximum.reduceat(self._is_favourite, answers.option_start)
        unchosen = (answers.unchosen_count - ~is_option > 0) & (self._posterior.unchosen > second + SAME)
        return np.where(unchosen, evidence.unchosen, found)

    def _probability_of(self, choice: Integers, posterior: Posterior) -> Floats:
        """[I] the value in `posterior` of one choice of every item."""
        answers = self._answers
        named = answers.option_choice == choice[answers.option_item]
        value = np.maximum.reduceat(np.where(named, posterior.options, -np.inf), answers.option_start)
        return np.where(np.maximum.reduceat(named, answers.option_start), value, posterior.unchosen)

    @cached_property
    def _favourite(self) -> Integers:
        """[I] the most probable choice."""
        answers = self._answers
        top_options = np.flatnonzero(self._is_top)
        first = first_of_each(answers.option_item[top_options])  # every item has one
        choice = answers.option_choice[top_options[first]].copy()
        for item in np.flatnonzero(self._is_tied | self._unchosen_is_top).tolist():
            choice[item] = self._draw_favourite(item)
        return choice

    @cached_property
    def _is_favourite(self) -> Flags:
        """[O] whether the option is the most probable choice of its item."""
        return np.asarray(self._answers.option_choice == self._favourite[self._answers.option_item])

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

    def _draw_favourite(self, item: int) -> int:
        """Draw one of the choices that are tied for the highest probability."""
        answers = self._answers
        position = answers.options_of(item)
        choices, top = answers.option_choice[position], self._top[item]
        if not self._unchosen_is_top[item]:
            return self._draw(item, choices[self._is_top[position]].tolist())
        top = max(top, self._posterior.unchosen[item])
        candidates = choices[self._posterior.options[position] >= top - SAME].tolist()
        return self._draw(item, candidates + sorted(set(answers.choices_of(item)) - set(choices.tolist())))

    def _draw(self, item: int, choices: list[int]) -> int:
        return max(choices, key=partial(self._lot, item))

    def _lot(self, item: int, choice: int) -> bytes:
        text = repr((self._seed, self._answers.items[item], self._answers.choices[choice]))
        return hashlib.blake2b(text.encode(), digest_size=8).digest()
