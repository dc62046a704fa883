"""The last fits, in a worker's memory: a task that was just answered needs a vote instead of a new fit."""

from __future__ import annotations

from .memory import MEGABYTE, memory_limit
from .project_fit import ProjectFit

MAX_PROJECTS = 4  # whose fits are remembered
MAX_ANSWERS = 1_000_000  # of all of them
BYTES_PER_ANSWER = 1600  # of a fit
MEMORY_SHARE = 0.25  # of what the process can have


class FitMemory:
    """Fits by project. What is forgotten costs a fit, and nothing else."""

    def __init__(self) -> None:
        self._fits: dict[int, tuple[str, int, ProjectFit]] = {}  # the oldest first

    @property
    def is_empty(self) -> bool:
        return not self._fits

    def remember(self, project: int, depends_on: str, answers: int, fit: ProjectFit) -> None:
        """`depends_on` is what the fit depends on besides the answers; `answers` says how large it is."""
        self._fits.pop(project, None)
        most = max_answers()
        if answers > most:
            return
        self._fits[project] = (depends_on, answers, fit)
        while len(self._fits) > MAX_PROJECTS or sum(size for _, size, _ in self._fits.values()) > most:
            del self._fits[next(iter(self._fits))]

    def recall(self, project: int, depends_on: str) -> ProjectFit | None:
        """The fit, if nothing but answers has changed since."""
        remembered, _, fit = self._fits.get(project, ("", 0, None))
        return fit if remembered == depends_on else None

    def clear(self) -> None:
        self._fits.clear()


def max_answers() -> int:
    """How many answers the fits that are remembered may have learned from."""
    limit = memory_limit()
    return MAX_ANSWERS if limit is None else min(MAX_ANSWERS, int(MEMORY_SHARE * limit * MEGABYTE / BYTES_PER_ANSWER))
