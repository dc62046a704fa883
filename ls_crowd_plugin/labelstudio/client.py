"""The calls to Label Studio that this project needs. The quirks of its API are handled here and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime

from ..errors import BrokenAnswer, LabelStudioError, NotFound, Rejected
from ..records import Json
from .http import Http
from .retries import MAX_TRIES
from .salvage import UNREADABLE, read_page
from .types import Prediction, ProjectFacts, user_id

PAGE_SIZE = 1000  # tasks per page; the fastest with Label Studio
IDS_IN_ADDRESS = 200  # task ids in one request: they are part of its address
MAX_RESTARTS = 5  # how often the pages are read again from the first because tasks vanish meanwhile
SECONDS_PER_DELETION = 0.1
LISTED_FIELDS = "id,created_at,updated_at,overlap,is_labeled,total_annotations,cancelled_annotations"
TASK_FIELDS = (
    f"{LISTED_FIELDS},annotations,result,completed_by,was_cancelled,ground_truth,lead_time,updated_by,parent_prediction,"
    "parent_annotation"
)  # `include` filters the fields of nested annotations too, so these are listed as well
PROJECT_FIELDS = (
    "id,title,label_config,created_at,created_by,task_number,model_version,show_collab_predictions,maximum_annotations,"
    "overlap_cohort_percentage,skip_queue,sampling,total_annotations_number,skipped_annotations_number,"
    "ground_truth_number"
)  # the others cost Label Studio most of the time that this request takes in a large project
USER_FIELDS = "id,first_name,last_name,email,username"
PREDICTION_FIELDS = "id,predictions,model_version,result,score"

OnProgress = Callable[[int, int], None]  # done, total


class LabelStudio:
    """A Label Studio server."""

    def __init__(self, http: Http) -> None:
        self.http = http

    def version(self) -> str:
        """Return the server's release, or "unknown" if it does not say."""
        answer = self.http.get("/api/version")
        release = answer.get("release") if isinstance(answer, dict) else None
        return str(release or "unknown")

    def server_time(self) -> datetime:
        """Return the time on the server's clock, to about a second."""
        return self.http.server_time()

    def project(self, project: int) -> ProjectFacts:
        return ProjectFacts.from_json(self.http.get(f"/api/projects/{project}/", include=PROJECT_FIELDS))

    def projects(self, fields: Sequence[str] = ("title",)) -> list[Json]:
        """Return all projects the key can see, ordered by id, with these fields and the id."""
        include = ",".join(("id", *fields))
        projects: list[Json] = []
        page = 1
        while True:
            answer = self.http.get("/api/projects/", page=page, page_size=100, include=include)
            projects += answer["results"]
            if not answer.get("next"):
                return sorted(projects, key=lambda project: int(project["id"]))
            page += 1

    def task_pages(
        self, project: int, *, with_data: bool = False, on_progress: OnProgress | None = None
    ) -> Iterator[list[Json]]:
        """Yield pages of all tasks with their annotations.

        No page contains a task twice, but if tasks are deleted meanwhile, a later page may repeat tasks of an earlier
        one. `on_progress(done, total)` is called after each page.
        """
        include = f"{TASK_FIELDS},data" if with_data else TASK_FIELDS
        return self._task_pages(project, include, "all", {}, on_progress)

    def changed_tasks(self, project: int, since: str, limit: int, *, with_data: bool = False) -> tuple[int, list[Json]]:
        """Return the number of tasks changed after a time, and up to `limit` of them with their annotations; takes a
        single request."""
        include = f"{TASK_FIELDS},data" if with_data else TASK_FIELDS

        def read(include: str, page: int, size: int, tries: int) -> tuple[int, list[Json]]:
            return self._task_page(project, include, "all", _changed_after(since), page, size, tries)

        return read_page(read, self._result, include, 1, limit)

    def tasks(self, project: int, ids: Collection[int], include: str) -> list[Json]:
        """Return the tasks with these ids, with the fields listed in `include`."""
        ordered = sorted(ids)
        found: dict[int, Json] = {}
        for start in range(0, len(ordered), IDS_IN_ADDRESS):
            query = {"selectedItems": {"all": False, "included": ordered[start : start + IDS_IN_ADDRESS]}}
            for page in self._task_pages(project, include, "all", query):
                found |= {int(task["id"]): task for task in page}
        return list(found.values())

    def listed_pages(
        self, project: int, since: str | None = None, *, with_data: bool = False, page_size: int | None = None
    ) -> Iterator[list[Json]]:
        """Yield pages of tasks without their annotations, which is much faster: all tasks, or those changed after
        `since`; a task may come twice."""
        include = f"{LISTED_FIELDS},data" if with_data else LISTED_FIELDS
        query = {} if since is None else _changed_after(since)
        return self._task_pages(project, include, "task_only", query, page_size=page_size)

    def author(self, annotation: int) -> int | None:
        """Return who is the author of an annotation; None if there is none, or no such annotation."""
        try:
            return user_id(self.http.get(f"/api/annotations/{annotation}/").get("completed_by"))
        except NotFound:
            return None

    def task_ids(self, project: int) -> set[int]:
        return {int(task["id"]) for page in self._task_pages(project, "id", "task_only", {}) for task in page}

    def changed_since(self, project: int, since: str) -> bool:
        """Whether any task changed after a time; takes a single request."""
        _, tasks = self._task_page(project, "id", "task_only", _changed_after(since), page=1, page_size=1)
        return bool(tasks)

    def versions(self, project: int) -> dict[str, int]:
        """Return the number of predictions of each model version."""
        try:
            answer = self.http.get(f"/api/projects/{project}/model-versions/", extended="true")
            versions = answer.get("static", []) if isinstance(answer, dict) else answer
            return {str(version["model_version"]): int(version["count"]) for version in versions}
        except (NotFound, KeyError, TypeError):
            raise self._too_old("count the predictions of each model version") from None

    def predictions(self, project: int) -> list[Prediction]:
        """Return all predictions on the tasks of a project, those of others too.

        Where one of a task's predictions cannot be shown, none can: a Prediction without an id stands for them.
        """
        try:
            listed = self.http.get("/api/predictions/", project=project)
        except BrokenAnswer:
            pages = self._task_pages(project, PREDICTION_FIELDS, "all", {})
            by_task = {int(task["id"]): _predictions(task) for page in pages for task in page}
            return [one for predictions in by_task.values() for one in predictions]
        return [Prediction.from_json(prediction) for prediction in listed]

    def predictions_on_task(self, task: int) -> list[Prediction]:
        """Return all predictions on one task, four times as fast as `predictions_on`."""
        return [Prediction.from_json(prediction) for prediction in self.http.get("/api/predictions/", task=task)]

    def predictions_on(self, project: int, tasks: Collection[int]) -> dict[int, list[Prediction]]:
        """Return all predictions on some tasks, by task."""
        return {int(task["id"]): _predictions(task) for task in self.tasks(project, tasks, PREDICTION_FIELDS)}

    def create_prediction(self, prediction: Json) -> int:
        """Create a prediction and return its id."""
        return int(self.http.post("/api/predictions/", prediction)["id"])

    def import_predictions(self, project: int, predictions: Sequence[Json]) -> int:
        """Create many predictions in one request and return how many the server created.

        Label Studio drops invalid ones without saying so.
        """
        return int(self.http.post(f"/api/projects/{project}/import/predictions", list(predictions))["created"])

    def change_prediction(self, prediction: int, changes: Json) -> None:
        self.http.patch(f"/api/predictions/{prediction}/", changes)

    def delete_prediction(self, prediction: int) -> None:
        self.http.delete(f"/api/predictions/{prediction}/")

    def delete_version(self, project: int, version: str, predictions: int) -> None:
        """Delete all predictions of a model version.

        The server deletes them one by one and answers at the end; their number decides how long to wait for that.
        """
        path = f"/api/projects/{project}/model-versions/"
        self.http.delete(path, {"model_version": version}, seconds=SECONDS_PER_DELETION * predictions)

    def users(self) -> dict[int, str]:
        """Return the display name of each user, by id."""
        names = {}
        for user in self.http.get("/api/users/", include=USER_FIELDS):
            full = f"{user.get('first_name') or ''} {user.get('last_name') or ''}".strip()
            names[int(user["id"])] = full or str(user.get("email") or user.get("username") or f"user {user['id']}")
        return names

    def webhooks(self, project: int) -> list[Json]:
        return list(self.http.get("/api/webhooks/", project=project))

    def create_webhook(self, webhook: Json) -> None:
        self.http.post("/api/webhooks/", webhook)

    def change_webhook(self, webhook: int, changes: Json) -> None:
        self.http.patch(f"/api/webhooks/{webhook}/", changes)

    def delete_webhook(self, webhook: int) -> None:
        self.http.delete(f"/api/webhooks/{webhook}/")

    def tabs(self, project: int) -> list[Json]:
        """Return the tabs of the Data Manager; they belong to the project, not to a user."""
        return list(self.http.get("/api/dm/views/", project=project))

    def create_tab(self, project: int, tab: Json) -> int:
        """Create a tab and return its id."""
        return int(self.http.post("/api/dm/views/", {"project": project, "data": tab})["id"])

    def delete_tab(self, tab: int) -> None:
        self.http.delete(f"/api/dm/views/{tab}/")

    def change_task(self, task: int, changes: Json) -> None:
        self.http.patch(f"/api/tasks/{task}/", changes)

    def change_project(self, project: int, changes: Json) -> None:
        self.http.patch(f"/api/projects/{project}/", changes)

    def _task_pages(
        self,
        project: int,
        include: str,
        fields: str,
        query: Json,
        on_progress: OnProgress | None = None,
        *,
        page_size: int | None = None,
    ) -> Iterator[list[Json]]:
        """Yield all pages, from the first again whenever a task vanished: later ones moved to pages already read."""
        page, done, last_total, restarts = 1, 0, 0, 0

        def read(include: str, page: int, size: int, tries: int) -> tuple[int, list[Json]]:
            return self._task_page(project, include, fields, query, page, size, tries)

        while True:
            try:
                total, tasks = read_page(read, self._result, include, page, page_size or PAGE_SIZE)
            except NotFound:  # the page is past the end by now
                restarts += 1
                if page == 1 or restarts > MAX_RESTARTS:
                    raise
                page, done, last_total = 1, 0, 0
                continue
            yield list({int(task["id"]): task for task in tasks}.values())
            if total < last_total:
                page, done, last_total = 1, 0, total
                continue
            done, last_total = done + len(tasks), total
            if on_progress is not None:
                on_progress(done, total)
            if not tasks or done >= total:  # the server answers 404 to a page past the end
                return
            page += 1

    def _result(self, annotation: int) -> object:
        return self.http.get(f"/api/annotations/{annotation}/")["result"]

    def _task_page(
        self, project: int, include: str, fields: str, query: Json, page: int, page_size: int, tries: int = MAX_TRIES
    ) -> tuple[int, list[Json]]:
        """Return the number of tasks in the whole list, and those on one page.

        Label Studio takes two thirds of the time if it is told that the list is for a review, because it then does not
        compute columns that nobody asked for, and if the address ends in a slash, because it then has no need to look
        for such an address.
        """
        parameters = {"fields": fields, "include": include, "review": "true"}
        if query:
            parameters["query"] = json.dumps(query)
        answer = self.http.get(
            "/api/tasks/", tries=tries, project=project, page=page, page_size=page_size, **parameters
        )
        try:
            return int(answer["total"]), answer["tasks"]
        except (KeyError, TypeError):
            raise self._too_old("list tasks by pages") from None

    def _too_old(self, missing: str) -> Rejected:
        """Return the error about a server that cannot do something."""
        try:
            version = self.version()
        except LabelStudioError:
            version = "unknown"
        return Rejected(f"This Label Studio (version {version}) cannot {missing}; update it: 1.23 is known to work.")


def _changed_after(since: str) -> Json:
    changed = {"filter": "filter:tasks:updated_at", "operator": "greater", "type": "Datetime", "value": since}
    return {"filters": {"conjunction": "and", "items": [changed]}}


def _predictions(task: Json) -> list[Prediction]:
    """The predictions that a task was listed with."""
    if task["predictions"] == UNREADABLE:
        return [Prediction(0, int(task["id"]), "", None, [])]
    return [Prediction.from_json({"task": task["id"], **one}) for one in task["predictions"]]
