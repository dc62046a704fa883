"""Trials: what is hidden and shown, and how labels on a scale are judged."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from ls_crowd_plugin.aggregation import aggregate, evaluate, trial
from ls_crowd_plugin.aggregation.evaluation import compare_methods
from ls_crowd_plugin.aggregation.trial import Judged, Trial
from ls_crowd_plugin.errors import UnusableInput
from tests.support.ordered_crowds import rated_crowd

SCALE = ("poor", "fair", "good", "great", "superb")  # not in alphabetical order


def small_trial(tasks: int = 23, folds: int = 5, **options: Any) -> Trial:
    """Three people agree on yes/no tasks, all of which are gold."""
    gold = {f"t{number}": ("yes", "no")[number % 2] for number in range(tasks)}
    rows = [(task, name, label) for task, label in gold.items() for name in "abc"]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return Trial(columns[0], columns[1], columns[2], gold, folds=folds, **options)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The gold that each fit was shown."""
    fits: list[set[str]] = []

    def spy(*columns: Any, **options: Any) -> Any:
        fits.append(set(options["gold"]))
        return aggregate(*columns, **options)

    monkeypatch.setattr(trial, "aggregate", spy)
    return fits


class TestShares:
    def test_never_include_what_is_hidden(self) -> None:
        one = small_trial()
        for number, part in enumerate(one.parts):
            assert set(part) & set(one.shown(number, 1.0)) == set()
            assert len(one.shown(number, 1.0)) == 23 - len(part)

    def test_are_part_of_larger_shares(self) -> None:
        one = small_trial()
        for number in range(5):
            quarter, half = (set(one.shown(number, share)) for share in (0.25, 0.5))
            assert quarter < half < set(one.shown(number, 1.0))

    def test_show_all_gold_equally_often(self) -> None:
        one = small_trial(tasks=40)
        times = Counter(key for number in range(5) for key in one.shown(number, 0.25))
        assert set(times.values()) == {1}
        assert len(times) == 40

    def test_of_nothing_need_one_fit(self, shown: list[set[str]]) -> None:
        small_trial().judge("plu", 0.0)
        assert shown == [set()]

    def test_are_what_fits_are_shown(self, shown: list[set[str]]) -> None:
        one = small_trial()
        one.judge("plu", 0.5)
        assert shown == [set(one.shown(number, 0.5)) for number in range(5)]


def test_nothing_is_judged_twice(shown: list[set[str]]) -> None:
    one = small_trial()
    first = one.judge("plu")
    assert one.judge("plu") is first
    assert len(shown) == 5


def test_the_same_tasks_are_judged_in_the_same_order() -> None:
    one = small_trial()
    assert len(one.judge("plu", 0.0).right) == len(one.judge("neg").right) == 23


class TestScales:
    @staticmethod
    def trial_of(decide: str = "label", **options: Any) -> tuple[Trial, dict[str, str]]:
        crowd = rated_crowd(1, tasks=40, noise=(1.0, 2.5))
        tasks, annotators, places = (list(column) for column in zip(*crowd.rows, strict=True))
        gold = {task: SCALE[place] for task, place in crowd.truth.items()}
        labels = [SCALE[place] for place in places]
        options = {"label_set": SCALE, "ordered": True, **options}
        return Trial(tasks, annotators, labels, gold, decide=decide, **options), gold

    def test_are_judged_by_places(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found: dict[str, str] = {}
        one, gold = self.trial_of()

        def spy(*columns: Any, **options: Any) -> Any:
            consensus = aggregate(*columns, **options)
            hidden = gold.keys() - options["gold"].keys()
            found.update({task: consensus.labels[task] for task in hidden})
            return consensus

        monkeypatch.setattr(trial, "aggregate", spy)
        judged = one.judge("plu")
        expected = [abs(SCALE.index(found[key]) - SCALE.index(gold[key])) for part in one.parts for key in part]
        assert judged.distance.tolist() == expected
        assert (judged.right == (judged.distance == 0)).all()
        (row,) = compare_methods(one, ["plu"])
        assert row["distance"] == pytest.approx(np.mean(expected))
        assert row["distance_se"] == pytest.approx(np.std(expected) / np.sqrt(40))

    def test_that_are_decided_by_distance_are_compared_by_it(self) -> None:
        judged = {decide: self.trial_of(decide)[0].judge("plu") for decide in ("label", "distance")}
        assert judged["distance"].distance.mean() < judged["label"].distance.mean()
        assert (judged["distance"].loss == judged["distance"].distance).all()
        assert (judged["label"].loss == ~judged["label"].right).all()

    def test_that_are_not_known_have_no_distance(self) -> None:
        one, _ = self.trial_of(ordered=None)
        assert np.isnan(one.judge("plu").distance).all()

    def test_may_be_those_of_some_questions(self) -> None:
        tasks, questions = np.repeat(np.arange(10), 6), np.tile(["a", "b"], 30)
        annotators, labels = np.tile([0, 0, 1, 1, 2, 2], 10), np.repeat(np.arange(10) % 4, 6)
        gold = {(task, question): (task + 1) % 4 for task in range(10) for question in "ab"}
        one = Trial(tasks, annotators, labels, gold, questions=questions, ordered=["b"])
        judged = one.judge("plu")
        keys = [key for part in one.parts for key in part]
        assert [not np.isnan(far) for far in judged.distance] == [key[1] == "b" for key in keys]

    def test_are_needed_to_decide_by_distance(self) -> None:
        with pytest.raises(UnusableInput, match="no distance"):
            small_trial(decide="distance").judge("plu")

    def test_are_known_to_evaluate(self) -> None:
        one, gold = self.trial_of("distance")
        tasks, annotators, labels = one._columns
        (row,) = evaluate(tasks, annotators, labels, gold, SCALE, methods=("plu",), ordered=True, decide="distance")
        assert row["distance"] == pytest.approx(one.judge("plu").distance.mean())


def test_the_loss_of_labels_without_order_is_to_be_wrong() -> None:
    judged = Judged(np.ones(3), np.array([True, False, False]), np.array([np.nan, np.nan, 2.0]), "distance")
    assert judged.loss.tolist() == [0.0, 1.0, 2.0]
