"""The tables of one question in the form with label-dependent mistakes; symbols as in `habits`."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy import sparse
from scipy.special import digamma, gammaln

from .answers import Answers
from .arrays import SAFE
from .types import Floats, Integers

CONTRARY, GUESSING = 2, 3  # kinds; careful is 0 and sloppy is 1
ROW_STRENGTH = 4.0  # a kind's typical row counts as much as four of the annotator's own answers
SEED_STRENGTH = 5.0  # the initial table of a kind counts as much as five annotators' rows


@dataclass(frozen=True)
class LearnedTables:
    """What a fit has learned about one question."""

    annotators: Integers  # [J] those whose answers it has learned from
    counts: Floats  # [J, K, Z]
    typical: Floats  # [M, K, Z]
    habit: Floats  # [K]
    log_prior: Floats  # [Z]
    share: Floats | None = None  # [V] of an ordered question: the share of each type


class QuestionTables:
    """One question's part of the model: its tables, its kinds' typical tables, its class prior and posteriors."""

    def __init__(self, answers: Answers, question: int, grades: int, share: Floats) -> None:
        labels = int(np.diff(answers.choice_start)[question])
        self.labels, self.grades, self.cells = labels, grades, labels * grades
        self.choices = slice(int(answers.choice_start[question]), int(answers.choice_start[question + 1]))
        self.items = np.flatnonzero(answers.item_question == question)
        self.options = answers.option_start[self.items][:, None] + np.arange(labels)  # [items, K]
        used = answers.item_question[answers.answer_item] == question
        item, annotator = answers.answer_item[used], answers.answer_annotator[used]
        choice = answers.answer_choice[used] - answers.choice_start[question]
        self.annotators, row = np.unique(annotator, return_inverse=True)  # J: those who answered this question
        self.answered = np.bincount(row, minlength=len(self.annotators)).astype(float)
        self.given: sparse.csr_array = sparse.csr_array(  # [items, J·K] one if the annotator gave the label
            (np.ones(len(item)), (np.searchsorted(self.items, item), row.astype(np.int64) * labels + choice)),
            shape=(len(self.items), len(self.annotators) * labels),
        )
        self.given_by: sparse.csr_array = self.given.T.tocsr()

        label_of_cell = np.tile(np.arange(labels), grades)
        self.truth = np.eye(labels)[:, label_of_cell]  # [K, Z] one if answer r is right in cell z
        gold = answers.gold_option[self.items]
        gold_label = np.where(gold >= 0, answers.option_choice[gold] - answers.choice_start[question], -1)
        self.allowed = (gold_label[:, None] < 0) | (label_of_cell == gold_label[:, None])  # [items, Z]
        self.has_gold = bool((gold >= 0).any())
        self.cell = self._initial_cells(share[self.options])  # [items, Z] q(grade and label)

        usage = np.asarray(self.given.sum(axis=0)).reshape(-1, labels).sum(axis=0) + 1.0
        self.usage = usage / usage.sum()  # [K] how often the crowd gives each label
        self.seeds = self._seeds()  # [M, K, Z] tables of careful, sloppy and contrary before any data
        self.typical = self.seeds.copy()  # [M, K, Z] the learned typical tables; columns sum to one
        self.habit = self.usage.copy()  # [K] the typical guessing habit
        self.guess_strength = float(labels)

    def _initial_cells(self, share: Floats) -> Floats:
        """Start from the vote shares; the more divided the vote on an item, the higher its grades."""
        agreement = np.clip((share.max(1, keepdims=True) * self.labels - 1) / (self.labels - 1), 0.05, 0.95)
        last = self.grades - 1
        grade = [comb(last, h) * agreement ** (last - h) * (1 - agreement) ** h for h in range(self.grades)]
        cell = np.concatenate([share * part for part in grade], axis=1) * self.allowed
        return np.asarray(cell / cell.sum(1, keepdims=True))

    def _seeds(self) -> Floats:
        wrong = (1 - self.truth) / (self.labels - 1)
        return np.stack(
            [
                0.9 * self.truth + 0.1 / self.labels,
                0.6 * self.truth + 0.4 * self.usage[:, None],
                0.9 * wrong + 0.1 / self.labels,
            ]
        )

    def count_answers(self) -> None:
        """Expected counts [J, K, Z]: how often annotator j gave label r in cell z, by the posterior of the cells."""
        self.counts: Floats = (self.given_by @ self.cell).reshape(len(self.annotators), self.labels, self.cells)
        self.habit_counts: Floats = self.counts.sum(2)  # [J, K]

    def update_typical_tables(self, kind: Floats) -> None:
        """Increase the evidence of the typical tables (Minka's fixed point for the mean of a Dirichlet)."""
        belongs = kind[self.annotators]
        for m, seed in enumerate(self.seeds):
            prior = ROW_STRENGTH * self.typical[m]
            gain = np.tensordot(belongs[:, m], digamma(prior + self.counts) - digamma(prior), 1)
            table = prior * gain + SEED_STRENGTH * seed
            self.typical[m] = table / table.sum(0)
        self._update_habit(belongs)

    def _update_habit(self, belongs: Floats) -> None:
        prior = self.guess_strength * self.habit
        habit = prior * (belongs[:, GUESSING] @ (digamma(prior + self.habit_counts) - digamma(prior)))
        habit += SEED_STRENGTH * self.usage
        self.habit = habit / habit.sum()

    def kind_evidence(self) -> Floats:
        """[J, M + 1] log probability of the annotator's expected counts under each kind (Dirichlet-multinomial)."""
        columns = [_log_evidence(ROW_STRENGTH * table, self.counts).sum(1) for table in self.typical]
        return np.stack([*columns, self._guessing_evidence()], axis=1)

    def _guessing_evidence(self) -> Floats:
        """[J]"""
        return _log_evidence(self.guess_strength * self.habit, self.habit_counts)

    def update_cells(self, kind: Floats) -> float:
        """Update the posterior of the cells from the expected log tables; returns this question's objective."""
        self.log_table = self._expected_log_table(kind[self.annotators])  # [J, K, Z]
        prior_cost = self._update_class_prior()
        self.score = self._score()
        self.cell, total = self._allowed_cells()
        seeds = SEED_STRENGTH * self.usage @ np.log(self.habit / self.usage) + self._typical_log_prior()
        return float(total.sum() - np.vdot(self.counts, self.log_table) - prior_cost + seeds)

    def _update_class_prior(self) -> float:
        """Update the log prior [Z] of the cells from their posterior; returns what it costs the objective."""
        tasks = np.ones(len(self.cell)) @ self.cell  # faster than self.cell.sum(0)
        cells = tasks + 1.0
        self.log_prior: Floats = digamma(cells) - digamma(cells.sum())
        return float(gammaln(cells.sum()) - gammaln(cells).sum() - gammaln(self.cells) + tasks @ self.log_prior)

    def _typical_log_prior(self) -> float:
        """Log prior density of the typical tables, up to a constant."""
        return SEED_STRENGTH * float((self.seeds * np.log(self.typical / self.seeds)).sum())

    def learned(self) -> LearnedTables:
        return LearnedTables(self.annotators, self.counts, self.typical, self.habit, self.log_prior)

    def take_over(self, learned: LearnedTables, kind: Floats) -> None:
        """Score the items by what was learned from other answers; whoever gave none of those counts as their kind."""
        self.typical, self.habit, self.log_prior = learned.typical.copy(), learned.habit, learned.log_prior
        known = np.isin(learned.annotators, self.annotators)
        self.counts = np.zeros((len(self.annotators), self.labels, self.cells))
        self.counts[np.searchsorted(self.annotators, learned.annotators[known])] = learned.counts[known]
        self.habit_counts = self.counts.sum(2)
        self.log_table = self._expected_log_table(kind[self.annotators])
        self.score = self._score()
        self.cell, _ = self._allowed_cells()

    def _allowed_cells(self) -> tuple[Floats, Floats]:
        """[items, Z] posterior of the cells by their scores, where gold has one label only; [items] log of its sum."""
        return _softmax(np.where(self.allowed, self.score, -np.inf) if self.has_gold else self.score)

    def _score(self) -> Floats:
        """[items, Z] log probability of the answers to each item in each cell, and of the cell itself."""
        score: Floats = self.given @ self.log_table.reshape(-1, self.cells)
        score += self.log_prior
        return score

    def _expected_log_table(self, belongs: Floats) -> Floats:
        table = belongs[:, GUESSING, None, None] * self._expected_log_guess()
        for m, typical in enumerate(self.typical):
            row = ROW_STRENGTH * typical + self.counts
            table += belongs[:, m, None, None] * (digamma(row) - digamma(row.sum(1, keepdims=True)))
        return table

    def _expected_log_guess(self) -> Floats:
        """[J, K, Z] E[log P(r)] of every annotator as somebody who guesses; the same in all cells."""
        guess = self.guess_strength * self.habit + self.habit_counts
        log_guess = digamma(guess) - digamma(guess.sum(1, keepdims=True))
        return np.repeat(log_guess[:, :, None], self.cells, axis=2)

    def cell_posterior(self) -> Floats:
        """[items, Z] probability of each grade and label, regardless of gold labels."""
        return _softmax(self.score)[0]

    def label_posterior(self) -> Floats:
        """[items, K] probability of each label, regardless of gold labels."""
        return np.asarray(self.cell_posterior().reshape(-1, self.grades, self.labels).sum(1))

    def class_prior(self) -> Floats:
        """[K] how common each label is, summed over grades."""
        prior = np.exp(self.log_prior).reshape(self.grades, self.labels).sum(0)
        return np.asarray(prior / prior.sum())

    def error_rate(self) -> Floats:
        """[Z] how often the crowd is wrong in each cell; close to its mean error rate in cells with few answers."""
        counts = self.counts.sum(0)
        right = (counts * self.truth).sum(0)
        mean = right.sum() / max(counts.sum(), 1e-9)
        return np.asarray(1 - (right + 5 * mean) / (counts.sum(0) + 5))

    def mean_tables(self) -> tuple[Floats, Floats]:
        """[M + 1, J, K, K] expected P(r | z) of each kind, averaged over grades; [J, K] number of answers on each z."""
        share = np.exp(self.log_prior).reshape(self.grades, self.labels)
        share = share / share.sum(0)
        tables = []
        for typical in self.typical:
            row = ROW_STRENGTH * typical + self.counts
            by_grade = (row / row.sum(1, keepdims=True)).reshape(-1, self.labels, self.grades, self.labels)
            tables.append((by_grade * share).sum(2))
        answered = self.counts.sum(1).reshape(-1, self.grades, self.labels).sum(1)
        return np.stack([*tables, self._mean_guess()]), answered

    def _mean_guess(self) -> Floats:
        """[J, K, K] expected P(r | z) of every annotator as somebody who guesses."""
        guess = self.guess_strength * self.habit + self.habit_counts
        return np.repeat((guess / guess.sum(1, keepdims=True))[:, :, None], self.labels, axis=2)

    def recall(self, kind: Floats) -> tuple[Floats, Floats]:
        """[J], [J] probability of the right label, averaged over labels, and its variance within and between kinds."""
        tables, answered = self.mean_tables()
        hits = np.einsum("mjkk->mjk", tables)
        belongs = kind[self.annotators].T  # [M + 1, J]
        within = (hits * (1 - hits) / (answered + ROW_STRENGTH + 1)).mean(2) / self.labels
        by_kind = hits.mean(2)
        mean = (belongs * by_kind).sum(0)
        return mean, (belongs * (within + (by_kind - mean) ** 2)).sum(0)

    def weight(self, kind: Floats) -> Floats:
        """[J] mean over labels r of log P(r | r is true) / P(r | another label is true)."""
        tables, _ = self.mean_tables()
        table = np.einsum("mj,mjrz->jrz", kind[self.annotators].T, tables)
        hit = np.einsum("jkk->jk", table)
        miss = (table.sum(2) - hit) / (self.labels - 1)
        return np.asarray(np.log(hit / miss).mean(1))


def _log_evidence(prior: Floats, counts: Floats) -> Floats:
    """Log probability of a Dirichlet-multinomial over axis 1 of `counts`, without the multinomial coefficient."""
    total = prior.sum(0)
    answered = gammaln(total) - gammaln(total + counts.sum(1))
    return np.asarray(answered + gammaln(prior + counts).sum(1) - gammaln(prior).sum(0))


def _softmax(score: Floats) -> tuple[Floats, Floats]:
    """Turn rows of log scores into probabilities; also returns the log of what each row was divided by."""
    is_safe = score.min(initial=0.0) > -SAFE and score.max(initial=0.0) < SAFE
    top = np.zeros(len(score)) if is_safe else score.max(1)
    share = np.exp(score if is_safe else score - top[:, None])
    total = share @ np.ones(score.shape[1])  # faster than share.sum(1), whose rows are short
    share /= total[:, None]
    return share, top + np.log(total)
