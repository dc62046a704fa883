"""Who is believed: whose annotation counts as an answer, and who may say what is right. Pure.

Every user of Label Studio Community can write in anybody's name and mark anything as ground truth. What they cannot
forge is whom Label Studio records as the last writer of an annotation. Annotations that were imported have none; they
are as old as their task, and were never edited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

from ..records import parse_time
from ..store import Annotation
from ..store.trail import ErasedMark

IMPORT_TIME = timedelta(hours=1)  # that an import may take, from its first task to its last annotation
EDIT_TIME = timedelta(seconds=1)  # an annotation changed later than this after its creation was edited
MAX_NAMED = 5  # people or tasks in one sentence


@dataclass(frozen=True)
class Trust:
    """What decides who is believed."""

    sources: frozenset[str] = frozenset({"plugin"})  # of gold
    experts: frozenset[int] = frozenset()
    owner: int | None = None  # of the project
    task_created_at: Mapping[int, str] = field(default_factory=dict)
    names: Mapping[int, str] = field(default_factory=dict)  # of users

    @cached_property
    def trusted(self) -> frozenset[int]:
        return self.experts | ({self.owner} if self.owner is not None else frozenset())

    def is_gold(self, annotation: Annotation) -> bool:
        """Whether an annotation says what is right, by somebody who may."""
        if annotation.updated_by not in self.trusted:
            return False
        marked = annotation.ground_truth and "ground_truth" in self.sources
        return marked or (annotation.annotator in self.experts and "experts" in self.sources)

    def problem_with(self, annotation: Annotation) -> str | None:
        """Why an annotation is not its author's answer; None if it is."""
        writer = annotation.updated_by
        if writer in (annotation.annotator, *self.trusted) and writer is not None:
            return None
        if writer is not None:
            return f"last written by {self.name(writer)}, not by its author"
        return None if self._is_imported(annotation) else "Label Studio does not know who wrote it"

    def name(self, user: int) -> str:
        return f"{self.names[user]} (user {user})" if user in self.names else f"user {user}"

    def _is_imported(self, annotation: Annotation) -> bool:
        created, updated = parse_time(annotation.created_at), parse_time(annotation.updated_at)
        task_created = parse_time(self.task_created_at.get(annotation.task, annotation.created_at))
        if created is None or updated is None or task_created is None:
            return True
        return updated - created <= EDIT_TIME and created - task_created <= IMPORT_TIME


def gold_warnings(
    trust: Trust, annotations: Sequence[Annotation], erased: Iterable[ErasedMark], has_gold_field: bool
) -> list[str]:
    """Sentences about gold that is not believed, and why."""
    warnings = [*_disbelieved_marks(trust, annotations), *_unused_settings(trust, has_gold_field)]
    marked = {annotation.id for annotation in annotations if annotation.ground_truth}
    lost = [
        mark
        for mark in erased
        if mark.marked_by in trust.trusted and mark.erased_by not in trust.trusted and mark.annotation not in marked
    ]
    if lost:
        named = ", ".join(
            f"task {mark.task}" + (f" by {trust.name(mark.erased_by)}" if mark.erased_by is not None else "")
            for mark in lost[:MAX_NAMED]
        )
        warnings.append(
            f"Ground-truth marks of the project's owner or an expert that somebody took away: {len(lost):,}, of"
            f" {named}{_more(len(lost))}. Mark them again, or add the labels with 'ls-crowd gold add'."
        )
    return warnings


def forgery_warnings(trust: Trust, annotations: Iterable[Annotation]) -> list[str]:
    """One sentence about annotations that do not count because somebody else wrote them."""
    writers = Counter(one.updated_by for one in annotations if trust.problem_with(one) is not None)
    if not writers:
        return []
    return [
        "Annotations that are not counted because somebody other than their author wrote them last:"
        f" {writers.total():,}, by {_people(trust, writers)}. If somebody was right to do so, name them in"
        " LS_CROWD_EXPERTS."
    ]


def _disbelieved_marks(trust: Trust, annotations: Sequence[Annotation]) -> list[str]:
    marked = [one for one in annotations if one.ground_truth and not trust.is_gold(one)]
    if not marked:
        return []
    by_trusted = sum(annotation.updated_by in trust.trusted for annotation in marked)
    writers = Counter(annotation.updated_by for annotation in marked)
    cures = []
    if "ground_truth" not in trust.sources:
        cures.append("to believe marks of the project's owner and experts, add ground_truth to LS_CROWD_GOLD_SOURCES")
    if by_trusted < len(marked):
        cures.append("to trust a user, name them in LS_CROWD_EXPERTS")
    return [
        "Marks as ground truth that are not used as gold, because every user of Label Studio can set such marks:"
        f" {len(marked):,}, by {_people(trust, writers)}. You can add gold with 'ls-crowd gold add';"
        f" {'; '.join(cures)}."
    ]


def _unused_settings(trust: Trust, has_gold_field: bool) -> list[str]:
    unused = [("LS_CROWD_GOLD_FIELD", "task_data", has_gold_field)]
    if trust.experts and "ground_truth" not in trust.sources:
        unused.append(("LS_CROWD_EXPERTS", "experts", True))
    return [
        f"{setting} is set, but LS_CROWD_GOLD_SOURCES does not contain {source}, so it gives no gold."
        for setting, source, is_set in unused
        if is_set and source not in trust.sources
    ]


def _people(trust: Trust, writers: Counter[int | None]) -> str:
    """ "Ann (user 3) 12, an import 2" """
    named = [
        f"{'an import or a deleted user' if user is None else trust.name(user)} ({number:,})"
        for user, number in writers.most_common(MAX_NAMED)
    ]
    return ", ".join(named) + _more(len(writers))


def _more(number: int) -> str:
    return f" and {number - MAX_NAMED} more" if number > MAX_NAMED else ""
