"""SQL: the mirror of annotations, the trail of what annotators said, gold, and what was written into Label Studio."""

from . import passes, tables
from .database import open_database
from .mirror import Annotation, Mirror, Task

__all__ = ["Annotation", "Mirror", "Task", "open_database", "passes", "tables"]
