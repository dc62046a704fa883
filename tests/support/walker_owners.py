"""What administrators do to a Label Studio: to tasks, to projects and their settings, to users, and to all of it."""

from __future__ import annotations

from datetime import timedelta

from ls_crowd_plugin.records import Json
from tests.support.walker_answers import KINDS, UNUSABLE, WORDS
from tests.support.walker_people import Action, about, action
from tests.support.walker_scene import Dice, Impossible, Scene, WalkedProject, task_body, text_of

OWNERS: list[Action] = []
CLOCKS = (-3600, -30, 0, 0, 30, 3600)  # seconds by which Label Studio's clock is ahead


def _bulk(scene: Scene, name: str, project: WalkedProject, tasks: list[Json] | None, **arguments: object) -> None:
    """An action of the Data Manager on some tasks, or on all."""
    chosen: Json = {"all": True, "excluded": []}
    if tasks is not None:
        chosen = {"all": False, "included": [task["id"] for task in tasks]}
    body = {"selectedItems": chosen, "project": project.id, **arguments}
    scene.owner.post(f"/api/dm/actions?id={name}&project={project.id}", body)


def _some_tasks(scene: Scene, dice: Dice) -> tuple[WalkedProject, list[Json], str]:
    """A project, some of its tasks, and words for them."""
    project = scene.project(dice)
    tasks = scene.tasks(project)
    if not tasks:
        raise Impossible("there is no task")
    some = dice.pick_some(tasks, text_of)
    return project, some, f"{', '.join(text_of(task) for task in some)} of {project.name}"


def _import(scene: Scene, project: WalkedProject, tasks: list[Json]) -> None:
    scene.owner.post(f"/api/projects/{project.id}/import", tasks)


@action(OWNERS, "import tasks", 2)
def _import_tasks(scene: Scene, dice: Dice) -> str:
    project, chance = scene.project(dice), dice.random
    marked, answered = chance.random() < 0.3, chance.random() < 0.7
    rows = []
    for number in range(chance.randint(1, 3)):
        by = [person for person in scene.people if answered and chance.random() < 0.7]
        answers = [(person.id, project.kind.answer(chance)) for person in by]
        rows.append(task_body(f"{scene.step}.{number}", answers, marked=marked))
    _import(scene, project, rows)
    total = sum(len(row["annotations"]) for row in rows)
    marks = " that Label Studio marks as ground truth" if marked and total else ""
    return f"{len(rows)} task(s) with {total} answer(s){marks} are imported into {project.name}"


@action(OWNERS, "import a duplicate", 2)
def _import_duplicate(scene: Scene, dice: Dice) -> str:
    task, chance = scene.task(dice), dice.random
    project = task["project"]
    by = [person for person in scene.people if chance.random() < 0.5]
    row = {**task_body("", [(person.id, project.kind.answer(chance)) for person in by]), "data": task["data"]}
    _import(scene, project, [row])
    return f"a duplicate of {about(task)} with {len(by)} answer(s) is imported"


@action(OWNERS, "import a task with a prediction")
def _import_predicted(scene: Scene, dice: Dice) -> str:
    project = scene.project(dice)
    version = dice.pick(("other-model", "crowd-consensus", "crowd-consensus-9"))
    prediction = {"result": project.kind.answer(dice.random), "score": 0.25, "model_version": version}
    _import(scene, project, [{**task_body(f"{scene.step}.p", []), "predictions": [prediction]}])
    return f"a task with a prediction of {version} is imported into {project.name}"


@action(OWNERS, "delete a task")
def _delete_task(scene: Scene, dice: Dice) -> str:
    task = scene.task(dice)
    scene.owner.delete(f"/api/tasks/{task['id']}/")
    return f"{about(task)} is deleted"


@action(OWNERS, "delete tasks in bulk", 0.5)
def _delete_tasks(scene: Scene, dice: Dice) -> str:
    project, tasks, words = _some_tasks(scene, dice)
    _bulk(scene, "delete_tasks", project, tasks)
    return f"deleted in bulk: {words}"


@action(OWNERS, "delete all tasks", 0.3)
def _delete_all_tasks(scene: Scene, dice: Dice) -> str:
    project = scene.project(dice)
    scene.owner.delete(f"/api/projects/{project.id}/tasks/")
    return f"all tasks of {project.name} are deleted"


