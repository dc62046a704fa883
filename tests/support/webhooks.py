"""Webhooks: events in all the forms that Label Studio sends, and how to add a webhook to it."""

from __future__ import annotations

from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.settings import SECRET_HEADER
from tests.support.service import SECRET

RIGHT = {SECRET_HEADER: SECRET}

# With payload or without, about one thing or several, under different names.
EVENTS: list[Json] = [
    {"action": "ANNOTATION_CREATED", "annotation": {"id": 28, "project": 3}, "project": {"id": 3}, "task": {"id": 4}},
    {"action": "ANNOTATION_UPDATED", "annotation": {"id": 28, "ground_truth": True}, "project": {"id": 3}},
    {"action": "ANNOTATIONS_CREATED", "annotation": [{"id": 31}], "task": [{"id": 4}], "project": {"id": 3}},
    {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 28}], "project": {"id": 3}},
    {"action": "TASKS_CREATED", "tasks": [{"id": 7, "project": 3}], "project": {"id": 3}},
    {"action": "TASKS_DELETED", "tasks": [{"id": 8}], "project": {"id": 3}},
    {"action": "PROJECT_UPDATED", "project": {"id": 3, "title": "x"}},
    {"action": "LABEL_LINK_CREATED", "label_link": [{"id": 1}], "project": {"id": 3}},
    {"action": "START_TRAINING", "project": {"id": 3}},
    {"action": "SOMETHING_NEW", "project": 3},
    {"action": "ANNOTATION_CREATED", "task": {"id": 4, "project": 3}},
    {"action": "TASKS_CREATED", "tasks": [{"id": 7, "project": 3}]},
]


def add_webhook(http: Http, project: int, url: str, **changes: object) -> None:
    """Add a webhook to a project as `ls-crowd connect` does, apart from some changes."""
    body: Json = {
        "url": url,
        "project": project,
        "headers": RIGHT,
        "send_payload": True,
        "send_for_all_actions": True,
        "is_active": True,
        **changes,
    }
    http.post("/api/webhooks/", body)
