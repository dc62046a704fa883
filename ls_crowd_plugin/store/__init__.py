"""SQL: the mirror of annotations, gold, results, and the queue. A table belongs to the module that defines it."""

from .database import Store, open_store
from .leases import Lease
from .mirror import Annotation, Task
from .queue import Claim, QueueEntry
from .results import StoredResults

__all__ = ["Annotation", "Claim", "Lease", "QueueEntry", "Store", "StoredResults", "Task", "open_store"]
