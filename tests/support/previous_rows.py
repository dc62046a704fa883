"""Rows as earlier releases wrote them: JSON from a real fit, and a queue with projects in all states."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, MetaData

from ls_crowd_plugin.records import Json
from tests.support.previous_schema import data_1, data_3, work_1

NOON = "2026-01-01T12:00:00.000000Z"
RESULT = '[{"from_name": "mood", "value": {"choices": ["good"]}}]'
EVENT = {"project": 7, "task": 1, "annotation": 10, "event": "created", "at": NOON, "annotator": 5, "changed_by": 5}
ANNOTATION = {"id": 10, "project": 7, "task": 1, "annotator": 5, "result": RESULT}
ANNOTATION |= {"skipped": False, "ground_truth": False, "copied": True, "created_at": NOON, "updated_at": NOON}
ANNOTATION |= {"updated_by": 5, "lead_time": 1.5}
PROJECT = {"id": 7, "title": "Moods", "label_config": "<View/>", "seen_until": NOON}
GOLD = {"project": 7, "task": 3, "question": "mood", "label": "good"}
SETTING = {"project": 7, "name": "model_version", "value": '""'}

Rows = Mapping[str, Sequence[Mapping[str, object]]]

DATA_1: Rows = {
    "project": [PROJECT],
    "task": [{"id": 1, "project": 7, "updated_at": NOON, "overlap": 3, "is_labeled": True}],
    "annotation": [ANNOTATION],
    "trail": [{**EVENT, "result": RESULT}],
    "gold": [GOLD],
    "written": [{"project": 7, "task": 1, "digest": "a" * 64}],
    "setting_before": [SETTING],
}

SUMMARY: Json = {
    "tasks": 3,
    "answers": 18,
    "gold": 1,
    "annotators": 3,
    "method": "gem",
    "form": "habits-1",
    "why": "habits-1 (label-dependent mistakes, tasks equally hard) explains the answers best of 5 forms.",
    "verdicts": {"trusted": 2, "random": 1},
    "contrary": [],
    "confidence": 0.988,
    "differ_from_plurality": 0,
    "labels": 3,
    "left_out": [{"name": "note", "tag": "TextArea", "reason": "it is not categorical"}],
    "warnings": ["1 annotation(s) have got another author since they were first seen."],
}
CHARTS: Json = {
    "questions": {"entity": ["cat", "dog", "(no region)"], "mood": ["good", "bad"]},
    "confidence": {"low": 0.0, "high": 1.0, "counts": [0] * 19 + [5]},
    "difficulty": None,
    "calibration": [[0.986, 1.0, 1]],
    "gold": {"labels": 1, "right": 1, "plurality": 1.0},
    "over_time": {"first": "2026-03-01T09:01:00+00:00", "seconds": 60, "counts": [3, 3, 3]},
    "cost": [[3, 3, 3]],
    "label_counts": {"entity": {"cat": [1, 1], "(no region)": [2, 2]}, "mood": {"good": [2, 2], "bad": [1, 1]}},
    "agreement": {
        "alpha": {"entity": None, "mood": -0.2},
        "annotators": [5, 6, 7],
        "common": [[4, 4, 3], [4, 4, 3], [3, 3, 3]],
        "alike": [[4, 4, 0], [4, 4, 0], [0, 0, 3]],
    },
}
REGION: Json = {
    "control": "entity",
    "object": "image",
    "shape": "box",
    "value": {"x": 10.0, "y": 10.0, "width": 20.0, "height": 20.0, "rotation": 0.0, "rectanglelabels": ["cat"]},
    "original_width": 640.0,
    "original_height": 480.0,
}
SPAN: Json = {
    "control": "entity",
    "object": "text",
    "shape": "span",
    "value": {"start": 0, "end": 5, "text": "Hello", "labels": ["cat"]},
}
DETAIL = {
    "trend": [["2026-03-01T09:01:00Z", 0.0, 1], ["2026-03-01T09:03:00Z", 1.0, 2]],
    "confusion": {"mood": {"good": {"bad": 2}, "bad": {"good": 1}}},
    "against": [[3, "mood", "bad", "good", 1.0, True], [1, "entity", "(no region)", "cat", 0.982, False]],
    "differs": 4,
    "regions": {"drawn": 0, "missed": 1.0, "extra": None, "wrong": None},
}


def _label(number: int, task: int, question: str, **values: object) -> Mapping[str, object]:
    return {
        "project": 7,
        "number": number,
        "task": task,
        "question": question,
        "part": 0,
        "label": "good",
        "confidence": 0.986,
        "difficulty": None,
        "answers": 3,
        "plurality": "good",
        "gold": None,
        "disputed": False,
        "said": '[[5, "good"], [6, "good"], [7, "bad"]]',
        "posterior": '{"good": 0.986, "bad": 0.014}',
        "region": None,
        **values,
    }


def _annotator(number: int, annotator: int, verdict: str, **values: object) -> Mapping[str, object]:
    return {
        "project": 7,
        "number": number,
        "annotator": annotator,
        "answers": 6,
        "gold_answers": 1,
        "gold_correct": 1,
        "skill": 1.927,
        "skill_se": 1.039,
        "adversary_probability": 0.0,
        "weight": 2.984,
        "accuracy": 0.936,
        "verdict": verdict,
        "agreement": 1.0,
        "seconds": 2.5,
        "detail": json.dumps(DETAIL),
        **values,
    }


_ENTITY = {"part": 1, "label": "cat", "plurality": "cat", "said": '[[5, "cat"], [6, "cat"], [7, "(no region)"]]'}
_TASK = {"project": 7, "updated_at": NOON, "overlap": 3, "is_labeled": True}
DATA_3: Rows = {
    "crowd_project": [
        {**PROJECT, "created_at": NOON, "reader": "0123456789abcdef", "read_with": "gold field: right", "revision": 12}
    ],
    "crowd_task": [
        {**_TASK, "id": 1, "known": None, "data": '{"text": "Hello."}'},
        {**_TASK, "id": 2, "known": None, "data": None},
        {**_TASK, "id": 3, "known": '"good"', "data": None},
    ],
    "crowd_annotation": [ANNOTATION],
    "crowd_trail": [
        {**EVENT, "noticed": NOON, "result": RESULT},
        {**EVENT, "noticed": NOON, "result": RESULT, "event": "reassigned", "annotator": 6},
    ],
    "crowd_gold": [GOLD],
    "crowd_written": [{"project": 7, "task": 1, "digest": "a" * 64}],
    "crowd_task_meta": [{"project": 7, "task": 2, "digest": "b" * 64}],
    "crowd_run": [
        {"project": 7, "fingerprint": "f" * 64, "version": "crowd-1", "summary": json.dumps(SUMMARY), "compared": 1.5}
    ],
    "crowd_finding": [{"project": 7, "at": 1.25, "summary": json.dumps(SUMMARY), "charts": json.dumps(CHARTS)}],
    "crowd_label": [
        _label(0, 1, "entity", confidence=0.982, region=json.dumps(REGION), **_ENTITY),
        _label(1, 1, "mood"),
        _label(2, 2, "entity", confidence=0.5, region=json.dumps(SPAN), **_ENTITY),
        _label(3, 3, "mood", confidence=1.0, gold="good", posterior='{"good": 1.0}'),
    ],
    "crowd_annotator": [
        _annotator(0, 5, "trusted"),
        _annotator(1, 7, "random", skill=None, weight=0.204, agreement=None, seconds=None),
    ],
    "crowd_user": [{"id": 5, "name": "Ada"}],
    "crowd_setting_before": [SETTING],
    "crowd_secret": [{"name": "session key", "value": "a secret"}],
    "crowd_schema": [{"version": 3}],
}


def work_rows() -> Rows:
    """A queue in which 7 is waiting, 8 idle and set aside, 9 waiting after failures, and 10 held by a worker."""
    now = time.time()
    row = {"wanted": 2, "done": 1, "first_wanted": now - 100, "not_before": now - 100, "lease_until": 0.0, "owner": ""}
    row |= {"attempts": 0, "last_done": now - 1000, "last_error": None, "snapshot": None}
    held = {"owner": "host-1-abc", "lease_until": now + 50}
    outcomes = {"done": 5, "nothing to do": 4, "put off": 3, "set aside": 2, "gone": 1, "failed": 6, "superseded": 7}
    return {
        "crowd_work": [
            {**row, "project": 7, "snapshot": "digest"},
            {**row, "project": 8, "done": 2, "last_error": "Project 8 has no answers yet that count."},
            {**row, "project": 9, "not_before": now + 500, "attempts": 3, "last_error": "It broke."},
            {**row, "project": 10, **held, "not_before": now - 50, "attempts": 1, "last_done": None},
        ],
        "crowd_holding": [{"project": 10, "owner": held["owner"], "until": held["lease_until"]}],
        "crowd_duty": [{"name": "poll", "due": now + 500}],
        "crowd_worker": [{"name": "host-1-abc", "seen": now, "trouble": "Label Studio does not answer."}],
        "crowd_tally": [
            *({"name": "passes", "label": label, "value": float(value)} for label, value in outcomes.items()),
            {"name": "labels", "label": "gone", "value": 9.0},
        ],
    }


def fill(connection: Connection, tables: MetaData, rows: Rows) -> None:
    """Create tables and insert rows."""
    tables.create_all(connection)
    for table in tables.sorted_tables:
        if table.name in rows:
            connection.execute(table.insert(), [dict(row) for row in rows[table.name]])


def fill_data_1(connection: Connection) -> None:
    fill(connection, data_1, DATA_1)


def fill_data_3(connection: Connection) -> None:
    fill(connection, data_3, DATA_3)


def fill_work_1(connection: Connection) -> None:
    fill(connection, work_1, work_rows())
