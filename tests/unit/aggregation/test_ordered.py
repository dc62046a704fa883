"""GEM for ordered labels: its tables, its objective, and what it learns about people who rate on a scale."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from ls_crowd_plugin.aggregation import Consensus
from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.fit import Fit
from ls_crowd_plugin.aggregation.forms import FORMS
from ls_crowd_plugin.aggregation.habit_tables import CONTRARY, GUESSING
from ls_crowd_plugin.aggregation.habits import fit_habits
from ls_crowd_plugin.aggregation.ordered import (
    LAPSES,
    LEAST_NOISE,
    SHIFTS,
    OrderedModel,
    OrderedTables,
    fit_ordered,
    ordered_fits_in_memory,
    type_tables,
)
from tests.support.crowds import (
    Row,
    aggregate_rows,
    answer_tables,
    encode_rows,
    ignore_progress,
    label_probabilities,
    run_iterations,
)
from tests.support.examples import examples
from tests.support.ordered_crowds import rated_crowd

pytestmark = pytest.mark.slow

LABELS = 5


def encode_rated(rows: list[Row]) -> Answers:
    return encode_rows(rows, label_set=range(LABELS), ordered=True).with_all_options()


def fit_rated(rows: list[Row]) -> Fit:
    return fit_ordered(encode_rated(rows), ignore_progress)


def probabilities(fit: Fit) -> dict[tuple[Any, Any], float]:
    """(task, label) → probability."""
    return label_probabilities(fit.answers, fit.posterior)


def rate(rows: list[Row], form: str, decide: str = "label") -> Consensus:
    return aggregate_rows(rows, method="gem", form=form, label_set=range(LABELS), ordered=True, decide=decide)


def with_all_ordered(answers: Answers) -> Answers:
    """The table, as if all questions with at least three labels were ordered."""
    place = np.full(len(answers.choices), -1, np.int32)
    for start, stop in zip(answers.choice_start[:-1].tolist(), answers.choice_start[1:].tolist(), strict=True):
        if stop - start >= 3:
            place[start:stop] = np.arange(stop - start)
    return replace(answers, place=place)


def test_tables_follow_the_formula() -> None:
    usage = np.array([0.1, 0.2, 0.3, 0.4])
    tables = type_tables(usage)
    lapse, shift, noise = float(LAPSES[1]), float(SHIFTS[-2]), LEAST_NOISE
    found = tables[-2, 1]  # the last shift but one, the least noise, the second lapse
    for truth in range(4):
        kernel = [exp(-((answer - truth - shift) ** 2) / (2 * noise**2)) for answer in range(4)]
        for answer in range(4):
            expected = (1 - lapse) * kernel[answer] / sum(kernel) + lapse * usage[answer]
            assert found[answer, truth] == pytest.approx(expected)
    assert tables.sum(2) == pytest.approx(1.0)


@settings(max_examples=examples(15))
@given(answers=answer_tables())
@pytest.mark.slow
def test_the_objective_never_falls(answers: Answers) -> None:
    fit = fit_ordered(with_all_ordered(answers).with_all_options(), ignore_progress, 2)
    assert np.diff(fit.convergence.history).min(initial=0.0) > -1e-9  # rounding: sums of some hundred terms of size ten
    total = np.add.reduceat(fit.posterior.options, fit.answers.option_start)
    assert total == pytest.approx(1.0)


def test_the_objective_never_falls_on_a_larger_crowd() -> None:
    fit = fit_rated(rated_crowd(0).rows)
    assert np.diff(fit.convergence.history).min() > -1e-7  # rounding: sums of a thousand terms of size ten


def test_without_ordered_questions_the_form_is_that_of_habits() -> None:
    answers = encode_rows(rated_crowd(0, tasks=40).rows).with_all_options()
    ours, habits = fit_ordered(answers, ignore_progress, 2), fit_habits(answers, ignore_progress, 2)
    assert ours.posterior.options == pytest.approx(habits.posterior.options)
    assert ours.objective == pytest.approx(habits.objective)


@pytest.mark.slow
def test_knowing_the_order_brings_labels_nearer_to_the_truth() -> None:
    """Over ten crowds; the difference must be more than two of its standard errors."""
    accuracy, error = [], []
    for seed in range(10):
        crowd = rated_crowd(seed)
        unordered, ordered = rate(crowd.rows, "habits-1"), rate(crowd.rows, "ordered-1")
        near = rate(crowd.rows, "ordered-1", "distance")
        accuracy.append(crowd.accuracy(ordered.labels) - crowd.accuracy(unordered.labels))
        error.append(crowd.error(unordered.labels) - crowd.error(near.labels))
    for gain in (np.array(accuracy), np.array(error)):
        assert gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain))


def test_the_reversed_scale_gives_the_mirrored_result() -> None:
    rows = rated_crowd(1, shift={"p0": 1.0}).rows
    mirrored = [(task, name, LABELS - 1 - label) for task, name, label in rows]
    one, other = fit_rated(rows), fit_rated(mirrored)
    probability, mirror = (probabilities(fit) for fit in (one, other))
    for (task, label), value in probability.items():
        assert mirror[task, LABELS - 1 - label] == pytest.approx(
            value, abs=1e-6
        )  # as exact as the search for the slope
    near, mirrored_near = (rate(table, "ordered-1", "distance") for table in (rows, mirrored))
    for task, label in near.labels.items():
        if task not in near.doubtful:
            assert mirrored_near.labels[task] == LABELS - 1 - label


def test_the_names_of_labels_do_not_matter_if_the_scale_is_the_same() -> None:
    rows = rated_crowd(2).rows
    names = ["e", "b", "d", "a", "c"]  # their alphabetical order is another one than that on the scale
    renamed = encode_rows([(task, name, names[label]) for task, name, label in rows], label_set=names, ordered=True)
    one, other = fit_rated(rows), fit_ordered(renamed.with_all_options(), ignore_progress)
    probability, found = (probabilities(fit) for fit in (one, other))
    for (task, label), value in probability.items():
        assert found[task, names[label]] == pytest.approx(value, abs=1e-6)


def test_the_names_of_tasks_and_annotators_do_not_matter() -> None:
    rows = rated_crowd(3).rows
    renamed = [(f"{hash_of(task)} {task}", f"{hash_of(name)} {name}", label) for task, name, label in rows]
    one, other = fit_rated(rows), fit_rated(renamed)
    probability, found = (probabilities(fit) for fit in (one, other))
    for (task, label), value in probability.items():
        assert found[f"{hash_of(task)} {task}", label] == pytest.approx(value, abs=1e-6)
    skill = dict(zip(one.answers.annotators, one.skill.tolist(), strict=True))
    renamed_skill = dict(zip(other.answers.annotators, other.skill.tolist(), strict=True))
    for name, value in skill.items():
        assert renamed_skill[f"{hash_of(name)} {name}"] == pytest.approx(value, abs=1e-5)


def hash_of(name: str) -> int:
    """A number that scrambles the order of names, the same in every process."""
    return int(name[1:]) * 7919 % 1009


def fitted(rows: list[Row]) -> tuple[OrderedModel, OrderedTables, dict[str, int]]:
    """A model after thirty iterations, the tables of its question, and annotator → position."""
    answers = encode_rated(rows)
    model = OrderedModel(answers, 1)
    run_iterations(model, 30)
    tables = model.questions[0]
    assert isinstance(tables, OrderedTables)
    return model, tables, {name: position for position, name in enumerate(answers.annotators)}


def test_a_shift_is_recovered() -> None:
    shift = {"p0": 1.0, "p1": -1.0, "p2": 1.0, "p3": -1.0}
    crowd = rated_crowd(4, tasks=300, shift=shift, noise=(0.4, 0.8))
    _, tables, position = fitted(crowd.rows)
    mean, _ = tables.mean_tables()
    place = np.arange(LABELS)
    middle = LABELS // 2  # where the ends of the scale do not cut anything off
    bias = place @ mean[0][:, :, middle].T - middle  # [J] expected answer minus truth
    for name, where in position.items():
        # Fifty answers with a noise below 0.8 leave a standard error of 0.11; rounding and shrinkage add as much again.
        assert bias[where] == pytest.approx(shift.get(name, 0.0), abs=4 * 0.11)


def test_the_answers_of_somebody_with_a_shift_still_count() -> None:
    crowd = rated_crowd(4, tasks=300, shift={"p0": 1.0}, noise=(0.4, 0.8))
    rows: list[Row] = [*crowd.rows, ("open", "p0", 3)]
    probability = probabilities(fit_rated(rows))
    assert max(range(LABELS), key=lambda label: probability["open", label]) == 2


@pytest.mark.parametrize("label", range(LABELS))
def test_an_annotator_who_always_gives_the_same_label_is_guessing(label: int) -> None:
    crowd = rated_crowd(5)
    model, _, position = fitted([*crowd.rows, *((task, "constant", label) for task in list(crowd.truth)[:60])])
    kinds = model.kind[:, GUESSING]
    assert kinds[position["constant"]] > 0.9
    assert np.delete(kinds, position["constant"]).max() < 0.5


def test_an_annotator_who_reverses_the_scale_is_contrary_and_still_tells_the_label() -> None:
    crowd = rated_crowd(6)
    reversed_rows = [(task, "x", LABELS - 1 - place) for task, place in list(crowd.truth.items())[:60]]
    rows: list[Row] = [*crowd.rows, *reversed_rows, ("open", "x", 0)]
    model, _, position = fitted(rows)
    assert model.kind[position["x"], CONTRARY] > 0.9
    assert np.delete(model.kind[:, CONTRARY], position["x"]).max() < 0.05
    probability = probabilities(fit_rated(rows))
    assert max(range(LABELS), key=lambda label: probability["open", label]) == LABELS - 1


def test_an_annotator_with_one_answer_is_ordinary() -> None:
    crowd = rated_crowd(7)
    model, tables, position = fitted([*crowd.rows, (next(iter(crowd.truth)), "new", 0)])
    new = position["new"]
    others = np.delete(model.kind, new, axis=0).mean(0)
    assert model.kind[new, GUESSING] == pytest.approx(others[GUESSING], abs=0.1)
    assert model.kind[new, CONTRARY] < 0.1
    recall, _ = tables.recall(model.kind)
    assert np.quantile(recall, 0.1) < recall[new] < np.quantile(recall, 0.9)


def test_gold_tasks_have_their_gold_label() -> None:
    crowd = rated_crowd(8)
    gold = {task: (place + 2) % LABELS for task, place in list(crowd.truth.items())[:3]}  # not what the crowd says
    answers = encode_rows(crowd.rows, gold=gold, label_set=range(LABELS), ordered=True).with_all_options()
    model = OrderedModel(answers, 1)
    run_iterations(model, 3)
    for item in np.flatnonzero(answers.has_gold).tolist():
        label = answers.option_choice[answers.gold_option[item]]
        assert model.questions[0].cell[item, label] == pytest.approx(1.0)


def test_others_vote_by_what_was_learned() -> None:
    crowd = rated_crowd(9)
    fit = fit_rated(crowd.rows)
    votes = fit.count_votes(encode_rated(crowd.rows))
    assert votes.posterior.options == pytest.approx(fit.posterior.options, abs=0.02)  # one more step of a converged fit


def test_a_question_without_order_keeps_its_habits_beside_an_ordered_one() -> None:
    crowd = rated_crowd(10, tasks=60)
    rows: list[Row] = [(*row, "stars") for row in crowd.rows]
    rows += [(task, name, "pqr"[crowd.truth[task] % 3], "letter") for task, name, _ in crowd.rows]
    fit = fit_ordered(encode_rows(rows, ordered=["stars"]).with_all_options(), ignore_progress)
    probability = probabilities(fit)
    assert all(probability[(task, "letter"), "pqr"[place % 3]] > 0.9 for task, place in crowd.truth.items())


def test_ordered_forms_are_tried_instead_of_habits_where_a_question_is_ordered() -> None:
    def tried(answers: Answers) -> set[str]:
        return {name for name, form in FORMS.items() if form.family in ("habits", "ordered") and form.applies(answers)}

    rows: list[Row] = [(*row, "stars") for row in rated_crowd(0, tasks=20).rows]
    both: list[Row] = [*rows, ("t0", "p0", "yes", "sure"), ("t1", "p0", "no", "sure")]
    assert tried(encode_rows(rows)) == {"habits-1", "habits-2", "habits-3"}
    assert tried(encode_rows(rows, ordered=True)) == {"ordered-1"}
    assert tried(encode_rows(both, ordered=["stars"])) == {"ordered-1", "ordered-2", "ordered-3"}


def test_a_scale_of_very_many_labels_does_not_fit() -> None:
    rows: list[Row] = [("t", "a", 0)]
    assert ordered_fits_in_memory(encode_rows(rows, label_set=range(101), ordered=True), 1)
    assert not ordered_fits_in_memory(encode_rows(rows, label_set=range(300), ordered=True), 1)
