"""What annotators do to a Label Studio, each with their own token: it lets them do nearly everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ls_crowd_plugin.records import Json
from tests.support.walker_answers import absurd_answers
from tests.support.walker_scene import Dice, Impossible, Scene, text_of

Do = Callable[[Scene, Dice], str]  # carries a step out, and says what it was


@dataclass(frozen=True)
class Action:
    name: str
    weight: float  # how often it is drawn, in comparison to others
    do: Do


PEOPLE: list[Action] = []


def action(actions: list[Action], name: str, weight: float = 1.0) -> Callable[[Do], Do]:
    """Adds a function to a list of actions."""

    def add(do: Do) -> Do:
        actions.append(Action(name, weight, do))
        return do

    return add


def about(task: Json) -> str:
    """A task as it is named in the description of a step."""
    return f"{text_of(task)!r} of {task['project'].name}"


def is_answer(annotation: Json) -> bool:
    return not annotation["was_cancelled"]


def _post(scene: Scene, dice: Dice, task: Json, body: Json) -> str:
    """Somebody adds an annotation; return who."""
    person = scene.person(dice)
    person.http.post(f"/api/tasks/{task['id']}/annotations/", {"lead_time": dice.random.uniform(1, 60), **body})
    return person.name


def _patch(scene: Scene, annotation: Json, body: Json) -> None:
    """The owner changes an annotation."""
    scene.owner.patch(f"/api/annotations/{annotation['id']}/", body)


@action(PEOPLE, "answer", 8)
def _answer(scene: Scene, dice: Dice) -> str:
    task = scene.task(dice)
    result = task["project"].kind.answer(dice.random)
    return f"{_post(scene, dice, task, {'result': result})} answers {about(task)}"


@action(PEOPLE, "answer with a mark as ground truth")
def _answer_marked(scene: Scene, dice: Dice) -> str:
    task = scene.task(dice)
    body = {"result": task["project"].kind.answer(dice.random), "ground_truth": True}
    return f"{_post(scene, dice, task, body)} answers {about(task)} and marks it as ground truth"


@action(PEOPLE, "answer as somebody else", 2)
def _answer_for_another(scene: Scene, dice: Dice) -> str:
    task, other = scene.task(dice), Dice(f"{dice.seed} other")
    author = scene.person(other)
    body = {"result": task["project"].kind.answer(dice.random), "completed_by": author.id}
    return f"{_post(scene, dice, task, body)} answers {about(task)} as {author.name}"


@action(PEOPLE, "answer absurdly", 2)
def _answer_absurdly(scene: Scene, dice: Dice) -> str:
    task = scene.task(dice)
    name, result = dice.pick(absurd_answers(), lambda pair: pair[0])
    return f"{_post(scene, dice, task, {'result': result})} answers {about(task)} with {name}"


@action(PEOPLE, "answer from a prediction")
def _answer_from_prediction(scene: Scene, dice: Dice) -> str:
    prediction = scene.prediction(dice)
    task = prediction["task"]
    body = {"result": prediction["result"], "parent_prediction": prediction["id"]}
    return f"{_post(scene, dice, task, body)} submits the prediction on {about(task)} as it is"


@action(PEOPLE, "skip", 2)
def _skip(scene: Scene, dice: Dice) -> str:
    task = scene.task(dice)
    return f"{_post(scene, dice, task, {'result': [], 'was_cancelled': True})} skips {about(task)}"


@action(PEOPLE, "take a skip back")
def _unskip(scene: Scene, dice: Dice) -> str:
    annotation = scene.annotation(dice, lambda one: one["was_cancelled"])
    task = annotation["task"]
    _patch(scene, annotation, {"was_cancelled": False, "result": task["project"].kind.answer(dice.random)})
    return f"a skip of {about(task)} becomes an answer"


@action(PEOPLE, "edit an own answer", 4)
def _edit(scene: Scene, dice: Dice) -> str:
    person = scene.person(dice)
    annotation = scene.annotation(dice, lambda one: is_answer(one) and one["completed_by"] == person.id)
    task = annotation["task"]
    person.http.patch(f"/api/annotations/{annotation['id']}/", {"result": task["project"].kind.answer(dice.random)})
    return f"{person.name} edits an own answer to {about(task)}"


@action(PEOPLE, "edit an answer of somebody else", 2)
def _edit_anothers(scene: Scene, dice: Dice) -> str:
    person = scene.person(dice)
    annotation = scene.annotation(dice, lambda one: is_answer(one) and one["completed_by"] != person.id)
    task = annotation["task"]
    person.http.patch(f"/api/annotations/{annotation['id']}/", {"result": task["project"].kind.answer(dice.random)})
    return f"{person.name} edits the answer of {scene.name_of(annotation['completed_by'])} to {about(task)}"


@action(PEOPLE, "give an answer another author")
def _reassign(scene: Scene, dice: Dice) -> str:
    annotation, person = scene.annotation(dice), scene.person(dice)
    _patch(scene, annotation, {"completed_by": person.id})
    before = scene.name_of(annotation["completed_by"])
    return f"the answer of {before} to {about(annotation['task'])} becomes one of {person.name}"


@action(PEOPLE, "move an answer to another task")
def _move(scene: Scene, dice: Dice) -> str:
    annotation = scene.annotation(dice)
    source = annotation["task"]
    target = Dice(f"{dice.seed} target").pick(scene.tasks(source["project"]), text_of)
    if target["id"] == source["id"]:
        raise Impossible("there is no other task")
    _patch(scene, annotation, {"task": target["id"]})
    return f"an answer of {scene.name_of(annotation['completed_by'])} moves from {about(source)} to {about(target)}"


@action(PEOPLE, "move an answer to another project", 0.5)
def _move_to_project(scene: Scene, dice: Dice) -> str:
    annotation = scene.annotation(dice)
    source = annotation["task"]
    others = [project for project in scene.projects if project != source["project"]]
    tasks = [task for project in others for task in scene.tasks(project)]
    if not tasks:
        raise Impossible("there is no other project")
    target = Dice(f"{dice.seed} target").pick(tasks, text_of)
    _patch(scene, annotation, {"task": target["id"], "project": target["project"].id})
    return f"an answer of {scene.name_of(annotation['completed_by'])} moves from {about(source)} to {about(target)}"


@action(PEOPLE, "delete an answer", 2)
def _delete(scene: Scene, dice: Dice) -> str:
    annotation, person = scene.annotation(dice), scene.person(dice)
    person.http.delete(f"/api/annotations/{annotation['id']}/")
    author = scene.name_of(annotation["completed_by"])
    return f"{person.name} deletes the answer of {author} to {about(annotation['task'])}"


@action(PEOPLE, "mark as ground truth", 2)
def _mark(scene: Scene, dice: Dice) -> str:
    annotation, person = scene.annotation(dice, is_answer), scene.person(dice)
    person.http.patch(f"/api/annotations/{annotation['id']}/", {"ground_truth": True})
    author = scene.name_of(annotation["completed_by"])
    return f"{person.name} marks the answer of {author} to {about(annotation['task'])} as ground truth"


@action(PEOPLE, "clear a mark as ground truth")
def _unmark(scene: Scene, dice: Dice) -> str:
    annotation = scene.annotation(dice, lambda one: one["ground_truth"])
    _patch(scene, annotation, {"ground_truth": False})
    return f"the mark on an answer to {about(annotation['task'])} is cleared"


@action(PEOPLE, "save a draft")
def _draft(scene: Scene, dice: Dice) -> str:
    task, person = scene.task(dice), scene.person(dice)
    body = {"result": task["project"].kind.answer(dice.random), "lead_time": 3.0}
    person.http.post(f"/api/tasks/{task['id']}/drafts", body)
    return f"{person.name} leaves a draft on {about(task)}"


@action(PEOPLE, "save a draft of an edit")
def _draft_of_edit(scene: Scene, dice: Dice) -> str:
    annotation, person = scene.annotation(dice), scene.person(dice)
    task = annotation["task"]
    body = {"result": task["project"].kind.answer(dice.random), "lead_time": 3.0}
    person.http.post(f"/api/tasks/{task['id']}/annotations/{annotation['id']}/drafts", body)
    return f"{person.name} leaves a draft of an edit on {about(task)}"


@action(PEOPLE, "turn an answer into a draft")
def _to_draft(scene: Scene, dice: Dice) -> str:
    annotation = scene.annotation(dice)
    scene.owner.post(f"/api/annotations/{annotation['id']}/convert-to-draft", {})
    author = scene.name_of(annotation["completed_by"])
    return f"the answer of {author} to {about(annotation['task'])} becomes a draft"
