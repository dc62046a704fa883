"""The rows of a Label Studio in memory, and what people do to them; its clock only moves when it is told to."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from ls_crowd_plugin.errors import Rejected
from ls_crowd_plugin.pipeline.existing import OUR_NAME
from ls_crowd_plugin.pipeline.plan import VERSION
from ls_crowd_plugin.pipeline.pull import TIME_FORMAT
from ls_crowd_plugin.records import Json
from tests.support.label_configs import MOOD, TEXT

PROJECT, OWNER = 7, 1
MOOD_CONFIG = f"<View>{TEXT}{MOOD.format('')}</View>"


def mood(label: str) -> list[Json]:
    """The result of an annotation or prediction that gives a task this mood."""
    return [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [label]}}]


class StudioRows:
    """Projects, tasks and predictions."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=timezone.utc)
        self.project_rows: dict[int, Json] = {}
        self.task_rows: dict[int, Json] = {}
        self.prediction_rows: dict[int, Json] = {}
        self._last_id = 1000

    def add_project(self, project: int, tasks: Sequence[int] = (), **settings: object) -> None:
        self.project_rows[project] = {
            "id": project,
            "title": "Moods",
            "label_config": MOOD_CONFIG,
            "created_at": self.clock,
            "model_version": "",
            "show_collab_predictions": True,
            "maximum_annotations": 1,
            "overlap_cohort_percentage": 100,
            "skip_queue": "REQUEUE_FOR_OTHERS",
            "sampling": "Sequential sampling",
            "created_by": {"id": OWNER},
            **settings,
        }
        for task in tasks:
            self.add_task(task, project)

    def add_task(self, task: int, project: int = PROJECT, **fields: object) -> None:
        self.task_rows[task] = {
            "id": task,
            "project": project,
            "data": {"text": f"Sentence {task}."},
            "meta": {},
            "annotations": [],
            "overlap": self.project_rows[project]["maximum_annotations"],
            "created_at": self.clock,
            "updated_at": self.clock,
            **fields,
        }
        self._count_annotations(task)

    def annotate(self, task: int, annotator: object, label: str, **fields: object) -> int:
        """Submit somebody's answer, or change the one they have given; return the annotation's id."""
        annotations = self.task_rows[task]["annotations"]
        own = next((one for one in annotations if one["completed_by"] == annotator), None)
        if own is None:
            own = {"id": self._new_id(), "completed_by": annotator, "created_at": self.clock, "lead_time": 1.5}
            own |= {"was_cancelled": False, "ground_truth": False}
            annotations.append(own)
        own |= {"result": mood(label), "updated_at": self.clock, "updated_by": annotator, **fields}
        self._count_annotations(task)
        self._touch(task)
        return int(own["id"])

    def delete_annotations(self, task: int, *annotators: int) -> None:
        """Delete the annotations of some people on a task, or all."""
        row = self.task_rows[task]
        row["annotations"] = [one for one in row["annotations"] if annotators and one["completed_by"] not in annotators]
        self._count_annotations(task)
        self._touch(task)

    def delete_task(self, task: int) -> None:
        del self.task_rows[task]
        self.prediction_rows = {key: row for key, row in self.prediction_rows.items() if row["task"] != task}

    def delete_project(self, project: int = PROJECT) -> None:
        for task in self._tasks_of(project):
            self.delete_task(task)
        del self.project_rows[project]

    def predict(self, task: int, label: str = "good", score: float = 0.9, version: str = VERSION) -> int:
        """Add a prediction, which looks like ours if its version does; return its id."""
        result = mood(label)
        if OUR_NAME.fullmatch(version):
            result[0]["meta"] = {"crowd": {"answers": 1}}
        return self._insert({"task": task, "result": result, "score": score, "model_version": version})

    @property
    def clock(self) -> str:
        return self.now.strftime(TIME_FORMAT)

    def wait(self, seconds: float = 60.0) -> None:
        self.now += timedelta(seconds=seconds)

    def _tasks_of(self, project: int) -> list[int]:
        return sorted(task for task, row in self.task_rows.items() if row["project"] == project)

    def _predictions_of(self, project: int) -> list[Json]:
        tasks = set(self._tasks_of(project))
        return [row for row in self.prediction_rows.values() if row["task"] in tasks]

    def _insert(self, prediction: Json) -> int:
        if prediction["task"] not in self.task_rows:
            raise Rejected("There is no such task.")
        key = self._new_id()
        self.prediction_rows[key] = {**copy.deepcopy(prediction), "id": key}
        return key

    def _touch(self, task: int) -> None:
        """The time of a task also moves with its single predictions, but not with an import or a deleted version."""
        self.task_rows[task]["updated_at"] = self.clock

    def _count_annotations(self, task: int) -> None:
        row = self.task_rows[task]
        skipped = sum(bool(one["was_cancelled"]) for one in row["annotations"])
        row |= {"total_annotations": len(row["annotations"]) - skipped, "cancelled_annotations": skipped}
        row["is_labeled"] = len(self._people(task)) >= row["overlap"]

    def _pass_on_required(self, project: int) -> None:
        """Tasks require another number of annotations: those that require several or, if there are none, all."""
        number = self.project_rows[project]["maximum_annotations"]
        tasks = self._tasks_of(project)
        several = [task for task in tasks if self.task_rows[task]["overlap"] > 1] if number > 1 else tasks
        for task in several or tasks:
            self.task_rows[task]["overlap"] = number
            self._count_annotations(task)

    def open_tasks(self, annotator: int | None = None, project: int = PROJECT) -> list[int]:
        """The tasks that Label Studio's queue would serve to somebody, or to anybody who has not answered them."""
        return [
            task
            for task in self._tasks_of(project)
            if not self.task_rows[task]["is_labeled"]
            and self._takes_place(task, annotator) < self.task_rows[task]["overlap"]
            and annotator not in {one["completed_by"] for one in self.task_rows[task]["annotations"]}
        ]

    def _takes_place(self, task: int, annotator: int | None) -> int:
        """How many annotations keep a task from somebody."""
        mode = self.project_rows[PROJECT]["skip_queue"]

        def is_ignored(one: Json) -> bool:
            is_own = one["completed_by"] == annotator
            is_requeued = {"REQUEUE_FOR_ME": is_own, "REQUEUE_FOR_OTHERS": not is_own, "IGNORE_SKIPPED": False}[mode]
            return bool(one["ground_truth"]) or (bool(one["was_cancelled"]) and is_requeued)

        return sum(not is_ignored(one) for one in self.task_rows[task]["annotations"])

    def _people(self, task: int) -> set[str]:
        annotations = self.task_rows[task]["annotations"]
        skips_count = self.project_rows[PROJECT]["skip_queue"] == "IGNORE_SKIPPED"
        return {str(one["completed_by"]) for one in annotations if skips_count or not one["was_cancelled"]}

    def _new_id(self) -> int:
        self._last_id += 1
        return self._last_id
