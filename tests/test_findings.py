"""One fit for all controls, or one for each: either way one label per question and one row per person."""

from __future__ import annotations

import random

import numpy as np
from test_crowd_of_project import MOOD, said

from ls_crowd_plugin.controls import read_config
from ls_crowd_plugin.pipeline.crowd import Crowd, crowd_of
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.findings import find

TWO = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="mood" toName="text" required="true"><Choice value="good"/><Choice value="bad"/></Choices>
  <Choices name="colour" toName="text" required="true"><Choice value="red"/><Choice value="blue"/></Choices>
</View>
"""


def crowd_of_opposites(tasks: int = 60) -> Crowd:
    """Person 9 is contrary about moods and right about colours; the other four are mostly right."""
    chance = random.Random(1)
    crowd = Crowd(read_config(TWO), label_set={"mood": ["good", "bad"], "colour": ["red", "blue"]})
    for task in range(tasks):
        truth = {name: chance.choice(labels) for name, labels in crowd.label_set.items()}
        for who in (1, 2, 3, 4, 9):
            for question, right in truth.items():
                wrong = next(label for label in crowd.label_set[question] if label != right)
                errs = question == "mood" if who == 9 else chance.random() < 0.1
                crowd.tasks.append(task)
                crowd.annotators.append(who)
                crowd.labels.append(wrong if errs else right)
                crowd.questions.append(question)
        crowd.answered[task] = 5
    return crowd


def test_apart_each_control_judges_people_by_itself() -> None:
    mood, colour = find(crowd_of_opposites(), "gem", apart=True).parts
    words = [next(row["verdict"] for row in part.annotators if row["annotator"] == 9) for part in (mood, colour)]
    assert words[0] == "contrary"
    assert words[1] in ("trusted", "ordinary")


def test_apart_somebody_contrary_in_one_control_is_called_so() -> None:
    assert find(crowd_of_opposites(), "gem", apart=True).people[9]["verdict"] == "contrary"


def test_apart_numbers_of_people_are_means_by_answers() -> None:
    crowd = crowd_of_opposites()
    found = find(crowd, "gem", apart=True)
    each = [row for part in found.parts for row in part.annotators if row["annotator"] == 1]
    assert found.people[1]["answers"] == len(crowd.answered) * 2
    assert abs(found.people[1]["accuracy"] - sum(row["accuracy"] for row in each) / 2) < 1e-12


def test_apart_and_together_answer_the_same_questions() -> None:
    crowd = crowd_of_opposites()
    together, apart = (desired_predictions(crowd, find(crowd, "gem", apart=way)) for way in (False, True))
    assert [each.task for each in together] == [each.task for each in apart]
    assert all(len(each.result) == 2 for each in apart)


def test_apart_finds_the_truth_that_a_shared_skill_would_blur() -> None:
    """Apart, person 9 counts for colours; together they cannot count for both."""
    crowd = crowd_of_opposites()
    apart = find(crowd, "gem", apart=True)
    assert apart.summary["labels"] == 2 * len(crowd.answered)
    assert apart.summary["contrary"] == [9]


def test_apart_progress_is_shared_among_the_controls() -> None:
    told: list[float] = []
    find(crowd_of_opposites(10), "gem", apart=True, progress=told.append)
    assert all(0 <= fraction <= 1 for fraction in told)
    assert told[0] < 0.5 <= told[-1]


def test_nothing_in_a_prediction_tells_gold_from_other_tasks() -> None:
    """Tasks with the same answers by the same people have the same score, gold or not."""
    chance = np.random.default_rng(5)
    made = []
    truth = chance.integers(2, size=120)
    for task in range(120):
        for by in (1, 2, 3):
            right = chance.random() < (0.9, 0.8, 0.7)[by - 1]
            made.append(said(10 * task + by, task, by, ("good", "bad")[truth[task] if right else 1 - truth[task]]))
    known = {(task, "mood"): ("good", "bad")[truth[task]] for task in range(30)}
    crowd = crowd_of(MOOD, made, known)
    patterns: dict[tuple[str, ...], set[float]] = {}
    for desired in desired_predictions(crowd, find(crowd)):
        answers = tuple(label for task, label in zip(crowd.tasks, crowd.labels, strict=True) if task == desired.task)
        patterns.setdefault(answers, set()).add(desired.score)
    assert len(patterns) == 8
    assert {len(scores) for scores in patterns.values()} == {1}
