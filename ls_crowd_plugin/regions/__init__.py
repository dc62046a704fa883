"""Which regions of different annotators mean the same object, and one extent for each object.

This room knows nothing about Label Studio. The modules `spans` and `boxes` are the two kinds of extent: for example,
`group(regions, boxes)` groups boxes.
"""

from . import boxes, spans
from .boxes import Box
from .crowded import ALWAYS_COMPARED, too_entangled
from .matching import DEFAULT_MIN_IOU, assign, group
from .spans import Span
from .types import DrawnRegion, Kind

__all__ = [
    "ALWAYS_COMPARED",
    "DEFAULT_MIN_IOU",
    "Box",
    "DrawnRegion",
    "Kind",
    "Span",
    "assign",
    "boxes",
    "group",
    "spans",
    "too_entangled",
]
