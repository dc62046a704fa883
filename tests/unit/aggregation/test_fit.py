"""Operations on posteriors that all methods share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.fit import Posterior, initial_difficulty, normalise, vote_shares
from ls_crowd_plugin.aggregation.weighted import fit_neg
from tests.support.crowds import (
    answer_labels,
    answer_tables,
    encode_rows,
    gold_labels,
    ignore_progress,
    label_probabilities,
    permuted_votes,
    possible_labels,
)
from tests.support.examples import examples


@settings(max_examples=examples(30))
@given(answer_tables(), st.integers(0, 1000))
def test_normalised_scores_are_a_softmax_over_all_labels(answers: Answers, seed: int) -> None:
    generator = np.random.default_rng(seed)
    option = generator.normal(0, 5, len(answers.option_item))
    unchosen = generator.normal(0, 5, len(answers.items))
    share, other, log_total = normalise(answers, option, unchosen)
    score = label_probabilities(answers, Posterior(option, unchosen))
    probability = label_probabilities(answers, Posterior(share, other))
    for position, (item, labels) in enumerate(possible_labels(answers).items()):
        total = sum(np.exp(score[item, label]) for label in labels)
        assert log_total[position] == pytest.approx(np.log(total))
        for label in labels:
            assert probability[item, label] == pytest.approx(np.exp(score[item, label]) / total, abs=1e-12)


@settings(max_examples=examples(30))
@given(answer_tables())
def test_vote_shares_are_smoothed_votes_and_gold_is_certain(answers: Answers) -> None:
    answered, gold = answer_labels(answers), gold_labels(answers)
    share = label_probabilities(answers, vote_shares(answers))
    for item, labels in possible_labels(answers).items():
        extra = min(0.1, 0.5 / len(labels))
        votes = {
            label: extra + sum(task == item and answer == label for (task, _), answer in answered.items())
            for label in labels
        }
        for label in labels:
            expected = float(label == gold[item]) if item in gold else votes[label] / sum(votes.values())
            assert share[item, label] == pytest.approx(expected, abs=1e-12)


def test_divided_votes_start_as_harder_and_ties_stay_ties() -> None:
    answers, patterns = permuted_votes()
    difficulty = initial_difficulty(answers, vote_shares(answers).options)
    by_pattern = {
        pattern: difficulty[[other == pattern for other in patterns]] for pattern in sorted(set(patterns), key=max)
    }
    assert all(np.ptp(values) == 0 for values in by_pattern.values())
    means = [float(values.mean()) for values in by_pattern.values()]
    assert means == sorted(means, reverse=True)


def test_items_without_answers_or_with_one_label_have_no_initial_difficulty() -> None:
    rows = [("t", "ann", 0, "one"), ("t", "ann", 0, "two"), ("t", "bob", 1, "two"), ("u", "bob", 1, "two")]
    answers = encode_rows(rows, gold={("v", "two"): 0})
    difficulty = dict(zip(answers.items, initial_difficulty(answers, vote_shares(answers).options), strict=True))
    assert difficulty["t", "one"] == difficulty["v", "two"] == 0
    assert difficulty["t", "two"] > 0 > difficulty["u", "two"]


@settings(max_examples=examples(30))
@given(answer_tables())
def test_a_posterior_is_the_same_on_a_table_with_all_options(answers: Answers) -> None:
    fit = fit_neg(answers, ignore_progress)
    complete = answers.with_all_options()
    expected = label_probabilities(answers, fit.posterior)
    assert label_probabilities(complete, fit.posterior_on(complete)) == pytest.approx(expected)
    assert fit.posterior_on(answers) is fit.posterior
    average = replace(fit, members={"one": fit.posterior.times(0.25), "other": fit.posterior.times(0.75)}).on(complete)
    assert average.members is not None
    parts = Posterior.total(average.members.values())
    assert label_probabilities(average.answers, parts) == pytest.approx(expected)


def test_posteriors_are_averaged_by_their_weights() -> None:
    one = Posterior(np.array([1.0, 0.0]), np.array([0.0]))
    other = Posterior(np.array([0.5, 0.25]), np.array([0.25]))
    mean = Posterior.total([one.times(0.2), other.times(0.8)])
    assert mean.options.tolist() == pytest.approx([0.6, 0.2])
    assert mean.unchosen.tolist() == pytest.approx([0.2])
