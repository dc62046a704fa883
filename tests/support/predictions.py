"""Predictions of the mood of a task, as they should be and as they are."""

from __future__ import annotations

from ls_crowd_plugin.labelstudio import Prediction
from ls_crowd_plugin.pipeline.plan import MIN_IMPORT, VERSION, DesiredPrediction, ExistingPrediction
from tests.support.memory_studio import mood

FEW, MANY = range(1, 6), range(1, MIN_IMPORT + 11)  # tasks: written one by one, and by an import
SHOWN = {"model_version": VERSION, "show_collab_predictions": False}  # settings with which our predictions are shown


def desired(task: int, label: str = "good", score: float = 0.9) -> DesiredPrediction:
    return DesiredPrediction(task, mood(label), score)


def existing(
    number: int, task: int, label: str = "good", score: float = 0.9, version: str = VERSION
) -> ExistingPrediction:
    return ExistingPrediction.of(Prediction(number, task, version, score, mood(label)))
