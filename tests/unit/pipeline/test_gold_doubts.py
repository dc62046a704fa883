"""Gold that a confident crowd contradicts is for a person to look at."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ls_crowd_plugin.pipeline.gold_doubts import DoubtfulGold, describe_doubts, doubtful_gold
from ls_crowd_plugin.pipeline.project_fit import fit_project
from tests.support.annotations import mood_annotation, mood_crowd


def doubts(answers: Mapping[int, list[str]], gold: Mapping[int, str], method: str = "plu") -> list[DoubtfulGold]:
    """The doubtful gold of tasks, each with the answers of persons 1, 2, 3, …"""
    annotations = [
        mood_annotation(100 * task + person, task, person, label)
        for task, labels in answers.items()
        for person, label in enumerate(labels, 1)
    ]
    crowd = mood_crowd(*annotations, gold={(task, "mood"): label for task, label in gold.items()})
    return doubtful_gold(crowd, fit_project(crowd, method))


def test_gold_that_everybody_contradicts_is_doubtful() -> None:
    assert doubts({1: ["good"] * 3}, {1: "bad"}) == [DoubtfulGold(1, "mood", "bad", "good", 3, 3)]


@pytest.mark.parametrize("labels", [["good"] * 2, ["bad"] * 4, ["good", "good", "good", "bad", "bad"], []])
def test_gold_that_few_or_not_clearly_contradict_is_not(labels: list[str]) -> None:
    assert doubts({1: labels, 2: ["good", "bad"]}, {1: "bad"}) == []


def test_gold_that_the_better_people_contradict_is_doubtful() -> None:
    """Three who are always right against two who always say the same."""
    others = {task: [label] * 3 + ["bad"] * 2 for task, label in zip(range(2, 42), ["good", "bad"] * 20, strict=True)}
    found = doubts({1: ["good"] * 3 + ["bad"] * 2, **others}, {1: "bad"}, "gem")
    assert [(one.task, one.people, one.answers) for one in found] == [(1, 3, 5)]


def test_a_sentence_names_the_first_of_them() -> None:
    (sentence,) = describe_doubts([DoubtfulGold(task, "mood", "bad", "good", 4, 5) for task in range(1, 8)])
    assert sentence.startswith("Please check 7 gold labels that a confident crowd contradicts: task 1 (mood: gold is")
    assert sentence.endswith("; and 2 more.")
    assert describe_doubts([]) == []
