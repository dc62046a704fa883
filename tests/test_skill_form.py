"""GEM with difficulty integrated out: its pmfs, its two steps against plain loops, its ascent, what it recovers."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np
import pytest
from crowds import (
    given_labels,
    gold_labels,
    label_probabilities,
    mixed_crowd,
    permuted_votes,
    possible_labels,
    rank_correlation,
    silent,
    table,
    table_of,
    tables,
    wrong,
)
from hypothesis import given, settings

from ls_crowd_plugin.aggregation.answers import Answers, Floats
from ls_crowd_plugin.aggregation.fit import Fit
from ls_crowd_plugin.aggregation.skill import (
    ADVERSARY,
    GUESSING,
    HONEST,
    LEAST,
    SPREADS,
    Types,
    _nodes,
    _Skill,
    fit_skill,
)
from ls_crowd_plugin.aggregation.weighted import fit_plurality
from ls_crowd_plugin.demo import SimulatedCrowd
from ls_crowd_plugin.demo.crowds import generative_crowd


def hit_or_miss(types: Types, kind: int, difficulty: float, labels: int, right: bool) -> float:
    """The paper's table for one type and one difficulty; a guesser can solve nothing."""
    s = 1 / (1 + exp(-types.discrimination[kind] * (types.skill[kind] - difficulty)))
    if types.intention[kind] == GUESSING:
        s = 0.0
    if types.intention[kind] == ADVERSARY:
        return (1 - s) / labels + LEAST + (0.0 if right else s / (labels - 1))
    return (1 - s) / labels + LEAST + (s if right else 0.0)


@pytest.mark.parametrize("labels", range(2, 8))
@pytest.mark.parametrize("spread", SPREADS)
def test_probabilities_of_all_answers_sum_to_one(spread: float, labels: int) -> None:
    types = Types.grid(spread)
    hit, miss = types.hit_and_miss(_nodes(spread)[0], labels)
    assert set(types.intention.tolist()) == {HONEST, ADVERSARY, GUESSING}
    # LEAST is added to the probability of each of the K labels; the rest is rounding.
    assert hit + (labels - 1) * miss == pytest.approx(1.0, abs=labels * LEAST + 1e-14)


@pytest.mark.parametrize("spread", SPREADS)
def test_hit_and_miss_of_every_type_are_the_papers(spread: float) -> None:
    types, nodes = Types.grid(spread), _nodes(spread)[0]
    hit, miss = types.hit_and_miss(nodes, 3)
    for kind in range(0, len(types.skill), 5):
        for place, difficulty in enumerate(nodes):
            assert hit[kind, place] == pytest.approx(hit_or_miss(types, kind, difficulty, 3, True), abs=1e-12)
            assert miss[kind, place] == pytest.approx(hit_or_miss(types, kind, difficulty, 3, False), abs=1e-12)


@pytest.mark.parametrize("spread", SPREADS)
def test_difficulties_have_the_spread_they_are_said_to_have(spread: float) -> None:
    nodes, log_weight = _nodes(spread)
    weight = np.exp(log_weight)
    assert weight.sum() == pytest.approx(1.0)
    assert weight @ nodes == pytest.approx(0.0, abs=1e-12)
    # An even grid ends at x = ±3.2 standard deviations; beyond lie 2 (x φ(x) + 1 − Φ(x)) = 1.7 % of the variance.
    assert weight @ nodes**2 == pytest.approx(spread**2, rel=0.02)


def expected_log(model: _Skill, annotator: int, node: float, labels: int, right: bool) -> float:
    """E[log hit] or E[log miss] over what is believed of the annotator's type."""
    return sum(
        float(belief) * log(hit_or_miss(model.types, kind, node, labels, right))
        for kind, belief in enumerate(model.belief[annotator])
        if belief > 0
    )


def joint_by_loops(model: _Skill, lift_gold: bool = False) -> dict[Any, dict[tuple[Any, int], float]]:
    """Item → (label, node) → weight · (1/K) · prod_j exp E[log P(r_ij | label, node)], gold items having one label."""
    answers = model.answers
    gold, said = gold_labels(answers), given_labels(answers)
    people = {name: place for place, name in enumerate(answers.annotators)}
    joint: dict[Any, dict[tuple[Any, int], float]] = {}
    for item, labels in possible_labels(answers).items():
        joint[item] = {}
        for label in labels:
            for g, node in enumerate(model.nodes):
                value = model.log_node[g] - log(len(labels))
                for (task, who), given_label in said.items():
                    if task == item:
                        value += expected_log(model, people[who], node, len(labels), given_label == label)
                allowed = lift_gold or gold.get(item, label) == label
                joint[item][label, g] = exp(value) if allowed else 0.0
    return joint


