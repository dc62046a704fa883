"""The consensus depends neither on the order of the rows nor on the names of tasks, annotators and labels."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.aggregation import FORMS, METHODS, Consensus, aggregate
from ls_crowd_plugin.demo.crowds import generative_crowd
from tests.support.crowds import aggregate_crowd, aggregate_rows, crowd_rows, small_crowd
from tests.support.examples import examples

every_method = pytest.mark.parametrize("method", METHODS)
CROWD = generative_crowd(3, task_variance=400.0, answers_per_task=7, annotators=21, tasks=40, labels=4)
# The paper's ascent stops while parameters still move by a hundredth, and rounding decides which path it takes.
TOLERANCE = {"paper": 0.02, "paper-complex": 0.02}


@every_method
@pytest.mark.slow
def test_the_same_input_and_seed_give_the_same_result(method: str) -> None:
    crowd = generative_crowd(5, annotators=15, tasks=20, labels=3, probes=4)
    rows = crowd_rows(crowd)
    one, other = (aggregate_rows(order, method=method, gold=crowd.gold, seed=7) for order in (rows, rows[::-1]))
    assert one.tasks == other.tasks
    assert one.annotators == other.annotators
    assert {**one.facts, "seconds": 0} == {**other.facts, "seconds": 0}


@settings(max_examples=examples(25))
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(chance: Any) -> None:
    rows = small_crowd()
    consensus = aggregate_rows(chance.sample(rows, len(rows)), method="hyb", gold={1: "no"})
    assert consensus.tasks == aggregate_rows(rows, method="hyb", gold={1: "no"}).tasks


@cache
def original(method: str, form: str | None, with_gold: bool) -> Consensus:
    return aggregate_crowd(CROWD, method, with_gold, form=form)


def renamed(
    method: str, form: str | None, with_gold: bool, column: str
) -> tuple[Consensus, dict[Any, Any], dict[Any, Any]]:
    """The consensus with new names, which sort in another order, in one column; and old → new task, old → new label."""
    generator = np.random.default_rng(11)

    def new_names(values: Any, of: str) -> dict[Any, Any]:
        order = generator.permutation(len(values)).tolist()
        return {value: f"{rank:03}" if column == of else value for value, rank in zip(values, order, strict=True)}

    task, annotator = new_names(CROWD.truth, "tasks"), new_names(CROWD.kinds, "annotators")
    label = new_names(range(4), "labels")
    consensus = aggregate(
        [task[name] for name in CROWD.tasks],
        [annotator[name] for name in CROWD.annotators],
        [label[name] for name in CROWD.labels],
        gold={task[name]: label[truth] for name, truth in CROWD.gold.items()} if with_gold else None,
        method=method,
        label_set=list(label.values()),
        form=form,
    )
    return consensus, task, label


def assert_unchanged(method: str, form: str | None, with_gold: bool, column: str) -> None:
    before = original(method, form, with_gold)
    after, task, label = renamed(method, form, with_gold, column)
    doubtful = set(before.doubtful)
    for name in before.labels:
        tolerance = TOLERANCE.get(form or "", 1e-6)
        assert after.confidence[task[name]] == pytest.approx(before.confidence[name], abs=tolerance)
        if name not in doubtful:
            assert after.labels[task[name]] == label[before.labels[name]]


@pytest.mark.parametrize("column", ["tasks", "annotators", "labels"])
@pytest.mark.parametrize(
    ("method", "form"),
    [
        *((method, None) for method in METHODS),
        *(("gem", form) for form in FORMS),
        *((method, "printed") for method in ("neg", "sw", "hyb")),
    ],
)
@pytest.mark.slow
def test_names_do_not_matter(method: str, form: str | None, column: str) -> None:
    assert_unchanged(method, form, False, column)


# The names of tasks, together with the seed, decide which gold labels are hidden together in cross-validation.
@pytest.mark.parametrize("column", ["annotators", "labels"])
@every_method
@pytest.mark.slow
def test_names_do_not_matter_with_gold(method: str, column: str) -> None:
    assert_unchanged(method, None, True, column)
