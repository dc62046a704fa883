"""What every method returns, and the operations on posteriors that the methods share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from .answers import Answers
from .arrays import SAFE
from .em import Convergence
from .types import FitProgress, Floats

SAME = 1e-9  # probabilities closer than this are tied


class Posterior(NamedTuple):
    """Probabilities of labels, for a table with O options and I items."""

    options: Floats  # [O] probability of each option
    unchosen: Floats  # [I] probability of each single label that is not an option

    @classmethod
    def total(cls, parts: Iterable[Posterior]) -> Posterior:
        """The sum of parts on the same table."""
        first, *others = parts
        total = cls(first.options.copy(), first.unchosen.copy())
        for part in others:
            np.add(total.options, part.options, out=total.options)
            np.add(total.unchosen, part.unchosen, out=total.unchosen)
        return total

    def times(self, weight: float) -> Posterior:
        return Posterior(weight * self.options, weight * self.unchosen)

    def times_per_item(self, answers: Answers, factor: Floats) -> Posterior:
        """The posterior on the table `answers`, times a factor [I] for each item."""
        options = factor.take(answers.option_item)
        options *= self.options
        return Posterior(options, factor * self.unchosen)


class Votes(NamedTuple):
    """What all answers of a table say, by what a model has learned from others."""

    answers: Answers  # the table, with more options if the model needs them
    posterior: Posterior
    difficulty: Floats | None = None  # [I]
    members: Mapping[str, Posterior] | None = None  # as in `Fit`


Resume = Callable[[Answers, FitProgress], "Fit"]


@dataclass(frozen=True)
class Fit:
    """The result of one method. Shapes as in `Answers`: I items, J annotators, O options.

    The posterior is the crowd's own: for a gold item, it says what the answers say regardless of the gold label.
    """

    answers: Answers  # the table that `posterior` refers to
    form: str
    posterior: Posterior
    skill: Floats  # [J]
    weight: Floats  # [J] what one answer of the annotator counts
    convergence: Convergence
    count_votes: Callable[[Answers], Votes]  # on any table of the same annotators and labels
    skill_error: Floats | None = None  # [J] standard error of the skill
    adversary: Floats | None = None  # [J] probability of being an adversary
    difficulty: Floats | None = None  # [I]
    knowledge: Floats | None = None  # [J] share of the tasks that the annotator knows, beyond what guessing gives
    knowledge_error: Floats | None = None  # [J] its standard error
    class_prior: Floats | None = None  # [C] how common each label of a question is, if the posterior includes that
    weight_unit: float = 1.0  # nats of log-odds that a weight of one adds to the label that an answer names
    resume: Resume | None = None  # fits more answers of the same annotators, starting from what this fit has learned
    main: Fit | None = None  # the form by which people and the evidence of answers are judged, if not this fit
    fitted: Posterior | None = None  # what `posterior` was before it was calibrated, if it was
    members: Mapping[str, Posterior] | None = None  # of an average: form → weight · its posterior; sum to `posterior`

    @property
    def objective(self) -> float:
        return self.convergence.objective

    def vote(self, table: Answers) -> Fit:
        """The same annotators, who vote on another table."""
        answers, posterior, difficulty, members = self.count_votes(table)
        main = self.main and self.main.vote(table)
        voted = replace(self, answers=answers, posterior=posterior, difficulty=difficulty, members=members)
        return replace(voted, main=main, fitted=None)

    @property
    def votes(self) -> Votes:
        """What the answers of this table say."""
        return Votes(self.answers, self.posterior, self.difficulty, self.members)

    def evidence(self, table: Answers) -> Posterior:
        """What the answers say without how common labels are, P(label) / prior(label), normalised on a table of the
        same items."""
        main = self.main or self
        posterior = main.posterior_on(table)
        with np.errstate(divide="ignore"):
            options, unchosen = np.log(posterior.options), np.log(posterior.unchosen)
        if main.class_prior is not None:
            options = options - np.log(main.class_prior)[table.option_choice]
        option, other, _ = normalise(table, options, unchosen)
        return Posterior(option, other)

    def posterior_on(self, table: Answers) -> Posterior:
        """The posterior written to another table of the same items: this fit's own, or one with all options."""
        return self._written_to(table, self.posterior)

    def fitted_on(self, table: Answers) -> Posterior:
        """The posterior as it was before it was calibrated, written to such a table."""
        return self._written_to(table, self.posterior if self.fitted is None else self.fitted)

    def on(self, table: Answers) -> Fit:
        """The fit with its posteriors, and those of its members, written to such a table."""
        members = self.members and {name: self._written_to(table, member) for name, member in self.members.items()}
        fitted = self.fitted and self.fitted_on(table)
        return replace(self, answers=table, posterior=self.posterior_on(table), members=members, fitted=fitted)

    def _written_to(self, table: Answers, posterior: Posterior) -> Posterior:
        own = self.answers
        if len(own.option_item) == len(table.option_item):
            return posterior
        options = posterior.unchosen[table.option_item]
        first_choice = own.choice_start[own.item_question]
        position = table.option_start[own.option_item] + own.option_choice - first_choice[own.option_item]
        options[position] = posterior.options
        return Posterior(options, np.zeros(len(table.items)))


