"""Which regions of different annotators mean the same object, and one extent for each: knows nothing of Label Studio.

`spans` and `boxes` are the kinds of extent: `group(regions, boxes)` groups boxes.
"""

from . import boxes, spans
from .boxes import Box
from .drawn import Drawn, Kind
from .matching import assign, group
from .spans import Span

__all__ = ["Box", "Drawn", "Kind", "Span", "assign", "boxes", "group", "spans"]
