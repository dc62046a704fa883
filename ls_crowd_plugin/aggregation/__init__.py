"""Answers in, consensus out: knows nothing of Label Studio, HTTP or SQL, and is usable on its own."""

from .choice import FORMS
from .consensus import METHODS, Consensus, aggregate
from .evaluation import evaluate

__all__ = ["FORMS", "METHODS", "Consensus", "aggregate", "evaluate"]
