"""The table of parts adds up to what is shown, digit by digit."""

from __future__ import annotations

from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.records import Explanation, Part, TaskLabel, percent, rounded
from ls_crowd_plugin.web.breakdown import Breakdown, break_down, round_to_sum
from tests.support.result_records import label_with_votes


def label_with_parts(*parts: Part, other: str | None = "sport", **changes: object) -> TaskLabel:
    own, against = sum(part.label for part in parts), rounded(sum(part.other for part in parts)) or 0.0
    posterior = {"news": rounded(own) or 0.0} | ({} if other is None else {other: against})
    explanation = Explanation(other, parts)
    return label_with_votes({1: "news"}, confidence=own, posterior=posterior, explanation=explanation, **changes)


def shown(breakdown: Breakdown | None) -> Breakdown:
    assert breakdown is not None
    return breakdown


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=12))
def test_rounded_values_add_up_to_the_rounded_sum(values: list[float]) -> None:
    total = round(sum(values))
    result = round_to_sum(values, total)
    assert sum(result) == total
    assert all(one in (floor(value), floor(value) + 1) for one, value in zip(result, values, strict=True))
    assert all(one == value for one, value in zip(result, values, strict=True) if value == floor(value))


def test_the_largest_remainders_are_rounded_up() -> None:
    assert round_to_sum([1.5, 2.4, 3.3, 0.0], 7) == [2, 2, 3, 0]
    assert round_to_sum([0.4, 0.4, 0.4], 1) == [1, 0, 0]


parts = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8)


@given(parts)
def test_columns_add_up_to_the_probabilities_on_the_page(points: list[tuple[float, float]]) -> None:
    scale = max(sum(own for own, _ in points), sum(other for _, other in points), 1.0)
    made = [
        Part(f"part {number}", round(own / scale, 6), round(other / scale, 6))
        for number, (own, other) in enumerate(points)
    ]
    label = label_with_parts(*made)
    breakdown = shown(break_down(label))
    assert breakdown.labels == ["news", "sport"]
    assert breakdown.sums == [percent(label.confidence), percent(label.posterior["sport"])]
    for column, total in enumerate(breakdown.sums):
        tenths = [round(10 * float(numbers[column].rstrip("%"))) for _, numbers in breakdown.rows]
        assert sum(tenths) == round(10 * float(total.rstrip("%")))


@pytest.mark.parametrize("confidence", [0.5375, 0.5125, 0.5625, 0.7345])
def test_a_sum_between_two_digits_is_rounded_as_in_the_heading(confidence: float) -> None:
    breakdown = shown(break_down(label_with_parts(Part("skill-1", confidence, 0.1))))
    assert breakdown.rows[0][1][0] == breakdown.sums[0] == percent(confidence)


def test_forms_of_one_family_are_one_row() -> None:
    label = label_with_parts(Part("habits-1", 0.3, 0.05), Part("habits-2", 0.2, 0.05), Part("misled", 0.02, 0.02))
    assert shown(break_down(label)).rows == [
        ("who confuses which labels", ["50.0%", "10.0%"]),
        ("some tasks mislead everybody", ["2.0%", "2.0%"]),
    ]


def test_a_label_without_rival_has_one_column() -> None:
    breakdown = shown(break_down(label_with_parts(Part("plu", 1.0, 0.0), other=None)))
    assert (breakdown.labels, breakdown.sums) == (["news"], ["100.0%"])


def test_gold_and_results_of_earlier_releases_have_none() -> None:
    assert break_down(label_with_parts(Part("gold", 1.0, 0.0), gold="news")) is None
    assert break_down(label_with_votes({1: "news"}, explanation=None)) is None
