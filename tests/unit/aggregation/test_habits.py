"""GEM with label-dependent mistakes: an iteration against plain loops, the objective, and kinds of annotators."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.special import digamma, gammaln

from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.fit import Fit
from ls_crowd_plugin.aggregation.habit_tables import CONTRARY, GUESSING, ROW_STRENGTH, SEED_STRENGTH
from ls_crowd_plugin.aggregation.habits import KIND_PRIOR, HabitsModel, fit_habits, table_size
from ls_crowd_plugin.aggregation.types import Floats
from ls_crowd_plugin.demo.crowds import constant_label_crowd, rare_answer_crowd
from tests.support.crowds import (
    Row,
    answer_tables,
    encode_crowd,
    encode_rows,
    ignore_progress,
    label_probabilities,
    mixed_crowd,
    run_iterations,
)
from tests.support.examples import examples

KINDS = len(KIND_PRIOR)


class IterationByLoops:
    """One iteration of the form, written from its description: counts, typical tables, kinds, cells.

    A cell is a (grade, label) pair. All tables are nested lists, all sums are loops.
    """

    def __init__(self, model: HabitsModel) -> None:
        """Copy the state from which an iteration starts."""
        answers = model.answers
        self.annotators = range(len(answers.annotators))
        self.prior = model.prior.tolist()
        self.kind = model.kind.tolist()
        self.questions = []
        for question in model.questions:
            items = question.items.tolist()
            answered = [
                (items.index(item), annotator, int(choice))
                for item, annotator, choice in zip(
                    answers.answer_item.tolist(), answers.answer_annotator.tolist(), answers.answer_choice, strict=True
                )
                if item in items
            ]
            first = min(answers.option_choice[question.options[0]].tolist())
            self.questions.append(
                {
                    "answers": [(item, annotator, choice - first) for item, annotator, choice in answered],
                    "labels": question.labels,
                    "cells": question.labels * question.grades,
                    "cell": question.cell.tolist(),
                    "allowed": question.allowed.tolist(),
                    "typical": question.typical.tolist(),
                    "seeds": question.seeds.tolist(),
                    "habit": question.habit.tolist(),
                    "usage": question.usage.tolist(),
                    "strength": question.guess_strength,
                }
            )

    def run(self) -> None:
        score = [[log(share) for share in self.prior] for _ in self.annotators]
        for question in self.questions:
            self._count(question)
            self._learn_typical(question)
            for j in self.annotators:
                for kind in range(KINDS):
                    score[j][kind] += self._evidence(question, j, kind)
        self.kind = [softmax(row) for row in score]
        for question in self.questions:
            self._update_cells(question)

    def _count(self, question: Any) -> None:
        """counts[j][r][z]: how often j gave r, with every answer spread over the cells."""
        labels, cells = range(question["labels"]), range(question["cells"])
        question["counts"] = [[[0.0 for _ in cells] for _ in labels] for _ in self.annotators]
        for item, annotator, label in question["answers"]:
            for z in cells:
                question["counts"][annotator][label][z] += question["cell"][item][z]

    def _learn_typical(self, question: Any) -> None:
        labels, cells, counts = range(question["labels"]), range(question["cells"]), question["counts"]
        for kind in range(GUESSING):
            old, seed = question["typical"][kind], question["seeds"][kind]
            new = [[SEED_STRENGTH * seed[r][z] for z in cells] for r in labels]
            for r in labels:
                for z in cells:
                    prior = ROW_STRENGTH * old[r][z]
                    for j in self.annotators:
                        new[r][z] += self.kind[j][kind] * prior * (digamma(prior + counts[j][r][z]) - digamma(prior))
            question["typical"][kind] = [
                [new[r][z] / sum(new[other][z] for other in labels) for z in cells] for r in labels
            ]
        habit = [SEED_STRENGTH * share for share in question["usage"]]
        for r in labels:
            prior = question["strength"] * question["habit"][r]
            for j in self.annotators:
                count = sum(counts[j][r])
                habit[r] += self.kind[j][GUESSING] * prior * (digamma(prior + count) - digamma(prior))
        question["habit"] = [share / sum(habit) for share in habit]

    def _rows(self, question: Any, j: int, kind: int) -> list[tuple[list[float], list[float]]]:
        """(Parameters of the Dirichlet, counts) of each row in the table of an annotator of this kind."""
        labels, counts = range(question["labels"]), question["counts"][j]
        if kind == GUESSING:
            return [([question["strength"] * share for share in question["habit"]], [sum(counts[r]) for r in labels])]
        typical = question["typical"][kind]
        return [
            ([ROW_STRENGTH * typical[r][z] for r in labels], [counts[r][z] for r in labels])
            for z in range(question["cells"])
        ]

    def _evidence(self, question: Any, j: int, kind: int) -> float:
        """log of the integral of prod_r θ_r^count_r over each row's Dirichlet."""
        total = 0.0
        for prior, counts in self._rows(question, j, kind):
            total += gammaln(sum(prior)) - gammaln(sum(prior) + sum(counts))
            total += sum(gammaln(p + c) - gammaln(p) for p, c in zip(prior, counts, strict=True))
        return total

    def _update_cells(self, question: Any) -> None:
        labels, cells = range(question["labels"]), range(question["cells"])
        log_table = [[[0.0 for _ in cells] for _ in labels] for _ in self.annotators]
        for j in self.annotators:
            for kind in range(KINDS):
                rows = self._rows(question, j, kind)
                for z in cells:
                    prior, counts = rows[0 if kind == GUESSING else z]
                    for r in labels:
                        expected = digamma(prior[r] + counts[r]) - digamma(sum(prior) + sum(counts))
                        log_table[j][r][z] += self.kind[j][kind] * expected
        seen = [1.0 + sum(row[z] for row in question["cell"]) for z in cells]
        score = [[digamma(seen[z]) - digamma(sum(seen)) for z in cells] for _ in question["cell"]]
        for item, annotator, label in question["answers"]:
            for z in cells:
                score[item][z] += log_table[annotator][label][z]
        for item, row in enumerate(score):
            allowed = [value if question["allowed"][item][z] else -np.inf for z, value in enumerate(row)]
            question["cell"][item] = softmax(allowed)


