"""The paper's GEM follows its formulas (probabilities, gradient, posterior, objective) and recovers a simulation."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import exp, log, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.paper import PaperModel, fit_paper
from ls_crowd_plugin.aggregation.paper_answers import MIN_PROBABILITY, Parameters
from ls_crowd_plugin.aggregation.types import Floats
from ls_crowd_plugin.demo.crowds import generative_crowd
from tests.support.crowds import (
    answer_labels,
    answer_tables,
    encode_crowd,
    encode_rows,
    gold_labels,
    ignore_progress,
    label_probabilities,
    mixed_crowd,
    permuted_votes,
    possible_labels,
    rank_correlation,
    run_iterations,
)
from tests.support.examples import examples

# kind of annotator → (is an adversary, of the complex kind)
KINDS = {"honest": (False, False), "simple adversary": (True, False), "complex adversary": (True, True)}
FORMS = {"paper": {}, "tied": {"tied": True}, "complex": {"complex_adversaries": True}}
BLOCKS = ("skill", "log_discrimination", "log_gap", "log_craft", "difficulty")


def random_parameters(answers: Answers, seed: int, adversary: bool | None = None) -> Parameters:
    """A random Λ; all annotators are adversaries, or none, or by default every second one."""
    generator = np.random.default_rng(seed)
    annotators, items = len(answers.annotators), len(answers.items)
    return Parameters(
        adversary=np.arange(annotators) % 2 == 1 if adversary is None else np.full(annotators, adversary),
        skill=generator.normal(0, 2, annotators),
        log_discrimination=generator.normal(0, 0.7, annotators),
        difficulty=generator.normal(0, 2, items),
        log_gap=generator.normal(0, 0.7, annotators),
        log_craft=generator.normal(0, 0.7, annotators),
    )


def hit_and_miss(parameters: Parameters, complex_: bool, annotator: int, item: int, labels: int) -> tuple[float, float]:
    """Hit and miss as in the paper's table, with its misprint for complex adversaries corrected."""
    own = parameters
    distance = own.skill[annotator] - own.difficulty[item]
    s = 1 / (1 + exp(-exp(own.log_discrimination[annotator]) * distance))
    if not own.adversary[annotator]:
        return s + (1 - s) / labels, (1 - s) / labels
    if not complex_:
        return (1 - s) / labels, (1 - s) / labels + s / (labels - 1)
    threshold = own.skill[annotator] - exp(own.log_gap[annotator])
    t = 1 / (1 + exp(-exp(own.log_craft[annotator]) * (threshold - own.difficulty[item])))
    return (1 - s) / labels + t * s, (1 - s) / labels + (1 - t) * s / (labels - 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", range(2, 8))
def test_probabilities_of_all_answers_sum_to_one(labels: int, kind: str) -> None:
    adversary, complex_ = KINDS[kind]
    answers = encode_rows([(task, who, task % labels) for task in range(5) for who in "abc"], label_set=range(labels))
    model = PaperModel(answers, complex_adversaries=complex_)
    log_hit, log_miss = model.log_hit_and_miss(random_parameters(answers, labels, adversary))
    # MIN_PROBABILITY is added to the probability of each of the K labels; the rest is rounding.
    assert np.exp(log_hit) + (labels - 1) * np.exp(log_miss) == pytest.approx(1.0, abs=labels * MIN_PROBABILITY + 1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_hit_and_miss_are_as_in_the_paper(kind: str) -> None:
    adversary, complex_ = KINDS[kind]
    answers = mixed_crowd(0)
    parameters = random_parameters(answers, 1, adversary)
    model = PaperModel(answers, complex_adversaries=complex_)
    log_hit, log_miss = model.log_hit_and_miss(parameters)
    for row, (item, annotator) in enumerate(zip(model.given.item, model.given.annotator, strict=True)):
        expected = hit_and_miss(parameters, complex_, annotator, item, int(answers.label_count[item]))
        assert (exp(log_hit[row]), exp(log_miss[row])) == pytest.approx(expected, abs=2 * MIN_PROBABILITY)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("kind", [*KINDS, "half adversaries"])
@pytest.mark.parametrize("marginal", [False, True])
def test_the_gradient_agrees_with_finite_differences(block: str, kind: str, marginal: bool) -> None:
    """Of E[log L_c] with the prior and, by Fisher's identity after an E-step, of the objective."""
    adversary, complex_ = KINDS.get(kind, (None, True))
    answers = mixed_crowd(2)
    model = PaperModel(answers, complex_adversaries=complex_)
    model.widths = np.array([1.5, 0.8, 1.0])
    model.right = np.random.default_rng(3).random(len(answers.answer_item))
    model.parameters = random_parameters(answers, 4, adversary)
    if marginal:
        model.e_step()

    def value(parameters: Parameters) -> float:
        if marginal:
            return float(model.label_posterior(parameters)[1].sum() + model.log_prior(parameters).sum())
        return float(model.penalised_log_likelihood(parameters)[0].sum() + model.log_prior(parameters)[-1])

    _, by_annotator, by_difficulty = model.penalised_log_likelihood(model.parameters)
    gradient = by_difficulty if block == "difficulty" else by_annotator[BLOCKS.index(block)]
    step = 1e-5
    differences = []
    for position in range(len(gradient)):
        moved = []
        for sign in (1, -1):
            values = getattr(model.parameters, block).copy()
            values[position] += sign * step
            moved.append(value(replace(model.parameters, **{block: values})))
        differences.append((moved[0] - moved[1]) / (2 * step))
    # Central differences err by step² · f‴ / 6, about 1e-10 times a few dozen, and by rounding: 1e-14 · |f| / step.
    assert gradient == pytest.approx(np.array(differences), abs=1e-6)


@pytest.mark.parametrize("complex_", [False, True])
def test_the_answers_have_the_same_probabilities_on_another_scale(complex_: bool) -> None:
    answers = mixed_crowd(2)
    model, parameters = PaperModel(answers, complex_adversaries=complex_), random_parameters(answers, 4)
    before, after = (np.exp(model.log_hit_and_miss(other)) for other in (parameters, parameters.moved(0.7, -1.3)))
    assert after == pytest.approx(before, abs=1e-12)  # rounding of numbers up to one


@pytest.mark.parametrize("form", FORMS)
def test_an_iteration_leaves_the_best_origin_and_scale(form: str) -> None:
    model = PaperModel(mixed_crowd(2), **FORMS[form])
    objective = run_iterations(model, 1)
    parameters, widths = model.parameters, model.widths.copy()
    for log_scale in (-0.01, 0.01):
        model.widths = np.array([*widths[:2] * np.exp(log_scale), widths[2]])
        model.parameters = parameters.moved(0.0, log_scale)
        assert model.e_step() < objective


def enumerated_posterior(
    answers: Answers, parameters: Parameters, complex_: bool
) -> tuple[dict[tuple[Any, Any], float], float]:
    """P(label of each item | all answers, gold) and the log evidence, summed over all label vectors of all items."""
    annotators = {name: position for position, name in enumerate(answers.annotators)}
    items = {name: position for position, name in enumerate(answers.items)}
    gold, possible, answered = gold_labels(answers), possible_labels(answers), answer_labels(answers)
    total, mass = 0.0, {(item, label): 0.0 for item, labels in possible.items() for label in labels}
    for vector in product(*possible.values()):
        truth = dict(zip(possible, vector, strict=True))
        if any(truth[item] != label for item, label in gold.items()):
            continue
        joint = prod(1 / len(labels) for labels in possible.values())
        for (item, annotator), label in answered.items():
            hit, miss = hit_and_miss(parameters, complex_, annotators[annotator], items[item], len(possible[item]))
            joint *= hit if label == truth[item] else miss
        total += joint
        for item, label in truth.items():
            mass[item, label] += joint
    return {key: value / total for key, value in mass.items()}, log(total)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("gold", [False, True])
def test_the_posterior_agrees_with_enumerating_all_label_vectors(gold: bool, complex_: bool) -> None:
    answers = mixed_crowd(5, gold=gold)
    parameters = random_parameters(answers, 6)
    model = PaperModel(answers, complex_adversaries=complex_)
    posterior, evidence = model.label_posterior(parameters)
    # MIN_PROBABILITY, added to every probability, is a millionth of the smallest of them.
    expected, log_evidence = enumerated_posterior(answers, parameters, complex_)
    assert label_probabilities(answers, posterior) == pytest.approx(expected, abs=1e-6)
    assert evidence.sum() == pytest.approx(log_evidence, abs=1e-6)


def test_the_posterior_without_gold_does_not_use_gold_labels() -> None:
    with_gold, without = mixed_crowd(5), mixed_crowd(5, gold=False)
    parameters = random_parameters(without, 6)
    posterior, _ = PaperModel(with_gold).label_posterior(parameters, with_gold=False)
    expected, _ = enumerated_posterior(without, parameters, False)
    assert label_probabilities(with_gold, posterior) == pytest.approx(expected, abs=1e-6)


def test_tasks_with_equally_divided_votes_start_equally_hard() -> None:
    answers, patterns = permuted_votes()
    difficulty = PaperModel(answers).parameters.difficulty
    for pattern in set(patterns):
        same = difficulty[[other == pattern for other in patterns]]
        assert same == pytest.approx(same[0], abs=1e-9)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(12))
@given(answers=answer_tables())
@pytest.mark.slow
def test_the_objective_never_falls(form: str, answers: Answers) -> None:
    fit = fit_paper(answers, ignore_progress, **FORMS[form])
    assert np.diff(fit.convergence.history).min(initial=0.0) > -1e-8  # rounding: sums of some hundred terms of size ten


@pytest.mark.slow
def test_intentions_are_compared_at_their_own_best_skill() -> None:
    """A perfect adversary who counts as honest with very low skill, where both look the same, is detected at once."""
    rows = [(task, who, task % 3) for task in range(20) for who in "abcde"]
    answers = encode_rows([*rows, *((task, "x", (task + 1 + task % 2) % 3) for task in range(20))], label_set=range(3))
    model = PaperModel(answers)
    run_iterations(model, 3)
    skill = model.parameters.skill.copy()
    skill[-1] = -8.0
    model.parameters = replace(model.parameters, skill=skill, adversary=np.zeros(6, bool))
    run_iterations(model, 1)
    assert model.parameters.adversary.tolist() == [False] * 5 + [True]


@pytest.fixture(scope="module")
def simulated() -> tuple[Any, PaperModel, Any]:
    crowd = generative_crowd(1, task_variance=1000.0, annotators=80, tasks=80, adversaries=0.15, probes=8)
    answers = encode_crowd(crowd, with_gold=True)
    return crowd, PaperModel(answers), fit_paper(answers, ignore_progress)


@pytest.mark.slow
def test_simulated_skill_and_difficulty_are_recovered(simulated: tuple[Any, PaperModel, Any]) -> None:
    # Only the order can be recovered; the scale is a convention. If estimates of 80 values erred by half of their
    # spread, the rank correlation would be about 0.87; here the errors are smaller for most, and large for those who
    # are always right or always wrong.
    crowd, _, fit = simulated
    assert rank_correlation(fit.skill, crowd.skill) > 0.85
    assert rank_correlation(fit.difficulty, crowd.difficulty) > 0.85


@pytest.mark.slow
def test_simulated_adversaries_are_found_and_nobody_else(simulated: tuple[Any, PaperModel, Any]) -> None:
    # An adversary who can solve less than a quarter of the tasks looks like somebody who guesses.
    crowd, _, fit = simulated
    able = np.array([(skill > crowd.difficulty).mean() > 0.25 for skill in crowd.skill])
    suspected = fit.adversary > 0.5
    assert (crowd.adversary & able).sum() >= 5
    assert suspected[crowd.adversary & able].mean() >= 0.9
    assert suspected[~crowd.adversary].mean() <= 0.02


@pytest.mark.slow
def test_the_fit_reports_its_convergence(simulated: tuple[Any, PaperModel, Any]) -> None:
    *_, fit = simulated
    assert fit.convergence.converged
    assert fit.objective == fit.convergence.history[-1] == max(fit.convergence.history)


@pytest.mark.slow
def test_the_spread_of_the_tasks_is_learned() -> None:
    widths = []
    for variance in (25.0, 4000.0):
        answers = encode_crowd(generative_crowd(2, task_variance=variance, annotators=40, tasks=60))
        model = PaperModel(answers)
        run_iterations(model, 4)
        widths.append(model.widths[1] / model.widths[0])  # the width of D relative to that of d
    assert widths[1] > 2 * widths[0]


@pytest.mark.slow
def test_tasks_that_nobody_answered_do_not_narrow_the_spread() -> None:
    crowd = generative_crowd(2, task_variance=1000.0, annotators=30, tasks=40, probes=0)
    rows = list(zip(crowd.tasks, crowd.annotators, crowd.labels, strict=True))
    widths = []
    for unanswered in (0, 100):
        gold = {f"unanswered {number}": 0 for number in range(unanswered)}
        model = PaperModel(encode_rows(rows, gold=gold, label_set=range(5)))
        run_iterations(model, 3)
        widths.append(model.widths.tolist())
    # They only move the start of the ascent, but three iterations do not always end in the same place.
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


@pytest.mark.slow
def test_more_answers_make_the_standard_error_smaller() -> None:
    crowd = generative_crowd(3, task_variance=400.0, annotators=15, tasks=40, adversaries=0.0)
    rows = list(zip(crowd.tasks, crowd.annotators, crowd.labels, strict=True))
    few = [row for row in rows if row[1] != 0 or row[0] < 6]
    error, error_with_few = (
        fit_paper(encode_rows(part, label_set=range(5)), ignore_progress).skill_error for part in (rows, few)
    )
    assert error is not None
    assert error_with_few is not None
    assert error_with_few[0] > 1.5 * error[0]


@pytest.mark.slow
def test_an_honest_crowd_is_not_accused_of_being_crafty() -> None:
    # Complex adversaries include honest annotators as a special case, so by best fit alone they would always win.
    crowd = generative_crowd(0, task_variance=400.0, annotators=40, tasks=60, adversaries=0.0, probes=0)
    fit = fit_paper(encode_crowd(crowd), ignore_progress, complex_adversaries=True)
    assert fit.adversary is not None
    assert (fit.adversary > 0.5).mean() <= 0.025  # one of forty


def crafty_crowd(seed: int, labels: int) -> Answers:
    """Thirty honest annotators, and three who are right on easy tasks to hide that they mislead on harder ones."""
    generator = np.random.default_rng(seed)
    skill = generator.normal(1, 2, 30)
    rows = []
    for task, difficulty in enumerate(np.linspace(-3, 5, 120)):
        able = generator.random(30) < 1 / (1 + np.exp(-2 * (skill - difficulty)))
        guess = generator.integers(labels, size=33)
        rows += [(task, who, task % labels if able[who] else int(guess[who])) for who in range(30)]
        for who in range(30, 33):
            solves, hides = (generator.random() < 1 / (1 + exp(-2 * (level - difficulty))) for level in (4, 0))
            misled = (task + int(generator.integers(1, labels))) % labels
            rows.append((task, who, int(guess[who]) if not solves else task % labels if hides else misled))
    return encode_rows(rows, label_set=range(labels))


@pytest.mark.slow
def test_a_crafty_adversary_is_detected() -> None:
    fit = fit_paper(crafty_crowd(0, labels=2), ignore_progress, complex_adversaries=True)
    assert fit.adversary is not None
    assert fit.adversary[30:].min() > 0.5
    assert fit.adversary[:30].max() < 0.5


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.slow
def test_the_probability_of_an_adversary_agrees_with_the_intention(complex_: bool, seed: int) -> None:
    model = PaperModel(crafty_crowd(seed, labels=4), complex_adversaries=complex_)
    for _ in range(5):
        run_iterations(model, 1)
        assert (model.adversary_log_odds > 0).tolist() == model.parameters.adversary.tolist()


def discriminations(tied: bool) -> Floats:
    model = PaperModel(encode_crowd(generative_crowd(4, annotators=20, tasks=40)), tied=tied)
    run_iterations(model, 3)
    return model.parameters.log_discrimination


def test_the_tied_form_has_one_discrimination() -> None:
    log_discrimination = discriminations(tied=True)
    assert np.ptp(log_discrimination) == 0
    assert log_discrimination[0] != 0  # it is learned


def test_the_default_form_has_one_discrimination_per_annotator() -> None:
    assert np.ptp(discriminations(tied=False)) > 0.1
