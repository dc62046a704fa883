"""The demo's projects have labels, tasks and people that belong together."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ls_crowd_plugin.controls import read_config
from ls_crowd_plugin.demo import projects
from ls_crowd_plugin.demo.projects import PEOPLE, DemoProject, Person


@pytest.mark.parametrize("project", [projects.texts(), projects.pictures()], ids=lambda project: project.control)
class TestProject:
    def test_lists_are_equally_long_and_longer_than_the_gold(self, project: DemoProject) -> None:
        assert len(project.data) == len(project.truth) == len(project.difficulty) > project.gold

    def test_every_label_is_equally_frequent(self, project: DemoProject) -> None:
        assert len(set(Counter(project.truth).values())) == 1

    def test_results_are_read_as_their_label(self, project: DemoProject) -> None:
        config = read_config(project.label_config)
        for number, label in enumerate(project.labels):
            assert config.read(project.result(number)) == {project.control: label}


def test_twenty_people_have_different_addresses() -> None:
    assert len({person.email for person in PEOPLE}) == 20


@pytest.mark.parametrize(
    ("kind", "low", "high"), [("expert", 0.97, 1.0), ("sloppy", 0.6, 0.8), ("spammer", 0.2, 0.3), ("adversary", 0, 0.1)]
)
def test_people_are_right_as_often_as_their_kind(kind: str, low: float, high: float) -> None:
    generator = np.random.default_rng(0)
    person = Person("Ann Lee", kind)
    # The standard error of a share of 2000 draws is at most 0.0112; the ranges leave three of them and more.
    right = np.mean([person.answer(generator, 1, 0.0, 4) == 1 for _ in range(2000)])
    assert low <= right <= high


def test_everybody_guesses_at_the_greatest_difficulty() -> None:
    generator = np.random.default_rng(0)
    answers = {Person("Ann Lee", "expert").answer(generator, 1, 1.0, 4) for _ in range(200)}
    assert answers == {0, 1, 2, 3}
