"""GEM with label-dependent mistakes: annotators have habits, tasks come in grades of difficulty.

Instead of one skill per annotator, this form has a table: the probability that annotator j answers r if the truth is z
on a task of grade h. Grades stand for difficulty: h = 0 is easy, h = 1, 2, … are harder. The tables are drawn from a
few *kinds* of annotator, whose typical tables are learned from the crowd:

    careful, sloppy   right more often than not, with typical mistakes for each label
    contrary          avoids the truth: the paper's simple adversary
    guessing          answers by a personal habit that does not depend on the truth: the paper's spammer, with learned
                      instead of uniform guessing; this includes annotators who always give the same label

An annotator has one kind for all questions; tables belong to one question. Kinds, tables and class prior are integrated
out by variational Bayes. So an annotator with few answers stays close to the crowd, and the objective (a lower bound on
the log evidence) can be compared between forms.

Symbols: J annotators, K labels, H grades, Z = K·H cells (grade, label), M kinds without `guessing`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .answers import Answers
from .arrays import log_sum_exp
from .em import run_em
from .fit import Fit, Posterior, Votes, vote_shares, with_newcomers
from .habit_tables import CONTRARY, LearnedTables, QuestionTables
from .types import FitProgress, Floats

KIND_PRIOR = np.array([4.0, 4.0, 0.5, 2.0])  # pseudo-counts of careful, sloppy, contrary, guessing
MAX_TABLE_SIZE = 5e5  # numbers in all tables; many labels times many annotators need more
MAX_CELLS = 2e8  # (task, grade, label) triples in the posterior


def fit_habits(answers: Answers, progress: FitProgress, grades: int = 1, floor: float = -np.inf) -> Fit:
    """Fit the form with this number of grades; `answers` must have all labels as options (`with_all_options`)."""
    return fit_model(HabitsModel, answers, progress, grades, floor)


def fit_model(
    model_type: type[HabitsModel],
    answers: Answers,
    progress: FitProgress,
    grades: int,
    floor: float = -np.inf,
    start: tuple[Sequence[LearnedTables], Floats] | None = None,
) -> Fit:
    """Fit a model of this type; the form is named after it. `start` is what another fit has learned."""
    model = model_type(answers, grades)
    if start is not None:
        model.take_over(*start)
    convergence = run_em(model, answers, progress, floor=floor, resumed=start is not None)
    learned, kind = [question.learned() for question in model.questions], model.kind

    def count_votes(table: Answers) -> Votes:
        voting = model_type(table.with_all_options(), grades)
        voting.take_over(learned, kind)
        return Votes(voting.answers, voting.crowd_posterior(), voting.difficulty() if grades > 1 else None)

    knowledge, knowledge_error = model.knowledge()
    share = np.clip(np.abs(knowledge), 0.01, 0.99)
    return Fit(
        answers=answers,
        form=f"{model_type.name}-{grades}",
        posterior=model.crowd_posterior(),
        skill=np.log(share / (1 - share)),
        skill_error=knowledge_error / (share * (1 - share)),
        knowledge=knowledge,
        knowledge_error=knowledge_error,
        adversary=model.kind[:, CONTRARY],
        class_prior=model.class_prior(),
        weight=with_newcomers(answers, model.weight()),
        difficulty=model.difficulty() if grades > 1 else None,
        convergence=convergence,
        count_votes=count_votes,
        resume=lambda table, progress: fit_model(
            model_type, table.with_all_options(), progress, grades, start=(learned, kind)
        ),
    )


def habits_fit_in_memory(answers: Answers, grades: int) -> bool:
    """Whether the tables and posteriors of the form with this number of grades are of a reasonable size."""
    cells = float(answers.label_count.sum()) * grades
    return table_size(answers, grades) <= MAX_TABLE_SIZE and cells <= MAX_CELLS


def table_size(answers: Answers, grades: int) -> float:
    """How many numbers the annotators' tables hold."""
    labels = np.diff(answers.choice_start).astype(float)
    return float(answers.annotators_per_question @ labels**2) * grades


