"""Projects in a real Label Studio with simulated annotators, made for one test each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Engine

from ls_crowd_plugin.controls import Config, read_config
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline.sync import Options, Report, sync

Json = dict[str, Any]
Labels = Mapping[str, str]  # question → label


@dataclass
class Project:
    """A project, its tasks in the order they were imported, and ways to do in it what people do."""

    http: Http
    id: int
    config: Config
    tasks: list[int] = field(default_factory=list)

    def items(self, labels: Labels) -> list[Json]:
        return self.config.write(labels)

    def annotate(self, task: int, by: int, labels: Labels | None) -> int:
        """Somebody's answer; None is a skip. The annotation's id."""
        said = {"result": self.items(labels)} if labels is not None else {"result": [], "was_cancelled": True}
        return int(self.http.post(f"/api/tasks/{task}/annotations/", {**said, "completed_by": by})["id"])

    def annotations(self, task: int) -> list[Json]:
        return list(self.http.get(f"/api/tasks/{task}/annotations/"))

    def edit(self, annotation: int, labels: Labels) -> None:
        self.http.patch(f"/api/annotations/{annotation}/", {"result": self.items(labels)})

    def delete_annotation(self, annotation: int) -> None:
        self.http.delete(f"/api/annotations/{annotation}/")

    def predictions(self) -> dict[int, list[Json]]:
        """Task → all predictions on it."""
        found: dict[int, list[Json]] = {}
        for each in LabelStudio(self.http).predictions(self.id):
            found.setdefault(int(each["task"]), []).append(each)
        return found

    def labels(self) -> dict[int, dict[str, str]]:
        """Task → what the one prediction on it says."""
        return {task: self.config.read(each["result"]) for task, (each,) in self.predictions().items()}

    def rows(self) -> dict[int, Json]:
        """Task → what the Data Manager shows of it."""
        include = "id,predictions_score,predictions_model_versions,total_predictions,meta,is_labeled,total_annotations"
        answer = self.http.get("/api/tasks", project=self.id, fields="all", include=include, page_size=1000)
        return {int(task["id"]): task for task in answer["tasks"]}

    def state(self) -> Json:
        """All that a pass may change: predictions with ids and contents, settings, and the tasks' meta."""
        facts = self.http.get(f"/api/projects/{self.id}/")
        kept = ("id", "result", "score", "model_version", "updated_at")
        return {
            "predictions": {
                task: [{name: one[name] for name in kept} for one in each] for task, each in self.predictions().items()
            },
            "settings": {
                name: facts[name] for name in ("model_version", "show_collab_predictions", "maximum_annotations")
            },
            "meta": {task: row["meta"] for task, row in self.rows().items()},
        }


def once(http: Http, engine: Engine, project: Project, **options: Any) -> Report:
    """One pass with the simplest method, by which a task's label depends on nothing but its own answers."""
    given = {"method": "plu", "task_meta": "off", **options}
    return sync(LabelStudio(http), engine, project.id, Options(**given))


def people(http: Http, number: int) -> list[int]:
    """The ids of so many annotators, made where they are not there yet."""
    there = {str(user["email"]): int(user["id"]) for user in http.get("/api/users/")}
    ids = []
    for each in range(number):
        email = f"annotator{each}@example.com"
        if email not in there:
            body = {"email": email, "username": f"annotator{each}", "first_name": "Ann", "last_name": str(each)}
            there[email] = int(http.post("/api/users/", body)["id"])
        ids.append(there[email])
    return ids


def make_project(
    http: Http,
    label_config: str,
    answers: Sequence[Mapping[int, Labels]],
    *,
    data: Sequence[Json] | None = None,
    overlap: int = 5,
    title: str = "A project of the tests",
) -> Project:
    """A project with one task for each of `answers` (annotator → labels)."""
    body = {"title": title, "label_config": label_config, "maximum_annotations": overlap}
    project = Project(http, int(http.post("/api/projects/", body)["id"]), read_config(label_config))
    tasks = [
        {
            "data": data[number] if data else {"text": f"Sentence {number}.", "other": f"Another {number}."},
            "annotations": [
                {"completed_by": by, "ground_truth": False, "result": project.items(labels)}
                for by, labels in each.items()
            ],
        }
        for number, each in enumerate(answers)
    ]
    if tasks:
        http.post(f"/api/projects/{project.id}/import", tasks)
    project.tasks = sorted(LabelStudio(http).task_ids(project.id))
    return project


MOOD = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="mood" toName="text" required="true"><Choice value="good"/><Choice value="bad"/></Choices>
</View>
"""

THREE_CONTROLS = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="mood" toName="text" choice="single" required="true">
    <Choice value="glad"/><Choice value="sad"/><Choice value="angry"/>
  </Choices>
  <Choices name="topics" toName="text" choice="multiple">
    <Choice value="sport"/><Choice value="money"/><Choice value="weather"/>
  </Choices>
  <Rating name="stars" toName="text" maxRating="4" required="true"/>
</View>
"""
TOPICS = {"sport": 0.4, "money": 0.3, "weather": 0.08}  # how often each is there: the last is rare


@dataclass(frozen=True)
class Crowd:
    """Answers to three controls by honest people, spammers and adversaries, with the truth."""

    answers: list[dict[int, dict[str, str]]]  # by task: annotator → labels
    truth: list[dict[str, str]]  # by task
    adversaries: set[int]
    spammers: set[int]


def mixed_crowd(annotators: Sequence[int], tasks: int, *, per_task: int = 5, seed: int = 0) -> Crowd:
    """A fifth are adversaries, three tenths spammers, the rest right in 85 of 100 cases."""
    random = np.random.default_rng(seed)
    adversaries = set(annotators[: len(annotators) // 5])
    spammers = set(annotators[len(annotators) // 5 : len(annotators) // 2])
    labels = {"mood": ["glad", "sad", "angry"], "stars": ["1", "2", "3", "4"]}
    labels |= {f"topics: {topic}": ["no", "yes"] for topic in TOPICS}

    def drawn(question: str) -> str:
        topic = question.removeprefix("topics: ")
        if topic in TOPICS:
            return "yes" if random.random() < TOPICS[topic] else "no"
        return str(random.choice(labels[question]))

    def wrong(question: str, right: str) -> str:
        return str(random.choice([label for label in labels[question] if label != right]))

    def answer(by: int, truth: Labels) -> dict[str, str]:
        if by in spammers:
            return {question: str(random.choice(labels[question])) for question in labels}
        knows = {question: random.random() < (1.0 if by in adversaries else 0.85) for question in labels}
        if by in adversaries:
            return {question: wrong(question, right) for question, right in truth.items()}
        return {question: right if knows[question] else wrong(question, right) for question, right in truth.items()}

    truth = [{question: drawn(question) for question in labels} for _ in range(tasks)]
    answers = [
        {int(by): answer(int(by), right) for by in random.choice(annotators, per_task, replace=False)}
        for right in truth
    ]
    return Crowd(answers, truth, adversaries, spammers)


def plurality(answers: Mapping[int, Labels]) -> dict[str, str]:
    """The most frequent label of every question; of equally frequent ones the first in the alphabet."""
    said: dict[str, list[str]] = {}
    for labels in answers.values():
        for question, label in labels.items():
            said.setdefault(question, []).append(label)
    return {question: max(sorted(set(given)), key=given.count) for question, given in said.items()}
