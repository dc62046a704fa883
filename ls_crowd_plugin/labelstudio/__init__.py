"""The client of Label Studio's HTTP API."""

from .client import LabelStudio
from .http import Http
from .types import Prediction, ProjectFacts, result_items, user_id

__all__ = ["Http", "LabelStudio", "Prediction", "ProjectFacts", "result_items", "user_id"]