def normalise(answers: Answers, option: Floats, unchosen: Floats) -> tuple[Floats, Floats, Floats]:
    """Turn log scores into probabilities, item by item.

    `option` [O] holds the log scores of the options, `unchosen` [I] the log score of each label that is not an option;
    the item has `answers.unchosen_count` of those. Returns the probabilities of both, and [I] the log of the sum they
    were divided by.
    """
    share, other, log_total = np.empty(len(option)), np.empty(len(unchosen)), np.empty(len(unchosen))
    for items, options, start, item in answers.blocks:
        count, own = answers.unchosen_count[items], option[options]
        rest = np.where(count > 0, unchosen[items], -np.inf)
        if all(scores.min(initial=0.0) > -SAFE and scores.max(initial=0.0) < SAFE for scores in (own, unchosen[items])):
            weight, other[items], log_total[items] = np.exp(own), np.exp(rest), 0.0
        else:
            top = np.maximum(np.maximum.reduceat(own, start), rest)
            weight, other[items], log_total[items] = np.exp(own - top[item]), np.exp(rest - top), top
        total = np.add.reduceat(weight, start) + count * other[items]
        np.divide(weight, total[item], out=share[options])
        other[items] /= total
        log_total[items] += np.log(total)
    return share, other, log_total


def gold_scores(answers: Answers) -> tuple[Floats, Floats]:
    """Log scores [O], [I] that exclude every label of a gold item except the gold label; zero for other items."""
    option = np.where(answers.has_gold[answers.option_item], -np.inf, 0.0)
    option[answers.gold_option[answers.has_gold]] = 0.0
    return option, np.where(answers.has_gold, -np.inf, 0.0)


def vote_shares(answers: Answers) -> Posterior:
    """The shares of the votes, from which every model starts; gold labels have probability one.

    Smoothed as if every label had a tenth of a vote more, or half a vote for all labels together if there are many.
    """
    with np.errstate(divide="ignore"):
        extra = np.minimum(0.1, 0.5 / answers.label_count)
        gold_option, gold_unchosen = gold_scores(answers)
        option = np.log(answers.votes + extra[answers.option_item]) + gold_option
        share, unchosen, _ = normalise(answers, option, np.log(extra) + gold_unchosen)
    return Posterior(share, unchosen)


def weighted_shares(answers: Answers, weight: Floats) -> Posterior:
    """Each label's share of the vote, slightly smoothed; only positive weights [J] count, or all equally if none is."""
    weight = np.maximum(weight, 0.0)
    if weight.sum() == 0:
        weight = np.ones(len(weight))
    extra = 0.1 * weight.mean() / answers.label_count
    votes = answers.weighted_votes(weight)
    total = np.add.reduceat(votes, answers.option_start) + extra * answers.label_count
    votes += extra.take(answers.option_item)
    votes /= total.take(answers.option_item)
    return Posterior(votes, extra / total)


def with_newcomers(answers: Answers, weight: Floats) -> Floats:
    """[J] the weights, with the mean weight of an answer for those of whom there is none to learn from."""
    unknown = answers.answers_per_annotator == 0
    return np.where(unknown, weight[answers.answer_annotator].mean(), weight) if unknown.any() else weight


def initial_difficulty(answers: Answers, share: Floats) -> Floats:
    """[I] a first guess of the items' difficulty from their vote shares [O]: the more divided, the harder.

    The guesses are quantiles of a standard Gaussian; 0 for items that say nothing about difficulty.
    """
    guess = np.zeros(len(answers.items))
    informative = answers.is_informative
    if informative.any():
        top_share = np.maximum.reduceat(share, answers.option_start)[informative]
        _, rank = np.unique(-np.round(top_share, 9), return_inverse=True)  # rounded, so that ties remain ties
        count = np.bincount(rank)
        guess[informative] = ndtri(((np.cumsum(count) - count / 2) / count.sum())[rank])
    return guess
