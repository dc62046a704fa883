"""What more gold would buy: figures that were measured, and nothing else."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ls_crowd_plugin.aggregation import aggregate, trial
from ls_crowd_plugin.aggregation.gold_curve import SHARES, clear_step, gold_curve
from ls_crowd_plugin.aggregation.trial import Trial
from ls_crowd_plugin.records import Json
from tests.support.ordered_crowds import rated_crowd

MEASURES = ("accuracy", "calibration_excess", "brier", "distance")


def rated_trial(**options: Any) -> Trial:
    crowd = rated_crowd(2, tasks=60)
    tasks, annotators, labels = (list(column) for column in zip(*crowd.rows, strict=True))
    return Trial(tasks, annotators, labels, dict(crowd.truth), **options)


class TestRows:
    @pytest.mark.slow
    def test_have_differences_between_shares_of_the_gold(self) -> None:
        one = rated_trial(ordered=True)
        rows = gold_curve(one, "plu")
        assert [row["gold"] for row in rows] == [0, 12, 24, 48]
        assert all(rows[0][f"{name}_change{end}"] is None for name in MEASURES for end in ("", "_se"))
        for before, row in pairwise(rows):
            for name in MEASURES:
                assert row[f"{name}_change"] == pytest.approx(row[name] - before[name])
        half, everything = (one.judge("plu", share).right.astype(float) for share in (0.5, 1.0))
        difference = everything - half
        assert rows[-1]["accuracy_change_se"] == pytest.approx(np.std(difference) / np.sqrt(60))

    def test_have_no_distance_without_a_scale(self) -> None:
        rows = gold_curve(rated_trial(), "plu")
        assert [row["distance"] for row in rows] == [None] * len(SHARES)
        assert rows[-1]["distance_change"] is None

    def test_of_a_method_that_ignores_how_much_gold_there_is_do_not_change(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            trial, "aggregate", lambda *columns, **options: aggregate(*columns, **{**options, "gold": None})
        )
        rows = gold_curve(rated_trial(), "plu")
        assert {row[f"{name}_change"] for row in rows[1:] for name in MEASURES[:3]} == {0.0}
        assert {row[f"{name}_change_se"] for row in rows[1:] for name in MEASURES[:3]} == {0.0}
        assert clear_step(rows) is None

    def test_need_no_more_than_two_fits_for_each_part_and_one_besides_the_comparison(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fits: list[int] = []

        def spy(*columns: Any, **options: Any) -> Any:
            fits.append(len(options["gold"]))
            return aggregate(*columns, **options)

        monkeypatch.setattr(trial, "aggregate", spy)
        one = rated_trial()
        one.judge("plu")
        fits.clear()
        gold_curve(one, "plu")
        assert sorted(fits) == [0] + [12] * 5 + [24] * 5


def last_row(**changes: tuple[float, float]) -> list[Json]:
    """A curve whose last step changed each measure by so much, with this standard error."""
    row: Json = {"distance": None}
    for name in MEASURES:
        change, error = changes.get(name, (0.0, 0.01))
        row |= {f"{name}_change": change, f"{name}_change_se": error}
    return [{}, row | ({"distance": 0.5} if "distance" in changes else {})]


@pytest.mark.parametrize(
    ("changes", "decide", "step"),
    [
        ({}, "label", None),
        ({"accuracy": (0.019, 0.01)}, "label", None),
        ({"accuracy": (0.021, 0.01)}, "label", ("accuracy", True)),
        ({"accuracy": (-0.021, 0.01)}, "label", ("accuracy", False)),
        ({"brier": (-0.021, 0.01)}, "label", ("brier", True)),
        ({"brier": (0.021, 0.01)}, "label", ("brier", False)),
        ({"accuracy": (0.021, 0.01), "distance": (0.0, 0.01)}, "distance", None),
        ({"distance": (-0.021, 0.01)}, "distance", ("distance", True)),
        ({"accuracy": (0.0, 0.0), "brier": (0.0, 0.0)}, "label", None),
        ({"accuracy": (0.0, 0.0), "brier": (-0.0009, 0.0)}, "label", None),
    ],
)
def test_a_step_is_clear_if_it_is_larger_than_two_standard_errors(
    changes: dict[str, tuple[float, float]], decide: str, step: tuple[str, bool] | None
) -> None:
    assert clear_step(last_row(**changes), decide) == step
