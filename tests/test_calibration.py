"""Calibration keeps the order of the labels, stays a probability, and makes confidence mean what it says."""

from __future__ import annotations

import numpy as np
import pytest
from crowds import label_probabilities, possible_labels, table, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.aggregation.answers import Answers, Floats, Integers
from ls_crowd_plugin.aggregation.calibration import MOST_GOLD, USUAL, Calibration, calibrate, weighted_shares
from ls_crowd_plugin.aggregation.evaluation import expected_calibration_error, expected_calibration_excess
from ls_crowd_plugin.aggregation.fit import normalise


@st.composite
def calibrations(draw: st.DrawFn) -> Calibration:
    divided = draw(st.floats(0.0, 0.9))
    return Calibration(draw(st.floats(0.1, 2.0)), divided, draw(st.floats(0.0, 0.99 - divided)))


def random_posterior(answers: Answers, seed: int, scale: float) -> tuple[Floats, Floats]:
    """[O], [I] from undecided (small scale) to certain (large)."""
    generator = np.random.default_rng(seed)
    option = generator.normal(0, scale, len(answers.option_item))
    posterior, unchosen, _ = normalise(answers, option, generator.normal(0, scale, len(answers.items)))
    return posterior, unchosen


@settings(max_examples=80)
@given(tables(), calibrations(), st.integers(0, 1000), st.sampled_from([0.0, 0.1, 3.0, 1000.0]))
def test_the_most_probable_label_stays_the_most_probable(
    answers: Answers, calibration: Calibration, seed: int, scale: float
) -> None:
    posterior, unchosen = random_posterior(answers, seed, scale)
    weight = np.random.default_rng(seed).normal(0.3, 1, len(answers.annotators))
    before = label_probabilities(answers, posterior, unchosen)
    after = label_probabilities(answers, *calibration.apply(answers, posterior, unchosen, weight))
    for item, labels in possible_labels(answers).items():
        best = max(after[item, label] for label in labels)
        top = [label for label in labels if before[item, label] == max(before[item, other] for other in labels)]
        assert max(after[item, label] for label in top) == pytest.approx(best, abs=1e-12)


@settings(max_examples=60)
@given(tables(), calibrations(), st.integers(0, 1000), st.sampled_from([0.0, 0.1, 3.0, 1000.0]))
def test_what_comes_out_are_probabilities(answers: Answers, calibration: Calibration, seed: int, scale: float) -> None:
    posterior, unchosen = random_posterior(answers, seed, scale)
    weight = np.random.default_rng(seed).normal(0.3, 1, len(answers.annotators))
    after = label_probabilities(answers, *calibration.apply(answers, posterior, unchosen, weight))
    assert min(after.values()) >= 0
    for item, labels in possible_labels(answers).items():
        assert sum(after[item, label] for label in labels) == pytest.approx(1.0, abs=1e-9)


def test_the_formula_is_as_described() -> None:
    """p' = (1 − λ − ε) p^β / sum p^β + λ · share + ε / K, with the share of the weighted vote."""
    answers = table([("t", "a", 0), ("t", "b", 0), ("t", "c", 1)], label_set=range(3))
    posterior, unchosen = np.array([0.6, 0.3]), np.array([0.1])
    weight = np.array([2.0, 1.0, 1.0])
    found, other = Calibration(0.5, 0.2, 0.06).apply(answers, posterior, unchosen, weight)
    total = 0.6**0.5 + 0.3**0.5 + 0.1**0.5
    little = 0.1 * (4 / 3) / 3  # a tenth of a mean vote, spread over the labels
    votes = np.array([3.0, 1.0, 0.0]) + little
    expected = 0.74 * np.array([0.6**0.5, 0.3**0.5, 0.1**0.5]) / total + 0.2 * votes / votes.sum() + 0.06 / 3
    assert [*found, *other] == pytest.approx(expected)


@settings(max_examples=40)
@given(tables(), st.integers(0, 1000))
def test_shares_of_the_vote_sum_to_one(answers: Answers, seed: int) -> None:
    weight = np.random.default_rng(seed).normal(0, 1, len(answers.annotators))
    for weights in (weight, np.zeros_like(weight), -np.abs(weight)):
        share, other = weighted_shares(answers, weights)
        total = np.add.reduceat(share, answers.option_start) + answers.unchosen * other
        assert total == pytest.approx(1.0)


def test_without_gold_the_usual_holds() -> None:
    answers = table([("t", "a", 0), ("t", "b", 1)])
    found = calibrate(answers, np.array([0.7, 0.3]), np.zeros(1), np.ones(2), np.array([-1], np.int32))
    assert found == Calibration(*USUAL, gold=0)


