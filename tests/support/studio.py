"""Projects with simulated annotators in a real Label Studio, one for each test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ls_crowd_plugin.controls import Config, read_config
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline.context import PassContext, RunFlags
from ls_crowd_plugin.pipeline.lease import hold_project, process_name
from ls_crowd_plugin.pipeline.outcome import Outcome, PassReport
from ls_crowd_plugin.pipeline.project_pass import run_pass
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import Store, open_store

Labels = Mapping[str, str]  # question → label


@dataclass
class Project:
    """A project with the ids of its tasks in the order of their import, and with the actions of its users."""

    http: Http
    id: int
    config: Config
    tasks: list[int] = field(default_factory=list)

    def items(self, labels: Labels) -> list[Json]:
        return self.config.write(labels)

    def annotate(self, task: int, by: int, labels: Labels | None) -> int:
        """Add an annotation by a user, without labels a skip; return its id."""
        answer = {"result": self.items(labels)} if labels is not None else {"result": [], "was_cancelled": True}
        return int(self.http.post(f"/api/tasks/{task}/annotations/", {**answer, "completed_by": by})["id"])

    def annotations(self, task: int) -> list[Json]:
        return list(self.http.get(f"/api/tasks/{task}/annotations/"))

    def edit(self, annotation: int, labels: Labels) -> None:
        self.http.patch(f"/api/annotations/{annotation}/", {"result": self.items(labels)})

    def delete_annotation(self, annotation: int) -> None:
        self.http.delete(f"/api/annotations/{annotation}/")

    def predictions(self) -> dict[int, list[Json]]:
        """Return all predictions, by task."""
        predictions: dict[int, list[Json]] = {}
        for prediction in self.http.get("/api/predictions/", project=self.id):
            predictions.setdefault(int(prediction["task"]), []).append(prediction)
        return predictions

    def labels(self) -> dict[int, dict[str, str]]:
        """Return the labels of the only prediction of each task."""
        return {task: self.config.read(prediction["result"]) for task, (prediction,) in self.predictions().items()}

    def rows(self) -> dict[int, Json]:
        """Return what the Data Manager shows of each task."""
        include = "id,predictions_score,predictions_model_versions,total_predictions,meta,is_labeled,total_annotations"
        answer = self.http.get("/api/tasks", project=self.id, fields="all", include=include, page_size=1000)
        return {int(task["id"]): task for task in answer["tasks"]}

    def state(self) -> Json:
        """Return everything that a pass may change: predictions with ids and contents, settings, and meta of tasks."""
        facts = self.http.get(f"/api/projects/{self.id}/")
        kept = ("id", "result", "score", "model_version", "updated_at")
        return {
            "predictions": {
                task: [{name: prediction[name] for name in kept} for prediction in predictions]
                for task, predictions in self.predictions().items()
            },
            "settings": {
                name: facts[name] for name in ("model_version", "show_collab_predictions", "maximum_annotations")
            },
            "meta": {task: row["meta"] for task, row in self.rows().items()},
        }


def impatient(url: str, key: str) -> Http:
    """Requests that do not wait between tries."""
    return Http(url, key, sleep=lambda _: None)


def run_once(http: Http, store: Store, project: int, **options: Any) -> Outcome:
    """Take a project's lease and run one pass over it; options are fields of Recipe and of RunFlags."""
    recipe = Recipe(**{field.name: options.pop(field.name) for field in fields(Recipe) if field.name in options})
    with hold_project(store, project, process_name()) as held:
        return run_pass(PassContext(LabelStudio(http), store, project, recipe, held.lease, RunFlags(**options)))


def sync_once(http: Http, store: Store, project: Project, **options: Any) -> PassReport:
    """Run a pass, with the simplest method unless another is given, that has to succeed: a task's label then depends
    only on its own answers."""
    outcome = run_once(http, store, project.id, **{"method": "plu", "task_meta": "off", **options})
    assert outcome.report is not None, outcome
    return outcome.report


def flip_label(project: Project, task: int) -> str:
    """Change the first annotation of a task from good to bad or back; return its new label."""
    first = min(project.annotations(task), key=lambda annotation: int(annotation["id"]))
    label = "bad" if first["result"][0]["value"]["choices"] == ["good"] else "good"
    project.edit(first["id"], {"mood": label})
    return label


