"""A Label Studio in memory. It has those habits of the real server (1.23) that passes, polling, checks and connecting
depend on, a clock that only moves when it is told to, and faults on demand."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar
from urllib.parse import urlsplit

from ls_crowd_plugin.errors import NotAllowed, NotFound, Rejected
from ls_crowd_plugin.labelstudio import Http, LabelStudio, Prediction, ProjectFacts, user_id
from ls_crowd_plugin.pipeline.existing import OUR_NAME
from ls_crowd_plugin.records import Json
from tests.support.studio_rows import MOOD_CONFIG, PROJECT, StudioRows, mood

__all__ = ["MOOD_CONFIG", "PROJECT", "MemoryStudio", "mood"]

T = TypeVar("T")
Hook = Callable[[], object]  # what happens on the server at a certain moment; it may raise


class MemoryStudio(StudioRows, LabelStudio):
    """A server with one project to begin with. The rows can be changed freely, as other users would."""

    def __init__(self, tasks: Sequence[int] = (), *, label_config: str = MOOD_CONFIG) -> None:
        LabelStudio.__init__(self, Http("http://studio.example", "key"))
        StudioRows.__init__(self)
        self.webhook_rows: dict[int, Json] = {}
        self.tab_rows: dict[int, Json] = {}
        self.names = {1: "Ann", 2: "Ben", 3: "Cleo"}
        self.dropped: set[int] = set()  # tasks whose predictions an import silently leaves out
        self.calls_private_addresses = True  # SSRF_PROTECTION_ENABLED=false
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.failing: dict[str | tuple[str, int], Exception] = {}  # a read, perhaps of one project → its error
        self.before_write: dict[int, Hook] = {}  # number of the write, from 1 → what happens just before it
        self.after_write: dict[int, Hook] = {}
        self.after_page: list[Hook] = []  # what happens after each of the next pages of tasks was sent
        self.add_project(PROJECT, tasks, label_config=label_config)

    def labels(self) -> dict[int, list[str]]:
        """Task → the moods of our predictions on it."""
        labels: dict[int, list[str]] = {}
        for row in list(self.prediction_rows.values()):  # a worker may be writing
            if OUR_NAME.fullmatch(row["model_version"]):
                labels.setdefault(row["task"], []).append(row["result"][0]["value"]["choices"][0])
        return labels

    def contents(self) -> list[str]:
        """All predictions without their ids."""
        names = ("task", "result", "score", "model_version")
        rows = ({name: row[name] for name in names} for row in self.prediction_rows.values())
        return sorted(json.dumps(row, sort_keys=True) for row in rows)

    def settings(self, project: int = PROJECT) -> Json:
        """The settings that a pass may change."""
        return {name: self.project_rows[project][name] for name in ("model_version", "show_collab_predictions")}

    def break_write(self, number: int, error: Exception, *, carried_out: bool) -> None:
        """Let a write fail, counted from 1, after it was carried out or before."""

        def fail() -> None:
            raise error

        (self.after_write if carried_out else self.before_write)[number] = fail

    def repair(self) -> None:
        """End all faults, and count writes from 1 again."""
        for faults in (self.failing, self.before_write, self.after_write):
            faults.clear()
        self.writes.clear()

    def version(self) -> str:
        self._read("version")
        return "1.23.2"

    def server_time(self) -> datetime:
        return self.now

    def project(self, project: int) -> ProjectFacts:
        self._read("project", project)
        return ProjectFacts.from_json(self._project_row(project))

    def projects(self, fields: Sequence[str] = ("title",)) -> list[Json]:
        self._read("projects")
        rows = [self._project_row(project) for project in sorted(self.project_rows)]
        return [{name: row[name] for name in ("id", *fields)} for row in rows]

    def versions(self, project: int) -> dict[str, int]:
        self._read("versions", project)
        return dict(Counter(row["model_version"] for row in self._predictions_of(project)))

    def predictions(self, project: int) -> list[Prediction]:
        self._read("predictions", project)
        return [Prediction.from_json(copy.deepcopy(row)) for row in self._predictions_of(project)]

    def predictions_on_task(self, task: int) -> list[Prediction]:
        self._read("predictions on task")
        rows = (row for row in self.prediction_rows.values() if row["task"] == task)
        return [Prediction.from_json(copy.deepcopy(row)) for row in rows]

    def users(self) -> dict[int, str]:
        self._read("users")
        return dict(self.names)

    def author(self, annotation: int) -> int | None:
        self._read("author")
        annotations = (one for row in self.task_rows.values() for one in row["annotations"])
        return next((user_id(one["completed_by"]) for one in annotations if one["id"] == annotation), None)

    def webhooks(self, project: int) -> list[Json]:
        self._read("webhooks", project)
        return [dict(row) for row in self.webhook_rows.values() if row["project"] == project]

    def tabs(self, project: int) -> list[Json]:
        self._read("tabs", project)
        return [dict(row) for row in self.tab_rows.values() if row["project"] == project]

    def _task_page(
        self, project: int, include: str, fields: str, query: Json, page: int, page_size: int, tries: int = 1
    ) -> tuple[int, list[Json]]:
        """Everything that reads tasks comes here. The real server, too, applies `include` to nested objects."""
        del fields, tries
        name = "tasks" if "annotations" in include.split(",") else "task ids" if include == "id" else "list"
        since = query["filters"]["items"][0]["value"] if "filters" in query else None
        self._read(name, project, log_as=f"{name} since {since}" if since else name)
        self._project_row(project)
        selected = query["selectedItems"]["included"] if "selectedItems" in query else self._tasks_of(project)
        rows = [self.task_rows[task] for task in selected if task in self.task_rows]
        rows = [row for row in rows if since is None or row["updated_at"] > since]
        shown = rows[page_size * (page - 1) : page_size * page]
        if page > 1 and not shown:
            raise NotFound("There is no such page.")
        answer = copy.deepcopy([self._shown(row, include.split(",")) for row in shown])
        if self.after_page:
            self.after_page.pop(0)()
        return len(rows), answer

    def _shown(self, row: Json, names: Sequence[str]) -> Json:
        predictions = [one for one in self.prediction_rows.values() if one["task"] == row["id"]]
        nested = {"annotations": row["annotations"], "predictions": predictions}
        shown: Json = {name: row[name] for name in names if name in row and name not in nested}
        for name in nested.keys() & set(names):
            shown[name] = [{field: one[field] for field in names if field in one} for one in nested[name]]
        return shown

    def create_prediction(self, prediction: Json) -> int:
        return self._write("create", lambda: self._insert(prediction), touches=prediction["task"])

    def import_predictions(self, project: int, predictions: Sequence[Json]) -> int:
        def insert() -> int:
            if not {prediction["task"] for prediction in predictions} <= set(self._tasks_of(project)):
                raise Rejected("A task is not in the project.")  # one is enough to refuse all
            accepted = [prediction for prediction in predictions if prediction["task"] not in self.dropped]
            return len([self._insert(prediction) for prediction in accepted])

        return self._write("import", insert)

    def change_prediction(self, prediction: int, changes: Json) -> None:
        row = self._row(self.prediction_rows, prediction)
        self._write("change", lambda: row.update(copy.deepcopy(changes)), touches=row["task"])

    def delete_prediction(self, prediction: int) -> None:
        task = self._row(self.prediction_rows, prediction)["task"]
        self._write("delete", lambda: self.prediction_rows.pop(prediction), touches=task)

    def delete_version(self, project: int, version: str, predictions: int) -> None:
        del predictions

        def retire() -> None:
            for row in self._predictions_of(project):
                if row["model_version"] == version:
                    del self.prediction_rows[row["id"]]
            if self.project_rows[project]["model_version"] == version:
                self.project_rows[project]["model_version"] = None

        self._write("retire", retire)

    def change_project(self, project: int, changes: Json) -> None:
        row = self._row(self.project_rows, project)
        versions = {prediction["model_version"] for prediction in self._predictions_of(project)}
        if "model_version" in changes and changes["model_version"] not in {"", row["model_version"], *versions}:
            raise Rejected("Model version doesn't exist.")  # None does not exist either
        if changes.get("show_collab_predictions") is False:
            changes = {"model_version": "", **changes}
        before = row["maximum_annotations"]
        self._write("settings", lambda: row.update(changes))
        if row["maximum_annotations"] != before:
            self._pass_on_required(project)

    def change_task(self, task: int, changes: Json) -> None:
        row = self._row(self.task_rows, task)
        self._write("task", lambda: row.update(copy.deepcopy(changes)), touches=task)

    def create_webhook(self, webhook: Json) -> None:
        self._check_address(str(webhook["url"]))
        key = self._new_id()
        self._write("webhook", lambda: self.webhook_rows.update({key: {"id": key, **webhook}}))

    def change_webhook(self, webhook: int, changes: Json) -> None:
        self._check_address(str(changes["url"]))
        self._write("webhook", lambda: self.webhook_rows[webhook].update(changes))

    def delete_webhook(self, webhook: int) -> None:
        self._write("webhook", lambda: self.webhook_rows.pop(webhook))

    def create_tab(self, project: int, tab: Json) -> int:
        key = self._new_id()
        self._write("tab", lambda: self.tab_rows.update({key: {"id": key, "project": project, "data": tab}}))
        return key

    def delete_tab(self, tab: int) -> None:
        self._write("tab", lambda: self.tab_rows.pop(tab))

    def _read(self, name: str, project: int = 0, *, log_as: str = "") -> None:
        self.reads.append(log_as or name)
        error = self.failing.get(name) or self.failing.get((name, project))
        if error is not None:
            raise error

    def _write(self, name: str, carry_out: Callable[[], T], *, touches: int | None = None) -> T:
        self.writes.append(name)
        number = len(self.writes)
        self.before_write.get(number, lambda: None)()
        done = carry_out()
        if touches is not None:
            self._touch(touches)
        self.after_write.get(number, lambda: None)()
        return done

    def _project_row(self, project: int) -> Json:
        row = self._row(self.project_rows, project)
        tasks = self._tasks_of(project)
        annotations = [one for task in tasks for one in self.task_rows[task]["annotations"]]
        skipped = sum(one["was_cancelled"] for one in annotations)
        counts = {
            "task_number": len(tasks),
            "total_annotations_number": len(annotations) - skipped,
            "skipped_annotations_number": skipped,
            "ground_truth_number": sum(one["ground_truth"] for one in annotations),
            "total_predictions_number": len(self._predictions_of(project)),
        }
        return {**row, **counts}

    def _check_address(self, url: str) -> None:
        host = urlsplit(url).hostname or ""
        if host != "localhost" and "." not in host:
            raise Rejected("Enter a valid URL.")
        if not self.calls_private_addresses and host.startswith(("localhost", "127.", "10.", "192.168.")):
            raise NotAllowed("URL resolves to a reserved network address.")

    @staticmethod
    def _row(rows: dict[int, Json], key: int) -> Json:
        if key not in rows:
            raise NotFound("There is nothing at this address.")
        return rows[key]
