"""Compares what a store knows and has written after a complete pass with what a fresh database would make of it.

Our predictions, the mirror and the results have to be functions of Label Studio's present state, our gold and the
recipe; whatever else they depend on shows here as a difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass, replace

from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.existing import our_versions
from ls_crowd_plugin.pipeline.inputs import Inputs, read_inputs
from ls_crowd_plugin.pipeline.outcome import Kind, Outcome
from ls_crowd_plugin.pipeline.plan import META, DesiredPrediction, crowd_meta
from ls_crowd_plugin.pipeline.project_fit import fit_project
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import Json, ProjectSummary
from ls_crowd_plugin.store import Store, mirror, open_store
from ls_crowd_plugin.store.gold import add_gold, list_gold
from ls_crowd_plugin.store.results import list_annotators, load_annotator, load_labels, load_results
from tests.support.studio import run_once

ALWAYS_QUIET = -86_400.0  # seconds: `task.meta` is written at once, whatever the server's clock says
SAME = {  # outcome → the outcome of a pass that knows no earlier one
    Kind.UNCHANGED: Kind.DONE,
    Kind.PROJECT_GONE: Kind.NO_SUCH_PROJECT,
}
DEFAULT_RECIPE = Recipe()
FROM_THE_TRAIL = ("author has changed", "somebody took away")  # in warnings about the past


def complete_pass(http: Http, store: Store, project: int, recipe: Recipe) -> Outcome:
    """A pass as `ls-crowd sync` runs it, with an audit: Label Studio holds what a fresh database would write."""
    return run_once(http, store, project, quiet_seconds=ALWAYS_QUIET, audit_seconds=0.0, **asdict(recipe))


def sync_differences(http: Http, store: Store, project: int, recipe: Recipe) -> list[str]:
    """Run a complete pass, and compare."""
    try:
        outcome = complete_pass(http, store, project, recipe)
    except Exception as error:
        return [f"pass: it raised {type(error).__name__}: {_short(str(error))}"]
    return differences(http, store, project, recipe, outcome)


def differences(
    http: Http, store: Store, project: int, recipe: Recipe = DEFAULT_RECIPE, outcome: Outcome | None = None
) -> list[str]:
    """What would be different with a fresh database; each begins with the kind of difference and a colon.

    `outcome` is that of the complete pass that has just ended.
    """
    pretending = Pretending(http)
    with open_store("sqlite:///:memory:") as fresh:
        _copy_gold(store, fresh, project)
        try:
            expected = complete_pass(pretending, fresh, project, recipe)
        except Exception as error:
            return [f"fresh pass: it raised {type(error).__name__}: {_short(str(error))}"]
        found = _compare_outcomes(outcome, expected)
        found += [f"writes: a fresh database would {write}" for write in pretending.writes]
        found += _compare("mirror", _mirrored(store, project), _mirrored(fresh, project))
        found += _compare("inputs", _inputs(http, store, project, recipe), _inputs(http, fresh, project, recipe))
        if expected.kind is not Kind.NO_SUCH_PROJECT and expected.kind is not Kind.FAILED:
            found += _compare_predictions(http, fresh, project, recipe)
        found += _compare("results", _results(store, project), _results(fresh, project))
    return found


class Pretending(Http):
    """Reads from Label Studio, and only notes what would be written."""

    def __init__(self, http: Http) -> None:
        super().__init__(http.url, http._key, sleep=lambda _: None)
        self.writes: list[str] = []

    def patch(self, path: str, body: object) -> object:
        return self._note("PATCH", path, body)

    def delete(self, path: str, body: object = None, *, seconds: float = 0.0) -> object:
        del seconds
        return self._note("DELETE", path, body)

    def post(self, path: str, body: object, *, repeatable: bool = False, seconds: float = 0.0) -> object:
        del repeatable, seconds
        return self._note("POST", path, body)

    def _note(self, method: str, path: str, body: object) -> Json:
        self.writes.append(f"{method} {path} {_short(json.dumps(body))}")
        return {"id": 0, "created": len(body) if isinstance(body, list) else 1}


def _copy_gold(store: Store, fresh: Store, project: int) -> None:
    """What people added to our database, and Label Studio does not hold, is the same for both."""
    with store.data.connect() as source, fresh.data.begin() as target:
        add_gold(target, project, list_gold(source, project))


def _compare_outcomes(outcome: Outcome | None, expected: Outcome) -> list[str]:
    found = []
    if expected.kind is Kind.FAILED:
        found.append(f"outcome: the pass with a fresh database failed: {expected.reason}")
    if outcome is not None:
        if outcome.kind is Kind.FAILED:
            found.append(f"outcome: the pass failed: {outcome.reason}")
        elif SAME.get(outcome.kind, outcome.kind) is not expected.kind:
            then = f"{expected.kind.value} ({expected.reason})" if expected.reason else expected.kind.value
            found.append(f"outcome: {outcome.kind.value} ({outcome.reason}), with a fresh database {then}")
    return found


def _mirrored(store: Store, project: int) -> dict[str, object]:
    """The mirror's contents, without what a pass changes after its pull: its predictions change when a task was last
    changed, and its repair of counters whether the task is finished."""
    with store.data.connect() as connection:
        facts = mirror.get_project(connection, project)
        tasks = mirror.read_tasks(connection, project)
        annotations = mirror.read_annotations(connection, project)
    contents: dict[str, object] = {
        f"task {task.id}": replace(task, updated_at="", stamp="", is_labeled=False) for task in tasks.values()
    }
    contents |= {f"annotation {annotation.id}": annotation for annotation in annotations}
    if facts is not None:
        contents |= {"title": facts.title, "label config": facts.label_config, "created at": facts.created_at}
    return contents


def _read_inputs(http: Http, store: Store, project: int, recipe: Recipe) -> Inputs | None:
    with store.data.connect() as connection:
        mirrored = mirror.get_project(connection, project)
    return None if mirrored is None else read_inputs(store, LabelStudio(http).project(project), recipe)


def _inputs(http: Http, store: Store, project: int, recipe: Recipe) -> dict[str, object]:
    """Answers and gold, as a fit sees them."""
    inputs = _read_inputs(http, store, project, recipe)
    if inputs is None:
        return {}
    crowd = inputs.crowd
    answers = zip(crowd.units, crowd.annotators, crowd.questions, crowd.labels, strict=True)
    contents: dict[str, object] = {f"answer of {who} to {unit}, {name}": label for unit, who, name, label in answers}
    contents |= {f"gold of {unit}, {name}": label for (unit, name), label in crowd.gold.items()}
    return contents


def _compare_predictions(http: Http, fresh: Store, project: int, recipe: Recipe) -> list[str]:
    """Label Studio holds exactly the wanted predictions, with their metadata, and no outdated copy of these."""
    wanted = {one.task: one for one in _wanted(http, fresh, project, recipe)}
    studio = LabelStudio(http)
    versions, _ = our_versions(studio, fresh, project)
    present = [one for one in studio.predictions(project) if one.model_version in versions]
    found = [f"predictions: task {task} has none" for task in sorted(wanted.keys() - {one.task for one in present})]
    for one in present:
        due = wanted.get(one.task)
        if due is None:
            found.append(f"predictions: task {one.task} has one that it should not have")
        elif one.score != due.score or _without_meta(one.result) != _without_meta(due.result):
            found.append(f"predictions: task {one.task} has {_short(one.result)}, score {one.score}, not {due.score}")
        elif one.result != due.result:
            found.append(f"metadata: task {one.task} has {crowd_meta(one.result)}, not {crowd_meta(due.result)}")
    if recipe.task_meta != "off":
        ours = {one.task: crowd_meta(one.result) for one in present}
        found += _compare_task_meta(studio, project, ours)
    return found


def _compare_task_meta(studio: LabelStudio, project: int, ours: Mapping[int, Json]) -> list[str]:
    found = []
    for task in studio.tasks(project, studio.task_ids(project), "id,meta"):
        meta = task["meta"] if isinstance(task["meta"], dict) else {}
        if META in meta and meta[META] != ours.get(int(task["id"])):
            found.append(f"task meta: task {task['id']} has {_short(meta[META])}, not that of its prediction")
    return found


def _wanted(http: Http, fresh: Store, project: int, recipe: Recipe) -> list[DesiredPrediction]:
    inputs = _read_inputs(http, fresh, project, recipe)
    if inputs is None or not inputs.crowd.units:
        return []
    fit = fit_project(inputs.crowd, recipe.method, separate=recipe.separate_fits, decide=recipe.decide)
    wanted = desired_predictions(inputs.crowd, fit, recipe.annotator_scores, inputs.texts)
    decisions = inputs.steering.decide({one.task: one.score for one in wanted})
    return [one for one in wanted if inputs.is_complete(one.task, decisions)]


def _without_meta(result: Iterable[Json]) -> list[Json]:
    return [{name: value for name, value in item.items() if name != "meta"} for item in result]


def _results(store: Store, project: int) -> dict[str, object]:
    """What the dashboard shows."""
    with store.data.connect() as connection:
        stored = load_results(connection, project)
        labels = load_labels(connection, project, sorted(mirror.read_tasks(connection, project)))
        annotators, _ = list_annotators(connection, project)
        details = {one.annotator: load_annotator(connection, project, one.annotator) for one in annotators}
    contents: dict[str, object] = {f"labels of task {task}": found for task, found in labels.items()}
    contents |= {f"annotator {one.annotator}": one for one in annotators}
    contents |= {f"page of annotator {annotator}": detail for annotator, detail in details.items()}
    if stored is not None:
        contents |= {"figures": stored.figures, "summary": _without_past(stored.summary)}
    return contents


def _without_past(summary: ProjectSummary) -> ProjectSummary:
    kept = [warning for warning in summary.warnings if not any(part in warning for part in FROM_THE_TRAIL)]
    return replace(summary, warnings=kept)


def _compare(kind: str, found: Mapping[str, object], expected: Mapping[str, object]) -> list[str]:
    return [
        f"{kind}: {name}: {_contrast(found.get(name), expected.get(name))}"
        for name in sorted(found.keys() | expected.keys())
        if found.get(name) != expected.get(name)
    ]


def _contrast(found: object, expected: object) -> str:
    """What differs; of two records of the same kind, the fields that do."""
    if isinstance(found, tuple | list) and isinstance(expected, tuple | list) and len(found) == len(expected):
        return "; ".join(_contrast(*pair) for pair in zip(found, expected, strict=True) if pair[0] != pair[1])
    if is_dataclass(found) and type(found) is type(expected):
        names = [name for name, value in vars(found).items() if value != vars(expected)[name]]
        return "; ".join(f"{name} {_contrast(vars(found)[name], vars(expected)[name])}" for name in names)
    return f"{_short(found)}, with a fresh database {_short(expected)}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 300 else f"{text[:300]}…"