def is_settled(http: Http, project: Project) -> bool:
    """Whether a pass that knows nothing of earlier ones finds nothing to change."""
    with open_store("sqlite:///:memory:") as store:
        return sync_once(http, store, project, dry_run=True).plan.is_empty


def people(http: Http, number: int) -> list[int]:
    """Return the user ids of this number of annotators; create those that do not exist."""
    existing = {str(user["email"]): int(user["id"]) for user in http.get("/api/users/")}
    ids = []
    for position in range(number):
        name = f"annotator{position}"
        email = f"{name}@example.com"
        if email not in existing:
            body = {"email": email, "username": name, "first_name": "Ann", "last_name": str(position)}
            existing[email] = int(http.post("/api/users/", body)["id"])
        ids.append(existing[email])
    return ids


def make_project(
    http: Http,
    label_config: str,
    answers: Sequence[Mapping[int, Labels]],
    *,
    data: Sequence[Json] | None = None,
    required_annotators: int = 5,
    title: str = "A project of the tests",
) -> Project:
    """Create a project with one task for each of `answers` (annotator → labels)."""
    body = {"title": title, "label_config": label_config, "maximum_annotations": required_annotators}
    project = Project(http, int(http.post("/api/projects/", body)["id"]), read_config(label_config))
    tasks = [
        {
            "data": data[number] if data else {"text": f"Sentence {number}.", "other": f"Another {number}."},
            "annotations": [
                {"completed_by": by, "ground_truth": False, "result": project.items(labels)}
                for by, labels in task_answers.items()
            ],
        }
        for number, task_answers in enumerate(answers)
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
TOPICS = {"sport": 0.4, "money": 0.3, "weather": 0.08}  # topic → how often it occurs; the last one is rare


@dataclass(frozen=True)
class Crowd:
    """Answers to three controls by honest people, spammers and adversaries, with the truth; both by task."""

    answers: list[dict[int, dict[str, str]]]  # annotator → question → label
    truth: list[dict[str, str]]  # question → label
    adversaries: set[int]
    spammers: set[int]


def mixed_crowd(annotators: Sequence[int], tasks: int, *, per_task: int = 5, seed: int = 0) -> Crowd:
    """Draw a crowd: a fifth are adversaries, three tenths spammers, and the others are right in 85 of 100 cases."""
    random = np.random.default_rng(seed)
    adversaries = set(annotators[: len(annotators) // 5])
    spammers = set(annotators[len(annotators) // 5 : len(annotators) // 2])
    labels = {"mood": ["glad", "sad", "angry"], "stars": ["1", "2", "3", "4"]}
    labels |= {f"topics: {topic}": ["no", "yes"] for topic in TOPICS}

    def draw_truth(question: str) -> str:
        topic = question.removeprefix("topics: ")
        if topic in TOPICS:
            return "yes" if random.random() < TOPICS[topic] else "no"
        return str(random.choice(labels[question]))

    def draw_wrong(question: str, right: str) -> str:
        return str(random.choice([label for label in labels[question] if label != right]))

    def answer(by: int, truth: Labels) -> dict[str, str]:
        if by in spammers:
            return {question: str(random.choice(labels[question])) for question in labels}
        knows = {question: random.random() < (1.0 if by in adversaries else 0.85) for question in labels}
        if by in adversaries:
            return {question: draw_wrong(question, right) for question, right in truth.items()}
        return {
            question: right if knows[question] else draw_wrong(question, right) for question, right in truth.items()
        }

    truth = [{question: draw_truth(question) for question in labels} for _ in range(tasks)]
    answers = [
        {int(by): answer(int(by), right) for by in random.choice(annotators, per_task, replace=False)}
        for right in truth
    ]
    return Crowd(answers, truth, adversaries, spammers)


def plurality(answers: Mapping[int, Labels]) -> dict[str, str]:
    """Return the most frequent label of every question; of equally frequent ones the first in the alphabet."""
    votes: dict[str, list[str]] = {}
    for labels in answers.values():
        for question, label in labels.items():
            votes.setdefault(question, []).append(label)
    return {question: max(sorted(set(labels)), key=labels.count) for question, labels in votes.items()}
