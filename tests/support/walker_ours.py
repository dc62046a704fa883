"""What happens to what is ours: people tamper with predictions and `task.meta`, gold and settings change, and passes
run as a service runs them, or break off."""

from __future__ import annotations

import logging
from dataclasses import asdict, replace
from itertools import count

from ls_crowd_plugin.labelstudio import LabelStudio
from ls_crowd_plugin.pipeline.context import RunFlags
from ls_crowd_plugin.pipeline.existing import OUR_NAME
from ls_crowd_plugin.pipeline.outcome import Outcome
from ls_crowd_plugin.pipeline.worker import Worker
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.setting_values import Projects
from ls_crowd_plugin.store.gold import add_gold, list_gold, remove_gold
from tests.support.fresh_database import ALWAYS_QUIET
from tests.support.proxy import ProxiedRequest
from tests.support.studio import run_once
from tests.support.walker_people import Action, about, action
from tests.support.walker_scene import Dice, Impossible, Scene

OURS: list[Action] = []
FOREIGN = ("other-model", "crowd-consensus-baseline-2023", "crowd-consensusX", "")
WORKER_STEPS = 12  # polls and passes in turn


def our_prediction(scene: Scene, dice: Dice) -> Json:
    return scene.prediction(dice, lambda one: bool(OUR_NAME.fullmatch(one["model_version"])))


def _tamper(scene: Scene, dice: Dice, words: str, changes: Json, prediction: Json | None = None) -> str:
    prediction = prediction or our_prediction(scene, dice)
    scene.person(dice).http.patch(f"/api/predictions/{prediction['id']}/", changes)
    return f"{words} of our prediction on {about(prediction['task'])}"


@action(OURS, "change the score of a prediction")
def _change_score(scene: Scene, dice: Dice) -> str:
    return _tamper(scene, dice, "somebody changes the score", {"score": dice.random.random()})


@action(OURS, "change the label of a prediction")
def _change_label(scene: Scene, dice: Dice) -> str:
    prediction = our_prediction(scene, dice)
    result = prediction["task"]["project"].kind.answer(dice.random)
    return _tamper(scene, dice, "somebody changes the label", {"result": result}, prediction)


@action(OURS, "forge the metadata of a prediction")
def _forge_meta(scene: Scene, dice: Dice) -> str:
    prediction = our_prediction(scene, dice)
    items = [dict(item) for item in prediction["result"]]
    if not items:
        raise Impossible("it says nothing")
    trusted = {str(person.id): {"skill": 1.0, "verdict": "trusted"} for person in scene.people}
    items[0]["meta"] = {"crowd": {"answers": 99, "annotators": trusted}}
    return _tamper(scene, dice, "somebody forges the metadata", {"result": items}, prediction)


@action(OURS, "change the version of a prediction")
def _change_version(scene: Scene, dice: Dice) -> str:
    version = dice.pick(("crowd-consensus-7", *FOREIGN[:2]))
    return _tamper(scene, dice, f"somebody makes {version} the version", {"model_version": version})


@action(OURS, "delete a prediction")
def _delete_prediction(scene: Scene, dice: Dice) -> str:
    prediction = scene.prediction(dice)
    scene.person(dice).http.delete(f"/api/predictions/{prediction['id']}/")
    return f"the prediction of {prediction['model_version']} on {about(prediction['task'])} is deleted"


@action(OURS, "duplicate a prediction")
def _duplicate_prediction(scene: Scene, dice: Dice) -> str:
    prediction = our_prediction(scene, dice)
    body = {name: prediction[name] for name in ("result", "score", "model_version")}
    scene.owner.post("/api/predictions/", {**body, "task": prediction["task"]["id"]})
    return f"our prediction on {about(prediction['task'])} is there twice"


@action(OURS, "swap two predictions", 0.5)
def _swap_predictions(scene: Scene, dice: Dice) -> str:
    """One is deleted and another duplicated, so that their number does not tell."""
    tasks = [task for task in scene.tasks(scene.project(dice)) if any(_is_our(one) for one in task["predictions"])]
    if len(tasks) < 2:
        raise Impossible("there are no two predictions")
    one, other = tasks[0], tasks[-1]
    kept = next(filter(_is_our, other["predictions"]))
    scene.owner.delete(f"/api/predictions/{next(filter(_is_our, one['predictions']))['id']}/")
    body = {name: kept[name] for name in ("result", "score", "model_version")}
    scene.owner.post("/api/predictions/", {**body, "task": other["id"]})
    return f"our prediction on {about(one)} is deleted, and that on {about(other)} is there twice"


def _is_our(prediction: Json) -> bool:
    return bool(OUR_NAME.fullmatch(prediction["model_version"]))


@action(OURS, "add a foreign prediction", 2)
def _add_foreign(scene: Scene, dice: Dice) -> str:
    task, version = scene.task(dice), dice.pick(FOREIGN)
    result = task["project"].kind.answer(dice.random)
    body = {"task": task["id"], "result": result, "score": 0.5, "model_version": version}
    scene.owner.post("/api/predictions/", body)
    return f"a prediction of {version!r} is added to {about(task)}"


