"""Shows progress on a terminal, if the work takes longer than a moment."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SECONDS_BEFORE_SHOWN = 1.0


class ProgressDisplay:
    """A context that is called as `display(stage, fraction)` and draws one bar on stderr, which disappears at the end.

    If the work takes less than a second, or stderr goes to a file, it shows nothing and does not import rich.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._on_terminal = sys.stderr.isatty()
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()

    def __call__(self, stage: str, fraction: float) -> None:
        if self._bar is None:
            if not self._on_terminal or time.monotonic() - self._started < SECONDS_BEFORE_SHOWN:
                return
            self._bar = _start_bar()
        bar, task = self._bar
        bar.update(task, description=stage, completed=min(max(fraction, 0.0), 1.0))


def _start_bar() -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),  # file names may contain what rich treats as markup
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=1.0)
    bar.start()
    return bar, task
