"""Annotators who forge gold and answers in every way that Label Studio's API gives them change nothing but their own
answers, and are named. Label Studio lets everybody do all of this."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle

import numpy as np
import pytest

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.pipeline.outcome import PassReport
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import open_store
from ls_crowd_plugin.store.results import list_annotators
from tests.support.sign_up import sign_up
from tests.support.studio import MOOD, Project, make_project, people, run_once

PER_TASK = 5
OTHER = {"good": "bad", "bad": "good"}


@dataclass
class Attack:
    """A project under attack, and the answers that nobody forged: task's position → annotator → label."""

    project: Project
    genuine: list[dict[int, str]]
    right: list[str]
    forgers: dict[int, Http]
    turns: Iterator[int] = field(init=False)
    done: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.turns = cycle(range(len(self.genuine)))

    def wrong(self, position: int) -> list[Json]:
        return self.project.items({"mood": OTHER[self.right[position]]})

    def victim(self, position: int) -> tuple[int, int]:
        """Somebody honest who answered a task, and the annotation."""
        task = self.project.tasks[position]
        for annotation in self.project.annotations(task):
            author = int(annotation["completed_by"])
            if author not in self.forgers and author in self.genuine[position] and annotation["updated_by"] is None:
                return author, int(annotation["id"])
        raise LookupError(f"Nobody honest is left on task {task}.")

    def mark_own(self, forger: int, http: Http) -> None:
        position = next(self.turns)
        body = {"result": self.wrong(position), "ground_truth": True}
        http.post(f"/api/tasks/{self.project.tasks[position]}/annotations/", body)
        self.genuine[position][forger] = OTHER[self.right[position]]  # the answer is genuine, the mark is not

    def write_in_anothers_name(self, forger: int, http: Http) -> None:
        del forger
        position = next(self.turns)
        victim, _ = self.victim(position)
        body = {"result": self.wrong(position), "completed_by": victim, "ground_truth": True}
        http.post(f"/api/tasks/{self.project.tasks[position]}/annotations/", body)

    def edit(self, forger: int, http: Http) -> None:
        del forger
        position = next(self.turns)
        victim, annotation = self.victim(position)
        http.patch(f"/api/annotations/{annotation}/", {"result": self.wrong(position)})
        del self.genuine[position][victim]

    def mark_anothers(self, forger: int, http: Http) -> None:
        del forger
        position = next(self.turns)
        victim, annotation = self.victim(position)
        http.patch(f"/api/annotations/{annotation}/", {"ground_truth": True, "result": self.wrong(position)})
        del self.genuine[position][victim]

    def give_away_own(self, forger: int, http: Http) -> None:
        del forger
        position = next(self.turns)
        victim, _ = self.victim(position)
        path = f"/api/tasks/{self.project.tasks[position]}/annotations/"
        own = int(http.post(path, {"result": self.wrong(position)})["id"])
        http.patch(f"/api/annotations/{own}/", {"completed_by": victim, "updated_by": victim})

    def delete(self, forger: int, http: Http) -> None:
        del forger
        position = next(self.turns)
        victim, annotation = self.victim(position)
        http.delete(f"/api/annotations/{annotation}/")
        del self.genuine[position][victim]

    def skip_anothers(self, forger: int, http: Http) -> None:
        del forger
        position = next(self.turns)
        victim, annotation = self.victim(position)
        http.patch(f"/api/annotations/{annotation}/", {"was_cancelled": True})
        del self.genuine[position][victim]

    def run(self) -> None:
        """Every forger does everything once."""
        actions = (
            self.mark_own,
            self.write_in_anothers_name,
            self.edit,
            self.mark_anothers,
            self.give_away_own,
            self.delete,
            self.skip_anothers,
        )
        for forger, http in self.forgers.items():
            for action in actions:
                action(forger, http)
                self.done.append(action.__name__)


def draw_answers(annotators: list[int], tasks: int) -> tuple[list[dict[int, str]], list[str]]:
    """Honest people who are right in nine of ten cases."""
    random = np.random.default_rng(3)
    right = [str(label) for label in random.choice(["good", "bad"], tasks)]
    answers = [
        {
            int(who): label if random.random() < 0.9 else OTHER[label]
            for who in random.choice(annotators, PER_TASK, replace=False)
        }
        for label in right
    ]
    return answers, right


def consensus(
    http: Http, project: Project, sources: str
) -> tuple[list[tuple[str, float]], dict[int, Json], PassReport]:
    """What a fresh sync says: result and score by the task's position, and people's numbers."""
    with open_store("sqlite:///:memory:") as store:
        outcome = run_once(http, store, project.id, task_meta="off", gold_sources=frozenset(sources.split(",")))
        assert outcome.report is not None, outcome
        with store.data.connect() as connection:
            found, _ = list_annotators(connection, project.id, order="annotator")
    predictions = project.predictions()
    labels = []
    for task in project.tasks:
        (prediction,) = predictions[task]
        labels.append((json.dumps(prediction["result"], sort_keys=True), prediction["score"]))
    scores = {one.annotator: {**vars(one), "seconds": None, "name": ""} for one in found}
    return labels, scores, outcome.report


def attack(owner: Http, url: str, *, annotators: int, forgers: int, tasks: int, sources: str) -> None:
    honest = people(owner, annotators - forgers)
    attackers = dict(sign_up(url, f"forger{forgers}-{number}-{sources[-4:]}") for number in range(forgers))
    genuine, right = draw_answers(honest, tasks)
    asked = [{who: {"mood": label} for who, label in answers.items()} for answers in genuine]
    project = make_project(owner, MOOD, asked)
    attacked = Attack(project, genuine, right, attackers)
    attacked.run()
    left = [{who: {"mood": label} for who, label in sorted(answers.items())} for answers in attacked.genuine]
    reference = make_project(owner, MOOD, left)
    labels, scores, report = consensus(owner, project, sources)
    expected_labels, expected_scores, _ = consensus(owner, reference, sources)
    assert labels == expected_labels
    assert scores == expected_scores
    warnings = " ".join(report.warnings)
    for forger in sorted(attackers)[:5]:
        assert f"(user {forger})" in warnings
    assert len(attacked.done) == 7 * forgers


@pytest.mark.parametrize("sources", ["plugin", "plugin,ground_truth,experts"])
def test_forgers_change_nothing_and_are_named(owner: Http, label_studio: Server, sources: str) -> None:
    attack(owner, label_studio.url, annotators=12, forgers=2, tasks=24, sources=sources)


@pytest.mark.soak
@pytest.mark.parametrize("forgers", [1, 3, 30])
def test_of_a_hundred_annotators_some_forge(owner: Http, label_studio: Server, forgers: int) -> None:
    attack(owner, label_studio.url, annotators=100, forgers=forgers, tasks=240, sources="plugin,ground_truth,experts")
