"""The tabs for reviewing in Label Studio's Data Manager."""

from __future__ import annotations

import json

from ..controls import Config
from ..records import SETTLED, Json

LABEL_TAB = "Consensus: "  # begins the title of a label's tab
MAX_LABEL_TABS = 6
HIDDEN_COLUMNS = [
    f"tasks:{name}"
    for name in (
        "predictions_results",
        "annotations_results",
        "annotations_ids",
        "file_upload",
        "storage_filename",
        "created_at",
        "updated_at",
        "updated_by",
        "avg_lead_time",
        "draft_exists",
    )
]


def _tab(ordering: str, *filters: Json) -> Json:
    tab: Json = {"ordering": [ordering], "hiddenColumns": {"explore": HIDDEN_COLUMNS, "labeling": []}}
    return {**tab, "filters": {"conjunction": "and", "items": list(filters)}} if filters else tab


def _filter(name: str, operator: str, kind: str, value: str | float) -> Json:
    return {"filter": f"filter:tasks:{name}", "operator": operator, "type": kind, "value": value}


TABS: dict[str, Json] = {
    "Least sure first": _tab("tasks:predictions_score"),
    "Disputed by trusted annotators": _tab(
        "tasks:predictions_score", _filter("predictions_results", "contains", "String", '"disputed": true')
    ),
    "Settled": _tab("-tasks:predictions_score", _filter("predictions_score", "greater_or_equal", "Number", SETTLED)),
}


def review_tabs(config: Config) -> dict[str, Json]:
    """Title → tab, for a project with this label config."""
    return {**TABS, **_label_tabs(config)}


def is_as_made(tab: Json) -> bool:
    """Whether a tab has a title and content that we give to tabs."""
    title, data = tab_title(tab), tab.get("data") or {}
    label = title.removeprefix(LABEL_TAB)
    body = TABS.get(title) if label == title else _label_tab(label)
    return body is not None and all(data.get(name) == value for name, value in body.items())


def tab_title(tab: Json) -> str:
    return str((tab.get("data") or {}).get("title") or "")


def _label_tabs(config: Config) -> dict[str, Json]:
    """One tab for each label, where the project asks one question with few of them.

    They filter by how results are stored, where only ASCII letters appear as they are.
    """
    questions = config.questions
    if len(questions) != 1 or len(questions[0].labels) > MAX_LABEL_TABS:
        return {}
    return {f"{LABEL_TAB}{label}": _label_tab(label) for label in questions[0].labels if label.isascii()}


def _label_tab(label: str) -> Json:
    return _tab("tasks:predictions_score", _filter("predictions_results", "contains", "String", json.dumps([label])))
