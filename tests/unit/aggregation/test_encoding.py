"""Encoding: the table holds what the rows say, whatever their types, their order and the number of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.encoding import encode_answers
from ls_crowd_plugin.errors import UnusableInput
from tests.support.crowds import answer_labels, encode_rows, gold_labels, possible_labels
from tests.support.examples import examples

# Without booleans: True == 1 in Python, so the two would be one value.
values = st.one_of(
    st.text(min_size=1, max_size=3), st.integers(2, 9), st.tuples(st.integers(2, 5), st.text(max_size=2))
)
ARRAYS = [
    "choice_start",
    "item_question",
    "answer_item",
    "answer_annotator",
    "answer_option",
    "option_item",
    "option_choice",
    "gold_option",
]


def assert_same(one: Answers, other: Answers) -> None:
    for name in ("items", "annotators", "questions", "choices"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ARRAYS:
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


@settings(max_examples=examples(40))
@given(st.dictionaries(st.tuples(values, values, values), values, min_size=1, max_size=12), st.randoms())
def test_the_order_of_the_rows_does_not_matter(labels: dict[tuple[Any, Any, Any], Any], chance: Any) -> None:
    rows = [(task, annotator, label, question) for (task, question, annotator), label in labels.items()]
    assert_same(encode_rows(rows), encode_rows(chance.sample(rows, len(rows))))


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from("abc")), min_size=1, max_size=20))
def test_the_last_of_several_answers_counts(rows: list[tuple[int, int, str]]) -> None:
    assert answer_labels(encode_rows(rows)) == {(task, annotator): label for task, annotator, label in rows}


def test_an_answer_that_was_replaced_leaves_no_option_behind() -> None:
    answers = encode_rows([("t", "ann", "first"), ("t", "ann", "second")], label_set=["first", "second"])
    assert [answers.choices[choice] for choice in answers.option_choice] == ["second"]


@pytest.mark.parametrize(
    "values",
    [
        ["b", "a", "ö, \n\"'"],
        [3, -1, 2**70],
        [True, False],
        [("a", 1), ("b", 2)],
        [("a", 1), 1, "1", 1.5, b"1", frozenset({1})],
        [np.int64(7), np.str_("seven"), np.float64(0.5)],
    ],
)
def test_ids_and_labels_may_be_of_any_type(values: list[Any]) -> None:
    labels = {
        (task, annotator): values[(row + column) % len(values)]
        for row, task in enumerate(values)
        for column, annotator in enumerate(values)
    }
    answers = encode_rows(
        [(task, annotator, label) for (task, annotator), label in labels.items()], gold={values[0]: values[1]}
    )
    assert answer_labels(answers) == labels
    assert gold_labels(answers) == {values[0]: values[1]}


@pytest.mark.parametrize(
    ("column", "plain"),
    [
        (np.array([4, 2, 4]), int),
        (np.array([4, 2, 4], np.uint8), int),
        (np.array([2**63 + 4, 2, 4], np.uint64), int),
        (np.array(["x", "y", "x"]), str),
        (np.array([True, False, True]), bool),
        (np.array([0.5, 1.5, 0.5]), float),
        ([np.int32(4), np.int32(2), np.int32(4)], int),
        ([np.str_("x"), np.str_("y"), np.str_("x")], str),
        ([np.bool_(True), np.bool_(False), np.bool_(True)], bool),
    ],
)
def test_numpy_values_come_back_as_plain_ones(column: Any, plain: type) -> None:
    answers = encode_answers(column, column, column, {(column[0], column[1]): column[0]}, list(column), column)
    tasks, questions = zip(*answers.items, strict=True)
    for values in (tasks, questions, answers.annotators, answers.questions, answers.choices):
        assert {type(value) for value in values} == {plain}
        assert set(values) == set(np.asarray(column).tolist())


@pytest.mark.parametrize("ids", [[5, 3, 5, -2], [10**9, -(10**9), 7, 7], [2**61, -(2**61), 0, 1]])
def test_integers_in_an_array_and_in_a_list_make_the_same_table(ids: list[int]) -> None:
    labels = [1, 2, 3, 1]
    gold = {ids[1]: 3, 4: 2}
    from_lists = encode_answers(ids, [1, 2, 3, 4], labels, gold)
    from_arrays = encode_answers(np.array(ids), np.arange(1, 5), np.array(labels), gold)
    assert_same(from_lists, from_arrays)


def test_integer_columns_may_meet_gold_of_another_type() -> None:
    answers = encode_answers(np.array([1, 2]), np.array([1, 1]), np.array([5, 6]), {"three": "five"})
    assert answer_labels(answers) == {(1, 1): 5, (2, 1): 6}
    assert gold_labels(answers) == {"three": "five"}


def test_every_question_has_the_labels_that_were_seen_with_it() -> None:
    answers = encode_rows(
        [("t", "ann", "yes", "ok?"), ("t", "ann", "red", "colour"), ("u", "ann", "blue", "colour")],
        gold={("u", "ok?"): "no", ("v", "colour"): "green"},
    )
    assert possible_labels(answers) == {
        ("t", "ok?"): ["no", "yes"],
        ("u", "ok?"): ["no", "yes"],
        ("t", "colour"): ["blue", "green", "red"],
        ("u", "colour"): ["blue", "green", "red"],
        ("v", "colour"): ["blue", "green", "red"],
    }
    assert answers.label_count.tolist() == [len(labels) for labels in possible_labels(answers).values()]


def test_a_list_of_labels_holds_for_every_question() -> None:
    answers = encode_rows([("t", "ann", "a", 1), ("t", "ann", "b", 2)], label_set=["c", "b", "a", "a"])
    assert possible_labels(answers) == {("t", 1): ["a", "b", "c"], ("t", 2): ["a", "b", "c"]}


def test_a_mapping_of_labels_holds_for_the_questions_it_names() -> None:
    rows = [("t", "ann", "a", 1), ("t", "ann", "b", 2)]
    answers = encode_rows(rows, label_set={1: ["x", "a"], 3: ["never", "asked"]})
    assert possible_labels(answers) == {("t", 1): ["a", "x"], ("t", 2): ["b"]}


def test_gold_may_name_tasks_that_nobody_answered() -> None:
    answers = encode_rows([("t", "ann", "a"), ("t", "bob", "b")], gold={"t": "b", "u": "a"})
    assert gold_labels(answers) == {"t": "b", "u": "a"}
    assert answers.answers_per_item.tolist() == [2, 0]


def test_a_gold_label_nobody_chose_is_an_option_without_votes() -> None:
    answers = encode_rows([("t", "ann", "a"), ("t", "bob", "a")], gold={"t": "b"})
    votes = dict(zip((answers.choices[choice] for choice in answers.option_choice), answers.votes, strict=True))
    assert votes == {"a": 2.0, "b": 0.0}


ONE_ANSWER = (["t"], ["ann"], ["a"])


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ((["t", "u"], ["ann"], ["a"]), {}, r"differ in length \(tasks: 2, annotators: 1, labels: 1\)"),
        (ONE_ANSWER, {"questions": []}, r"differ in length .*questions: 0"),
        (([], [], []), {}, "There are no answers"),
        ((np.zeros((1, 1)), ["ann"], ["a"]), {}, "task column has 2 dimensions"),
        ((["t", "u"], ["ann"] * 2, ["a", ""]), {}, "Answer 2 has no label"),
        ((["t", "u"], ["ann"] * 2, ["a", None]), {}, "Answer 2 has no label"),
        ((["t", "u"], ["ann"] * 2, [0.5, float("nan")]), {}, "Answer 2 has no label"),
        ((["t", "u"], ["ann"] * 2, np.array([0.5, np.nan])), {}, "Answer 2 has no label"),
        ((["t", None], ["ann"] * 2, ["a", "b"]), {}, "Answer 2 has no task"),
        ((["t", "u"], ["ann", ""], ["a", "b"]), {}, "Answer 2 has no annotator"),
        ((["t", "u"], ["ann"] * 2, ["a", "b"]), {"questions": [1, ""]}, "Answer 2 has no question"),
        ((["t", "u"], ["ann"] * 2, ["a", ["b"]]), {}, "label of answer 2 is a list"),
        ((["t", "u"], ["ann"] * 2, ["a", ("b", ["c"])]), {}, "label of answer 2 is a tuple"),
        ((["t", {}], ["ann"] * 2, ["a", "b"]), {}, "task of answer 2 is a dict"),
        (ONE_ANSWER, {"label_set": ["b"]}, "Answer 1 is 'a', which is not in the label set"),
        (ONE_ANSWER, {"label_set": []}, "The label set is empty"),
        (ONE_ANSWER, {"questions": [1], "label_set": {1: ["a"], 2: []}}, "The label set of question 2 is empty"),
        (
            ONE_ANSWER,
            {"label_set": ["a", "b"], "gold": {"t": "c"}},
            "gold label of 't' is 'c', which is not in the label set",
        ),
        (
            ONE_ANSWER,
            {"questions": [1], "label_set": {1: ["a"], 2: ["b"]}, "gold": {("t", 1): "b"}},
            r"gold label of \('t', 1\) is 'b', which is not in the label set",
        ),
        (ONE_ANSWER, {"questions": [1], "gold": {"t": "a"}}, r"gold has the key 't'.*\(task, question\)"),
    ],
)
def test_unusable_input_is_refused_in_a_sentence(columns: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnusableInput, match=sentence):
        encode_answers(*columns, **options)


@pytest.mark.parametrize("unusable", ["", None, float("nan"), ["a"]])
@pytest.mark.parametrize("place", ["gold", "label set"])
def test_an_unusable_value_outside_the_answers_is_not_blamed_on_an_answer(unusable: Any, place: str) -> None:
    options = {"gold": {"t": unusable}} if place == "gold" else {"label_set": ["a", unusable]}
    with pytest.raises(UnusableInput, match=place) as refused:
        encode_answers(*ONE_ANSWER, **options)
    assert "nswer 2" not in str(refused.value)


def test_ten_thousand_labels_fit() -> None:
    label_set = [f"label {number}" for number in range(10_000)]
    labels = {
        (task, annotator): label_set[(task * 97 + annotator) % 10_000] for task in range(50) for annotator in range(3)
    }
    answers = encode_rows(
        [(*key, label) for key, label in labels.items()], label_set=label_set, gold={50: label_set[-1]}
    )
    assert answer_labels(answers) == labels
    assert gold_labels(answers) == {50: label_set[-1]}
    assert set(answers.label_count) == {10_000.0}
    assert len(answers.option_item) == 3 * 50 + 1