@action(OWNERS, "replace all tasks", 0.3)
def _replace_all_tasks(scene: Scene, dice: Dice) -> str:
    """As many as before, so that their number does not tell."""
    project = scene.project(dice)
    tasks = scene.tasks(project)
    scene.owner.delete(f"/api/projects/{project.id}/tasks/")
    answers = [(person.id, project.kind.answer(dice.random)) for person in scene.people]
    _import(scene, project, [task_body(f"{scene.step}.{number}", answers) for number in range(len(tasks))])
    return f"the {len(tasks)} tasks of {project.name} are replaced by as many others"


@action(OWNERS, "delete answers in bulk")
def _delete_answers(scene: Scene, dice: Dice) -> str:
    project, tasks, words = _some_tasks(scene, dice)
    if not scene.people or dice.random.random() < 0.5:
        _bulk(scene, "delete_tasks_annotations", project, tasks)
        return f"answers deleted in bulk: {words}"
    person = scene.person(dice)
    _bulk(scene, "delete_tasks_annotations", project, tasks, annotator=person.id)
    return f"answers of {person.name} deleted in bulk: {words}"


@action(OWNERS, "remove duplicates", 2)
def _remove_duplicates(scene: Scene, dice: Dice) -> str:
    project = scene.project(dice)
    _bulk(scene, "remove_duplicates", project, None)
    return f"duplicates are removed from {project.name}"


@action(OWNERS, "turn predictions into answers")
def _predictions_to_answers(scene: Scene, dice: Dice) -> str:
    project, tasks, words = _some_tasks(scene, dice)
    _bulk(scene, "predictions_to_annotations", project, tasks)
    return f"predictions become answers of the owner: {words}"


@action(OWNERS, "propagate an answer")
def _propagate(scene: Scene, dice: Dice) -> str:
    annotation = scene.annotation(dice)
    project = annotation["task"]["project"]
    tasks = dice.pick_some(scene.tasks(project), text_of)
    _bulk(scene, "propagate_annotations", project, tasks, source_annotation_id=annotation["id"])
    return f"an answer to {about(annotation['task'])} is propagated to {', '.join(map(text_of, tasks))}"


@action(OWNERS, "rename a label in all answers")
def _rename_label(scene: Scene, dice: Dice) -> str:
    project = scene.project(dice)
    if project.kind.question != "mood":
        raise Impossible("it has no choices")
    old, new = dice.random.sample(("glad", "sad"), 2)
    _bulk(scene, "rename_labels", project, None, control_tag="mood", old_label_name=old, new_label_name=new)
    return f"{old} becomes {new} in all answers of {project.name}"


@action(OWNERS, "add a data field")
def _add_field(scene: Scene, dice: Dice) -> str:
    project, tasks, words = _some_tasks(scene, dice)
    name = dice.pick(("text", "gold", "remark"))
    value = dice.pick((*project.kind.gold, "something else"))
    _bulk(scene, "add_data_field", project, tasks, value_name=name, value_type="String", value=value)
    return f"the field {name} becomes {value!r} in {words}"


@action(OWNERS, "change the data of a task")
def _change_data(scene: Scene, dice: Dice) -> str:
    task = scene.task(dice)
    value = dice.pick((*task["project"].kind.gold, "nonsense"))
    data = {**task["data"], "text": WORDS.format(f"changed in {scene.step}"), "gold": value}
    scene.owner.patch(f"/api/tasks/{task['id']}/", {"data": data})
    return f"the data of {about(task)} are changed; gold is {value!r}"


@action(OWNERS, "move a task to another project", 0.3)
def _move_task(scene: Scene, dice: Dice) -> str:
    task = scene.task(dice)
    source = task["project"]
    others = [project for project in scene.projects if project != source]
    if not others:
        raise Impossible("there is no other project")
    target = dice.pick(others, lambda project: project.name)
    scene.owner.patch(f"/api/tasks/{task['id']}/?project={source.id}", {"project": target.id})
    return f"{about(task)} moves to {target.name}"


@action(OWNERS, "change how many answers a task needs")
def _change_overlap(scene: Scene, dice: Dice) -> str:
    task, overlap = scene.task(dice), dice.random.randint(1, 4)
    scene.owner.patch(f"/api/tasks/{task['id']}/", {"overlap": overlap})
    return f"{about(task)} needs {overlap} answer(s)"


def _change_project(scene: Scene, dice: Dice, changes: Json) -> str:
    project = scene.project(dice)
    scene.owner.patch(f"/api/projects/{project.id}/", changes)
    return f"settings of {project.name} become {changes}"


@action(OWNERS, "change how many answers tasks need")
def _change_maximum(scene: Scene, dice: Dice) -> str:
    return _change_project(scene, dice, {"maximum_annotations": dice.random.randint(1, 4)})


