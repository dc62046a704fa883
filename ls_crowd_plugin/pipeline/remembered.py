"""The last fits, in a worker's memory: a task that was just answered needs a vote instead of a new fit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from .asking import SharedFacts
from .memory import MEGABYTE, memory_limit
from .project_fit import ProjectFit

MAX_PROJECTS = 4  # whose fits are remembered
MAX_ANSWERS = 1_000_000  # of all of them
BYTES_PER_ANSWER = 1600  # of a fit
MEMORY_SHARE = 0.25  # of what the process can have


@dataclass(frozen=True)
class _Remembered:
    depends_on: str
    answers: int
    fit: ProjectFit
    shared: SharedFacts | None


class FitMemory:
    """Fits by project. What is forgotten costs a fit, and nothing else."""

    def __init__(self) -> None:
        self._fits: dict[int, _Remembered] = {}  # the oldest first

    @property
    def is_empty(self) -> bool:
        return not self._fits

    def remember(
        self, project: int, depends_on: str, answers: int, fit: ProjectFit, shared: SharedFacts | None = None
    ) -> None:
        """`depends_on` is what the fit depends on besides the answers; `answers` says how large it is; `shared` is what
        a policy knew about all tasks."""
        self._fits.pop(project, None)
        most = max_answers()
        if answers > most:
            return
        self._fits[project] = _Remembered(depends_on, answers, fit, shared)
        while len(self._fits) > MAX_PROJECTS or sum(one.answers for one in self._fits.values()) > most:
            del self._fits[next(iter(self._fits))]

    def recall(self, project: int, depends_on: str) -> ProjectFit | None:
        """The fit, if nothing but answers has changed since."""
        found = self._fits.get(project)
        return found.fit if found is not None and found.depends_on == depends_on else None

    def shared_facts(self, project: int) -> SharedFacts | None:
        """What a policy knew about all tasks when the project was fitted."""
        found = self._fits.get(project)
        return None if found is None else found.shared

    def forget_waiting(self, project: int, opened: Collection[int]) -> None:
        """Tasks that were opened do not wait any more."""
        found = self._fits.get(project)
        if found is not None and found.shared is not None:
            waiting = tuple(task for task in found.shared.waiting if task not in opened)
            self._fits[project] = replace(found, shared=replace(found.shared, waiting=waiting))

    def clear(self) -> None:
        self._fits.clear()


def max_answers() -> int:
    """How many answers the fits that are remembered may have learned from."""
    limit = memory_limit()
    return MAX_ANSWERS if limit is None else min(MAX_ANSWERS, int(MEMORY_SHARE * limit * MEGABYTE / BYTES_PER_ANSWER))
