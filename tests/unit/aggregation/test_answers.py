"""The answer table: its counts, and the tables made from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.aggregation import answers as answers_module
from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.calibration import DEFAULT_CALIBRATION
from ls_crowd_plugin.aggregation.fit import Posterior, normalise
from ls_crowd_plugin.aggregation.weighted import best_labels
from ls_crowd_plugin.demo.crowds import large_crowd
from tests.support.crowds import answer_labels, answer_tables, encode_crowd, encode_rows, gold_labels, possible_labels
from tests.support.examples import examples


@settings(max_examples=examples(30))
@given(answer_tables())
def test_counts_agree_with_counting_by_hand(answers: Answers) -> None:
    labels, gold, possible = answer_labels(answers), gold_labels(answers), possible_labels(answers)
    for position, item in enumerate(answers.items):
        chosen = {label for (task, _), label in labels.items() if task == item}
        options = chosen | ({gold[item]} if item in gold else set())
        assert answers.answers_per_item[position] == sum(task == item for task, _ in labels)
        assert answers.label_count[position] == len(possible[item])
        assert answers.unchosen_count[position] == len(possible[item]) - len(options)
        assert answers.option_item[answers.option_start[position]] == position
        assert answers.has_gold[position] == (item in gold)
        assert answers.is_informative[position] == (len(possible[item]) > 1 and len(chosen) > 0)
        assert {answers.option_label(option) for option in range(10_000)[answers.options_of(position)]} == options
        assert [answers.choices[choice] for choice in answers.choices_of(position)] == possible[item]
    answered, correct = answers.gold_counts
    for position, annotator in enumerate(answers.annotators):
        own = {item: label for (item, name), label in labels.items() if name == annotator}
        assert answers.answers_per_annotator[position] == len(own)
        assert answered[position] == sum(item in gold for item in own)
        assert correct[position] == sum(gold.get(item) == label for item, label in own.items())


@settings(max_examples=examples(30))
@given(answer_tables())
def test_votes_are_the_answers_that_name_an_option(answers: Answers) -> None:
    labels = answer_labels(answers)
    weight = np.random.default_rng(0).random(len(answers.annotators))
    weighted = answers.weighted_votes(weight)
    for option, (item, choice) in enumerate(zip(answers.option_item, answers.option_choice, strict=True)):
        voters = [
            position
            for position, annotator in enumerate(answers.annotators)
            if labels.get((answers.items[item], annotator)) == answers.choices[choice]
        ]
        assert answers.votes[option] == len(voters)
        assert weighted[option] == pytest.approx(sum(weight[position] for position in voters))


@settings(max_examples=examples(30))
@given(answer_tables())
def test_answers_and_options_are_sorted(answers: Answers) -> None:
    pairs = list(zip(answers.answer_item.tolist(), answers.answer_annotator.tolist(), strict=True))
    options = list(zip(answers.option_item.tolist(), answers.option_choice.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert options == sorted(set(options))


@settings(max_examples=examples(30))
@given(answer_tables())
def test_making_every_label_an_option_changes_no_answer(answers: Answers) -> None:
    complete = answers.with_all_options()
    assert answer_labels(complete) == answer_labels(answers)
    assert gold_labels(complete) == gold_labels(answers)
    assert possible_labels(complete) == possible_labels(answers)
    options = [
        (answers.items[item], answers.choices[choice])
        for item, choice in zip(complete.option_item, complete.option_choice, strict=True)
    ]
    assert options == [(item, label) for item, labels in possible_labels(answers).items() for label in labels]
    assert complete.unchosen_count.tolist() == [0.0] * len(answers.items)


@settings(max_examples=examples(30))
@given(answer_tables(), st.data())
def test_a_subset_of_the_items_keeps_their_answers_and_gold(answers: Answers, data: st.DataObject) -> None:
    kept = data.draw(st.sets(st.sampled_from(range(len(answers.items))), min_size=1))
    subset = answers.subset(np.array(sorted(kept)))
    items = {answers.items[position] for position in kept}
    assert set(subset.items) == items
    assert subset.annotators == answers.annotators
    assert answer_labels(subset) == {key: label for key, label in answer_labels(answers).items() if key[0] in items}
    assert gold_labels(subset) == {item: label for item, label in gold_labels(answers).items() if item in items}
    assert possible_labels(subset) == {
        item: labels for item, labels in possible_labels(answers).items() if item in items
    }


@settings(max_examples=examples(30))
@given(answer_tables(), st.data())
def test_other_gold_leaves_the_answers_alone(answers: Answers, data: st.DataObject) -> None:
    complete = answers.with_all_options()
    counts = complete.label_count.astype(int).tolist()
    drawn = [data.draw(st.integers(-1, count - 1)) for count in counts]
    gold_option = np.where(np.array(drawn) < 0, -1, complete.option_start + np.array(drawn)).astype(np.int32)
    other = complete.with_gold(gold_option)
    assert answer_labels(other) == answer_labels(answers)
    labels = possible_labels(answers)
    assert gold_labels(other) == {
        item: labels[item][position] for item, position in zip(answers.items, drawn, strict=True) if position >= 0
    }


def test_counts_are_not_carried_over_to_a_table_with_other_gold() -> None:
    answers = encode_rows([("t", "ann", "a"), ("t", "bob", "b")], gold={"t": "a"})
    assert answers.gold_counts[1].tolist() == [1, 0]
    assert answers.with_gold(np.array([1], np.int32)).gold_counts[1].tolist() == [0, 1]
    assert replace(answers, gold_option=np.array([-1], np.int32)).gold_counts[0].tolist() == [0, 0]


def test_a_sample_holds_all_gold_and_about_as_many_answers_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = large_crowd(0, answers=2000, annotators=20)  # 200 tasks with ten answers each
    gold_option = np.full(200, -1, np.int32)
    answers = encode_crowd(crowd)
    gold_option[::20] = answers.option_start[::20]
    answers = answers.with_gold(gold_option)
    assert answers.sample(0) is answers
    monkeypatch.setattr(answers_module, "SAMPLE_ANSWERS", 500)
    sample = answers.sample(0)
    assert len(sample.answer_item) == 490  # the fiftieth task would reach the limit
    assert gold_labels(sample) == gold_labels(answers)
    assert sample.items == answers.sample(0).items != answers.sample(1).items


@settings(max_examples=examples(30))
@given(answer_tables(), st.integers(1, 8))
def test_blocks_hold_all_items_once_and_change_no_result(answers: Answers, piece: int) -> None:
    whole, divided = replace(answers), replace(answers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers_module, "PIECE", piece)
        blocks = divided.blocks
    items, options = np.arange(len(answers.items)), np.arange(len(answers.option_item))
    assert [item for block in blocks for item in items[block.items]] == items.tolist()
    assert [option for block in blocks for option in options[block.options]] == options.tolist()
    for block in blocks:
        assert (block.option_item + block.items.start).tolist() == answers.option_item[block.options].tolist()
        assert (block.option_start + block.options.start).tolist() == answers.option_start[block.items].tolist()
    assert len(whole.blocks) == 1
    weight = np.random.default_rng(piece).normal(size=len(answers.annotators))
    results = []
    for table in (whole, divided):
        option, unchosen = table.weighted_votes(400 * weight), np.zeros(len(table.items))
        share, others, log_total = normalise(table, option, unchosen)
        calibrated = DEFAULT_CALIBRATION.apply(table, Posterior(share, others), np.abs(weight))
        results.append(np.concatenate([share, others, log_total, *calibrated, best_labels(table, option)]))
    assert results[1] == pytest.approx(results[0], rel=1e-12, abs=1e-12)
