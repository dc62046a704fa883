"""Evaluation: the measures agree with their definitions, and methods never see the gold they are judged by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.aggregation import METHODS, aggregate, trial
from ls_crowd_plugin.aggregation.evaluation import (
    area_under_roc,
    best_method,
    brier_score,
    evaluate,
    expected_calibration_error,
    expected_calibration_excess,
    resampled_calibration_errors,
)
from ls_crowd_plugin.errors import UnusableInput

judged = st.lists(st.tuples(st.sampled_from([0.1, 0.25, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=40)


@given(judged)
def test_area_under_roc_is_the_share_of_pairs_in_the_right_order(tasks: list[tuple[float, bool]]) -> None:
    pairs = [(c > d) + (c == d) / 2 for c, right in tasks if right for d, other in tasks if not other]
    area = area_under_roc([c for c, _ in tasks], [right for _, right in tasks])
    assert area == pytest.approx(np.mean(pairs)) if pairs else np.isnan(area)


@given(judged, st.randoms(use_true_random=False))
def test_measures_do_not_depend_on_the_order_of_the_tasks(tasks: list[tuple[float, bool]], chance: Any) -> None:
    shuffled = chance.sample(tasks, len(tasks))
    for measure in (expected_calibration_error, brier_score):
        one, other = (measure([c for c, _ in order], [right for _, right in order]) for order in (tasks, shuffled))
        assert one == pytest.approx(other, abs=1e-12)  # sums in another order


def test_the_calibration_error_sums_the_gaps_of_the_bins() -> None:
    # Two bins of two: confidences 0.2 and 0.4 with none right, 0.6 and 0.8 with both right: gaps 0.6 and 0.6 of 4.
    assert expected_calibration_error([0.6, 0.2, 0.8, 0.4], [1, 0, 1, 0], bins=2) == pytest.approx(0.3)
    # One bin: two are expected to be right, and two are.
    assert expected_calibration_error([0.6, 0.2, 0.8, 0.4], [1, 0, 1, 0], bins=1) == pytest.approx(0.0)
    assert expected_calibration_error([1.0, 1.0], [True, True]) == 0.0
    assert expected_calibration_error([1.0], [False]) == 1.0


def test_equal_confidences_share_their_outcomes_over_bins() -> None:
    # All confidences are 0.5 and half of the labels are right: calibrated, whatever the order.
    assert expected_calibration_error([0.5] * 4, [1, 1, 0, 0], bins=2) == pytest.approx(0.0)


def test_brier_score_is_the_mean_squared_error() -> None:
    assert brier_score([1.0, 0.5, 0.0], [True, False, True]) == pytest.approx((0 + 0.25 + 1) / 3)


@pytest.mark.slow
def test_a_calibrated_forecaster_has_no_excess_and_an_overconfident_one_has() -> None:
    generator = np.random.default_rng(1)
    excess = []
    for seed in range(40):
        confidence = generator.uniform(0.5, 1.0, 100)
        right = generator.random(100) < confidence
        excess.append(expected_calibration_excess(confidence, right, seed))
    # One such excess has a standard deviation of 0.026 (measured over 200 draws); four standard errors of a mean of 40.
    assert abs(np.mean(excess)) < 4 * 0.026 / np.sqrt(40)
    assert expected_calibration_excess(np.full(100, 0.99), generator.random(100) < 0.6, 0) > 0.3


@pytest.mark.slow
def test_the_calibration_error_varies_from_sample_to_sample_as_it_does_from_crowd_to_crowd() -> None:
    generator = np.random.default_rng(2)
    excess, errors = [], []
    for seed in range(60):
        confidence = generator.uniform(0.5, 1.0, 300)
        right = generator.random(300) < confidence - 0.15
        excess.append(expected_calibration_excess(confidence, right, seed))
        errors.append(np.std(resampled_calibration_errors(confidence, right, seed)))
    # The standard deviation of 60 is known to 1 / sqrt(2 * 59) = 9 %; the bootstrap itself may be a fifth too small.
    assert np.mean(errors) == pytest.approx(np.std(excess, ddof=1), rel=0.2 + 3 * 0.09)


def test_the_same_tasks_are_drawn_for_all_methods() -> None:
    confidence, right = np.linspace(0.5, 1.0, 50), np.arange(50) % 3 > 0
    twice = [resampled_calibration_errors(confidence[order], right[order]) for order in (slice(None), slice(None))]
    assert (twice[0] == twice[1]).all()
    # One bin, and confidences that differ by 0.1 in every task: so do the errors of every sample, all overconfident.
    low, high = (resampled_calibration_errors(np.full(50, one), np.zeros(50), bins=1) for one in (0.6, 0.7))
    assert high - low == pytest.approx(np.full(len(low), 0.1))


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(UnusableInput, match="shape"):
        brier_score([0.5], [True, False])
    with pytest.raises(UnusableInput, match="shape"):
        area_under_roc([], [])


def crowd(tasks: int = 30) -> tuple[list[str], list[str], list[str], dict[str, str]]:
    """Columns of five annotators on yes/no tasks, of whom the last is always wrong; and the truth of all tasks."""
    truth = {f"t{number}": ("yes", "no")[number % 2] for number in range(tasks)}
    wrong = {"yes": "no", "no": "yes"}
    rows = [(task, name, wrong[label] if name == "e" else label) for task, label in truth.items() for name in "abcde"]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return columns[0], columns[1], columns[2], truth


@pytest.mark.slow
def test_every_method_gets_a_row_with_its_measures() -> None:
    tasks, annotators, labels, truth = crowd()
    rows = evaluate(tasks, annotators, labels, truth)
    assert [row["method"] for row in rows] == list(METHODS)
    for row in rows:
        assert row["accuracy"] == 1.0
        assert row["tasks"] == 30
        assert row["auroc"] is None
        assert row["behind"] == 0.0
        assert 0.0 <= row["brier"] <= 1.0
        assert row["distance"] is None
        assert row["calibration_excess_se"] >= 0.0


def test_every_gold_label_is_hidden_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, annotators, labels, truth = crowd(12)
    gold = {**dict(list(truth.items())[:7]), "unanswered": "yes"}
    shown: list[set[str]] = []

    def spy(*columns: Any, **options: Any) -> Any:
        shown.append(set(options["gold"]))
        return aggregate(*columns, **options)

    monkeypatch.setattr(trial, "aggregate", spy)
    rows = evaluate(tasks, annotators, labels, gold, folds=3, methods=("plu",))
    assert rows[0]["tasks"] == 7
    hidden = [set(gold) - part for part in shown]
    assert sorted(len(part) for part in hidden) == [2, 2, 3]
    assert set.union(*hidden) == set(gold) - {"unanswered"}


def test_the_order_of_gold_does_not_matter_and_the_seed_does(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, annotators, labels, truth = crowd(20)
    shown: list[frozenset[str]] = []

    def spy(*columns: Any, **options: Any) -> Any:
        shown.append(frozenset(options["gold"]))
        return aggregate(*columns, **options)

    monkeypatch.setattr(trial, "aggregate", spy)
    for gold, seed in ((truth, 0), (dict(reversed(truth.items())), 0), (truth, 1)):
        evaluate(tasks, annotators, labels, gold, seed=seed, methods=("plu",))
    assert shown[:5] == shown[5:10] != shown[10:]


def test_questions_and_arrays_of_numbers_are_evaluated() -> None:
    tasks = np.repeat(np.arange(10), 6)
    questions = np.tile([0, 1], 30)
    annotators = np.tile([0, 0, 1, 1, 2, 2], 10)
    labels = (tasks + questions) % 3
    gold = {(task, question): (task + question) % 3 for task in range(10) for question in range(2)}
    (row,) = evaluate(tasks, annotators, labels, gold, questions=questions, methods=("plu",))
    assert (row["tasks"], row["accuracy"]) == (20, 1.0)


@pytest.mark.parametrize("gold", [{}, {"t0": "yes"}, {"t0": "yes", "unanswered": "no"}])
def test_too_little_gold_is_refused(gold: dict[str, str]) -> None:
    tasks, annotators, labels, _ = crowd(4)
    with pytest.raises(UnusableInput, match="at least 2"):
        evaluate(tasks, annotators, labels, gold)


def test_a_single_fold_is_refused() -> None:
    with pytest.raises(UnusableInput, match="at least 2"):
        evaluate(*crowd(4), folds=1)


def test_among_equally_accurate_methods_the_best_brier_score_decides() -> None:
    rows = [
        {"method": "a", "behind": 0.0, "behind_se": 0.0, "brier": 0.2},
        {"method": "b", "behind": 0.01, "behind_se": 0.02, "brier": 0.1},
        {"method": "c", "behind": 0.09, "behind_se": 0.02, "brier": 0.0},
    ]
    assert best_method(rows) == ("b", ["a"])
