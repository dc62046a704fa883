"""Which regions of different annotators mean the same object, and one extent for each: knows nothing of Label Studio."""

from . import boxes, spans
from .boxes import Box
from .spans import Span

__all__ = ["Box", "Span", "boxes", "spans"]