@action(OWNERS, "change the share of tasks that need several answers")
def _change_cohort(scene: Scene, dice: Dice) -> str:
    changes = {"overlap_cohort_percentage": dice.random.choice((0, 40, 100)), "maximum_annotations": 3}
    return _change_project(scene, dice, changes)


@action(OWNERS, "change the model version shown")
def _change_version(scene: Scene, dice: Dice) -> str:
    version = dice.pick(("", "other-model", "crowd-consensus", "crowd-consensus-baseline-2023"))
    return _change_project(scene, dice, {"model_version": version})


@action(OWNERS, "show predictions to annotators")
def _change_prelabelling(scene: Scene, dice: Dice) -> str:
    return _change_project(scene, dice, {"show_collab_predictions": dice.random.random() < 0.7})


@action(OWNERS, "change the title", 0.5)
def _change_title(scene: Scene, dice: Dice) -> str:
    return _change_project(scene, dice, {"title": f"Walk: step {scene.step}"})


@action(OWNERS, "change what happens to skipped tasks", 0.5)
def _change_skips(scene: Scene, dice: Dice) -> str:
    rules = ("REQUEUE_FOR_ME", "REQUEUE_FOR_OTHERS", "IGNORE_SKIPPED")
    return _change_project(scene, dice, {"skip_queue": dice.pick(rules)})


@action(OWNERS, "add a label to the config")
def _add_label(scene: Scene, dice: Dice) -> str:
    project = scene.project(dice)
    more = dice.pick(project.kind.more)
    scene.owner.patch(f"/api/projects/{project.id}/", {"label_config": project.kind.config(more)})
    return f"{more} is added to the config of {project.name}"


@action(OWNERS, "restore the config")
def _restore_config(scene: Scene, dice: Dice) -> str:
    project = scene.project(dice)
    scene.owner.patch(f"/api/projects/{project.id}/", {"label_config": project.config})
    return f"{project.name} gets its first config again"


@action(OWNERS, "break the config")
def _break_config(scene: Scene, dice: Dice) -> str:
    project, config = scene.project(dice), dice.pick(UNUSABLE)
    scene.owner.patch(f"/api/projects/{project.id}/", {"label_config": config})
    return f"the config of {project.name} becomes {config}"


@action(OWNERS, "rename a user")
def _rename(scene: Scene, dice: Dice) -> str:
    person = scene.person(dice)
    scene.owner.patch(f"/api/users/{person.id}/", {"first_name": "Renamed", "last_name": f"in {scene.step}"})
    return f"{person.name} gets another name"


@action(OWNERS, "delete a user", 0.7)
def _delete_user(scene: Scene, dice: Dice) -> str:
    if len(scene.people) < 2:
        raise Impossible("there would be nobody left")
    person = scene.person(dice)
    scene.owner.delete(f"/api/users/{person.id}/")
    scene.people.remove(person)
    return f"{person.name} is deleted"


@action(OWNERS, "welcome a user", 0.5)
def _welcome(scene: Scene, dice: Dice) -> str:
    del dice
    person = scene.sign_up(f"person-{scene.step}")
    scene.people.append(person)
    return f"{person.name} signs up"


@action(OWNERS, "create a project", 0.5)
def _create_project(scene: Scene, dice: Dice) -> str:
    if len(scene.projects) > 2:
        raise Impossible("there are enough projects")
    kind = dice.pick(KINDS, lambda kind: kind.name)
    project = scene.create_project(kind, f"project-{scene.step}", dice.random, dice.random.randint(3, 5))
    return f"{project.name} is created, with {kind.name}"


@action(OWNERS, "delete a project", 0.3)
def _delete_project(scene: Scene, dice: Dice) -> str:
    project = scene.project(dice)
    scene.owner.delete(f"/api/projects/{project.id}/")
    scene.projects.remove(project)
    return f"{project.name} is deleted"


@action(OWNERS, "back up", 0.8)
def _back_up(scene: Scene, dice: Dice) -> str:
    del dice
    scene.back_up()
    return "Label Studio is backed up"


@action(OWNERS, "restore a backup", 0.8)
def _restore(scene: Scene, dice: Dice) -> str:
    del dice
    if scene.backup is None:
        raise Impossible("there is no backup")
    scene.restore(scene.backup)
    return "Label Studio is restored from the backup"


@action(OWNERS, "change the clock")
def _change_clock(scene: Scene, dice: Dice) -> str:
    seconds = dice.random.choice(CLOCKS)
    scene.proxy.clock_ahead = timedelta(seconds=seconds)
    return f"Label Studio's clock is {seconds} s ahead"
