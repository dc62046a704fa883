"""Warnings about crowds that leave little to compare, and about fits that should be read with care."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ls_crowd_plugin.aggregation.crowd_warnings import crowd_warnings, fit_warnings
from ls_crowd_plugin.aggregation.em import Convergence
from ls_crowd_plugin.aggregation.weighted import fit_neg
from tests.support.crowds import Row, encode_rows, ignore_progress


def warnings_about(rows: list[Row], **options: Any) -> list[str]:
    return list(crowd_warnings(encode_rows(rows, **options)))


def test_an_ordinary_crowd_gives_no_warning() -> None:
    assert warnings_about([("t", "ann", "a"), ("t", "bob", "b")]) == []


def test_a_single_annotator_is_pointed_out() -> None:
    assert any("single annotator" in warning for warning in warnings_about([("t", "ann", "a"), ("u", "ann", "b")]))


def test_tasks_with_one_answer_are_counted() -> None:
    rows: list[Row] = [("t", "ann", "a"), ("t", "bob", "b"), ("u", "bob", "b")]
    assert warnings_about(rows) == ["Tasks with only one answer: 1. Their labels rest on one person each."]


def test_gold_for_tasks_that_nobody_answered_is_counted() -> None:
    rows: list[Row] = [("t", "ann", "a"), ("t", "bob", "b")]
    assert warnings_about(rows, gold={"t": "b", "u": "a"}) == [
        "Gold labels of tasks that nobody answered: 1, for example of 'u'."
    ]


def test_a_gold_label_that_nobody_chose_is_named() -> None:
    rows: list[Row] = [("t", "ann", "a"), ("t", "bob", "b")]
    assert warnings_about(rows, gold={"t": "c"}) == ["Gold labels that nobody chose: 1, for example 'c'."]


def test_a_question_with_equal_answers_is_named() -> None:
    rows: list[Row] = [
        (task, annotator, label, question)
        for task in "tu"
        for annotator in "ab"
        for question, label in ((1, "x"), (2, task))
    ]
    assert warnings_about(rows, label_set={1: ["x", "y"]}) == [
        "Every answer to question 1 is 'x', so there is nothing to decide."
    ]


def test_making_every_label_an_option_changes_no_warning() -> None:
    rows: list[Row] = [("t", "ann", "a"), ("u", "ann", "a")]
    answers = encode_rows(rows, gold={"t": "b", "v": "a"}, label_set="abc")
    assert list(crowd_warnings(answers.with_all_options())) == list(crowd_warnings(answers))


def divided_crowd() -> list[Row]:
    """Five annotators agree on every task, and three always give the other one of two labels."""
    rows: list[Row] = [(task, f"one {number}", task % 2) for task in range(30) for number in range(5)]
    return [*rows, *((task, f"other {number}", 1 - task % 2) for task in range(30) for number in range(3))]


def test_a_crowd_that_might_be_its_own_mirror_image_is_pointed_out() -> None:
    without_gold = fit_neg(encode_rows(divided_crowd()), ignore_progress)
    assert any("mirror image" in warning for warning in fit_warnings(without_gold))
    with_gold = fit_neg(encode_rows(divided_crowd(), gold={0: 0}), ignore_progress)
    assert list(fit_warnings(with_gold)) == []


def test_a_fit_that_did_not_converge_is_pointed_out() -> None:
    fit = fit_neg(encode_rows([("t", "ann", "a"), ("t", "bob", "a")], label_set="abc"), ignore_progress)
    (warning,) = fit_warnings(replace(fit, convergence=Convergence((0.0, 1.0, 2.0), converged=False)))
    assert warning.startswith("The fit did not converge in 3 iterations")


def test_a_crowd_in_which_nobody_overlaps_is_pointed_out_unless_there_is_gold() -> None:
    rows: list[Row] = [("t", "ann", "a"), ("u", "bob", "b")]
    assert any("No two people answered the same task" in warning for warning in warnings_about(rows))
    assert not any("No two people" in warning for warning in warnings_about(rows, gold={"t": "a"}))