def test_gold_that_cannot_tell_is_left_out() -> None:
    """Tasks nobody answered and questions with one label say nothing of confidence."""
    answers = table([("t", "a", 0, "one"), ("t", "a", 0, "two")], gold={("u", "two"): 1, ("t", "one"): 0})
    posterior = np.ones(len(answers.option_item)) / answers.label_count[answers.option_item]
    found = calibrate(answers, posterior, np.zeros(len(answers.items)), np.ones(1), answers.gold_option)
    assert found.gold == 0


def forecasts(tasks: int, power: float) -> tuple[Answers, Floats, Floats, Integers]:
    """A crowd that says nothing, forecasts whose own probabilities are raised to a power, and the truth [I]."""
    generator = np.random.default_rng(0)
    answers = table([(task, who, (task + who) % 3) for task in range(tasks) for who in range(3)], label_set=range(3))
    honest = generator.dirichlet([1.0, 1.0, 1.0], tasks)
    truth = np.array([generator.choice(3, p=row) for row in honest])
    said = honest**power / (honest**power).sum(1, keepdims=True)
    return answers, honest.ravel(), said.ravel(), (answers.option_start + truth).astype(np.int32)


def confidence_and_right(answers: Answers, posterior: Floats, truth: Integers) -> tuple[Floats, Floats]:
    rows = posterior.reshape(-1, 3)
    right = rows.argmax(1) == truth - answers.option_start
    return rows.max(1), right.astype(float)


@pytest.mark.parametrize("power", [3.0, 6.0])
def test_boasting_is_cured_by_gold(power: float) -> None:
    tasks = 800
    answers, _, said, truth = forecasts(tasks, power)
    half = np.where(np.arange(tasks) < tasks // 2, truth, -1).astype(np.int32)
    nothing, weight = np.zeros(tasks), np.ones(3)
    found = calibrate(answers, said, nothing, weight, half)
    assert found.gold == tasks // 2
    calibrated, _ = found.apply(answers, said, nothing, weight)
    confidence, right = confidence_and_right(answers, said, truth)
    assert expected_calibration_error(confidence[tasks // 2 :], right[tasks // 2 :]) > 0.12
    confidence, right = confidence_and_right(answers, calibrated, truth)
    # On 400 tasks the share of right ones has a standard error of 0.024, in the learned half and in the judged half.
    assert expected_calibration_excess(confidence[tasks // 2 :], right[tasks // 2 :], 0) < 2 * 0.024
    assert found.sharpness < 1


def test_modesty_is_cured_by_gold() -> None:
    answers, honest, said, truth = forecasts(800, 0.5)
    found = calibrate(answers, said, np.zeros(800), np.ones(3), truth)
    calibrated, _ = found.apply(answers, said, np.zeros(800), np.ones(3))
    assert found.sharpness > 1
    assert np.abs(calibrated - honest).mean() < np.abs(said - honest).mean()


def test_the_numbers_found_explain_the_gold_better_than_the_usual_ones() -> None:
    answers, _, said, truth = forecasts(300, 4.0)
    nothing, weight = np.zeros(300), np.ones(3)

    def log_score(calibration: Calibration) -> float:
        return float(np.log(calibration.apply(answers, said, nothing, weight)[0][truth]).sum())

    found = calibrate(answers, said, nothing, weight, truth)
    assert log_score(found) > log_score(Calibration(*USUAL)) + 10


def test_a_misled_crowd_is_not_sure_of_anything() -> None:
    """Where the gold contradicts a united crowd a third of the time, no agreement is worth more than two thirds."""
    tasks = 300
    answers = table(
        [(task, who, 0) for task in range(tasks) for who in range(5)], label_set=range(2)
    ).with_all_options()
    posterior = np.tile([0.999, 0.001], tasks)
    gold = (answers.option_start + (np.arange(tasks) % 3 == 0)).astype(np.int32)
    found = calibrate(answers, posterior, np.zeros(tasks), np.ones(5), gold)
    calibrated, _ = found.apply(answers, posterior, np.zeros(tasks), np.ones(5))
    # The standard error of a share of 300 is 0.027; the prior, which expects few misled tasks, may cost another.
    assert calibrated[0] == pytest.approx(2 / 3, abs=2 * 0.027)


def test_more_gold_than_needed_is_sampled() -> None:
    tasks = MOST_GOLD + 500
    answers, _, said, truth = forecasts(tasks, 3.0)
    found = calibrate(answers, said, np.zeros(tasks), np.ones(3), truth)
    assert found.gold == MOST_GOLD
    assert found.sharpness < 1
