"""The demo's projects are created once, and annotated until every task has enough annotations."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from ls_crowd_plugin.demo import projects
from ls_crowd_plugin.demo.live_project import add_annotation, ensure_project
from ls_crowd_plugin.demo.projects import ANNOTATIONS_PER_TASK, PEOPLE, DemoProject
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.records import Json


class FakeHttp(Http):
    """The part of Label Studio's API that the demo uses, in memory."""

    def __init__(self) -> None:
        super().__init__("http://nowhere.example", "key")
        self.users: list[Json] = []
        self.projects: list[Json] = []
        self.tasks: dict[int, Json] = {}

    def get(self, path: str, **parameters: str | int) -> Any:
        del parameters
        if path == "/api/users/":
            return self.users
        if path == "/api/projects/":
            return {"results": self.projects, "next": None}
        assert path == "/api/tasks/"
        return {"total": len(self.tasks), "tasks": list(self.tasks.values())}

    def post(self, path: str, body: Any, *, repeatable: bool = False, seconds: float = 0.0) -> Any:
        del repeatable, seconds
        match path.strip("/").split("/"):
            case ["api", "users"]:
                self.users.append({**body, "id": 100 + len(self.users)})
                return self.users[-1]
            case ["api", "projects"]:
                self.projects.append({**body, "id": 1 + len(self.projects)})
                return self.projects[-1]
            case ["api", "projects", _, "import"]:
                self.tasks = {number: {**task, "id": number} for number, task in enumerate(body, 1)}
            case ["api", "tasks", task, "annotations"]:
                self.tasks[int(task)]["annotations"].append(body)
        return None


def small_project() -> DemoProject:
    project = projects.texts()
    return replace(project, data=project.data[:6], truth=project.truth[:6], difficulty=project.difficulty[:6])


def test_a_project_is_created_with_people_and_annotations() -> None:
    http = FakeHttp()
    live = ensure_project(http, small_project())
    assert (live.is_new, live.id, live.tasks) == (True, 1, [1, 2, 3, 4, 5, 6])
    assert [user["email"] for user in http.users] == [person.email for person in PEOPLE]
    assert all(1 <= len(task["annotations"]) <= ANNOTATIONS_PER_TASK for task in http.tasks.values())


def test_a_project_that_exists_is_not_created_again() -> None:
    http = FakeHttp()
    ensure_project(http, small_project())
    assert not ensure_project(http, small_project()).is_new
    assert (len(http.projects), len(http.users)) == (1, len(PEOPLE))


def test_annotations_are_added_until_every_task_has_enough_by_different_people() -> None:
    http = FakeHttp()
    live = ensure_project(http, small_project())
    generator = np.random.default_rng(0)
    while add_annotation(http, live, generator):
        pass
    for task in http.tasks.values():
        authors = Counter(annotation["completed_by"] for annotation in task["annotations"])
        assert (len(authors), set(authors.values())) == (ANNOTATIONS_PER_TASK, {1})