@action(OURS, "delete predictions in bulk", 0.5)
def _delete_predictions(scene: Scene, dice: Dice) -> str:
    project = scene.project(dice)
    body = {"selectedItems": {"all": True, "excluded": []}, "project": project.id}
    scene.owner.post(f"/api/dm/actions?id=delete_tasks_predictions&project={project.id}", body)
    return f"all predictions of {project.name} are deleted"


@action(OURS, "delete a version of predictions", 0.5)
def _delete_version(scene: Scene, dice: Dice) -> str:
    prediction = scene.prediction(dice)
    project, version = prediction["task"]["project"], prediction["model_version"]
    scene.owner.delete(f"/api/projects/{project.id}/model-versions/", {"model_version": version})
    return f"all predictions of {version} in {project.name} are deleted"


@action(OURS, "change the meta of a task", 2)
def _change_meta(scene: Scene, dice: Dice) -> str:
    task = scene.task(dice)
    before = task["meta"] if isinstance(task["meta"], dict) else {}
    forged = {**before, "crowd": {"answers": 99}}
    meta = dice.random.choice(({}, {**before, "note": f"of step {scene.step}"}, forged))
    scene.person(dice).http.patch(f"/api/tasks/{task['id']}/", {"meta": meta})
    return f"the meta of {about(task)} becomes {meta}"


@action(OURS, "add gold")
def _add_gold(scene: Scene, dice: Dice) -> str:
    task = scene.task(dice)
    kind = task["project"].kind
    label = dice.pick(kind.gold)
    with scene.store.data.begin() as connection:
        add_gold(connection, task["project"].id, {(task["id"], kind.question): label})
    return f"{label} becomes gold for {about(task)}"


@action(OURS, "remove gold", 0.5)
def _remove_gold(scene: Scene, dice: Dice) -> str:
    project = scene.project(dice)
    with scene.store.data.begin() as connection:
        removed = remove_gold(connection, project.id, list(list_gold(connection, project.id)))
    return f"{removed} gold label(s) of {project.name} are removed"


@action(OURS, "change the recipe")
def _change_recipe(scene: Scene, dice: Dice) -> str:
    """As when the service is started again with another setting."""
    expert = scene.person(dice).id
    changes: list[Json] = [
        {"only_complete": not scene.recipe.only_complete},
        {"annotator_scores": not scene.recipe.annotator_scores},
        {"gold_field": "" if scene.recipe.gold_field else "gold"},
        {"experts": frozenset() if scene.recipe.experts else frozenset({expert})},
        {"task_meta": dice.random.choice(("off", "auto", "on"))},
    ]
    change = changes[dice.random.randrange(len(changes))]
    scene.recipe = replace(scene.recipe, **change)
    return f"the recipe gets {next(iter(change))} = {next(iter(change.values()))}"


def _run(scene: Scene, project: int, **flags: bool) -> Outcome:
    scene.known.add(project)
    return run_once(scene.seen, scene.store, project, quiet_seconds=ALWAYS_QUIET, **flags, **asdict(scene.recipe))


@action(OURS, "run a pass", 2)
def _pass(scene: Scene, dice: Dice) -> str:
    project = scene.project(dice)
    return f"a pass over {project.name}: {_run(scene, project.id).kind.value}"


@action(OURS, "run a pass from scratch", 0.5)
def _pass_from_scratch(scene: Scene, dice: Dice) -> str:
    project = scene.project(dice)
    return f"a pass from scratch over {project.name}: {_run(scene, project.id, from_scratch=True).kind.value}"


@action(OURS, "run a worker", 3)
def _worker(scene: Scene, dice: Dice) -> str:
    """As a service does that gets no webhooks: it polls, and runs the passes that are due."""
    del dice
    projects = Projects(False, frozenset({project.id for project in scene.projects} | scene.known))
    flags = RunFlags(quiet_seconds=ALWAYS_QUIET)
    worker = Worker(LabelStudio(scene.seen), scene.store, scene.recipe, flags, projects, poll_seconds=0.0)
    scene.known |= projects.ids
    logging.disable(logging.CRITICAL)
    try:
        for _ in range(WORKER_STEPS):
            worker.step()
    finally:
        logging.disable(logging.NOTSET)
    return "a worker polls and runs passes"


@action(OURS, "break a pass off", 2)
def _broken_pass(scene: Scene, dice: Dice) -> str:
    """One request, at a random place, and all after it fail."""
    project = scene.project(dice)
    number, fault = count(), dice.pick(("500", "reset", "lost"))
    first = dice.random.randrange(12)

    def breaks(_: ProxiedRequest) -> str:
        return fault if next(number) >= first else ""

    scene.proxy.fault = breaks
    try:
        kind = _run(scene, project.id).kind.value
    finally:
        scene.proxy.fault = lambda _: ""
    return f"a pass over {project.name} whose requests break ({fault}) from number {first}: {kind}"
