"""The answer table says what the rows said, whatever the types, the order and the number of labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from crowds import given_labels, gold_labels, possible_labels, table, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.aggregation.answers import Answers, answers_from_triples
from ls_crowd_plugin.errors import UnusableInput

# Booleans are kept apart from numbers: True == 1 for Python, so the two are one value here too.
names = st.one_of(st.text(min_size=1, max_size=3), st.integers(2, 9), st.tuples(st.integers(2, 5), st.text(max_size=2)))
arrays = [
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
    for name in ("items", "annotators", "questions", "choices", "warnings"):
        assert getattr(one, name) == getattr(other, name), name
    for name in arrays:
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


@settings(max_examples=40)
@given(st.dictionaries(st.tuples(names, names, names), names, min_size=1, max_size=12), st.randoms())
def test_the_order_of_the_rows_does_not_matter(said: dict[tuple[Any, Any, Any], Any], chance: Any) -> None:
    rows = [(task, annotator, label, question) for (task, question, annotator), label in said.items()]
    assert_same(table(rows), table(chance.sample(rows, len(rows))))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from("abc")), min_size=1, max_size=20))
def test_the_last_of_several_answers_counts(rows: list[tuple[int, int, str]]) -> None:
    assert given_labels(table(rows)) == {(task, annotator): label for task, annotator, label in rows}


def test_an_answer_that_was_replaced_leaves_no_option_behind() -> None:
    answers = table([("t", "ann", "first"), ("t", "ann", "second")], label_set=["first", "second"])
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
    said = {
        (task, annotator): values[(i + j) % len(values)]
        for i, task in enumerate(values)
        for j, annotator in enumerate(values)
    }
    answers = table(
        [(task, annotator, label) for (task, annotator), label in said.items()], gold={values[0]: values[1]}
    )
    assert given_labels(answers) == said
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
    answers = answers_from_triples(column, column, column, {(column[0], column[1]): column[0]}, list(column), column)
    tasks, questions = zip(*answers.items, strict=True)
    for values in (tasks, questions, answers.annotators, answers.questions, answers.choices):
        assert {type(value) for value in values} == {plain}
        assert set(values) == set(np.asarray(column).tolist())


@pytest.mark.parametrize("ids", [[5, 3, 5, -2], [10**9, -(10**9), 7, 7], [2**61, -(2**61), 0, 1]])
def test_integers_in_an_array_and_in_a_list_make_the_same_table(ids: list[int]) -> None:
    labels = [1, 2, 3, 1]
    gold = {ids[1]: 3, 4: 2}
    of_lists = answers_from_triples(ids, [1, 2, 3, 4], labels, gold)
    of_arrays = answers_from_triples(np.array(ids), np.arange(1, 5), np.array(labels), gold)
    assert_same(of_lists, of_arrays)


def test_integer_columns_may_meet_gold_of_another_type() -> None:
    answers = answers_from_triples(np.array([1, 2]), np.array([1, 1]), np.array([5, 6]), {"three": "five"})
    assert given_labels(answers) == {(1, 1): 5, (2, 1): 6}
    assert gold_labels(answers) == {"three": "five"}


def test_every_question_has_the_labels_that_were_seen_with_it() -> None:
    answers = table(
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
    answers = table([("t", "ann", "a", 1), ("t", "ann", "b", 2)], label_set=["c", "b", "a", "a"])
    assert possible_labels(answers) == {("t", 1): ["a", "b", "c"], ("t", 2): ["a", "b", "c"]}


def test_a_mapping_of_labels_holds_for_the_questions_it_names() -> None:
    rows = [("t", "ann", "a", 1), ("t", "ann", "b", 2)]
    answers = table(rows, label_set={1: ["x", "a"], 3: ["never", "asked"]})
    assert possible_labels(answers) == {("t", 1): ["a", "x"], ("t", 2): ["b"]}


def test_gold_may_name_tasks_that_nobody_answered() -> None:
    answers = table([("t", "ann", "a"), ("t", "bob", "b")], gold={"t": "b", "u": "a"})
    assert gold_labels(answers) == {"t": "b", "u": "a"}
    assert answers.answers_per_item.tolist() == [2, 0]
    assert answers.warnings == ("1 gold label(s) belong to tasks nobody answered, for example 'u'.",)


def test_a_gold_label_nobody_chose_is_an_option_without_votes() -> None:
    answers = table([("t", "ann", "a"), ("t", "bob", "a")], gold={"t": "b"})
    votes = dict(zip((answers.choices[choice] for choice in answers.option_choice), answers.votes, strict=True))
    assert votes == {"a": 2.0, "b": 0.0}


ONE = (["t"], ["ann"], ["a"])


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ((["t", "u"], ["ann"], ["a"]), {}, r"differ in length \(tasks: 2, annotators: 1, labels: 1\)"),
        (ONE, {"questions": []}, r"differ in length .*questions: 0"),
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
        (ONE, {"label_set": ["b"]}, "Answer 1 is 'a', which is not in the given label set"),
        (ONE, {"label_set": []}, "The label set is empty"),
        (ONE, {"questions": [1], "label_set": {1: ["a"], 2: []}}, "The label set of question 2 is empty"),
        (ONE, {"label_set": ["a", "b"], "gold": {"t": "c"}}, "gold label of 't' is 'c', which is not in the given"),
        (
            ONE,
            {"questions": [1], "label_set": {1: ["a"], 2: ["b"]}, "gold": {("t", 1): "b"}},
            r"gold label of \('t', 1\) is 'b', which is not in the given",
        ),
        (ONE, {"questions": [1], "gold": {"t": "a"}}, r"Gold is given for 't'.*\(task, question\)"),
    ],
)
def test_unusable_input_is_refused_in_a_sentence(columns: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnusableInput, match=sentence):
        answers_from_triples(*columns, **options)


@pytest.mark.parametrize("nothing", ["", None, float("nan"), ["a"]])
@pytest.mark.parametrize("where", ["gold", "label set"])
def test_a_fault_outside_the_answers_is_not_blamed_on_an_answer(nothing: Any, where: str) -> None:
    options = {"gold": {"t": nothing}} if where == "gold" else {"label_set": ["a", nothing]}
    with pytest.raises(UnusableInput, match=where) as refused:
        answers_from_triples(*ONE, **options)
    assert "nswer 2" not in str(refused.value)


def test_a_single_annotator_is_pointed_out() -> None:
    answers = table([("t", "ann", "a"), ("u", "ann", "b")])
    assert any("single annotator" in warning for warning in answers.warnings)


def test_tasks_with_one_answer_are_counted_in_a_warning() -> None:
    answers = table([("t", "ann", "a"), ("t", "bob", "b"), ("u", "bob", "b")])
    assert answers.warnings == ("1 task(s) have one answer only: their label rests on one person.",)


def test_a_question_with_one_label_ever_chosen_is_named_in_a_warning() -> None:
    rows = [(task, who, label, question) for task in "tu" for who in "ab" for question, label in ((1, "x"), (2, task))]
    assert table(rows, label_set={1: ["x", "y"]}).warnings == (
        "Every answer to question 1 is 'x': there is nothing to decide.",
    )


def test_a_gold_label_that_nobody_chose_is_named_in_a_warning() -> None:
    answers = table([("t", "ann", "a"), ("t", "bob", "b")], gold={"t": "c"})
    assert answers.warnings == ("Gold names 1 label(s) that nobody chose, for example 'c'.",)


def test_an_ordinary_crowd_gives_no_warning() -> None:
    assert table([("t", "ann", "a"), ("t", "bob", "b")]).warnings == ()


@settings(max_examples=30)
@given(tables())
def test_counts_agree_with_counting_by_hand(answers: Answers) -> None:
    said, gold, labels = given_labels(answers), gold_labels(answers), possible_labels(answers)
    for place, item in enumerate(answers.items):
        chosen = {label for (task, _), label in said.items() if task == item} | (
            {gold[item]} if item in gold else set()
        )
        assert answers.answers_per_item[place] == sum(task == item for task, _ in said)
        assert answers.label_count[place] == len(labels[item])
        assert answers.unchosen[place] == len(labels[item]) - len(chosen)
        assert answers.option_item[answers.option_start[place]] == place
    asked, right = answers.agrees_with_gold
    for place, annotator in enumerate(answers.annotators):
        own = {item: label for (item, who), label in said.items() if who == annotator}
        assert answers.answers_per_annotator[place] == len(own)
        assert asked[place] == sum(item in gold for item in own)
        assert right[place] == sum(gold.get(item) == label for item, label in own.items())
    for place, (item, choice) in enumerate(zip(answers.option_item, answers.option_choice, strict=True)):
        votes = sum(said.get((answers.items[item], who)) == answers.choices[choice] for who in answers.annotators)
        assert answers.votes[place] == votes


@settings(max_examples=30)
@given(tables())
def test_answers_and_options_are_sorted(answers: Answers) -> None:
    given_pairs = list(zip(answers.answer_item.tolist(), answers.answer_annotator.tolist(), strict=True))
    options = list(zip(answers.option_item.tolist(), answers.option_choice.tolist(), strict=True))
    assert given_pairs == sorted(set(given_pairs))
    assert options == sorted(set(options))


@settings(max_examples=30)
@given(tables())
def test_listing_every_label_changes_nothing_that_was_said(answers: Answers) -> None:
    everywhere = answers.with_all_options()
    assert given_labels(everywhere) == given_labels(answers)
    assert gold_labels(everywhere) == gold_labels(answers)
    assert possible_labels(everywhere) == possible_labels(answers)
    options = [
        (answers.items[item], answers.choices[choice])
        for item, choice in zip(everywhere.option_item, everywhere.option_choice, strict=True)
    ]
    assert options == [(item, label) for item, labels in possible_labels(answers).items() for label in labels]
    assert everywhere.unchosen.tolist() == [0.0] * len(answers.items)


@settings(max_examples=30)
@given(tables(), st.data())
def test_a_part_of_the_items_keeps_their_answers_and_gold(answers: Answers, data: st.DataObject) -> None:
    kept = data.draw(st.sets(st.sampled_from(range(len(answers.items))), min_size=1))
    part = answers.only(np.array(sorted(kept)))
    items = {answers.items[place] for place in kept}
    assert set(part.items) == items
    assert part.annotators == answers.annotators
    assert given_labels(part) == {key: label for key, label in given_labels(answers).items() if key[0] in items}
    assert gold_labels(part) == {item: label for item, label in gold_labels(answers).items() if item in items}
    assert possible_labels(part) == {item: labels for item, labels in possible_labels(answers).items() if item in items}


@settings(max_examples=30)
@given(tables(), st.data())
def test_other_gold_leaves_the_answers_alone(answers: Answers, data: st.DataObject) -> None:
    options = answers.with_all_options()
    counts = options.label_count.astype(int).tolist()
    drawn = [data.draw(st.integers(-1, count - 1)) for count in counts]
    chosen = np.where(np.array(drawn) < 0, -1, options.option_start + np.array(drawn)).astype(np.int32)
    other = options.with_gold(chosen)
    assert given_labels(other) == given_labels(answers)
    labels = possible_labels(answers)
    assert gold_labels(other) == {
        item: labels[item][place] for item, place in zip(answers.items, drawn, strict=True) if place >= 0
    }


def test_counts_are_not_carried_over_to_a_table_with_other_gold() -> None:
    answers = table([("t", "ann", "a"), ("t", "bob", "b")], gold={"t": "a"})
    assert answers.agrees_with_gold[1].tolist() == [1, 0]
    assert answers.with_gold(np.array([1], np.int32)).agrees_with_gold[1].tolist() == [0, 1]
    assert replace(answers, gold_option=np.array([-1], np.int32)).agrees_with_gold[0].tolist() == [0, 0]


def test_ten_thousand_labels_fit() -> None:
    labels = [f"label {number}" for number in range(10_000)]
    said = {(task, annotator): labels[(task * 97 + annotator) % 10_000] for task in range(50) for annotator in range(3)}
    answers = table([(*key, label) for key, label in said.items()], label_set=labels, gold={50: labels[-1]})
    assert given_labels(answers) == said
    assert gold_labels(answers) == {50: labels[-1]}
    assert set(answers.label_count) == {10_000.0}
    assert len(answers.option_item) == 3 * 50 + 1
