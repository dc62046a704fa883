"""Answers that vote although nothing is learned from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ls_crowd_plugin.aggregation import FORMS, METHODS, Consensus, Lessons, aggregate
from ls_crowd_plugin.aggregation.encoding import encode_answers, encode_lessons
from ls_crowd_plugin.demo import simulate_demo_crowd
from tests.support.crowds import Row, aggregate_rows, small_crowd

pytestmark = pytest.mark.slow

GOLD = {0: "yes", 1: "no"}
SAME = 1e-9  # posteriors are computed once more from the same numbers, in the same order of operations


def lessons_of(rows: list[Row], gold: dict[Any, Any] | None = None) -> Lessons:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    tasks, annotators, labels, *questions = columns
    return Lessons(tasks, annotators, labels, questions[0] if questions else None, gold)


def says(consensus: Consensus) -> tuple[list[float], list[float]]:
    """All probabilities and all numbers about annotators."""
    probabilities = [p for task in consensus.labels for p in consensus.posterior(task, lift_gold=True).values()]
    numbers = [(row.skill, row.adversary_probability, row.weight, row.accuracy) for row in consensus.scores]
    return probabilities, [number or 0.0 for row in numbers for number in row]


class TestLessons:
    @pytest.mark.parametrize("method", METHODS)
    def test_that_are_all_answers_change_nothing(self, method: str) -> None:
        crowd = simulate_demo_crowd(1, tasks=60, probes=12)
        columns = (crowd.tasks, crowd.annotators, crowd.labels)
        plain = aggregate(*columns, crowd.gold, method, crowd.label_set)
        taught = aggregate(*columns, crowd.gold, method, crowd.label_set, lessons=Lessons(*columns, gold=crowd.gold))
        for one, other in ((plain, taught), (plain.gold_blind, taught.gold_blind)):
            assert other.labels == one.labels
            for numbers, same_numbers in zip(says(one), says(other), strict=True):
                assert numbers == pytest.approx(same_numbers, abs=SAME)

    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.slow
    def test_that_are_all_answers_change_nothing_in_any_form(self, form: str) -> None:
        rows = [(*row, question) for question in ("size", "colour") for row in small_crowd()]
        gold = {(task, "size"): label for task, label in GOLD.items()}
        plain = aggregate_rows(rows, gold=gold, method="gem", form=form)
        taught = aggregate_rows(rows, gold=gold, method="gem", form=form, lessons=lessons_of(rows, gold))
        assert says(taught)[0] == pytest.approx(says(plain)[0], abs=SAME)
        difficulty = [[row["difficulty"] for row in consensus.tasks] for consensus in (plain, taught)]
        assert np.array(difficulty[0], float) == pytest.approx(np.array(difficulty[1], float), nan_ok=True)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.slow
    def test_decide_about_annotators_alone(self, method: str) -> None:
        """Whatever is said on a task that there is no lesson about, nobody's score and no other task changes."""
        rows = small_crowd()
        found = []
        for labels in (("yes", "yes"), ("yes", "no"), ("no", "no")):
            more = [(99, f"person {number}", label) for number, label in enumerate(labels)]
            consensus = aggregate_rows(
                rows + more, gold={**GOLD, 99: "yes"}, method=method, lessons=lessons_of(rows, GOLD)
            )
            others = {task: consensus.posterior(task) for task in consensus.labels if task != 99}
            scores = [(row.skill, row.weight, row.accuracy, row.verdict) for row in consensus.scores]
            found.append((others, scores, consensus.posterior(99, lift_gold=True)["yes"]))
        assert found[0][:2] == found[1][:2] == found[2][:2]
        assert found[0][2] > found[1][2] > found[2][2]

    def test_count_neither_as_answers_nor_as_gold_of_a_person(self) -> None:
        rows = small_crowd()
        consensus = aggregate_rows(rows, gold=GOLD, lessons=lessons_of(rows[10:], GOLD))
        assert [(row.answers, row.gold_answers) for row in consensus.scores] == [(12, 2)] * 5

    def test_that_do_not_exist_leave_all_answers_equal(self) -> None:
        rows = [(task, f"{task} {number}", "yes" if number else "no") for task in range(4) for number in range(3)]
        consensus = aggregate_rows(rows, gold={0: "no"}, method="gem", lessons=lessons_of([]))
        assert set(consensus.labels.values()) == {"yes", "no"}
        assert consensus.labels[0] == "no"
        assert len({score.weight for score in consensus.scores}) == 1
        assert consensus.crowd_label(0) == consensus.crowd_label(1)

    @pytest.mark.parametrize("method", METHODS)
    def test_that_somebody_has_not_given_leave_them_an_ordinary_voice(self, method: str) -> None:
        rows = small_crowd()
        consensus = aggregate_rows([*rows, (99, "new", "yes")], method=method, lessons=lessons_of(rows))
        new = next(score for score in consensus.scores if score.annotator == "new")
        assert (new.answers, new.skill, new.adversary_probability) == (1, None, None)
        assert new.verdict == "too little to say"
        assert new.weight is not None
        assert new.weight > 0
        assert consensus.labels[99] == "yes"

    def test_have_the_annotators_and_labels_of_the_crowd(self) -> None:
        rows = [("t", "a", "x", "q"), ("t", "b", "y", "q"), ("u", "c", "z", "r"), ("u", "a", "x", "r")]
        tasks, people, labels, questions = (list(column) for column in zip(*rows, strict=True))
        answers = encode_answers(tasks, people, labels, questions=questions)
        lessons = encode_lessons(lessons_of(rows[:1]), answers)
        assert (lessons.annotators, lessons.questions) == (answers.annotators, answers.questions)
        assert (lessons.choices, lessons.choice_start.tolist()) == (answers.choices, answers.choice_start.tolist())
        assert len(lessons.items) == len(lessons.answer_item) == 1