def softmax(row: list[float]) -> list[float]:
    weight = [exp(value - max(row)) for value in row]
    return [value / sum(weight) for value in weight]


@pytest.mark.parametrize("grades", [1, 2, 3])
@pytest.mark.parametrize("gold", [False, True])
def test_an_iteration_agrees_with_plain_loops(grades: int, gold: bool) -> None:
    model = HabitsModel(mixed_crowd(4, gold=gold).with_all_options(), grades)
    run_iterations(model, 1)
    expected = IterationByLoops(model)
    run_iterations(model, 1)
    expected.run()
    assert model.kind == pytest.approx(np.array(expected.kind), abs=1e-9)
    for question, by_loops in zip(model.questions, expected.questions, strict=True):
        assert question.typical == pytest.approx(np.array(by_loops["typical"]), abs=1e-9)
        assert question.habit == pytest.approx(np.array(by_loops["habit"]), abs=1e-9)
        assert question.cell == pytest.approx(np.array(by_loops["cell"]), abs=1e-9)


def test_tables_and_cells_are_probabilities() -> None:
    model = HabitsModel(mixed_crowd(6).with_all_options(), 2)
    for _ in range(4):
        run_iterations(model, 1)
        assert model.kind.sum(1) == pytest.approx(1.0)
        for question in model.questions:
            assert question.typical.sum(1) == pytest.approx(1.0)
            assert question.habit.sum() == pytest.approx(1.0)
            assert question.cell.sum(1) == pytest.approx(1.0)


def test_gold_items_have_their_label_and_any_grade() -> None:
    answers = mixed_crowd(4).with_all_options()  # gold: the colour of task 0 is 1
    model = HabitsModel(answers, 3)
    run_iterations(model, 1)
    cell = model.questions[0].cell[0].reshape(3, 3)  # grades, labels
    assert cell[:, 1].sum() == pytest.approx(1.0)
    assert cell[:, 1].min() > 0


@pytest.mark.parametrize("grades", [1, 2, 3])
@settings(max_examples=examples(15))
@given(answers=answer_tables())
@pytest.mark.slow
def test_the_objective_never_falls(grades: int, answers: Answers) -> None:
    fit = fit_habits(answers.with_all_options(), ignore_progress, grades)
    assert np.diff(fit.convergence.history).min(initial=0.0) > -1e-9  # rounding: sums of some hundred terms of size ten


@pytest.mark.parametrize("grades", [1, 2])
def test_the_objective_never_falls_on_a_larger_crowd(grades: int) -> None:
    fit = fit_habits(
        encode_crowd(rare_answer_crowd(0, 0.2), with_gold=True).with_all_options(), ignore_progress, grades
    )
    assert np.diff(fit.convergence.history).min() > -1e-7  # rounding: sums of two thousand terms of size ten


def fitted_kinds(answers: Answers) -> dict[Any, Floats]:
    """Annotator → probability of each kind."""
    model = HabitsModel(answers.with_all_options(), 1)
    run_iterations(model, 30)
    return dict(zip(answers.annotators, model.kind, strict=True))


