"""SQL: the mirror of annotations, the trail of what was said, gold, what was written, and the work list."""

from . import found, passes, tables
from .database import open_database, open_work_list
from .mirror import Annotation, Mirror, Task
from .work import Claim, Work, WorkList

__all__ = [
    "Annotation",
    "Claim",
    "Mirror",
    "Task",
    "Work",
    "WorkList",
    "found",
    "open_database",
    "open_work_list",
    "passes",
    "tables",
]
