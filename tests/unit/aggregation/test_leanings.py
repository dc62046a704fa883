"""GEM with leanings: probabilities against plain loops, what is recovered from simulated crowds, and other tables."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from ls_crowd_plugin.aggregation.fit import Fit
from ls_crowd_plugin.aggregation.leanings import LeaningsModel, fit_leanings
from ls_crowd_plugin.aggregation.types import Floats
from ls_crowd_plugin.demo.crowds import rare_answer_crowd
from tests.support.crowds import (
    Row,
    encode_crowd,
    encode_rows,
    ignore_progress,
    label_probabilities,
    rank_correlation,
)

LABELS = "abc"


def leaning_crowd(
    seed: int, tasks: int = 300, pulls: tuple[float, ...] = (1.0, 1.5, 2.0, 2.5, 3.0, -2.0)
) -> tuple[list[Row], dict[int, str], list[list[float]]]:
    """Answers drawn from the model: rows, the truth, and everybody's leanings."""
    generator = np.random.default_rng(seed)
    leanings = [generator.normal(0.0, 1.0, len(LABELS)).tolist() for _ in pulls]
    truth = {task: str(generator.choice(list(LABELS))) for task in range(tasks)}
    rows: list[Row] = []
    for task, label in truth.items():
        ease = exp(0.5 * generator.normal())
        for person, pull in enumerate(pulls):
            score = np.array([b + pull * ease * (r == label) for b, r in zip(leanings[person], LABELS, strict=True)])
            share = np.exp(score) / np.exp(score).sum()
            rows.append((task, f"p{person}", str(generator.choice(list(LABELS), p=share))))
    return rows, truth, leanings


def fit_rows(rows: list[Row], **options: object) -> Fit:
    return fit_leanings(encode_rows(rows, **options).with_all_options(), ignore_progress)


def test_the_score_of_an_item_is_the_probability_of_its_answers() -> None:
    """Σ over answers of log P(r | z, e), and the log prior of z and e, up to a constant of the item."""
    rows, _, _ = leaning_crowd(0, tasks=12)
    model = LeaningsModel(encode_rows(rows).with_all_options())
    model.m_step()
    model.e_step()
    (question,) = model.questions
    known = question.learned
    for position, item in enumerate(question.items.tolist()):
        expected = np.empty_like(question.score[position])
        for node, ease in enumerate(question.ease.tolist()):
            for truth in range(len(LABELS)):
                total = question.log_node[node] + known.log_prior[truth]
                for task, person, label in rows:
                    if task == model.answers.items[item]:
                        who = model.answers.annotators.index(person)
                        scores = [known.leaning[who, r] + known.pull[who] * ease * (r == truth) for r in range(3)]
                        total += scores[LABELS.index(label)] - log(sum(exp(score) for score in scores))
                expected[node, truth] = total
        difference = question.score[position] - expected
        assert difference == pytest.approx(difference[0, 0] * np.ones_like(difference), abs=1e-9)


