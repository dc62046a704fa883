"""GEM with leanings: everybody leans towards some labels, and is drawn to the truth with one strength.

    P(j answers r | truth z of task i)  ∝  exp(b_j[r] + a_j · e_i · 1[r = z])

b_j[r] is how far annotator j leans towards label r, a_j the strength with which the truth draws them (negative for
somebody who avoids it), e_i how easy the task is. This stands between one skill per annotator, which knows no leanings,
and a table per annotator (`habits`), which has more numbers than most people have answers.

    a_j ~ N(μ, 1)      b_j[r] ~ N(m[r], 1)      log e_i ~ N(0, SPREAD²), summed over a few nodes

μ and m are learned from the crowd. How common labels are is taken from the shares of the votes and not learned on:
that would drift towards the common labels. a_j and b_j are points, found by Newton's method with the diagonal of the
second derivatives.

Symbols: J annotators, K labels, G nodes. Every question has its own a_j and b_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.special import ndtr

from .answers import Answers
from .arrays import group_sums, log_sum_exp
from .em import run_em
from .fit import Fit, Posterior, Votes, vote_shares, with_newcomers
from .types import FitProgress, Floats, Integers

SPREAD, NODES = 0.5, 5  # of the log of how easy tasks are
PRIOR_PULL = 2.0  # μ before any data
NEWTON_STEPS = 3  # in each M-step
KNOWN_FROM = 5.0  # answers from which on somebody counts fully when the crowd's numbers are learned
CROWD_FROM = 3  # iterations after which the crowd's numbers are learned
PULL_LIMITS = -8.0, 12.0
MAX_CELLS = 2e8  # (task, node, label) triples in the posterior
MAX_TABLE_SIZE = 2e7  # (annotator, node, label) triples


def fit_leanings(answers: Answers, progress: FitProgress, start: Sequence[LearnedLeanings] | None = None) -> Fit:
    """Fit the form; `answers` must have all labels as options (`with_all_options`). `start` is what another fit has
    learned."""
    model = LeaningsModel(answers)
    if start is not None:
        model.take_over(start)
    convergence = run_em(model, answers, progress, max_iterations=60, min_iterations=10, resumed=start is not None)
    learned = [question.learned for question in model.questions]

    def count_votes(table: Answers) -> Votes:
        voting = LeaningsModel(table.with_all_options())
        voting.take_over(learned)
        return Votes(voting.answers, voting.crowd_posterior(), voting.difficulty())

    skill, error = model.skill()
    return Fit(
        answers=answers,
        form="leanings",
        posterior=model.crowd_posterior(),
        skill=skill,
        skill_error=error,
        adversary=np.asarray(ndtr(-skill / error)),
        class_prior=model.class_prior(),
        weight=with_newcomers(answers, skill),
        difficulty=model.difficulty(),
        convergence=convergence,
        count_votes=count_votes,
        resume=lambda table, progress: fit_leanings(table.with_all_options(), progress, learned),
    )


def leanings_fit_in_memory(answers: Answers) -> bool:
    """Whether the arrays of the form are of a reasonable size."""
    labels = np.diff(answers.choice_start).astype(float)
    cells = float(answers.label_count.sum()) * NODES
    return cells <= MAX_CELLS and len(answers.annotators) * float(labels.sum()) * NODES <= MAX_TABLE_SIZE


class LeaningsModel:
    """The model's state: a `QuestionLeanings` for every question with several labels."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        share = vote_shares(answers).options
        labels = np.diff(answers.choice_start)
        self.questions = [
            QuestionLeanings(answers, question, share) for question in range(len(labels)) if labels[question] > 1
        ]

    def take_over(self, learned: Sequence[LearnedLeanings]) -> None:
        """Judge the items by what a model of the same annotators and questions has learned from other answers."""
        for question, known in zip(self.questions, learned, strict=True):
            question.take_over(known)

    def m_step(self) -> None:
        """Update everybody's pull and leanings, then those of the crowd."""
        for question in self.questions:
            question.update_annotators()
            question.update_crowd()

    def e_step(self) -> float:
        """Update the posterior of every item's label and ease."""
        return sum(question.update_items() for question in self.questions)

    def crowd_posterior(self) -> Posterior:
        """What the answers say about every item, regardless of its gold label."""
        options = np.ones(len(self.answers.option_item))  # stays 1 where the question has one label
        for question in self.questions:
            options[question.options] = question.cell_posterior().sum(1)
        return Posterior(options, np.zeros(len(self.answers.items)))

    def class_prior(self) -> Floats:
        """[C] how common each label is among the votes on its question."""
        prior = np.ones(len(self.answers.choices))
        for question in self.questions:
            prior[question.choices] = np.exp(question.log_prior)
        return prior

    def skill(self) -> tuple[Floats, Floats]:
        """[J], [J] the pull a_j, averaged over the answers to all questions, and its standard error.

        It is also what one answer on an average task adds to the log-odds of the label that it names.
        """
        people = len(self.answers.annotators)
        pull, variance, answered = np.zeros(people), np.zeros(people), np.zeros(people)
        for question in self.questions:
            who, count = question.annotators, question.given_counts.sum(1)
            pull[who] += count * question.learned.pull
            variance[who] += count**2 * question.pull_variance
            answered[who] += count
        total = np.maximum(answered, 1)
        return pull / total, np.where(answered > 0, np.sqrt(variance) / total, 1.0)

    def difficulty(self) -> Floats:
        """[I] minus the expected log of how easy the item is, regardless of gold labels."""
        difficulty = np.zeros(len(self.answers.items))
        for question in self.questions:
            difficulty[question.items] = -question.cell_posterior().sum(2) @ np.log(question.ease)
        return difficulty


