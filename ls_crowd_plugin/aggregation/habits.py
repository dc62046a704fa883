"""GEM with label-dependent mistakes: annotators have habits, tasks come in grades of difficulty.

Where the paper has one skill per annotator, this form has a table: the probability that annotator j answers r when
the truth is z on a task of grade h (grades stand for difficulty: h = 0 plain, h = 1, 2 … less so). The tables are
drawn from a few *kinds* of annotator, whose typical tables are learned from the crowd:

    careful, sloppy   right more often than not, each label with its own typical mistakes
    contrary          avoids the truth: the paper's simple adversary
    guessing          answers by a personal habit that does not depend on the truth at all: the paper's spammer,
                      with learned instead of uniform guessing; also whoever always gives the same label

Kind is the annotator's own and shared by all questions; tables belong to one question. Kinds, tables and class
prior are integrated out by variational Bayes, so an annotator with few answers stays close to the crowd, and the
objective (a lower bound on the log evidence) can be compared between forms.

Symbols: J annotators, K labels, H grades, Z = K·H cells (grade, label), M kinds without `guessing`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import digamma, gammaln, logsumexp

from .answers import Answers, Floats
from .fit import Fit, climb, vote_shares

KIND_PRIOR = np.array([4.0, 4.0, 0.5, 2.0])  # careful, sloppy, contrary, guessing: as if so many had been seen before
CONTRARY, GUESSING = 2, 3
ROW_STRENGTH = 4.0  # a kind's typical row counts as much as four of the annotator's own answers
SEED_STRENGTH = 5.0  # what a kind means counts as much as five annotators' rows


def fit_habits(answers: Answers, progress: Callable[[float], None], grades: int = 1, floor: float = -np.inf) -> Fit:
    """Fits the form with so many grades; `answers` must list every label as an option (`with_all_options`)."""
    model = _Habits(answers, grades)
    history, converged = climb(model, answers, progress, floor=floor)
    posterior = model.lifted_posterior()
    knowing, knowing_error = model.knowing()
    odds = np.clip(np.abs(knowing), 0.01, 0.99)
    return Fit(
        answers=answers,
        form=f"habits-{grades}",
        posterior=posterior,
        unchosen=np.zeros(len(answers.items)),
        skill=np.log(odds / (1 - odds)),
        skill_error=knowing_error / (odds * (1 - odds)),
        knowing=knowing,
        knowing_error=knowing_error,
        adversary=model.kind[:, CONTRARY],
        weight=model.weight(),
        difficulty=model.difficulty() if grades > 1 else None,
        objective=history[-1],
        history=history,
        converged=converged,
    )


def table_size(answers: Answers, grades: int) -> float:
    """How many numbers the habit tables hold: what limits this form when there are many labels."""
    labels = np.diff(answers.choice_start).astype(float)
    asked = np.zeros((len(labels), len(answers.annotators)), bool)
    asked[answers.item_question[answers.answer_item], answers.answer_annotator] = True
    return float((asked.sum(1) * labels**2 * grades).sum())


class _Habits:
    """The model's state: one `_Question` each, and what the questions share: every annotator's kind."""

    def __init__(self, answers: Answers, grades: int) -> None:
        self.answers = answers
        share, _ = vote_shares(answers)
        labels = np.diff(answers.choice_start)
        self.questions = [
            _Question(answers, question, grades, share) for question in range(len(labels)) if labels[question] > 1
        ]
        self.prior = KIND_PRIOR / KIND_PRIOR.sum()  # [M + 1] share of each kind in the crowd
        self.kind: Floats = np.tile(self.prior, (len(answers.annotators), 1))  # [J, M + 1] q(kind of j)

    def step(self) -> float:
        evidence = np.tile(np.log(self.prior), (len(self.kind), 1))
        for question in self.questions:
            question.count()
            question.learn_kinds(self.kind)
            evidence[question.annotators] += question.evidence()
        total = logsumexp(evidence, axis=1)
        self.kind = np.exp(evidence - total[:, None])
        objective = float(total.sum() + KIND_PRIOR @ np.log(self.prior / (KIND_PRIOR / KIND_PRIOR.sum())))
        objective += sum(question.infer(self.kind) for question in self.questions)
        self.prior = self.kind.sum(0) + KIND_PRIOR
        self.prior /= self.prior.sum()
        return objective

    def lifted_posterior(self) -> Floats:
        """[O] what the crowd says of every option with the gold labels lifted."""
        posterior = np.ones(len(self.answers.option_item))  # an item whose question has one label
        for question in self.questions:
            posterior[question.options] = question.posterior(lift_gold=True)
        return posterior

    def knowing(self) -> tuple[Floats, Floats]:
        """[J], [J] s with recall = s + (1−s)/K, or below chance, where somebody knows what to avoid, −s with recall =
        (1−s)/K as of the paper's adversary; recall is averaged over labels. And its standard error.
        """
        knowing = np.zeros(len(self.kind))
        variance = np.zeros(len(self.kind))
        answered = np.zeros(len(self.kind))
        for question in self.questions:
            recall, uncertainty = question.recall(self.kind)
            chance = 1.0 / question.labels
            weight = question.answered
            scale = np.where(recall < chance, chance, 1 - chance)
            knowing[question.annotators] += weight * (recall - chance) / scale
            variance[question.annotators] += weight**2 * uncertainty / scale**2
            answered[question.annotators] += weight
        count = np.maximum(answered, 1)
        return knowing / count, np.where(answered > 0, np.sqrt(variance) / count, 1.0)

    def weight(self) -> Floats:
        """[J] nats that one answer adds to the label it names, against the other labels, averaged over labels."""
        weight = np.zeros(len(self.kind))
        answered = np.zeros(len(self.kind))
        for question in self.questions:
            weight[question.annotators] += question.answered * question.weight(self.kind)
            answered[question.annotators] += question.answered
        return np.asarray(weight / np.maximum(answered, 1))

    def difficulty(self) -> Floats:
        """[I] expected share of the crowd's typical answers to the item that would be wrong, as log-odds."""
        difficulty = np.zeros(len(self.answers.items))
        for question in self.questions:
            wrong = np.clip(question.cell_posterior() @ question.typical_mistake(), 1e-3, 1 - 1e-3)
            difficulty[question.items] = np.log(wrong / (1 - wrong))
        return difficulty