def test_newton_steps_end_where_the_derivatives_are_zero() -> None:
    """Checked by differences of the expected log probability of one person's answers and numbers."""
    rows, _, _ = leaning_crowd(1, tasks=60)
    model = LeaningsModel(encode_rows(rows).with_all_options())
    (question,) = model.questions
    for _ in range(20):
        question.update_annotators()
    known, cell = question.learned, question.cell

    def objective(pull: float, leaning: Floats) -> float:
        total = -((pull - known.crowd_pull) ** 2 + ((leaning - known.crowd_leaning) ** 2).sum()) / 2
        for position, person, choice in zip(question.item, question.person, question.choice, strict=True):
            if person == 0:
                for node, ease in enumerate(question.ease):
                    for truth in range(len(LABELS)):
                        score = leaning + pull * ease * (np.arange(3) == truth)
                        total += cell[position, node, truth] * (score[choice] - np.log(np.exp(score).sum()))
        return float(total)

    step, pull, leaning = 1e-4, float(known.pull[0]), known.leaning[0]
    slope = (objective(pull + step, leaning) - objective(pull - step, leaning)) / (2 * step)
    assert slope == pytest.approx(0.0, abs=1e-3)
    for label in range(len(LABELS)):
        shift = step * np.eye(3)[label]
        slope = (objective(pull, leaning + shift) - objective(pull, leaning - shift)) / (2 * step)
        assert slope == pytest.approx(0.0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_pulls_leanings_and_people_who_avoid_the_truth_are_recovered(seed: int) -> None:
    rows, truth, leanings = leaning_crowd(seed)
    answers = encode_rows(rows).with_all_options()
    fit = fit_leanings(answers, ignore_progress)
    model = LeaningsModel(answers)
    for _ in range(20):
        model.m_step()
        model.e_step()
    known = model.questions[0].learned
    assert rank_correlation(fit.skill, [1.0, 1.5, 2.0, 2.5, 3.0, -2.0]) > 0.9
    assert fit.skill[answers.annotators.index("p5")] < 0
    centred = known.leaning - known.leaning.mean(1, keepdims=True)
    drawn = np.array(leanings) - np.mean(leanings, axis=1, keepdims=True)
    assert np.corrcoef(centred.ravel(), drawn.ravel())[0, 1] > 0.9
    probability = label_probabilities(answers, fit.posterior)
    best = {task: max((probability[task, label], label) for label in LABELS)[1] for task in truth}
    right = [best[task] == label for task, label in truth.items()]
    assert np.mean(right) > 0.8  # guessing gives a third


def test_somebody_who_leans_to_a_common_label_counts_less_for_it() -> None:
    """Both say "a", but one says so nearly always, and the other only when it is right."""
    rows: list[Row] = []
    for task in range(60):
        label = "abc"[task % 3]
        rows += [(task, name, label) for name in ("u", "v", "careful")]
        rows.append((task, "lazy", "a" if task % 6 else label))
    rows += [(100, "lazy", "a"), (101, "careful", "a")]
    answers = encode_rows(rows).with_all_options()
    probability = label_probabilities(answers, fit_leanings(answers, ignore_progress).posterior)
    assert probability[100, "a"] < 0.7 < 0.95 < probability[101, "a"]


def test_gold_decides_but_the_posterior_stays_the_crowds_own() -> None:
    rows, truth, _ = leaning_crowd(3, tasks=40)
    gold = {task: label for task, label in truth.items() if task < 10}
    with_gold, without = fit_rows(rows, gold=gold), fit_rows(rows)
    assert not np.allclose(with_gold.skill, without.skill, atol=1e-3)
    assert with_gold.posterior.options.max() < 1.0


def test_an_order_of_rows_or_names_changes_nothing() -> None:
    rows, _, _ = leaning_crowd(4, tasks=50)
    answers = encode_rows(rows).with_all_options()
    mixed = encode_rows([rows[position] for position in np.random.default_rng(0).permutation(len(rows))])
    one = label_probabilities(answers, fit_leanings(answers, ignore_progress).posterior)
    table = mixed.with_all_options()
    other = label_probabilities(table, fit_leanings(table, ignore_progress).posterior)
    assert other == pytest.approx(one, abs=1e-9)


def test_what_was_learned_votes_on_its_own_table_as_in_the_fit() -> None:
    answers = encode_crowd(rare_answer_crowd(1, 0.2), with_gold=True).with_all_options()
    fit = fit_leanings(answers, ignore_progress)
    voted = fit.vote(answers)
    assert voted.posterior.options == pytest.approx(fit.posterior.options, abs=1e-9)
    assert voted.difficulty == pytest.approx(fit.difficulty, abs=1e-9)


def test_a_stranger_counts_as_the_crowd_does() -> None:
    rows, _, _ = leaning_crowd(5, tasks=80, pulls=(2.0, 2.0, 2.0, 2.0))
    answers = encode_rows([*rows, (200, "stranger", "a")]).with_all_options()
    known = encode_rows([*rows, (300, "stranger", "a")]).with_all_options()
    stranger = answers.annotators.index("stranger")
    lessons = known.subset(np.flatnonzero([item != 300 for item in known.items]))
    voted = label_probabilities(answers, fit_leanings(lessons, ignore_progress).vote(answers).posterior)
    assert fit_leanings(lessons, ignore_progress).weight[stranger] > 1.0
    assert voted[200, "a"] > 0.6


@pytest.mark.parametrize("count", [1, 2])
def test_questions_with_one_label_and_tasks_without_answers_are_no_problem(count: int) -> None:
    rows: list[Row] = [(task, name, "yes", "only") for task in range(3) for name in "ab"]
    rows += [
        (task, name, "xy"[task % 2], f"q{number}") for number in range(count) for task in range(4) for name in "ab"
    ]
    answers = encode_rows(rows, gold={("unseen", "q0"): "x"}).with_all_options()
    fit = fit_leanings(answers, ignore_progress)
    assert np.isfinite(fit.posterior.options).all()
    assert np.isfinite(fit.skill).all()