class HabitsModel:
    """The model's state: a `QuestionTables` for every question, and every annotator's kind, which they share."""

    name = "habits"

    def __init__(self, answers: Answers, grades: int) -> None:
        self.answers = answers
        share = vote_shares(answers).options
        labels = np.diff(answers.choice_start)
        self.questions = [
            self._tables(question, grades, share) for question in range(len(labels)) if labels[question] > 1
        ]
        self.prior = KIND_PRIOR / KIND_PRIOR.sum()  # [M + 1] share of each kind in the crowd
        self.kind: Floats = np.tile(self.prior, (len(answers.annotators), 1))  # [J, M + 1] q(kind of j)

    def _tables(self, question: int, grades: int, share: Floats) -> QuestionTables:
        return QuestionTables(self.answers, question, grades, share)

    def m_step(self) -> None:
        """Update the kinds' typical tables, the beliefs about every annotator's kind, and the share of each kind."""
        evidence = np.tile(np.log(self.prior), (len(self.kind), 1))
        for question in self.questions:
            question.count_answers()
            question.update_typical_tables(self.kind)
            evidence[question.annotators] += question.kind_evidence()
        total = log_sum_exp(evidence)
        self.kind = np.exp(evidence - total[:, None])
        prior_cost = KIND_PRIOR @ np.log(self.prior / (KIND_PRIOR / KIND_PRIOR.sum()))
        self.kind_objective = float(total.sum() + prior_cost)
        self.prior = self.kind.sum(0) + KIND_PRIOR
        self.prior /= self.prior.sum()

    def e_step(self) -> float:
        """Update the posterior of every item's grade and label."""
        return self.kind_objective + sum(question.update_cells(self.kind) for question in self.questions)

    def take_over(self, learned: Sequence[LearnedTables], kind: Floats) -> None:
        """Score the items by what a model of the same annotators and questions has learned from other answers."""
        self.kind = kind
        self.prior = kind.sum(0) + KIND_PRIOR
        self.prior /= self.prior.sum()
        for question, tables in zip(self.questions, learned, strict=True):
            question.take_over(tables, kind)

    def crowd_posterior(self) -> Posterior:
        """What the answers say about every item, regardless of its gold label."""
        options = np.ones(len(self.answers.option_item))  # stays 1 where the question has one label
        for question in self.questions:
            options[question.options] = question.label_posterior()
        return Posterior(options, np.zeros(len(self.answers.items)))

    def knowledge(self) -> tuple[Floats, Floats]:
        """[J], [J] the share s of tasks that the annotator knows, and its standard error.

        s is defined by recall = s + (1−s)/K. A recall below chance needs knowledge of what to avoid and gives −s by the
        recall of the paper's adversary, (1−s)/K. Recall is averaged over labels.
        """
        knowledge = np.zeros(len(self.kind))
        variance = np.zeros(len(self.kind))
        answered = np.zeros(len(self.kind))
        for question in self.questions:
            recall, recall_variance = question.recall(self.kind)
            chance = 1.0 / question.labels
            count = question.answered
            scale = np.where(recall < chance, chance, 1 - chance)
            knowledge[question.annotators] += count * (recall - chance) / scale
            variance[question.annotators] += count**2 * recall_variance / scale**2
            answered[question.annotators] += count
        total = np.maximum(answered, 1)
        return knowledge / total, np.where(answered > 0, np.sqrt(variance) / total, 1.0)

    def class_prior(self) -> Floats:
        """[C] how common each label is among the tasks of its question."""
        prior = np.ones(len(self.answers.choices))
        for question in self.questions:
            prior[question.choices] = question.class_prior()
        return prior

    def weight(self) -> Floats:
        """[J] nats that one answer adds to the label it names, against the other labels, averaged over labels."""
        weight = np.zeros(len(self.kind))
        answered = np.zeros(len(self.kind))
        for question in self.questions:
            weight[question.annotators] += question.answered * question.weight(self.kind)
            answered[question.annotators] += question.answered
        return np.asarray(weight / np.maximum(answered, 1))

    def difficulty(self) -> Floats:
        """[I] log-odds that an answer of the crowd to the item is wrong."""
        difficulty = np.zeros(len(self.answers.items))
        for question in self.questions:
            wrong = np.clip(question.cell_posterior() @ question.error_rate(), 1e-3, 1 - 1e-3)
            difficulty[question.items] = np.log(wrong / (1 - wrong))
        return difficulty
