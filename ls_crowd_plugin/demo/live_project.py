"""Creates the demo's projects in a Label Studio, and keeps annotating them as its people would."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..labelstudio import Http, LabelStudio
from ..records import Json
from .projects import ANNOTATIONS_PER_TASK, PEOPLE, DemoProject

SHARE_LEFT_FOR_LATER = 0.3  # of the annotations: they are added while somebody watches
SEED = 3


@dataclass
class LiveProject:
    """A project of the demo as it exists in Label Studio."""

    project: DemoProject
    id: int
    tasks: list[int]  # ids, in the order of the project's own data
    is_new: bool  # whether it was created just now


def ensure_project(http: Http, project: DemoProject) -> LiveProject:
    """Return a project with its annotations; create it if it does not exist."""
    studio = LabelStudio(http)
    existing = [entry for entry in studio.projects() if entry["title"] == project.title]
    project_id = int(existing[0]["id"]) if existing else _create_project(http, project)
    return LiveProject(project, project_id, sorted(studio.task_ids(project_id)), is_new=not existing)


def add_annotation(http: Http, live: LiveProject, generator: np.random.Generator) -> bool:
    """Add an annotation by a random person to a random task that needs more; return whether there was such a task."""
    users = ensure_users(http)
    listed = LabelStudio(http).tasks(live.id, live.tasks, "id,annotations,completed_by")
    by_id = {int(task["id"]): task for task in listed}
    authors = {
        task: {_author(annotation) for annotation in by_id[task]["annotations"]} for task in live.tasks if task in by_id
    }
    incomplete = [task for task, users_of_task in authors.items() if len(users_of_task) < ANNOTATIONS_PER_TASK]
    if not incomplete:
        return False
    task = int(generator.choice(incomplete))
    person = int(generator.choice([position for position, user in enumerate(users) if user not in authors[task]]))
    body = _annotation(generator, live.project, live.tasks.index(task), person, users)
    http.post(f"/api/tasks/{task}/annotations/", body)
    return True


def ensure_users(http: Http) -> list[int]:
    """Return the user ids of PEOPLE in Label Studio; create the users that do not exist."""
    ids = {str(user["email"]): int(user["id"]) for user in http.get("/api/users/")}
    for person in PEOPLE:
        if person.email not in ids:
            first, last = person.name.split()
            body = {"email": person.email, "username": person.email, "first_name": first, "last_name": last}
            ids[person.email] = int(http.post("/api/users/", body)["id"])
    return [ids[person.email] for person in PEOPLE]


def _create_project(http: Http, project: DemoProject) -> int:
    users = ensure_users(http)
    body = {
        "title": project.title,
        "label_config": project.label_config,
        "maximum_annotations": ANNOTATIONS_PER_TASK,
    }
    project_id = int(http.post("/api/projects/", body)["id"])
    generator = np.random.default_rng(SEED)
    tasks = [
        {"data": data, "annotations": _first_annotations(generator, project, position, users)}
        for position, data in enumerate(project.data)
    ]
    http.post(f"/api/projects/{project_id}/import", tasks)
    return project_id


def _first_annotations(generator: np.random.Generator, project: DemoProject, task: int, users: list[int]) -> list[Json]:
    count = max(int(generator.binomial(ANNOTATIONS_PER_TASK, 1 - SHARE_LEFT_FOR_LATER)), 1)
    people = generator.choice(len(users), count, replace=False).tolist()
    return [_annotation(generator, project, task, person, users) for person in people]


def _annotation(generator: np.random.Generator, project: DemoProject, task: int, person: int, users: list[int]) -> Json:
    """Return an annotation of the task at a position by the person at a position."""
    author = PEOPLE[person]
    label = author.answer(generator, project.truth[task], project.difficulty[task], len(project.labels))
    return {
        "completed_by": users[person],
        "ground_truth": False,
        "lead_time": author.seconds(generator),
        "result": project.result(label),
    }


def _author(annotation: Json) -> int:
    user = annotation["completed_by"]
    return int(user["id"] if isinstance(user, dict) else user)