class _Question:
    """One question's share of the model: its tables, its kinds' typical tables, its class prior and posteriors."""

    def __init__(self, answers: Answers, question: int, grades: int, share: Floats) -> None:
        labels = int(np.diff(answers.choice_start)[question])
        self.labels, self.grades, self.cells = labels, grades, labels * grades
        self.items = np.flatnonzero(answers.item_question == question)
        self.options = answers.option_start[self.items][:, None] + np.arange(labels)  # [items, K] all are options
        asked = answers.item_question[answers.answer_item] == question
        item, annotator = answers.answer_item[asked], answers.answer_annotator[asked]
        choice = answers.answer_choice[asked] - answers.choice_start[question]
        self.annotators, row = np.unique(annotator, return_inverse=True)
        self.answered = np.bincount(row, minlength=len(self.annotators)).astype(float)
        self.given: sparse.csr_array = sparse.csr_array(  # [items, J·K] one where the annotator gave the label
            (np.ones(len(item)), (np.searchsorted(self.items, item), row.astype(np.int64) * labels + choice)),
            shape=(len(self.items), len(self.annotators) * labels),
        )
        self.given_by: sparse.csr_array = self.given.T.tocsr()

        label_of_cell = np.tile(np.arange(labels), grades)
        self.truth = np.eye(labels)[:, label_of_cell]  # [K, Z] one where answering r in cell z is right
        gold = answers.gold_option[self.items]
        gold_label = np.where(gold >= 0, answers.option_choice[gold] - answers.choice_start[question], -1)
        self.allowed = (gold_label[:, None] < 0) | (label_of_cell == gold_label[:, None])  # [items, Z]
        self.cell = self._start(share[self.options])  # [items, Z] q(grade and label)

        usage = np.asarray(self.given.sum(axis=0)).reshape(-1, labels).sum(axis=0) + 1.0
        self.usage = usage / usage.sum()  # [K] how often the crowd gives each label
        wrong = (1 - self.truth) / (labels - 1)
        self.seeds = np.stack(
            [
                0.9 * self.truth + 0.1 / labels,
                0.6 * self.truth + 0.4 * self.usage[:, None],
                0.9 * wrong + 0.1 / labels,
            ]
        )  # [M, K, Z] what careful, sloppy and contrary mean before any data
        self.typical = self.seeds.copy()  # [M, K, Z] the learned typical tables; columns sum to one
        self.habit = self.usage.copy()  # [K] the typical guessing habit
        self.guess_strength = float(labels)

    def _start(self, share: Floats) -> Floats:
        """Vote shares, spread over the grades by how united the vote is."""
        united = np.clip((share.max(1, keepdims=True) * self.labels - 1) / (self.labels - 1), 0.05, 0.95)
        last = self.grades - 1
        spread = [comb(last, h) * united ** (last - h) * (1 - united) ** h for h in range(self.grades)]
        cell = np.concatenate([share * part for part in spread], axis=1) * self.allowed
        return np.asarray(cell / cell.sum(1, keepdims=True))

    def count(self) -> None:
        """Expected counts [J, K, Z]: how often annotator j gave r in cell z, given the cells' posterior."""
        self.counts: Floats = (self.given_by @ self.cell).reshape(len(self.annotators), self.labels, self.cells)
        self.habit_counts: Floats = self.counts.sum(2)  # [J, K]

    def learn_kinds(self, kind: Floats) -> None:
        """Moves the typical tables up the evidence (Minka's fixed point for a Dirichlet's mean)."""
        belongs = kind[self.annotators]
        for m, seed in enumerate(self.seeds):
            prior = ROW_STRENGTH * self.typical[m]
            gain = np.tensordot(belongs[:, m], digamma(prior + self.counts) - digamma(prior), 1)
            table = prior * gain + SEED_STRENGTH * seed
            self.typical[m] = table / table.sum(0)
        prior = self.guess_strength * self.habit
        habit = prior * (belongs[:, GUESSING] @ (digamma(prior + self.habit_counts) - digamma(prior)))
        habit += SEED_STRENGTH * self.usage
        self.habit = habit / habit.sum()

    def evidence(self) -> Floats:
        """[J, M + 1] log probability of the annotator's expected counts under each kind (Dirichlet-multinomial)."""
        columns = [_log_evidence(ROW_STRENGTH * table, self.counts).sum(1) for table in self.typical]
        columns.append(_log_evidence(self.guess_strength * self.habit, self.habit_counts))
        return np.stack(columns, axis=1)

    def infer(self, kind: Floats) -> float:
        """E-step: cells' posterior from the expected log tables; returns this question's part of the objective."""
        self.log_table = self._expected_log_table(kind[self.annotators])  # [J, K, Z]
        cells = self.cell.sum(0) + 1.0
        self.log_prior = digamma(cells) - digamma(cells.sum())  # [Z]
        prior_cost = (
            gammaln(cells.sum()) - gammaln(cells).sum() - gammaln(self.cells) + self.cell.sum(0) @ self.log_prior
        )
        self.score = self.given @ self.log_table.reshape(-1, self.cells) + self.log_prior
        self.cell, total = _softmax(np.where(self.allowed, self.score, -np.inf))
        seeds = SEED_STRENGTH * (
            (self.seeds * np.log(self.typical / self.seeds)).sum() + self.usage @ np.log(self.habit / self.usage)
        )
        return float(total.sum() - np.vdot(self.counts, self.log_table) - prior_cost + seeds)

    def _expected_log_table(self, belongs: Floats) -> Floats:
        guess = self.guess_strength * self.habit + self.habit_counts
        log_guess = digamma(guess) - digamma(guess.sum(1, keepdims=True))
        table = np.repeat((belongs[:, GUESSING, None] * log_guess)[:, :, None], self.cells, axis=2)
        for m, typical in enumerate(self.typical):
            row = ROW_STRENGTH * typical + self.counts
            table += belongs[:, m, None, None] * (digamma(row) - digamma(row.sum(1, keepdims=True)))
        return table

    def posterior(self, lift_gold: bool) -> Floats:
        """[items, K] probability of each label."""
        cell = _softmax(self.score)[0] if lift_gold else self.cell
        return np.asarray(cell.reshape(-1, self.grades, self.labels).sum(1))

    def cell_posterior(self) -> Floats:
        """[items, Z] probability of each grade and label with gold lifted."""
        return _softmax(self.score)[0]

    def typical_mistake(self) -> Floats:
        """[Z] how often the crowd answers wrongly in each cell; without cells' own counts, the crowd's mean."""
        counts = self.counts.sum(0)
        right = (counts * self.truth).sum(0)
        mean = right.sum() / max(counts.sum(), 1e-9)
        return np.asarray(1 - (right + 5 * mean) / (counts.sum(0) + 5))

    def mean_tables(self) -> tuple[Floats, Floats]:
        """[M + 1, J, K, K] expected P(r | z) of each kind, grades weighted as they occur; [J, K] answers on each z."""
        share = np.exp(self.log_prior).reshape(self.grades, self.labels)
        share = share / share.sum(0)
        guess = self.guess_strength * self.habit + self.habit_counts
        guess = guess / guess.sum(1, keepdims=True)
        tables = [np.repeat(guess[:, :, None], self.labels, axis=2)]
        for typical in self.typical:
            row = ROW_STRENGTH * typical + self.counts
            by_grade = (row / row.sum(1, keepdims=True)).reshape(-1, self.labels, self.grades, self.labels)
            tables.insert(len(tables) - 1, (by_grade * share).sum(2))
        met = self.counts.sum(1).reshape(-1, self.grades, self.labels).sum(1)
        return np.stack(tables), met

    def recall(self, kind: Floats) -> tuple[Floats, Floats]:
        """[J], [J] probability of the right label, averaged over labels, and its variance within and between kinds."""
        tables, met = self.mean_tables()
        hits = np.einsum("mjkk->mjk", tables)
        belongs = kind[self.annotators].T  # [M + 1, J]
        within = (hits * (1 - hits) / (met + ROW_STRENGTH + 1)).mean(2) / self.labels
        each = hits.mean(2)
        mean = (belongs * each).sum(0)
        return mean, (belongs * (within + (each - mean) ** 2)).sum(0)

    def weight(self, kind: Floats) -> Floats:
        """[J] mean over labels of log P(r | r true) / P(r | another is true)."""
        tables, _ = self.mean_tables()
        table = np.einsum("mj,mjrz->jrz", kind[self.annotators].T, tables)
        hit = np.einsum("jkk->jk", table)
        miss = (table.sum(2) - hit) / (self.labels - 1)
        return np.asarray(np.log(hit / miss).mean(1))


def _log_evidence(prior: Floats, counts: Floats) -> Floats:
    """log of the Dirichlet-multinomial over axis 1 of `counts`, without the multinomial coefficient."""
    total = prior.sum(0)
    answered = gammaln(total) - gammaln(total + counts.sum(1))
    return np.asarray(answered + gammaln(prior + counts).sum(1) - gammaln(prior).sum(0))


def _softmax(score: Floats) -> tuple[Floats, npt.NDArray[np.float64]]:
    """Rows of probabilities, and the log of what each row was divided by."""
    top = score.max(1, keepdims=True)
    share = np.exp(score - top)
    total = share.sum(1, keepdims=True)
    return share / total, (top + np.log(total))[:, 0]
