"""Weighted plurality: no update can be improved, the objective never falls, and weights show who is reliable."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings

from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.fit import Fit
from ls_crowd_plugin.aggregation.types import Floats
from ls_crowd_plugin.aggregation.weighted import (
    NegModel,
    SwModel,
    best_labels,
    fit_hyb,
    fit_neg,
    fit_plurality,
    fit_sw,
)
from tests.support.crowds import (
    Row,
    answer_labels,
    answer_tables,
    encode_rows,
    gold_labels,
    ignore_progress,
    label_probabilities,
    mixed_crowd,
    possible_labels,
)
from tests.support.examples import examples

FITS = {"neg": fit_neg, "sw": fit_sw, "hyb": fit_hyb}
# Labels whose scores differ by less than a billionth share an item, so an update may lose that much on each item.
SLACK = 1e-7


def neg_objective(answers: Answers, labels: dict[Any, Any], weight: Floats) -> float:
    """sum_j w_j sum_i [1 if r_ij = z_i else −1/(K_i−1)], written out."""
    position = {annotator: number for number, annotator in enumerate(answers.annotators)}
    possible = possible_labels(answers)
    total = 0.0
    for (item, annotator), label in answer_labels(answers).items():
        if len(possible[item]) > 1:
            gain = 1.0 if label == labels[item] else -1.0 / (len(possible[item]) - 1)
            total += weight[position[annotator]] * gain
    return total


def sw_objective(answers: Answers, labels: dict[Any, Any], weight: Floats, honest: Any) -> float:
    """sum_j w_j sum_i [v_j 1(r_ij = z_i) + (1−v_j)/(K_i−1) 1(r_ij ≠ z_i)], written out."""
    position = {annotator: number for number, annotator in enumerate(answers.annotators)}
    possible = possible_labels(answers)
    total = 0.0
    for (item, annotator), label in answer_labels(answers).items():
        agrees = label == labels[item]
        if len(possible[item]) > 1:
            is_honest = honest[position[annotator]]
            gain = float(agrees) if is_honest else float(not agrees) / (len(possible[item]) - 1)
            total += weight[position[annotator]] * gain
    return total


def all_labellings(answers: Answers) -> list[dict[Any, Any]]:
    """All ways to label the items that keep the gold labels."""
    gold = gold_labels(answers)
    possible = {item: [gold[item]] if item in gold else labels for item, labels in possible_labels(answers).items()}
    return [dict(zip(possible, labels, strict=True)) for labels in product(*possible.values())]


def labelling(answers: Answers, winner: Floats) -> dict[Any, Any]:
    """The labels that z [O] names, if there are no ties; an item without a winning option gets any other label."""
    options: dict[Any, dict[Any, float]] = {item: {} for item in answers.items}
    for item, choice, share in zip(answers.option_item, answers.option_choice, winner, strict=True):
        options[answers.items[item]][answers.choices[choice]] = float(share)
    labels = {}
    for item, possible in possible_labels(answers).items():
        best = max(options[item], key=lambda label: options[item][label])
        unchosen = [label for label in possible if label not in options[item]]
        assert options[item][best] in (0.0, 1.0)
        labels[item] = best if options[item][best] == 1.0 else unchosen[0]
    return labels


def random_weights(seed: int, count: int) -> Floats:
    return np.random.default_rng(seed).normal(size=count)


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("method", FITS)
@settings(max_examples=examples(40))
@given(answers=answer_tables())
@pytest.mark.slow
def test_the_objective_never_falls(method: str, printed: bool, answers: Answers) -> None:
    fit = FITS[method](answers, ignore_progress, printed=printed)
    assert np.diff(fit.convergence.history).min(initial=0.0) > -SLACK


@pytest.mark.parametrize("seed", range(6))
def test_labels_are_the_best_for_the_weights(seed: int) -> None:
    answers = mixed_crowd(seed)
    weight = random_weights(seed, len(answers.annotators))
    chosen = labelling(answers, best_labels(answers, answers.weighted_votes(weight)))
    best = max(neg_objective(answers, labels, weight) for labels in all_labellings(answers))
    assert neg_objective(answers, chosen, weight) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_the_best_for_the_labels(seed: int, printed: bool) -> None:
    answers = mixed_crowd(seed)
    model = NegModel(answers, printed)
    model.signed = random_weights(seed, len(answers.annotators))
    objective = model.update()
    labels = labelling(answers, model.winner)
    assert neg_objective(answers, labels, model.signed) == pytest.approx(objective)
    assert energy(answers, model.signed, printed) == pytest.approx(1.0)
    for other in unit_weights(answers, printed):
        assert neg_objective(answers, labels, other) <= objective + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_labels_are_the_best_for_the_weights_and_intentions(seed: int) -> None:
    answers = mixed_crowd(seed)
    size = np.abs(random_weights(seed, len(answers.annotators)))
    honest = random_weights(seed + 100, len(answers.annotators)) > 0
    chosen = labelling(answers, best_labels(answers, SwModel.scores(answers, np.where(honest, size, -size))))
    best = max(sw_objective(answers, labels, size, honest) for labels in all_labellings(answers))
    assert sw_objective(answers, chosen, size, honest) == pytest.approx(best, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_weights_and_intentions_are_the_best_for_the_labels(seed: int, printed: bool) -> None:
    answers = mixed_crowd(seed)
    model = SwModel(answers, printed)
    model.size = np.abs(random_weights(seed, len(answers.annotators)))
    model.honest = random_weights(seed + 100, len(answers.annotators)) > 0
    model.signed = np.where(model.honest, model.size, -model.size)
    objective = model.update()
    labels = labelling(answers, model.winner)
    assert sw_objective(answers, labels, model.size, model.honest) == pytest.approx(objective)
    assert model.size.min() >= 0
    assert energy(answers, model.size, printed) == pytest.approx(1.0)
    for honest in product([False, True], repeat=len(answers.annotators)):
        for other in unit_weights(answers, printed, draws=50):
            assert sw_objective(answers, labels, np.abs(other), honest) <= objective + 1e-9


def energy(answers: Answers, weight: Floats, printed: bool) -> float:
    """The bounded quantity: sum_j w_j², by default counted per answer."""
    price = np.ones(len(weight)) if printed else answers.answers_per_annotator
    return float(price @ weight**2)


def unit_weights(answers: Answers, printed: bool, draws: int = 300) -> list[Floats]:
    drawn = [random_weights(1000 + draw, len(answers.annotators)) for draw in range(draws)]
    return [weight / np.sqrt(energy(answers, weight, printed)) for weight in drawn]


@pytest.mark.parametrize("method", FITS)
@settings(max_examples=examples(30))
@given(answers=answer_tables())
def test_labels_with_the_highest_posterior_maximise_the_objective(method: str, answers: Answers) -> None:
    """With the final weights, no labels have a higher objective than those with the highest posterior."""
    fit = FITS[method](answers, ignore_progress)
    probability = label_probabilities(answers, fit.posterior)
    gold = gold_labels(answers)
    top = {
        item: gold.get(item, max(labels, key=lambda label: probability[item, label]))
        for item, labels in possible_labels(answers).items()
    }

    def objective(labels: dict[Any, Any]) -> float:
        if method == "neg":
            return neg_objective(answers, labels, fit.weight)
        return sw_objective(answers, labels, np.abs(fit.weight), fit.weight >= 0)

    for item, labels in possible_labels(answers).items():  # the objective is a sum over items
        for label in labels if item not in gold else []:
            assert objective({**top, item: label}) <= objective(top) + SLACK


def perfect_and_contrary(labels: int = 4, tasks: int = 20, contrary: int = 3) -> Answers:
    """Ten annotators are always right, some are never right, and two guess; the truth of task t is t mod K."""
    generator = np.random.default_rng(labels)
    rows = []
    for task in range(tasks):
        rows += [(task, f"right {number}", task % labels) for number in range(10)]
        rows += [
            (task, f"contrary {number}", int(task + generator.integers(1, labels)) % labels)
            for number in range(contrary)
        ]
        rows += [(task, f"guess {number}", int(generator.integers(labels))) for number in range(2)]
    return encode_rows(rows, label_set=range(labels))


def weights_of(fit: Fit, kind: str) -> Floats:
    return np.array(
        [
            weight
            for name, weight in zip(fit.answers.annotators, fit.weight.tolist(), strict=True)
            if name.startswith(kind)
        ]
    )


@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("method", FITS)
def test_a_perfect_adversary_is_detected(method: str, labels: int) -> None:
    # The test of SW as printed would multiply by the weight, which is 0 for an annotator who never agrees.
    fit = FITS[method](perfect_and_contrary(labels), ignore_progress)
    assert weights_of(fit, "contrary").max() < 0
    assert fit.adversary is not None
    assert fit.adversary[[name.startswith("contrary") for name in fit.answers.annotators]].min() > 0.9


def test_weights_of_neg_have_the_right_sign() -> None:
    # With the formula as printed, where a bracket is missing, all would be negative.
    fit = fit_neg(perfect_and_contrary(), ignore_progress)
    right = weights_of(fit, "right")
    assert right.min() > 0
    assert weights_of(fit, "contrary").max() < 0
    # A guesser agrees on 5 ± 1.9 of 20 tasks with 4 labels, so b is 0 ± 1.9 · 4/3, against 20 for perfect annotators.
    assert np.abs(weights_of(fit, "guess")).max() < right.min() * 4 * 1.94 * 4 / 3 / 20


@pytest.mark.parametrize("method", FITS)
def test_an_unchosen_label_wins_if_all_answers_are_contrary(method: str) -> None:
    rows = [(task, who, task % 3) for task in range(12) for who in ("a", "b", "c")]
    rows += [(task, "x", (task + 1) % 3) for task in range(12)]
    rows += [(task, "y", (task + 2) % 3) for task in range(12)]
    answers = encode_rows([*rows, ("open", "x", 0), ("open", "y", 1)], label_set=range(3))
    fit = FITS[method](answers, ignore_progress)
    probability = label_probabilities(answers, fit.posterior)
    assert probability["open", 2] > max(probability["open", 0], probability["open", 1])


@pytest.mark.parametrize("method", ["sw", "hyb"])
def test_an_adversary_of_sw_gives_every_other_label_only_a_part(method: str) -> None:
    """A perfect annotator and two contrary ones answer 0; one who is right on eleven of twenty tasks answers 1.

    Per answer, their weights are 1, 1/3 (every wrong answer gains 1/(K−1)) and 0.55. Each contrary weight goes to the
    other three labels in parts of 1/9, so 0 leads 1 by 1 − 2/9 − 0.55 = 0.23.
    """
    rows: list[Row] = [(task, f"right {number}", task % 4) for task in range(20) for number in range(10)]
    rows += [(task, f"contrary {number}", (task + 1 + task // 4 % 3) % 4) for task in range(20) for number in range(2)]
    rows += [(task, "sloppy", (task + (task >= 11)) % 4) for task in range(20)]
    rows += [("open", "right 0", 0), ("open", "contrary 0", 0), ("open", "contrary 1", 0), ("open", "sloppy", 1)]
    answers = encode_rows(rows, label_set=range(4))
    fit = FITS[method](answers, ignore_progress)
    probability = label_probabilities(answers, fit.posterior)
    assert probability["open", 0] > probability["open", 1]


@pytest.mark.parametrize("fit_method", [fit_plurality, *FITS.values()])
def test_gold_holds_even_if_everybody_contradicts_it(fit_method: Callable[..., Fit]) -> None:
    """All annotators are wrong on the gold tasks, so all of them count as contrary."""
    rows = [(task, who, "no") for task in range(9) for who in "abc"]
    fit = fit_method(encode_rows(rows, gold=dict.fromkeys(range(6), "yes"), label_set=["no", "yes"]), ignore_progress)
    if fit_method is fit_plurality:
        assert fit.weight.max() < 0.5
    else:
        assert fit.weight.max() < 0


@pytest.mark.parametrize("gold", [{}, {"unanswered": 0}, {0: 0}, {0: 1, 1: 1}])
def test_plurality_is_finite_with_few_probes_or_none(gold: dict[Any, int]) -> None:
    rows = [(0, "a", 0), (1, "a", 1), (1, "b", 0), (2, "c", 1)]
    fit = fit_plurality(encode_rows(rows, gold=gold), ignore_progress)
    for values in (fit.weight, *fit.posterior):
        assert np.isfinite(values).all()
    assert fit.form == ("ss-plu" if 0 in gold else "plu")


def test_an_annotators_weight_is_the_share_of_probes_answered_right() -> None:
    rows = [(task, "good", 0) for task in range(4)] + [(task, "bad", int(task > 0)) for task in range(4)]
    fit = fit_plurality(
        encode_rows([*rows, ("open", "good", 0), ("open", "new", 1)], gold=dict.fromkeys(range(4), 0)), ignore_progress
    )
    weight = dict(zip(fit.answers.annotators, fit.weight.tolist(), strict=True))
    share = (5 + 1) / (8 + 2)  # five of eight answers to probes are right, and one of two pseudo-answers
    assert weight["good"] == pytest.approx((4 + 2 * share) / 6)
    assert weight["bad"] == pytest.approx((1 + 2 * share) / 6)
    assert weight["new"] == pytest.approx(share)


def test_plurality_without_gold_counts_votes() -> None:
    answers = mixed_crowd(3, gold=False)
    fit = fit_plurality(answers, ignore_progress)
    answered = answer_labels(answers)
    probability = label_probabilities(answers, fit.posterior)
    for item, labels in possible_labels(answers).items():
        votes = [sum(key[0] == item and answered[key] == label for key in answered) for label in labels]
        order = np.argsort([probability[item, label] for label in labels])
        assert sorted(votes) == [votes[position] for position in order]


@pytest.mark.parametrize("method", FITS)
def test_the_printed_form_is_the_same_if_all_annotators_give_equally_many_answers(method: str) -> None:
    answers = perfect_and_contrary(3)
    default, printed = (FITS[method](answers, ignore_progress, printed=flag) for flag in (False, True))
    assert printed.posterior.options == pytest.approx(default.posterior.options, abs=1e-9)
    assert printed.weight == pytest.approx(default.weight * np.sqrt(20), abs=1e-9)  # 20 answers each


@pytest.mark.parametrize("method", FITS)
def test_by_default_a_weight_does_not_grow_with_the_number_of_answers(method: str) -> None:
    rows = [(task, who, task % 2) for task in range(20) for who in ("a", "b", "c")]
    answers = encode_rows([*rows, (0, "new", 0), (1, "new", 1)])
    default, printed = (FITS[method](answers, ignore_progress, printed=flag) for flag in (False, True))
    assert default.weight == pytest.approx(default.weight[0])
    assert printed.weight[-1] == pytest.approx(printed.weight[0] / 10)  # 2 answers against 20


@pytest.mark.parametrize("method", FITS)
def test_the_probability_of_an_adversary_is_that_of_an_accuracy_below_chance(method: str) -> None:
    answers = perfect_and_contrary(4)
    fit = FITS[method](answers, ignore_progress)
    accuracy = np.linspace(0, 1, 200_001)
    answered = answer_labels(answers)
    for position, annotator in enumerate(answers.annotators):
        right = sum(label == task % 4 for (task, name), label in answered.items() if name == annotator)
        density = accuracy**right * (1 - accuracy) ** (20 - right + 2)  # prior Beta(1, K − 1), whose mean is chance
        below: npt.NDArray[np.bool_] = accuracy < 1 / 4
        assert fit.adversary is not None
        # The grid has a spacing of 5e-6, and the density integrates to one with slopes below 100.
        assert fit.adversary[position] == pytest.approx(density[below].sum() / density.sum(), abs=1e-3)


@pytest.mark.parametrize("method", FITS)
def test_a_unanimous_crowd_and_an_undecidable_one_have_finite_weights(method: str) -> None:
    unanimous = [(task, name, "same") for task in range(3) for name in "ab"]
    for answers in (
        encode_rows(unanimous),
        encode_rows(unanimous, label_set=["same", "other"]),
        encode_rows([("t", "a", 0), ("t", "b", 1)]),
    ):
        fit = FITS[method](answers, ignore_progress)
        assert np.isfinite(fit.weight).all()
        assert np.isfinite(fit.posterior.options).all()
