"""Cross-validation on gold: fits never see the gold labels they are judged by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.calibration import DEFAULT_CALIBRATION
from ls_crowd_plugin.aggregation.cross_validation import (
    FEW_FOLDS,
    PRIOR_TASKS,
    correctness,
    cross_validate,
    fit_without_gold,
    most_probable_weights,
    weigh_by_gold,
)
from ls_crowd_plugin.aggregation.fit import Fit, Posterior
from ls_crowd_plugin.aggregation.forms import OTHER_METHODS, Form
from ls_crowd_plugin.aggregation.types import FitProgress, Floats
from ls_crowd_plugin.aggregation.weighted import fit_plurality
from tests.support.crowds import encode_rows, ignore_progress


def crowd(tasks: int = 24, gold: int = 10) -> Answers:
    """Yes/no tasks that three people answer right and two wrong; some have gold."""
    truth = {task: "ny"[task % 2] for task in range(tasks)}
    wrong = {"n": "y", "y": "n"}
    rows = [(task, name, label) for task, label in truth.items() for name in "abc"]
    rows += [(task, name, wrong[label]) for task, label in truth.items() for name in "de"]
    return encode_rows(rows, gold={task: truth[task] for task in range(gold)})


def test_every_gold_label_is_hidden_once_from_a_fit_that_sees_the_others() -> None:
    answers = crowd()
    seen: list[set[int]] = []

    def spy(table: Answers, progress: FitProgress) -> Fit:
        seen.append(set(np.flatnonzero(table.has_gold).tolist()))
        return fit_plurality(table, progress)

    fit_without_gold(answers, {"spy": Form("", spy)}, 0, ignore_progress)
    hidden = [set(range(10)) - visible for visible in seen]
    assert len(hidden) == FEW_FOLDS
    assert sorted(item for fold in hidden for item in fold) == list(range(10))


def test_held_out_posteriors_are_those_of_the_fit_that_did_not_see_the_label() -> None:
    answers = crowd()

    def marked(table: Answers, progress: FitProgress) -> Fit:
        """A fit whose probabilities say how many gold labels it saw, and 1 for gold items that it saw."""
        fit = fit_plurality(table, progress)
        options = np.where(table.has_gold[table.option_item], 1.0, table.has_gold.sum() / 100)
        return replace(fit, posterior=Posterior(options, fit.posterior.unchosen))

    held_out = cross_validate(answers, {"marked": Form("", marked)}, {"marked": 1.0}, 0, ignore_progress)
    assert held_out is not None
    posterior = held_out.posterior
    of_gold = answers.has_gold[answers.option_item]
    assert set(posterior.options[of_gold].tolist()) == {0.06, 0.07}  # ten gold labels in three folds
    assert set(posterior.options[~of_gold].tolist()) == {0.0}


def test_without_gold_there_is_nothing_to_hold_out() -> None:
    assert cross_validate(crowd(gold=0), OTHER_METHODS, {"plu": 1.0}, 0, ignore_progress) is None


def test_held_out_posteriors_of_an_average_are_averaged() -> None:
    answers, weights = crowd(), {"plu": 0.25, "neg": 0.75}
    forms = {name: OTHER_METHODS[name] for name in weights}
    held_out = cross_validate(answers, forms, weights, 0, ignore_progress)
    assert held_out is not None
    single = {name: cross_validate(answers, forms, {name: 1.0}, 0, ignore_progress) for name in forms}
    plu, neg = single["plu"], single["neg"]
    assert plu is not None
    assert neg is not None
    expected = 0.25 * plu.posterior.options + 0.75 * neg.posterior.options
    assert held_out.posterior.options == pytest.approx(expected)


def constant_form(label: str) -> Form:
    """A form that is certain of one label, whatever the answers."""

    def fit(table: Answers, progress: FitProgress) -> Fit:
        options = np.array([float(table.option_label(option) == label) for option in range(len(table.option_item))])
        result = fit_plurality(table, progress)
        return replace(result, posterior=Posterior(options, result.posterior.unchosen))

    return Form(f"always {label}", fit)


def test_gold_gives_weight_to_a_form_that_is_right() -> None:
    forms = {"constant": constant_form("n"), "plu": OTHER_METHODS["plu"]}
    judged = weigh_by_gold(
        crowd(gold=24), forms, {"constant": 0.5, "plu": 0.5}, DEFAULT_CALIBRATION, 0, ignore_progress
    )
    assert judged.items == 24
    assert judged.weights["plu"] > 0.7
    assert judged.accuracy == 1.0
    assert sum(judged.weights.values()) == pytest.approx(1.0)


def test_forms_that_gold_cannot_tell_apart_keep_their_weights() -> None:
    forms = {"plu": OTHER_METHODS["plu"], "same": OTHER_METHODS["plu"]}
    judged = weigh_by_gold(crowd(), forms, {"plu": 0.3, "same": 0.7}, DEFAULT_CALIBRATION, 0, ignore_progress)
    assert judged.weights == pytest.approx({"same": 0.7, "plu": 0.3})
    assert list(judged.weights) == ["plu", "same"]


def test_weights_are_the_most_probable_ones() -> None:
    """No other weights have a higher log likelihood plus log prior."""
    generator = np.random.default_rng(0)
    likelihood, prior = generator.uniform(0.01, 1.0, (25, 3)), np.array([0.5, 0.3, 0.2])

    def log_posterior(weight: Floats) -> float:
        return float(np.log(likelihood @ weight).sum() + PRIOR_TASKS * prior @ np.log(weight))

    best = most_probable_weights(likelihood, prior)
    assert best.sum() == pytest.approx(1.0)
    for other in generator.dirichlet([1.0, 1.0, 1.0], 300):
        assert log_posterior(other) <= log_posterior(best) + 1e-9


def test_weights_move_little_with_one_gold_item() -> None:
    prior = np.array([0.5, 0.5])
    weight = most_probable_weights(np.array([[0.99, 0.01]]), prior)
    half, total = PRIOR_TASKS / 2, PRIOR_TASKS + 1
    assert weight == pytest.approx([(half + 1) / total, half / total], abs=0.01)  # the item counts for the first form


def test_a_tie_counts_as_its_share() -> None:
    answers = encode_rows([("t", "a", 0), ("t", "b", 1)], gold={"t": 0}, label_set=range(4))
    items = np.array([0])
    for options, unchosen, expected in [
        ([0.6, 0.2], 0.1, 1.0),
        ([0.2, 0.6], 0.1, 0.0),
        ([0.4, 0.4], 0.1, 0.5),
        ([0.25, 0.25], 0.25, 0.25),
        ([0.1, 0.1], 0.4, 0.0),
    ]:
        posterior = Posterior(np.array(options), np.array([unchosen]))
        assert correctness(answers, posterior, items).tolist() == [expected]
