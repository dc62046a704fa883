"""Puts the demo's projects into a Label Studio, and goes on annotating them as people would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..labelstudio import Http, LabelStudio
from .projects import PEOPLE, PER_TASK, DemoProject

LEFT_FOR_LATER = 0.3  # the share of answers that come while somebody watches


@dataclass
class Played:
    """A project of the demo as it stands in Label Studio."""

    project: DemoProject
    number: int
    tasks: list[int]  # in the order of the project's own
    fresh: bool  # made just now


def play(http: Http, project: DemoProject) -> Played:
    """The project with its annotations; made if it is not there."""
    studio = LabelStudio(http)
    known = [each for each in studio.projects() if each["title"] == project.title]
    if known:
        number = int(known[0]["id"])
        return Played(project, number, sorted(studio.task_ids(number)), fresh=False)
    people = everybody(http)
    body = {"title": project.title, "label_config": project.label_config, "maximum_annotations": PER_TASK}
    number = int(http.post("/api/projects/", body)["id"])
    generator = np.random.default_rng(3)
    tasks = [
        {"data": data, "annotations": _annotations(generator, project, task, people)}
        for task, data in enumerate(project.data)
    ]
    http.post(f"/api/projects/{number}/import", tasks)
    return Played(project, number, sorted(studio.task_ids(number)), fresh=True)


def annotate(http: Http, played: Played, generator: np.random.Generator) -> bool:
    """One more answer, by somebody who has not given one yet, to a task that wants more; whether there was one."""
    project = played.project
    people = everybody(http)
    include = "id,annotations,completed_by"
    listed = {int(task["id"]): task for task in LabelStudio(http).tasks(played.number, played.tasks, include)}
    given = {task: {_who(each) for each in listed[task]["annotations"]} for task in played.tasks if task in listed}
    wanting = [task for task, who in given.items() if len(who) < PER_TASK]
    if not wanting:
        return False
    task = int(generator.choice(wanting))
    position = int(generator.choice([at for at, who in enumerate(people) if who not in given[task]]))
    body = _annotation(generator, project, played.tasks.index(task), position, people)
    http.post(f"/api/tasks/{task}/annotations/", body)
    return True


def everybody(http: Http) -> list[int]:
    """The ids of PEOPLE in Label Studio, made where they are not there."""
    there = {str(user["email"]): int(user["id"]) for user in http.get("/api/users/")}
    for person in PEOPLE:
        if person.email not in there:
            first, last = person.name.split()
            body = {"email": person.email, "username": person.email, "first_name": first, "last_name": last}
            there[person.email] = int(http.post("/api/users/", body)["id"])
    return [there[person.email] for person in PEOPLE]


def _annotations(
    generator: np.random.Generator, project: DemoProject, task: int, people: list[int]
) -> list[dict[str, Any]]:
    few = max(int(generator.binomial(PER_TASK, 1 - LEFT_FOR_LATER)), 1)
    who = generator.choice(len(people), few, replace=False).tolist()
    return [_annotation(generator, project, task, position, people) for position in who]


def _annotation(
    generator: np.random.Generator, project: DemoProject, task: int, position: int, people: list[int]
) -> dict[str, Any]:
    person = PEOPLE[position]
    said = person.answers(generator, project.truth[task], project.hardness[task], len(project.labels))
    return {
        "completed_by": people[position],
        "ground_truth": False,
        "lead_time": person.seconds(generator),
        "result": project.result(said),
    }


def _who(annotation: dict[str, Any]) -> int:
    by = annotation["completed_by"]
    return int(by["id"] if isinstance(by, dict) else by)