def shares(joint: dict[Any, dict[tuple[Any, int], float]]) -> dict[tuple[Any, Any], float]:
    """(item, label) → probability."""
    found: dict[tuple[Any, Any], float] = {}
    for item, cells in joint.items():
        total = sum(cells.values())
        for (label, _), value in cells.items():
            found[item, label] = found.get((item, label), 0.0) + value / total
    return found


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_labels_and_difficulty_follow_from_what_is_believed_of_the_annotators(spread: float) -> None:
    model = _Skill(mixed_crowd(1), spread)
    for _ in range(5):
        objective = model.step()
    answers = model.answers
    joint = joint_by_loops(model)
    expected = shares(joint)
    options = model.option.sum(1)
    for place, (item, choice) in enumerate(zip(answers.option_item, answers.option_choice, strict=True)):
        assert options[place] == pytest.approx(expected[answers.items[item], answers.choices[choice]], abs=1e-9)
    for place, cells in enumerate(joint.values()):
        for g in range(len(model.nodes)):
            at_node = sum(value for (_, node), value in cells.items() if node == g)
            assert model.node[place, g] == pytest.approx(at_node / sum(cells.values()), abs=1e-9)
    surprise = sum(
        belief * (log(belief) - prior)
        for row in model.belief.tolist()
        for belief, prior in zip(row, model.log_prior.tolist(), strict=True)
        if belief > 0
    )
    evidence = sum(log(sum(cells.values())) for cells in joint.values())
    assert objective == pytest.approx(evidence - surprise, abs=1e-9)


def test_lifting_gold_gives_what_the_answers_alone_say() -> None:
    model = _Skill(mixed_crowd(1), 1.0)
    for _ in range(3):
        model.step()
    expected = shares(joint_by_loops(model, lift_gold=True))
    assert label_probabilities(model.answers, *model.lifted_posterior()) == pytest.approx(expected, abs=1e-9)


def test_what_is_believed_of_the_annotators_follows_from_labels_and_difficulty() -> None:
    model = _Skill(mixed_crowd(2), 1.0)
    model.step()
    option, node, prior = model.option.copy(), model.node.copy(), model.log_prior.copy()
    model._learn_types()
    answers = model.answers
    for annotator in range(len(answers.annotators)):
        score = prior.copy()
        for item, who, given_option in zip(
            answers.answer_item, answers.answer_annotator, answers.answer_option, strict=True
        ):
            if who != annotator:
                continue
            labels = int(answers.label_count[item])
            for kind in range(len(score)):
                for g, difficulty in enumerate(model.nodes):
                    right = option[given_option, g]
                    score[kind] += right * log(hit_or_miss(model.types, kind, difficulty, labels, True))
                    score[kind] += (node[item, g] - right) * log(
                        hit_or_miss(model.types, kind, difficulty, labels, False)
                    )
        expected = np.exp(score - score.max())
        assert model.belief[annotator] == pytest.approx(expected / expected.sum(), abs=1e-9)


def test_what_is_believed_sums_to_one() -> None:
    model = _Skill(mixed_crowd(3), 2.0)
    for _ in range(6):  # the crowd's own shares of types are learned from the fourth step on
        model.step()
        assert np.exp(model.log_prior).sum() == pytest.approx(1.0)
        assert model.belief.sum(1) == pytest.approx(1.0)
        assert model.node.sum(1) == pytest.approx(1.0)


def test_tasks_with_equally_united_votes_start_equally_hard() -> None:
    answers, patterns = permuted_votes()
    node = _Skill(answers, 2.0).node
    for pattern in set(patterns):
        same = node[[each == pattern for each in patterns]]
        assert same == pytest.approx(np.tile(same[0], (len(same), 1)), abs=1e-9)


