"""The parts of a probability add up to it, whatever the crowd, the method, and what is known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.aggregation import Consensus, Lessons
from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.parts import GOLD, UNKNOWN, VOTES
from ls_crowd_plugin.aggregation.selection import fit_method
from ls_crowd_plugin.demo.crowds import rare_answer_crowd
from tests.support.crowds import Row, aggregate_crowd, aggregate_rows, answer_tables, crowd_rows, ignore_progress
from tests.support.examples import examples

ROUNDING = 1e-9  # sums of probabilities are compared with the same sums in another order
METHODS = [("plu", None), ("neg", None), ("gem", "skill-1"), ("gem", "habits-2"), ("gem", None), ("auto", None)]


def check_parts(consensus: Consensus) -> None:
    """The parts of every task sum to its posterior, with and without gold, and the label has the largest sum."""
    for task, label in consensus.labels.items():
        for lift_gold in (False, True):
            parts = consensus.parts(task, lift_gold)
            posterior = consensus.posterior(task, lift_gold)
            sums = {name: sum(points[name] for _, points in parts) for name in posterior}
            assert sums == pytest.approx(posterior, abs=ROUNDING)
            assert min(min(points.values()) for _, points in parts) >= 0
            assert len({name for name, _ in parts}) == len(parts)
        if task not in gold_tasks(consensus) and not consensus.is_undecided(task):
            assert sums[label] >= max(sums.values()) - 2 * ROUNDING


def gold_tasks(consensus: Consensus) -> set[object]:
    return {task for task in consensus.labels if [name for name, _ in consensus.parts(task)] == [GOLD]}


@pytest.mark.slow
@pytest.mark.parametrize(("method", "form"), METHODS)
@settings(max_examples=examples(25))
@given(answers=answer_tables(), seed=st.integers(0, 3))
def test_parts_add_up_and_the_label_has_the_most(method: str, form: str | None, answers: Answers, seed: int) -> None:
    consensus = Consensus(fit_method(answers, method, form, seed, ignore_progress), seed, 0.0)
    check_parts(consensus)
    check_parts(consensus.gold_blind)
    expected = {task for task, known in zip(answers.items, answers.has_gold, strict=True) if known}
    assert gold_tasks(consensus) == expected


@pytest.fixture(scope="module", params=[False, True], ids=["without gold", "with gold"])
def average(request: pytest.FixtureRequest) -> Consensus:
    """An average of forms; with gold each form is calibrated, and gold tasks have held-out posteriors."""
    crowd = rare_answer_crowd(0, 0.2, tasks=150)
    gold = {task: crowd.truth[task] for task in list(crowd.truth)[:20]} if request.param else None
    consensus = aggregate_rows(crowd_rows(crowd), gold=gold, method="gem", label_set=crowd.label_set)
    assert consensus.facts["form"] == "average"
    assert (consensus.facts["calibration"]["misled"] == 0) == request.param
    return consensus


class TestAnAverage:
    @pytest.mark.slow
    def test_has_a_part_for_each_form(self, average: Consensus) -> None:
        check_parts(average)
        names = {name for task in average.labels for name, _ in average.parts(task, lift_gold=True)}
        assert {"leanings", "agreement"} <= names
        assert any(name.startswith("habits-") for name in names)

    @pytest.mark.slow
    def test_blind_to_gold_adds_up_too(self, average: Consensus) -> None:
        check_parts(average.gold_blind)

    @pytest.mark.slow
    def test_on_another_table_adds_up_too(self) -> None:
        crowd = rare_answer_crowd(0, 0.2, tasks=150)
        rows = crowd_rows(crowd)
        gold = {task: crowd.truth[task] for task in list(crowd.truth)[:20]}
        older = [row for number, row in enumerate(rows) if number % 7]
        tasks, annotators, labels = (list(column) for column in zip(*older, strict=True))
        lessons = Lessons(tasks, annotators, labels, None, gold)
        consensus = aggregate_rows(rows, gold=gold, method="gem", label_set=crowd.label_set, lessons=lessons)
        assert consensus.facts["form"] == "average"
        check_parts(consensus)
        check_parts(consensus.gold_blind)

    def test_without_sharpening_gives_each_form_its_weight(self) -> None:
        """The parts of one form sum over the labels to (1 − ε) · its weight: to the same for every task."""
        consensus = aggregate_crowd(rare_answer_crowd(0, 0.2, tasks=150), "gem")
        calibration = consensus.facts["calibration"]
        assert (calibration["sharpness"], calibration["divided"]) == (1, 0)
        for task in consensus.labels:
            parts = dict(consensus.parts(task))
            assert VOTES not in parts
            for name in ("leanings", "agreement"):
                assert sum(parts[name].values()) == pytest.approx((1 - calibration["misled"]) / 3)


class TestParts:
    def test_of_gold_are_gold_alone(self) -> None:
        consensus = aggregate_rows([(0, "a", "yes"), (0, "b", "no")], gold={0: "yes"})
        assert consensus.parts(0) == [(GOLD, {"yes": 1.0, "no": 0.0})]

    def test_of_an_only_answer_include_what_is_assumed_of_somebody_unknown(self) -> None:
        consensus = aggregate_rows([(task, f"person {task}", "yes") for task in range(3)], label_set=["yes", "no"])
        ((name, points),) = consensus.parts(0)
        assert name == UNKNOWN
        assert points == pytest.approx({"yes": 0.75, "no": 0.25})

    def test_of_some_labels_are_those_of_all(self) -> None:
        rows = [(task, person, (task + (person == "c")) % 3) for task in range(9) for person in "abc"]
        consensus = aggregate_rows(rows, label_set=range(5))
        whole = [(name, {1: points[1], 4: points[4]}) for name, points in consensus.parts(0)]
        assert consensus.parts(0, labels=[1, 4]) == whole

    def test_of_a_decision_by_distance_add_up_although_another_label_has_more(self) -> None:
        rows: list[Row] = [("split", person, label) for person, label in zip("abcde", (1, 1, 2, 3, 3), strict=True)]
        rows += [(task, person, 1 + task % 3) for task in range(9) for person in "abcde"]
        consensus = aggregate_rows(rows, method="plu", label_set=[1, 2, 3], ordered=True, decide="distance")
        assert consensus.labels["split"] == 2
        points = [part for _, part in consensus.parts("split")]
        sums = {label: sum(part[label] for part in points) for label in (1, 2, 3)}
        assert sums == pytest.approx(consensus.posterior("split"), abs=ROUNDING)
        assert sums[2] < max(sums.values())
