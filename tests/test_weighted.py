"""Weighted plurality climbs its objective, every step is the best there is, and weights say who can be relied on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from crowds import (
    Row,
    given_labels,
    gold_labels,
    label_probabilities,
    mixed_crowd,
    possible_labels,
    silent,
    table,
    tables,
)
from hypothesis import given, settings

from ls_crowd_plugin.aggregation.answers import Answers, Floats
from ls_crowd_plugin.aggregation.fit import Fit
from ls_crowd_plugin.aggregation.weighted import (
    _votes,
    _Weighted,
    _WeightedWithIntention,
    _winners,
    fit_hyb,
    fit_neg,
    fit_plurality,
    fit_sw,
)

FITS = {"neg": fit_neg, "sw": fit_sw, "hyb": fit_hyb}
# Labels whose scores differ by less than a billionth share an item, so a step may lose that much on each of its items.
SLACK = 1e-7


def neg_objective(answers: Answers, labels: dict[Any, Any], weight: Floats) -> float:
    """sum_j w_j sum_i [1 if r_ij = z_i else −1/(K_i−1)], written out."""
    position = {annotator: place for place, annotator in enumerate(answers.annotators)}
    possible = possible_labels(answers)
    total = 0.0
    for (item, annotator), label in given_labels(answers).items():
        if len(possible[item]) > 1:
            bracket = 1.0 if label == labels[item] else -1.0 / (len(possible[item]) - 1)
            total += weight[position[annotator]] * bracket
    return total


def sw_objective(answers: Answers, labels: dict[Any, Any], weight: Floats, honest: Any) -> float:
    """sum_j w_j sum_i [v_j 1(r_ij = z_i) + (1−v_j)/(K_i−1) 1(r_ij ≠ z_i)], written out."""
    position = {annotator: place for place, annotator in enumerate(answers.annotators)}
    possible = possible_labels(answers)
    total = 0.0
    for (item, annotator), label in given_labels(answers).items():
        place, agrees = position[annotator], label == labels[item]
        if len(possible[item]) > 1:
            gain = float(agrees) if honest[place] else float(not agrees) / (len(possible[item]) - 1)
            total += weight[place] * gain
    return total


def all_labellings(answers: Answers) -> list[dict[Any, Any]]:
    """Every way to label the items that leaves gold as it is."""
    gold = gold_labels(answers)
    possible = {item: [gold[item]] if item in gold else labels for item, labels in possible_labels(answers).items()}
    return [dict(zip(possible, labels, strict=True)) for labels in product(*possible.values())]


def labelling(answers: Answers, winner: Floats) -> dict[Any, Any]:
    """The labels that z [O] names, where no tie is left; an item none of whose options won gets any other label."""
    options: dict[Any, dict[Any, float]] = {item: {} for item in answers.items}
    for item, choice, share in zip(answers.option_item, answers.option_choice, winner, strict=True):
        options[answers.items[item]][answers.choices[choice]] = float(share)
    labels = {}
    for item, possible in possible_labels(answers).items():
        best = max(options[item], key=lambda label: options[item][label])
        nobody = [label for label in possible if label not in options[item]]
        assert options[item][best] in (0.0, 1.0)
        labels[item] = best if options[item][best] == 1.0 else nobody[0]
    return labels


def random_weights(seed: int, count: int) -> Floats:
    return np.random.default_rng(seed).normal(size=count)


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("method", FITS)
@settings(max_examples=40)
@given(answers=tables())
def test_the_objective_never_falls(method: str, printed: bool, answers: Answers) -> None:
    fit = FITS[method](answers, silent, printed=printed)
    assert np.diff(fit.history).min(initial=0.0) > -SLACK


@pytest.mark.parametrize("seed", range(6))
def test_labels_are_the_best_for_given_weights(seed: int) -> None:
    answers = mixed_crowd(seed)
    weight = random_weights(seed, len(answers.annotators))
    found = labelling(answers, _winners(answers, _votes(answers, weight)))
    best = max(neg_objective(answers, labels, weight) for labels in all_labellings(answers))
    assert neg_objective(answers, found, weight) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_the_best_for_given_labels(seed: int, printed: bool) -> None:
    answers = mixed_crowd(seed)
    model = _Weighted(answers, printed)
    model.signed = random_weights(seed, len(answers.annotators))
    reported = model.step()
    labels = labelling(answers, model.winner)
    assert neg_objective(answers, labels, model.signed) == pytest.approx(reported)
    assert energy(answers, model.signed, printed) == pytest.approx(1.0)
    for other in unit_weights(answers, printed):
        assert neg_objective(answers, labels, other) <= reported + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_labels_are_the_best_for_given_weights_and_intentions(seed: int) -> None:
    answers = mixed_crowd(seed)
    model = _WeightedWithIntention(answers, False)
    model.size = np.abs(random_weights(seed, len(answers.annotators)))
    model.honest = random_weights(seed + 100, len(answers.annotators)) > 0
    found = labelling(answers, _winners(answers, model.score()))
    best = max(sw_objective(answers, labels, model.size, model.honest) for labels in all_labellings(answers))
    assert sw_objective(answers, found, model.size, model.honest) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_weights_and_intentions_are_the_best_for_given_labels(seed: int, printed: bool) -> None:
    answers = mixed_crowd(seed)
    model = _WeightedWithIntention(answers, printed)
    model.size = np.abs(random_weights(seed, len(answers.annotators)))
    model.honest = random_weights(seed + 100, len(answers.annotators)) > 0
    reported = model.step()
    labels = labelling(answers, model.winner)
    assert sw_objective(answers, labels, model.size, model.honest) == pytest.approx(reported)
    assert model.size.min() >= 0
    assert energy(answers, model.size, printed) == pytest.approx(1.0)
    for honest in product([False, True], repeat=len(answers.annotators)):
        for other in unit_weights(answers, printed, draws=50):
            assert sw_objective(answers, labels, np.abs(other), honest) <= reported + 1e-9


def energy(answers: Answers, weight: Floats, printed: bool) -> float:
    """The bounded quantity: sum_j w_j², by default counted per answer."""
    price = np.ones(len(weight)) if printed else answers.answers_per_annotator
    return float(price @ weight**2)


def unit_weights(answers: Answers, printed: bool, draws: int = 300) -> list[Floats]:
    drawn = [random_weights(1000 + draw, len(answers.annotators)) for draw in range(draws)]
    return [weight / np.sqrt(energy(answers, weight, printed)) for weight in drawn]


@pytest.mark.parametrize("method", FITS)
@settings(max_examples=30)
@given(answers=tables())
def test_labels_with_the_highest_posterior_are_the_methods_own(method: str, answers: Answers) -> None:
    """At the weights where a method ends no labels give a higher objective than those its posterior names."""
    fit = FITS[method](answers, silent)
    probability = label_probabilities(answers, fit.posterior, fit.unchosen)
    gold = gold_labels(answers)
    top = {
        item: gold.get(item, max(labels, key=lambda label: probability[item, label]))
        for item, labels in possible_labels(answers).items()
    }

    def objective(labels: dict[Any, Any]) -> float:
        if method == "neg":
            return neg_objective(answers, labels, fit.weight)
        return sw_objective(answers, labels, np.abs(fit.weight), fit.weight >= 0)

    for item, labels in possible_labels(answers).items():  # items do not touch each other's part of the objective
        for label in labels if item not in gold else []:
            assert objective({**top, item: label}) <= objective(top) + SLACK


def perfect_and_contrary(labels: int = 4, tasks: int = 20, contrary: int = 3) -> Answers:
    """Ten annotators who are always right, some who never are, and two who guess; the truth of task t is t mod K."""
    generator = np.random.default_rng(labels)
    rows = []
    for task in range(tasks):
        rows += [(task, f"right {number}", task % labels) for number in range(10)]
        rows += [
            (task, f"contrary {number}", int(task + generator.integers(1, labels)) % labels)
            for number in range(contrary)
        ]
        rows += [(task, f"guess {number}", int(generator.integers(labels))) for number in range(2)]
    return table(rows, label_set=range(labels))


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
def test_a_perfect_adversary_is_found(method: str, labels: int) -> None:
    # As printed, the test of SW would multiply by a weight that is 0 for somebody who never agrees.
    fit = FITS[method](perfect_and_contrary(labels), silent)
    assert weights_of(fit, "contrary").max() < 0
    assert fit.adversary is not None
    assert fit.adversary[[name.startswith("contrary") for name in fit.answers.annotators]].min() > 0.9


def test_weights_of_neg_point_the_right_way() -> None:
    # As printed, without the bracket, all would be negative.
    fit = fit_neg(perfect_and_contrary(), silent)
    right = weights_of(fit, "right")
    assert right.min() > 0
    assert weights_of(fit, "contrary").max() < 0
    # A guesser agrees with 20 tasks of 4 labels 5 ± 1.9 times; the bracket is then 0 ± 1.9 · 4/3 against 20.
    assert np.abs(weights_of(fit, "guess")).max() < right.min() * 4 * 1.94 * 4 / 3 / 20


@pytest.mark.parametrize("method", FITS)
def test_a_label_nobody_chose_wins_where_all_who_chose_are_contrary(method: str) -> None:
    rows = [(task, who, task % 3) for task in range(12) for who in ("a", "b", "c")]
    rows += [(task, "x", (task + 1) % 3) for task in range(12)]
    rows += [(task, "y", (task + 2) % 3) for task in range(12)]
    answers = table([*rows, ("open", "x", 0), ("open", "y", 1)], label_set=range(3))
    fit = FITS[method](answers, silent)
    probability = label_probabilities(answers, fit.posterior, fit.unchosen)
    assert probability["open", 2] > max(probability["open", 0], probability["open", 1])


@pytest.mark.parametrize("method", ["sw", "hyb"])
def test_an_adversary_of_sw_gives_each_other_label_only_its_part(method: str) -> None:
    """One always right and two never right say 0, one right on eleven of twenty tasks says 1.

    Per answer their weights are 1, 1/3 (every wrong answer gains 1/(K−1)) and 0.55. Each contrary weight goes to the
    other three labels in parts of 1/9, so 0 leads 1 by 1 − 2/9 − 0.55 = 0.23.
    """
    rows: list[Row] = [(task, f"right {number}", task % 4) for task in range(20) for number in range(10)]
    rows += [(task, f"contrary {number}", (task + 1 + task // 4 % 3) % 4) for task in range(20) for number in range(2)]
    rows += [(task, "sloppy", (task + (task >= 11)) % 4) for task in range(20)]
    rows += [("open", "right 0", 0), ("open", "contrary 0", 0), ("open", "contrary 1", 0), ("open", "sloppy", 1)]
    answers = table(rows, label_set=range(4))
    fit = FITS[method](answers, silent)
    probability = label_probabilities(answers, fit.posterior, fit.unchosen)
    assert probability["open", 0] > probability["open", 1]


@pytest.mark.parametrize("fit_method", [fit_plurality, *FITS.values()])
def test_gold_is_kept_against_everybody(fit_method: Callable[..., Fit]) -> None:
    """Everybody is wrong on the gold tasks, which makes contrary people of them all."""
    rows = [(task, who, "no") for task in range(9) for who in "abc"]
    fit = fit_method(table(rows, gold=dict.fromkeys(range(6), "yes"), label_set=["no", "yes"]), silent)
    if fit_method is fit_plurality:
        assert fit.weight.max() < 0.5
    else:
        assert fit.weight.max() < 0


@pytest.mark.parametrize("gold", [{}, {"unanswered": 0}, {0: 0}, {0: 1, 1: 1}])
def test_plurality_is_finite_with_few_probes_or_none(gold: dict[Any, int]) -> None:
    rows = [(0, "a", 0), (1, "a", 1), (1, "b", 0), (2, "c", 1)]
    fit = fit_plurality(table(rows, gold=gold), silent)
    for values in (fit.weight, fit.posterior, fit.unchosen):
        assert np.isfinite(values).all()
    assert fit.form == ("ss-plu" if 0 in gold else "plu")


def test_probes_weigh_an_annotator_by_the_share_answered_right() -> None:
    rows = [(task, "good", 0) for task in range(4)] + [(task, "bad", int(task > 0)) for task in range(4)]
    fit = fit_plurality(
        table([*rows, ("open", "good", 0), ("open", "new", 1)], gold=dict.fromkeys(range(4), 0)), silent
    )
    weight = dict(zip(fit.answers.annotators, fit.weight.tolist(), strict=True))
    share = (5 + 1) / (8 + 2)  # five of eight answers to probes were right; one of two more
    assert weight["good"] == pytest.approx((4 + 2 * share) / 6)
    assert weight["bad"] == pytest.approx((1 + 2 * share) / 6)
    assert weight["new"] == pytest.approx(share)


def test_plurality_without_gold_counts_votes() -> None:
    answers = mixed_crowd(3, gold=False)
    fit = fit_plurality(answers, silent)
    said = given_labels(answers)
    probability = label_probabilities(answers, fit.posterior, fit.unchosen)
    for item, labels in possible_labels(answers).items():
        votes = [sum(key[0] == item and said[key] == label for key in said) for label in labels]
        order = np.argsort([probability[item, label] for label in labels])
        assert sorted(votes) == [votes[place] for place in order]


@pytest.mark.parametrize("method", FITS)
def test_the_printed_form_is_the_same_where_everybody_answers_equally_much(method: str) -> None:
    answers = perfect_and_contrary(3)
    default, printed = (FITS[method](answers, silent, printed=flag) for flag in (False, True))
    assert printed.posterior == pytest.approx(default.posterior, abs=1e-9)
    assert printed.weight == pytest.approx(default.weight * np.sqrt(20), abs=1e-9)  # 20 answers each


@pytest.mark.parametrize("method", FITS)
def test_by_default_a_weight_does_not_grow_with_the_work_done(method: str) -> None:
    rows = [(task, who, task % 2) for task in range(20) for who in ("a", "b", "c")]
    answers = table([*rows, (0, "new", 0), (1, "new", 1)])
    default, printed = (FITS[method](answers, silent, printed=flag) for flag in (False, True))
    assert default.weight == pytest.approx(default.weight[0])
    assert printed.weight[-1] == pytest.approx(printed.weight[0] / 10)  # 2 answers against 20


@pytest.mark.parametrize("method", FITS)
def test_the_probability_of_an_adversary_is_that_of_an_accuracy_below_chance(method: str) -> None:
    answers = perfect_and_contrary(4)
    fit = FITS[method](answers, silent)
    accuracy = np.linspace(0, 1, 200_001)
    said = given_labels(answers)
    for place, annotator in enumerate(answers.annotators):
        right = sum(label == task % 4 for (task, who), label in said.items() if who == annotator)
        density = accuracy**right * (1 - accuracy) ** (20 - right + 2)  # prior Beta(1, K − 1), whose mean is chance
        below: npt.NDArray[np.bool_] = accuracy < 1 / 4
        assert fit.adversary is not None
        # The grid has a spacing of 5e-6, and the density integrates to one with slopes below 100.
        assert fit.adversary[place] == pytest.approx(density[below].sum() / density.sum(), abs=1e-3)


@pytest.mark.parametrize("method", FITS)
def test_a_united_crowd_and_an_undecidable_one_have_finite_weights(method: str) -> None:
    united = [(task, who, "same") for task in range(3) for who in "ab"]
    for answers in (table(united), table(united, label_set=["same", "other"]), table([("t", "a", 0), ("t", "b", 1)])):
        fit = FITS[method](answers, silent)
        assert np.isfinite(fit.weight).all()
        assert np.isfinite(fit.posterior).all()
