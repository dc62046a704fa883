"""Which questions are ordered, and where their labels stand."""

from __future__ import annotations

from typing import Any

import pytest

from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.encoding import encode_lessons
from ls_crowd_plugin.aggregation.types import Lessons
from ls_crowd_plugin.errors import UnusableInput
from tests.support.crowds import Row, encode_rows

WORDS = ["poor", "fair", "good"]


def rows_of(labels: list[Any], question: str | None = None) -> list[Row]:
    """One task for each label, answered by one person."""
    end = () if question is None else (question,)
    return [(f"task {number}", "a", label, *end) for number, label in enumerate(labels)]


def places(answers: Answers) -> dict[Any, int]:
    """Label → place; labels of several questions must differ."""
    return dict(zip(answers.choices, answers.place.tolist(), strict=True))


@pytest.mark.parametrize("ordered", [None, False, []])
def test_labels_that_look_like_numbers_prove_nothing(ordered: Any) -> None:
    answers = encode_rows(rows_of([1, 2, 3]), ordered=ordered)
    assert set(places(answers).values()) == {-1}
    assert not answers.is_ordered.any()


def test_the_order_is_that_of_the_label_set() -> None:
    answers = encode_rows(rows_of(["good", "poor"]), label_set=WORDS, ordered=True)
    assert places(answers) == {"poor": 0, "fair": 1, "good": 2}
    assert answers.is_ordered.tolist() == [True]


def test_the_label_set_goes_before_numbers() -> None:
    answers = encode_rows(rows_of(["1", "2", "3"]), label_set=["3", "2", "1"], ordered=True)
    assert places(answers) == {"3": 0, "2": 1, "1": 2}


def test_without_a_label_set_numbers_are_in_numeric_order() -> None:
    answers = encode_rows(rows_of(["10", "9", "-1", "2.5"]), ordered=True)
    assert places(answers) == {"-1": 0, "2.5": 1, "9": 2, "10": 3}


@pytest.mark.parametrize("labels", [WORDS, ["1", "2", "many"], ["1", "1.0", "2"], ["1", "2", "nan"], ["1", "2", "inf"]])
def test_other_labels_need_a_label_set(labels: list[str]) -> None:
    with pytest.raises(UnusableInput, match="give the label set in order"):
        encode_rows(rows_of(labels), ordered=True)


def test_a_set_of_labels_has_no_order() -> None:
    with pytest.raises(UnusableInput, match="give the label set in order"):
        encode_rows(rows_of(WORDS), label_set=set(WORDS), ordered=True)


def test_two_labels_need_no_order() -> None:
    assert not encode_rows(rows_of(["yes", "no"]), ordered=True).is_ordered.any()


def test_only_named_questions_are_ordered() -> None:
    rows = [*rows_of(["1", "2", "3"], "stars"), *rows_of(["cat", "dog", "owl"], "animal")]
    answers = encode_rows(rows, ordered=["stars"])
    assert places(answers) == {"1": 0, "2": 1, "3": 2, "cat": -1, "dog": -1, "owl": -1}
    assert dict(zip(answers.questions, answers.is_ordered.tolist(), strict=True)) == {"animal": False, "stars": True}


def test_an_unknown_question_is_refused() -> None:
    with pytest.raises(UnusableInput, match=r"no question 'size'.*'stars'"):
        encode_rows(rows_of(["1", "2", "3"], "stars"), ordered=["size"])
    with pytest.raises(UnusableInput, match="have no questions"):
        encode_rows(rows_of(["1", "2", "3"]), ordered=["size"])


def test_lessons_have_the_scale_of_the_answers() -> None:
    answers = encode_rows(rows_of(["good", "poor"]), label_set=WORDS, ordered=True)
    lessons = encode_lessons(Lessons(["x"], ["a"], ["fair"]), answers)
    assert places(lessons) == places(answers)


def test_subsets_and_tables_with_all_options_keep_the_scale() -> None:
    answers = encode_rows(rows_of(["good", "poor"]), label_set=WORDS, ordered=True)
    assert places(answers.with_all_options()) == places(answers)
    assert answers.subset(answers.option_start[:1]).is_ordered.tolist() == [True]