@dataclass(frozen=True)
class LearnedLeanings:
    """What a fit has learned about one question."""

    annotators: Integers  # [J] those whose answers it has learned from
    pull: Floats  # [J] a_j
    leaning: Floats  # [J, K] b_j[r]
    crowd_pull: float  # μ
    crowd_leaning: Floats  # [K] m[r]
    log_prior: Floats  # [K] how common labels are


class QuestionLeanings:
    """One question's part of the model."""

    def __init__(self, answers: Answers, question: int, share: Floats) -> None:
        labels = int(np.diff(answers.choice_start)[question])
        self.cells = NODES * labels
        self.choices = slice(int(answers.choice_start[question]), int(answers.choice_start[question + 1]))
        self.items = np.flatnonzero(answers.item_question == question)
        self.options = answers.option_start[self.items][:, None] + np.arange(labels)  # [items, K]
        used = answers.item_question[answers.answer_item] == question
        self.item = np.searchsorted(self.items, answers.answer_item[used])  # [n] of every answer
        self.annotators, self.person = np.unique(answers.answer_annotator[used], return_inverse=True)
        self.choice = answers.answer_choice[used] - answers.choice_start[question]
        people, answered = len(self.annotators), (np.ones(len(self.item)), (self.item, self.person))
        self.given: sparse.csr_array = sparse.csr_array(answered, shape=(len(self.items), people))
        self.given_by: sparse.csr_array = self.given.T.tocsr()
        named = self.person * labels + self.choice
        self.given_counts = np.bincount(named, minlength=people * labels).reshape(people, labels).astype(float)

        gold = answers.gold_option[self.items]
        gold_label = np.where(gold >= 0, answers.option_choice[gold] - answers.choice_start[question], -1)
        self.allowed = (gold_label[:, None] < 0) | (np.arange(labels) == gold_label[:, None])  # [items, K]

        points, node_weight = np.polynomial.hermite_e.hermegauss(NODES)
        self.ease = np.exp(SPREAD * points)  # [G] e
        self.log_node = np.log(node_weight / node_weight.sum())
        votes = share[self.options]
        self.cell: Floats = np.exp(self.log_node)[None, :, None] * votes[:, None]  # [items, G, K] q(ease and label)
        usage = np.log(self.given_counts.sum(0) + 1.0)
        leaning = 0.5 * (usage - usage.mean())
        common = votes.sum(0) + 1.0
        pull = np.full(people, PRIOR_PULL)
        log_prior = np.log(common / common.sum())
        everybody = np.tile(leaning, (people, 1))
        self.learned = LearnedLeanings(self.annotators, pull, everybody, PRIOR_PULL, leaning, log_prior)
        self.iterations = 0

    @property
    def log_prior(self) -> Floats:
        return self.learned.log_prior

    def update_annotators(self) -> None:
        """Newton steps towards the most probable pull and leanings of everybody, given the posterior of the items."""
        known = self.learned
        pull, leaning = known.pull, known.leaning
        nodes, labels = self.cell.shape[1:]
        faced = (self.given_by @ self.cell.reshape(len(self.items), self.cells)).reshape(
            len(pull), nodes, labels
        )  # [J, G, K]
        on_answer = self.cell[self.item, :, self.choice]  # [n, G] probability that the answer is right, by node
        right = np.stack([group_sums(self.person, on_answer[:, g], len(pull)) for g in range(nodes)], axis=1)
        drawn = right @ self.ease  # [J] sum of e over right answers
        answered = np.maximum(self.given_counts.sum(1, keepdims=True), 1e-9)
        for _ in range(NEWTON_STEPS):
            weight, lifted, total = self._unnormalised(pull, leaning)
            hit = lifted / total  # [J, G, K] probability of a right answer
            expected = (faced * hit).sum(2)  # [J, G] right answers
            slope = drawn - expected @ self.ease - (pull - known.crowd_pull)
            curvature = (faced * hit * (1 - hit)).sum(2) @ self.ease**2 + 1.0
            share = faced / total
            given = weight * (share.sum((1, 2))[:, None] - share.sum(1)) + (faced * hit).sum(1)  # [J, K] expected
            leaning_slope = self.given_counts - given - (leaning - known.crowd_leaning)
            leaning_curvature = given * np.maximum(1 - given / answered, 0.05) + 1.0
            pull = np.clip(pull + np.clip(slope / curvature, -2, 2), *PULL_LIMITS)
            leaning = leaning + np.clip(leaning_slope / leaning_curvature, -1, 1)
        self.learned = replace(known, pull=pull, leaning=leaning)
        self.pull_variance = 1 / curvature
        self.iterations += 1

    def update_crowd(self) -> None:
        """Learn μ and m from everybody's pull and leanings; the first iterations still follow the vote shares."""
        if self.iterations <= CROWD_FROM or not len(self.annotators):
            return
        known = self.learned
        counts = np.minimum(self.given_counts.sum(1) / KNOWN_FROM, 1.0)  # [J]
        total = counts.sum()
        crowd_pull = float(counts @ known.pull / total)
        crowd_leaning = counts @ known.leaning / total
        crowd_leaning = crowd_leaning - crowd_leaning.mean()
        self.learned = replace(known, crowd_pull=crowd_pull, crowd_leaning=crowd_leaning)

    def update_items(self) -> float:
        """Update the posterior of labels and ease; returns the log probability of answers, pulls and leanings."""
        self._score_items()
        allowed = np.where(self.allowed[:, None], self.score, -np.inf).reshape(len(self.items), self.cells)
        total = log_sum_exp(allowed)
        self.cell = np.exp(allowed - total[:, None]).reshape(self.score.shape)
        known = self.learned
        prior = ((known.pull - known.crowd_pull) ** 2).sum() + ((known.leaning - known.crowd_leaning) ** 2).sum()
        return float(total.sum() + np.vdot(self.given_counts, known.leaning) - prior / 2)

    def take_over(self, known: LearnedLeanings) -> None:
        """Score the items by what was learned from other answers; whoever gave none of those counts as the crowd."""
        pull = np.full(len(self.annotators), known.crowd_pull)
        leaning = np.tile(known.crowd_leaning, (len(self.annotators), 1))
        both = np.isin(known.annotators, self.annotators)
        here = np.searchsorted(self.annotators, known.annotators[both])
        pull[here], leaning[here] = known.pull[both], known.leaning[both]
        self.learned = replace(known, annotators=self.annotators, pull=pull, leaning=leaning)
        self.iterations = CROWD_FROM
        self.update_items()

    def cell_posterior(self) -> Floats:
        """[items, G, K] probability of each ease and label, regardless of gold labels."""
        flat = self.score.reshape(len(self.items), self.cells)
        return np.exp(flat - log_sum_exp(flat)[:, None]).reshape(self.score.shape)

    def _score_items(self) -> None:
        """Set `score` [items, G, K]: log probability of the answers to each item, up to a constant, and of the cell."""
        known, labels = self.learned, self.given_counts.shape[1]
        total = self._unnormalised(known.pull, known.leaning)[2]
        shape = (len(self.items), len(self.ease), labels)
        score = -(self.given @ np.log(total).reshape(len(known.pull), self.cells)).reshape(shape)
        named = self.item * labels + self.choice
        pull = group_sums(named, known.pull[self.person], len(self.items) * labels).reshape(len(self.items), 1, labels)
        self.score: Floats = score + self.ease[:, None] * pull + self.log_node[:, None] + known.log_prior

    def _unnormalised(self, pull: Floats, leaning: Floats) -> tuple[Floats, Floats, Floats]:
        """[J, K] exp b, [J, G, K] exp(b + a · e), and [J, G, K] the sum over all answers if z is the truth."""
        weight = np.exp(leaning)
        lifted = weight[:, None] * np.exp(pull[:, None] * self.ease)[:, :, None]
        return weight, lifted, weight.sum(1)[:, None, None] - weight[:, None] + lifted