@pytest.mark.parametrize("rate", [0.4, 0.2, 0.08])
def test_an_annotator_who_always_gives_the_common_label_is_guessing(rate: float) -> None:
    crowd = rare_answer_crowd(1, rate)
    kinds = fitted_kinds(encode_crowd(crowd))
    for annotator, true_kind in crowd.kinds.items():
        if true_kind == "constant":
            assert kinds[annotator][GUESSING] > 0.5
        else:
            assert kinds[annotator][GUESSING] < 0.5


def test_an_annotator_who_always_gives_one_of_five_labels_is_guessing() -> None:
    crowd = constant_label_crowd(0)
    kinds = fitted_kinds(encode_crowd(crowd))
    for annotator, true_kind in crowd.kinds.items():
        assert (kinds[annotator][GUESSING] > 0.5) == (true_kind == "constant")


def contrary_crowd(labels: int) -> list[Row]:
    """Forty tasks; six annotators are right nine times in ten, and one avoids the truth."""
    generator = np.random.default_rng(labels)
    rows: list[Row] = []
    for task in range(40):
        for number in range(6):
            right = generator.random() < 0.9
            rows.append((task, f"good {number}", task % labels if right else int(generator.integers(labels))))
        rows.append((task, "x", (task + int(generator.integers(1, labels))) % labels))
    return rows


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_an_annotator_who_avoids_the_truth_is_contrary(labels: int) -> None:
    kinds = fitted_kinds(encode_rows(contrary_crowd(labels)))
    assert kinds["x"][CONTRARY] > 0.9
    assert max(kind[CONTRARY] for name, kind in kinds.items() if name != "x") < 0.01


def fit_two_questions(last_answer: tuple[str, str]) -> Fit:
    """On the first question `x` is contrary; the second has one answer to the task `open`: (annotator, label)."""
    rows: list[Row] = [(*row, "first") for row in contrary_crowd(2)]
    rows += [(task, f"good {number}", "pq"[task % 2], "second") for task in range(20) for number in range(6)]
    return fit_habits(encode_rows([*rows, ("open", *last_answer, "second")]).with_all_options(), ignore_progress, 1)


def test_an_annotators_kind_carries_over_to_another_question() -> None:
    fit = fit_two_questions(("x", "p"))
    contrary = label_probabilities(fit.answers, fit.posterior)
    assert contrary[("open", "second"), "q"] > 0.5
    fit = fit_two_questions(("good 0", "p"))
    good = label_probabilities(fit.answers, fit.posterior)
    assert good[("open", "second"), "p"] > 0.9


def test_habits_belong_to_labels() -> None:
    """An annotator who calls every second `b` an `a` is credible when answering `b`, and less so when answering `a`."""
    generator = np.random.default_rng(0)
    rows: list[Row] = []
    for task in range(80):
        truth = "ab"[task % 2]
        rows += [(task, f"good {number}", truth) for number in range(4)]
        rows.append((task, "half", "a" if truth == "a" or generator.random() < 0.5 else "b"))
    answers = encode_rows([*rows, ("says a", "half", "a"), ("says b", "half", "b")]).with_all_options()
    fit = fit_habits(answers, ignore_progress, 1)
    probability = label_probabilities(answers, fit.posterior)
    # With equal classes P(a | says a) is 1 / 1.5 and P(b | says b) is 1; the pooled tables are a little less sure.
    assert probability["says b", "b"] > 0.9
    assert 0.5 < probability["says a", "a"] < 0.8


def test_the_size_of_the_tables_depends_on_labels_annotators_and_grades() -> None:
    rows = [("t", "a", 0, "small"), ("t", "b", 1, "small"), ("t", "a", 0, "large")]
    answers = encode_rows(rows, label_set={"small": range(2), "large": range(10)})
    assert table_size(answers, 1) == 2 * 2**2 + 1 * 10**2
    assert table_size(answers, 3) == 3 * table_size(answers, 1)


def test_a_fit_that_goes_on_leaves_what_was_learned_before_as_it_was() -> None:
    answers = encode_crowd(rare_answer_crowd(2, 0.2)).with_all_options()
    fit = fit_habits(answers, ignore_progress)
    before = fit.vote(answers).posterior.options
    assert fit.resume is not None
    fit.resume(answers.subset(np.arange(len(answers.items) // 2)), ignore_progress)
    assert fit.vote(answers).posterior.options.tolist() == before.tolist()


def test_a_fit_that_goes_on_with_the_same_answers_ends_where_a_new_one_does() -> None:
    answers = encode_crowd(rare_answer_crowd(2, 0.2)).with_all_options()
    fit = fit_habits(answers, ignore_progress)
    assert fit.resume is not None
    resumed = fit.resume(answers, ignore_progress)
    assert len(resumed.convergence.history) < len(fit.convergence.history)
    assert resumed.posterior.options == pytest.approx(fit.posterior.options, abs=0.05)  # both stop a little early
