"""The scene of a walk: a real Label Studio with people and projects, and a database of ours that lives beside it."""

from __future__ import annotations

import random
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import requests

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.store import Store
from tests.support.proxy import Proxy
from tests.support.studio import impatient
from tests.support.walker_answers import KINDS, WORDS, Kind

Thing = TypeVar("Thing")
DATABASE = "label_studio.sqlite3"  # in the data folder of a Label Studio


@dataclass(frozen=True)
class Person:
    """Somebody who signed up, with a token of their own."""

    id: int
    http: Http
    name: str


@dataclass(frozen=True)
class WalkedProject:
    id: int
    kind: Kind
    name: str

    @property
    def config(self) -> str:
        return self.kind.config()


class Dice:
    """Draws the arguments of one step. What is picked depends on the names of things and not on how many there are, so
    that a step does about the same when others are left out."""

    def __init__(self, seed: str) -> None:
        self.seed, self.random = seed, random.Random(seed)

    def pick(self, things: Sequence[Thing], name: Callable[[Thing], object] = str) -> Thing:
        return things[self._order(things, name)[0]]

    def pick_some(self, things: Sequence[Thing], name: Callable[[Thing], object] = str) -> list[Thing]:
        """About a third, and at least one."""
        return [things[place] for place in sorted(self._order(things, name)[: 1 + len(things) // 3])]

    def _order(self, things: Sequence[Thing], name: Callable[[Thing], object]) -> list[int]:
        """The things' places in a random order; those with the same name are told apart by their place among these."""
        seen: Counter[str] = Counter()
        numbers = []
        for thing in things:
            text = str(name(thing))
            seen[text] += 1
            numbers.append(zlib.crc32(f"{self.seed}/{text}/{seen[text]}".encode()))
        return sorted(range(len(things)), key=numbers.__getitem__)


@dataclass
class Backup:
    """Label Studio's database as it once was, and who and what was there."""

    file: Path
    people: list[Person]
    projects: list[WalkedProject]


class Impossible(Exception):
    """A step cannot be taken now; the message says why."""


@dataclass
class Scene:
    server: Server
    proxy: Proxy
    store: Store
    folder: Path  # for backups
    recipe: Recipe
    people: list[Person] = field(default_factory=list)
    projects: list[WalkedProject] = field(default_factory=list)
    known: set[int] = field(default_factory=set)  # projects that a pass has seen
    backup: Backup | None = None
    step: int = 0

    def __post_init__(self) -> None:
        self.owner = impatient(self.server.url, self.server.key)  # acts
        self.seen = impatient(self.proxy.url, self.server.key)  # what the plugin uses

    def project(self, dice: Dice) -> WalkedProject:
        if not self.projects:
            raise Impossible("there is no project")
        return dice.pick(self.projects, lambda project: project.name)

    def person(self, dice: Dice) -> Person:
        if not self.people:
            raise Impossible("there is nobody")
        return dice.pick(self.people, lambda person: person.name)

    def tasks(self, project: WalkedProject) -> list[Json]:
        """All tasks with their annotations and predictions."""
        include = (
            "id,data,meta,overlap,annotations,result,completed_by,was_cancelled,ground_truth,predictions,"
            "model_version,score"
        )
        answer = self.owner.get("/api/tasks", project=project.id, fields="all", include=include, page_size=500)
        return [{**task, "project": project} for task in answer["tasks"]]

    def task(self, dice: Dice, condition: Callable[[Json], object] = bool) -> Json:
        tasks = [task for project in self.projects for task in self.tasks(project) if condition(task)]
        if not tasks:
            raise Impossible("there is no such task")
        return dice.pick(tasks, text_of)

    def annotation(self, dice: Dice, condition: Callable[[Json], object] = bool) -> Json:
        """An annotation, with its task."""
        task = self.task(dice, lambda task: any(map(condition, task["annotations"])))
        found = [{**one, "task": task} for one in task["annotations"] if condition(one)]
        return dice.pick(found, lambda one: (self.name_of(one["completed_by"]), len(one["result"])))

    def prediction(self, dice: Dice, condition: Callable[[Json], object] = bool) -> Json:
        """A prediction, with its task."""
        task = self.task(dice, lambda task: any(map(condition, task["predictions"])))
        found = [{**one, "task": task} for one in task["predictions"] if condition(one)]
        return dice.pick(found, lambda one: one["model_version"])

    def name_of(self, user: object) -> str:
        user = user.get("id") if isinstance(user, dict) else user
        return next((person.name for person in self.people if person.id == user), "the owner")

    def sign_up(self, name: str) -> Person:
        """Let somebody sign up on Label Studio's page, and return them with their token."""
        email = f"walker-{random.SystemRandom().randrange(10**9)}@example.com"
        with requests.Session() as session:
            page = session.get(f"{self.server.url}/user/signup/", timeout=60)
            token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
            assert token is not None
            form = {"email": email, "password": "walk-1234567", "csrfmiddlewaretoken": token[1]}
            assert session.post(f"{self.server.url}/user/signup/", form, timeout=60).ok
            key = session.get(f"{self.server.url}/api/current-user/token", timeout=60).json()["token"]
            user = session.get(f"{self.server.url}/api/current-user/whoami", timeout=60).json()["id"]
        return Person(int(user), impatient(self.server.url, str(key)), name)

    def create_project(self, kind: Kind, name: str, chance: random.Random, tasks: int) -> WalkedProject:
        """A project in which most tasks have answers by most people."""
        body = {
            "title": f"Walk: {name}",
            "label_config": kind.config(),
            "maximum_annotations": chance.choice((1, 2, 3)),
        }
        project = WalkedProject(int(self.owner.post("/api/projects/", body)["id"]), kind, name)
        rows = []
        for number in range(tasks):
            by = [person for person in self.people if chance.random() < 0.7]
            answers = [(person.id, kind.answer(chance)) for person in by]
            rows.append(task_body(f"{name}.{number}", answers))
        self.owner.post(f"/api/projects/{project.id}/import", rows)
        self.projects.append(project)
        return project

    def back_up(self) -> None:
        file = self.folder / "backup.sqlite3"
        file.unlink(missing_ok=True)
        copy_database(self.server.data / DATABASE, file)
        self.backup = Backup(file, list(self.people), list(self.projects))

    def restore(self, backup: Backup) -> None:
        """Bring Label Studio's database back, as one does from a copy of the file. No request is under way meanwhile,
        and Label Studio opens the database anew for each, so it need not be started again."""
        copy_database(backup.file, self.server.data / DATABASE)
        self.people, self.projects = list(backup.people), list(backup.projects)


def copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source, timeout=30)) as one, closing(sqlite3.connect(target, timeout=30)) as other:
        one.backup(other)


def text_of(task: Json) -> str:
    """What names a task in a walk."""
    return str(task["data"].get("text"))


def task_body(name: str, answers: Sequence[tuple[int, list[Json]]], *, marked: bool = False) -> Json:
    """A task for an import. Unless told otherwise, Label Studio marks imported annotations as ground truth."""
    mark = {} if marked else {"ground_truth": False}
    return {
        "data": {"text": WORDS.format(name), "image": f"/static/{name}.png"},
        "annotations": [{"completed_by": user, "result": result, **mark} for user, result in answers],
    }


def set_scene(server: Server, proxy: Proxy, store: Store, folder: Path, seed: int) -> Scene:
    """People and projects for the walk of a seed."""
    chance = random.Random(f"scene {seed}")
    method = "auto" if seed % 5 == 4 else "plu"
    task_meta = chance.choice(("off", "auto", "on"))
    scene = Scene(server, proxy, store, folder, replace(Recipe(), method=method, task_meta=task_meta))
    scene.people = _people(scene, chance.randint(3, 4))
    kind = chance.choices(KINDS, (3, 1, 1))[0]
    scene.create_project(kind, "first", chance, chance.randint(6, 9))
    if chance.random() < 0.5:
        scene.create_project(KINDS[0], "second", chance, 4)
    return scene


_signed_up: dict[str, list[Person]] = {}  # a server's address → people of earlier walks, if they are still there


def _people(scene: Scene, number: int) -> list[Person]:
    """So many people; to sign up takes as long as several steps."""
    existing = {int(user["id"]) for user in scene.owner.get("/api/users/")}
    known = _signed_up.setdefault(scene.server.url, [])
    known[:] = [person for person in known if person.id in existing]
    while len(known) < number:
        known.append(scene.sign_up(""))
    return [replace(person, name=f"person{place}") for place, person in enumerate(known[:number])]


def close_scene(scene: Scene) -> None:
    """Leave Label Studio as it was found, except for people who signed up."""
    studio = LabelStudio(scene.owner)
    for project in scene.projects:
        studio.http.delete(f"/api/projects/{project.id}/")
