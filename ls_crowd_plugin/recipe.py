"""The recipe: everything besides Label Studio's own state that decides what a pass writes. Imports nothing here."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Recipe:
    """Filled from the settings that are marked `recipe`; hashed whole, so that a change of any field has its effect."""

    method: str = "auto"
    separate_fits: bool = False  # one fit for each control instead of one for all
    gold_sources: frozenset[str] = frozenset({"plugin"})
    experts: frozenset[int] = frozenset()  # users who may say what is right
    gold_field: str = ""  # field of task.data that holds the right label
    min_iou: float = 0.5  # how far regions of two people must overlap to mean the same
    only_complete: bool = False  # write only about tasks that have as many answers as they require
    task_meta: str = "auto"
    annotator_scores: bool = True  # include people's scores in what is written into Label Studio
    ordered: frozenset[str] = frozenset()  # controls whose labels are a scale, besides ratings
    decide: str = "label"  # one of DECISIONS
    rings: str = "show"  # one of RINGS

    @property
    def uses_task_data(self) -> bool:
        """Whether gold comes from a field of task.data."""
        return bool(self.gold_field) and "task_data" in self.gold_sources

    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True, default=sorted).encode()).hexdigest()
