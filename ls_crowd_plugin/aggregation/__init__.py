"""Aggregation: answers in, consensus out. Knows nothing about Label Studio, HTTP or SQL, and is usable on its own."""

from ..records import METHODS
from .consensus import Consensus
from .entry import aggregate
from .evaluation import evaluate
from .forms import FORMS
from .reliability import Standing, consistent_verdict
from .types import Lessons

__all__ = ["FORMS", "METHODS", "Consensus", "Lessons", "Standing", "aggregate", "consistent_verdict", "evaluate"]
