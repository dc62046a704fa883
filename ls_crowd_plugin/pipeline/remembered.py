"""The last fits, in a worker's memory: a task that was just answered needs a vote instead of a new fit."""

from __future__ import annotations

from .project_fit import ProjectFit

MAX_PROJECTS = 4  # whose fits are remembered
MAX_ANSWERS = 1_000_000  # of all of them; a fit takes about a hundred megabytes for each hundred thousand


class FitMemory:
    """Fits by project. What is forgotten costs a fit, and nothing else."""

    def __init__(self) -> None:
        self._fits: dict[int, tuple[str, int, ProjectFit]] = {}  # the oldest first

    def remember(self, project: int, depends_on: str, answers: int, fit: ProjectFit) -> None:
        """`depends_on` is what the fit depends on besides the answers; `answers` says how large it is."""
        self._fits.pop(project, None)
        self._fits[project] = (depends_on, answers, fit)
        while len(self._fits) > MAX_PROJECTS or sum(size for _, size, _ in self._fits.values()) > MAX_ANSWERS:
            del self._fits[next(iter(self._fits))]

    def recall(self, project: int, depends_on: str) -> ProjectFit | None:
        """The fit, if nothing but answers has changed since."""
        remembered, _, fit = self._fits.get(project, ("", 0, None))
        return fit if remembered == depends_on else None

    def clear(self) -> bool:
        """Forget everything; whether there was anything."""
        found = bool(self._fits)
        self._fits.clear()
        return found
