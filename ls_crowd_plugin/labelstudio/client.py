"""The calls to Label Studio that this project needs, each once, with the quirks of its API kept in here."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from ..errors import LabelStudioError, NotThere, Rejected
from .http import Http

Json = dict[str, Any]

PAGE = 1000  # tasks a page: Label Studio's fastest
MOST_TIMES_AGAIN = 5  # that the pages are read from the start because tasks vanish meanwhile
TASK_FIELDS = (
    "id,updated_at,overlap,is_labeled,total_annotations,annotations,result,completed_by,was_cancelled,ground_truth,"
    "created_at,lead_time,updated_by,parent_prediction,parent_annotation"
)  # `include` filters the fields of nested annotations too, so they are all named


class LabelStudio:
    """A Label Studio server."""

    def __init__(self, http: Http) -> None:
        self.http = http

    def project(self, project: int) -> Json:
        return dict(self.http.get(f"/api/projects/{project}/"))

    def projects(self, told: Sequence[str] = ("title",)) -> list[Json]:
        """All projects the key may see, by id, with what is to be told of them."""
        include = ",".join(("id", *told))
        found: list[Json] = []
        page = 1
        while True:
            answer = self.http.get("/api/projects/", page=page, page_size=100, include=include)
            found += answer["results"]
            if not answer.get("next"):
                return sorted(found, key=lambda each: int(each["id"]))
            page += 1

    def task_pages(
        self,
        project: int,
        since: str | None = None,
        *,
        with_data: bool = False,
        told: Callable[[int, int], None] | None = None,
    ) -> Iterator[list[Json]]:
        """Tasks with their annotations, all or those changed after `since`; `told(done, total)` after each page.

        No page holds a task twice, but when tasks are deleted meanwhile, a later page may bring one again.
        """
        include = f"{TASK_FIELDS},data" if with_data else TASK_FIELDS
        query = {} if since is None else _changed_after(since)
        return self._task_pages(project, include, "all", query, told)

    def tasks(self, project: int, ids: Collection[int], include: str) -> list[Json]:
        """Some tasks, by their ids, with the named fields."""
        query = {"selectedItems": {"all": False, "included": sorted(ids)}}
        return [task for page in self._task_pages(project, include, "all", query) for task in page] if ids else []

    def changed_since(self, project: int, since: str) -> bool:
        """Whether any task changed after a time; one request, whatever the answer."""
        answer = self.http.get(
            "/api/tasks",
            project=project,
            fields="task_only",
            include="id",
            page=1,
            page_size=1,
            query=json.dumps(_changed_after(since)),
        )
        return bool(answer["tasks"])

    def task_ids(self, project: int) -> set[int]:
        """The ids of all tasks, without anything else."""
        return {int(task["id"]) for page in self._task_pages(project, "id", "task_only", {}) for task in page}

    def _task_pages(
        self,
        project: int,
        include: str,
        fields: str,
        query: Json,
        told: Callable[[int, int], None] | None = None,
    ) -> Iterator[list[Json]]:
        done, page, most, again = 0, 1, 0, 0
        asked = {"query": json.dumps(query)} if query else {}
        while True:
            try:
                answer = self.http.get(
                    "/api/tasks", project=project, fields=fields, include=include, page=page, page_size=PAGE, **asked
                )
            except NotThere:  # past the end: tasks went, and later ones moved to pages already read
                again += 1
                if page == 1 or again > MOST_TIMES_AGAIN:
                    raise
                done, page, most = 0, 1, 0
                continue
            try:
                total, tasks = int(answer["total"]), answer["tasks"]
            except (KeyError, TypeError):
                raise self._too_old("list tasks by pages") from None
            yield list({int(task["id"]): task for task in tasks}.values())
            if total < most:  # a task went, so later ones moved to pages already read: from the start again
                done, page, most = 0, 1, total
                continue
            done, most = done + len(tasks), total
            if told is not None:
                told(done, total)
            if not tasks or done >= total:  # a page past the end would be a 404
                return
            page += 1

    def versions(self, project: int) -> dict[str, int]:
        """Model version → how many predictions of it there are."""
        try:
            answer = self.http.get(f"/api/projects/{project}/model-versions/", extended="true")
            found = answer.get("static", []) if isinstance(answer, dict) else answer
            return {str(each["model_version"]): int(each["count"]) for each in found}
        except (NotThere, KeyError, TypeError):
            raise self._too_old("count the predictions of each model version") from None

    def predictions(self, project: int) -> list[Json]:
        return list(self.http.get("/api/predictions/", project=project))

    def _too_old(self, lacking: str) -> Rejected:
        """What to say of a server that lacks something."""
        try:
            version = str(self.http.get("/api/version")["release"])
        except (LabelStudioError, KeyError, TypeError):
            version = "of unknown version"
        return Rejected(f"This Label Studio ({version}) cannot {lacking}; update it, 1.23 is known to do.")

    def create_prediction(self, prediction: Json) -> int:
        """Creates one; the id it got."""
        return int(self.http.post("/api/predictions/", prediction)["id"])

    def import_predictions(self, project: int, predictions: Sequence[Json]) -> int:
        """Creates many in one request; how many the server says it made (invalid ones are dropped in silence)."""
        return int(self.http.post(f"/api/projects/{project}/import/predictions", list(predictions))["created"])

    def change_prediction(self, prediction: int, changes: Json) -> None:
        self.http.patch(f"/api/predictions/{prediction}/", changes)

    def delete_prediction(self, prediction: int) -> None:
        self.http.delete(f"/api/predictions/{prediction}/")

    def delete_version(self, project: int, version: str, predictions: int) -> None:
        """Deletes all predictions of a version; the server does it one by one and answers at the end."""
        path = f"/api/projects/{project}/model-versions/"
        self.http.delete(path, {"model_version": version}, seconds=0.1 * predictions)

    def users(self) -> dict[int, str]:
        """Everybody's id → the name people know them by."""
        names = {}
        for each in self.http.get("/api/users/"):
            full = f"{each.get('first_name') or ''} {each.get('last_name') or ''}".strip()
            names[int(each["id"])] = full or str(each.get("email") or each.get("username") or f"user {each['id']}")
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
        """The Data Manager's tabs, which belong to the project and not to a person."""
        return list(self.http.get("/api/dm/views/", project=project))

    def create_tab(self, project: int, tab: Json) -> None:
        self.http.post("/api/dm/views/", {"project": project, "data": tab})

    def delete_tab(self, tab: int) -> None:
        self.http.delete(f"/api/dm/views/{tab}/")

    def change_task(self, task: int, changes: Json) -> None:
        self.http.patch(f"/api/tasks/{task}/", changes)

    def change_project(self, project: int, changes: Json) -> None:
        self.http.patch(f"/api/projects/{project}/", changes)


def _changed_after(since: str) -> Json:
    changed = {"filter": "filter:tasks:updated_at", "operator": "greater", "type": "Datetime", "value": since}
    return {"filters": {"conjunction": "and", "items": [changed]}}
