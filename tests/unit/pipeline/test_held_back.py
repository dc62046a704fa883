"""Which answers are held back, and that an annotator who tries out answers learns nothing about gold."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.held_back import held_back_count, older_annotations
from ls_crowd_plugin.pipeline.project_fit import fit_project
from ls_crowd_plugin.store import Annotation
from tests.support.annotations import answers, mood_annotation, mood_crowd
from tests.support.probing import ProbedCrowd, probe, probed_crowd, read_view, switch, tasks_to_probe
from tests.support.span_crowds import Spans, crowd_of_spans, span_annotation

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


def views_elsewhere(crowd: ProbedCrowd, task: int) -> int:
    """How many different things are written, apart from what is said about the task, if every label is tried out."""
    views = [read_view(state) for state in switch(crowd, task)]
    return len({repr((view.people, {**view.tasks, task: {}})) for view in views})


@pytest.mark.slow
class TestProbing:
    @pytest.mark.parametrize("method", ["auto", "gem", "neg", "sw", "hyb", "plu"])
    def test_changes_nothing_but_what_is_said_about_the_task(self, method: str) -> None:
        crowd = probed_crowd(1, people=8, tasks=40, own_answers=25, method=method)
        for task in tasks_to_probe(crowd, gold=1, others=1, answered=True):
            assert views_elsewhere(crowd, task) == 1

    def test_of_a_task_that_the_person_has_not_answered_before_changes_nothing_else(self) -> None:
        crowd = probed_crowd(2, people=8, tasks=40, own_answers=12, method="neg")
        new = {one.task for one in crowd.annotations} - {one.task for one in crowd.own}
        for task in (min(new & crowd.gold.keys()), min(new - crowd.gold.keys())):
            assert views_elsewhere(crowd, task) == 1

    def test_with_a_new_account_changes_nothing_else(self) -> None:
        crowd = probed_crowd(3, people=8, tasks=40, own_answers=0, method="gem")
        for task in tasks_to_probe(crowd, gold=1, others=1):
            assert views_elsewhere(crowd, task) == 1

    def test_moves_the_label_of_the_task(self) -> None:
        """Answers that are held back count: they vote."""
        crowd = probed_crowd(1, people=8, tasks=40, own_answers=25, method="neg")
        (task,) = tasks_to_probe(crowd, gold=1, others=0, answered=True)
        assert len({read_view(state).tasks[task]["score"] for state in switch(crowd, task)}) > 1

    def test_told_gold_from_other_tasks_when_everything_was_learned_from(self) -> None:
        """That the attack is one: unprotected, the people who answered a task reveal whether it is gold."""
        crowd = probed_crowd(2, labels=2, people=8, tasks=60, own_answers=30, gold=0.3, method="neg")
        tasks = tasks_to_probe(crowd, gold=15, others=20)
        before, now = (probe(crowd, switch, tasks, protected)["others' accuracy"] for protected in (False, True))
        assert before < 0.3
        assert now == 0.5


@pytest.mark.slow
class TestProbingRegions:
    """Four people mark names in twelve sentences; an expert has marked those of the first six, which are gold."""

    NAMES = ((0, 8, "PER"), (9, 15, "ORG"))
    SLOPPY = ((0, 8, "ORG"), (16, 20, "PER"))

    def written(self, probed: int, spans: Spans) -> tuple[str, str]:
        """What is written about the probed task, and about all others, if the last person marks these spans in it."""
        annotations = []
        for task in range(12):
            for who in (1, 2, 3, 4, *([9] if task < 6 else [])):
                own = self.SLOPPY if who == 1 or (who + task) % 4 == 0 else self.NAMES
                last = (task, who) == (probed, 4)
                annotation = span_annotation(100 * task + who, task, who, spans if last else own)
                when = "2026-01-02T00:00:00Z" if last else f"2026-01-01T00:{task:02d}:00Z"
                annotations.append(replace(annotation, updated_at=when))
        crowd = crowd_of_spans(annotations, experts=[9])
        predictions = desired_predictions(crowd, fit_project(crowd, "gem"))
        about = {one.task: json.dumps([one.result, one.score]) for one in predictions}
        return about.pop(probed), json.dumps(about)

    @pytest.mark.parametrize("task", [2, 8])
    def test_changes_nothing_but_what_is_said_about_the_task(self, task: int) -> None:
        attempts = [(), self.NAMES, self.SLOPPY, ((0, 8, "PER"),), ((0, 8, "PER"), (9, 15, "PER"), (30, 40, "ORG"))]
        written = [self.written(task, spans) for spans in attempts]
        assert len({elsewhere for _, elsewhere in written}) == 1
        assert len({here for here, _ in written}) > 1
