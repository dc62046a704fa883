"""Projects and predictions as Label Studio describes them, with the fields this project uses."""

from __future__ import annotations

from dataclasses import dataclass

from ..records import Json

IGNORE_SKIPPED, FOR_ME = "IGNORE_SKIPPED", "REQUEUE_FOR_ME"  # what Label Studio may do with skipped tasks


@dataclass(frozen=True)
class ProjectFacts:
    """A project. The settings hold exactly what Label Studio sent, so that a changed one can be restored."""

    id: int
    title: str
    label_config: str
    created_at: str
    task_number: int
    model_version: str | None = None  # whose predictions the Data Manager shows; "" and None both mean nobody's
    show_collab_predictions: bool | None = None  # whether annotators start from these predictions
    maximum_annotations: int | None = None  # annotations that a task needs
    overlap_cohort_percentage: int | None = None  # of the tasks, those that need more than one annotation
    skip_queue: str | None = None  # what happens to a skipped task
    sampling: str | None = None  # in which order tasks are served
    owner: int | None = None  # who created the project
    annotation_counts: tuple[int, int, int] | None = None  # answered, skipped, marked as ground truth

    @property
    def skips_count(self) -> bool:
        """Whether a skip counts as an answer."""
        return self.skip_queue == IGNORE_SKIPPED

    @classmethod
    def from_json(cls, project: Json) -> ProjectFacts:
        return cls(
            id=int(project["id"]),
            title=str(project["title"]),
            label_config=str(project["label_config"]),
            created_at=str(project["created_at"]),
            task_number=int(project["task_number"]),
            model_version=project.get("model_version"),
            show_collab_predictions=project.get("show_collab_predictions"),
            maximum_annotations=project.get("maximum_annotations"),
            overlap_cohort_percentage=project.get("overlap_cohort_percentage"),
            skip_queue=project.get("skip_queue"),
            sampling=project.get("sampling"),
            owner=user_id(project.get("created_by")),
            annotation_counts=_counts(project),
        )


def _counts(project: Json) -> tuple[int, int, int] | None:
    names = ("total_annotations_number", "skipped_annotations_number", "ground_truth_number")
    answered, skipped, marked = (project.get(name) for name in names)
    if isinstance(answered, int) and isinstance(skipped, int) and isinstance(marked, int):
        return answered, skipped, marked
    return None


def user_id(value: object) -> int | None:
    """Return a user's id, which comes as a number or inside an object."""
    user = value.get("id") if isinstance(value, dict) else value
    return user if isinstance(user, int) and not isinstance(user, bool) else None


@dataclass(frozen=True)
class Prediction:
    """A prediction on a task."""

    id: int
    task: int
    model_version: str
    score: float | None
    result: list[Json]

    @classmethod
    def from_json(cls, prediction: Json) -> Prediction:
        return cls(
            id=int(prediction["id"]),
            task=int(prediction["task"]),
            model_version=str(prediction.get("model_version") or ""),
            score=prediction.get("score"),
            result=result_items(prediction.get("result")),
        )


def result_items(result: object) -> list[Json]:
    """Return the items of a result; an empty list if it is not a list of objects.

    Anybody may write anything under our model version, and a program must not stumble over it.
    """
    if isinstance(result, list) and all(isinstance(item, dict) for item in result):
        return result
    return []