@pytest.mark.parametrize("spread", SPREADS[:3])
@settings(max_examples=10)
@given(answers=tables())
def test_the_objective_never_falls(spread: float, answers: Answers) -> None:
    fit = fit_skill(answers, silent, spread)
    assert np.diff(fit.history).min(initial=0.0) > -1e-9  # rounding: sums of some hundred terms of size ten


@pytest.fixture(scope="module")
def simulated() -> tuple[SimulatedCrowd, Fit]:
    crowd = generative_crowd(1, task_variance=1000.0, annotators=80, tasks=80, adversaries=0.15, probes=8)
    return crowd, fit_skill(table_of(crowd, with_gold=True), silent, 2.0)


def test_simulated_skill_and_difficulty_are_recovered(simulated: tuple[SimulatedCrowd, Fit]) -> None:
    # Only the order can be, the scale being a convention. Five such crowds gave 0.93 to 0.97 and 0.98 to 0.99.
    crowd, fit = simulated
    assert rank_correlation(fit.skill, crowd.skill) > 0.85
    assert rank_correlation(fit.difficulty, crowd.difficulty) > 0.9


def test_simulated_adversaries_are_found_and_nobody_else(simulated: tuple[SimulatedCrowd, Fit]) -> None:
    # An adversary who can solve less than a quarter of the tasks gives away too little to be told from a guesser.
    crowd, fit = simulated
    assert crowd.adversary is not None
    assert crowd.skill is not None
    assert crowd.difficulty is not None
    assert fit.adversary is not None
    able = (crowd.skill[:, None] > crowd.difficulty).mean(1) > 0.25
    assert (fit.adversary > 0.5)[crowd.adversary & able].mean() >= 0.9
    assert (fit.adversary > 0.5)[~crowd.adversary].mean() <= 0.02


def test_most_labels_that_plurality_gets_wrong_are_put_right() -> None:
    of_skill, of_plurality = 0, 0
    for seed in range(3):
        crowd = generative_crowd(seed, task_variance=500.0, annotators=60, tasks=80, adversaries=0.2)
        answers = table_of(crowd)
        of_skill += wrong(crowd, top_labels(fit_skill(answers, silent, 2.0)))
        of_plurality += wrong(crowd, top_labels(fit_plurality(answers, silent)))
    assert of_plurality >= 15
    assert of_skill < of_plurality / 2


def top_labels(fit: Fit) -> dict[Any, Any]:
    probability = label_probabilities(fit.answers, fit.posterior, fit.unchosen)
    return {
        item: max(labels, key=lambda label: probability[item, label])
        for item, labels in possible_labels(fit.answers).items()
    }


def two_questions(generator: np.random.Generator) -> Answers:
    """Ten people with accuracies between 0.3 and 0.95 and two who are contrary, on questions of two and five labels."""
    rows = []
    for task in range(60):
        for question, count in (("two", 2), ("five", 5)):
            for person in range(12):
                accuracy = np.linspace(0.3, 0.95, 10)[person] if person < 10 else 0.0
                right = generator.random() < accuracy
                other = (task + int(generator.integers(1, count))) % count
                guess = int(generator.integers(count)) if person < 10 else other
                rows.append((task, person, task % count if right else guess, question))
    return table(rows, label_set={"two": range(2), "five": range(5)})


def test_skill_is_shared_by_questions_with_different_numbers_of_labels() -> None:
    fit = fit_skill(two_questions(np.random.default_rng(0)), silent, 0.0)
    # Knowing shares of 0.3 and 0.95 lie 3.8 units of log-odds apart; 120 answers tell them to about a third of a unit.
    assert rank_correlation(fit.skill[:10], np.arange(10)) > 0.9
    assert fit.adversary is not None
    assert fit.adversary[10:].min() > 0.9
    assert fit.adversary[:10].max() < 0.1
    truth = {item: item[0] % (2 if item[1] == "two" else 5) for item in fit.answers.items}
    assert sum(label != truth[item] for item, label in top_labels(fit).items()) <= 2


def test_an_annotator_with_few_answers_stays_unsure() -> None:
    rows = [(task, who, task % 3) for task in range(30) for who in "abcd"]
    fit = fit_skill(table([*rows, (0, "new", 0)]), silent, 0.0)
    assert fit.skill_error is not None
    error: Floats = fit.skill_error
    assert error[4] > 1.2 * error[0]
