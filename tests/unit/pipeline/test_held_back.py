"""Which answers are held back, and that an annotator who tries out answers learns nothing about gold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ls_crowd_plugin.pipeline.held_back import held_back_count, older_annotations
from ls_crowd_plugin.store import Annotation
from tests.support.annotations import answers, mood_annotation, mood_crowd
from tests.support.probing import (
    ProbedCrowd,
    probe,
    probed_crowd,
    read_view,
    switch,
    tasks_to_probe,
)

GOLD = {(1, "mood"): "good"}


def older_tasks(*annotations: Annotation) -> list[int]:
    """The tasks of one person's annotations that are learned from."""
    return [task for task, _ in older_annotations({(one.task, 7): one for one in annotations})]


class TestHeldBack:
    @pytest.mark.parametrize(("given", "count"), [(1, 1), (2, 1), (10, 1), (11, 2), (30, 3), (31, 4), (1000, 100)])
    def test_is_a_tenth_of_the_annotations_and_at_least_one(self, given: int, count: int) -> None:
        assert held_back_count(given) == count

    def test_is_what_was_changed_last(self) -> None:
        old, new = mood_annotation(1, 1, 7, "good", at="12:00:05"), mood_annotation(2, 2, 7, "bad", at="12:00:04")
        assert older_tasks(old, new) == [2]

    def test_at_one_time_is_the_higher_id(self) -> None:
        assert older_tasks(mood_annotation(2, 1, 7, "good"), mood_annotation(1, 2, 7, "good")) == [2]

    def test_is_the_newest_of_everybody(self) -> None:
        annotations = {
            (task, who): mood_annotation(10 * task + who, task, who, "good", at=f"12:00:0{task}")
            for task in (1, 2)
            for who in (7, 8)
        }
        assert list(older_annotations(annotations)) == [(1, 7), (1, 8)]


class TestLessons:
    ANNOTATIONS = tuple(mood_annotation(task, task, 7, "good", at=f"12:00:0{task}") for task in (1, 2, 3))

    def test_are_the_answers_that_are_not_held_back(self) -> None:
        crowd = mood_crowd(*self.ANNOTATIONS, gold=GOLD)
        assert crowd.lessons is not None
        assert [task for task, *_ in answers(crowd.lessons)] == [1, 2]
        assert [task for task, *_ in answers(crowd)] == [1, 2, 3]
        assert crowd.lessons.gold == crowd.gold == GOLD

    def test_are_all_answers_without_gold(self) -> None:
        assert mood_crowd(*self.ANNOTATIONS).lessons is None

    def test_of_some_questions_are_about_them(self) -> None:
        lessons = mood_crowd(*self.ANNOTATIONS, gold=GOLD).of_questions([]).lessons
        assert lessons is not None
        assert (lessons.units, lessons.gold) == ([], {})


def changes_elsewhere(
    crowd: ProbedCrowd, task: int, attack: Callable[[ProbedCrowd, int], Sequence[ProbedCrowd]]
) -> int:
    """How many views differ in anything but what is said about the task."""
    views = [read_view(state) for state in attack(crowd, task)]
    return len({repr((view.people, {**view.tasks, task: {}})) for view in views}) - 1


class TestProbing:
    @pytest.mark.parametrize("method", ["auto", "gem", "neg", "sw", "hyb", "plu"])
    def test_changes_nothing_but_what_is_said_about_the_task(self, method: str) -> None:
        crowd = probed_crowd(1, people=8, tasks=40, own_answers=25, method=method)
        for task in tasks_to_probe(crowd, gold=1, others=1, answered=True):
            assert changes_elsewhere(crowd, task, switch) == 0

    def test_of_a_task_that_the_person_has_not_answered_before_changes_nothing_else(self) -> None:
        crowd = probed_crowd(2, people=8, tasks=40, own_answers=12, method="neg")
        new = {one.task for one in crowd.annotations} - {one.task for one in crowd.own}
        for task in (min(new & crowd.gold.keys()), min(new - crowd.gold.keys())):
            assert changes_elsewhere(crowd, task, switch) == 0

    def test_with_a_new_account_changes_nothing_else(self) -> None:
        crowd = probed_crowd(3, people=8, tasks=40, own_answers=0, method="gem")
        for task in tasks_to_probe(crowd, gold=1, others=1):
            assert changes_elsewhere(crowd, task, switch) == 0

    def test_moves_the_label_of_the_task(self) -> None:
        """Answers that are held back count: they vote."""
        crowd = probed_crowd(1, people=8, tasks=40, own_answers=25, method="neg")
        views = [read_view(state) for task in list(crowd.gold)[:5] for state in switch(crowd, task)]
        scores = [{view.tasks[task]["score"] for view in views} for task in list(crowd.gold)[:5]]
        assert all(len(several) > 1 for several in scores)

    def test_told_gold_from_other_tasks_when_everything_was_learned_from(self) -> None:
        """That the attack is one: unprotected, the people who answered a task reveal whether it is gold."""
        crowd = probed_crowd(4, people=8, tasks=60, own_answers=30, gold=0.3, method="neg")
        tasks = tasks_to_probe(crowd, gold=15, others=25)
        before, now = (probe(crowd, switch, tasks, protected)["others' accuracy"] for protected in (False, True))
        assert before < 0.25
        assert now == 0.5
