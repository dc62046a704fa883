"""A project that needs more memory than a worker may use is parked with a sentence, and the next one is served."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ls_crowd_plugin.pipeline.memory import limit_memory
from ls_crowd_plugin.store import open_store
from tests.support.memory_studio import MOOD_CONFIG, PROJECT, MemoryStudio, mood
from tests.support.workers import enqueue, entry_of, make_worker

SMALL = PROJECT + 1
LIMIT = 512
TASKS, CHARACTERS = 50, 15_000_000  # of each annotation: more than the limit in all, each within the bounds


def large_studio() -> MemoryStudio:
    studio = MemoryStudio(range(1, TASKS + 1))
    note = {"from_name": "note", "value": {"text": "x" * CHARACTERS}}
    for task in range(1, TASKS + 1):
        studio.annotate(task, 1, "good", result=[*mood("good"), note])
    studio.add_project(SMALL, [1001, 1002], label_config=MOOD_CONFIG)
    for annotator in (1, 2, 3):
        studio.annotate(1001, annotator, "good")
        studio.annotate(1002, annotator, "bad")
    return studio


def main() -> None:
    """Run a worker in this process until both projects were served, and print what became of them."""
    studio = large_studio()
    with open_store(sys.argv[1]) as store:
        enqueue(store, PROJECT)
        limit_memory(int(sys.argv[2]))
        worker = make_worker(studio, store)
        assert worker.step()
        enqueue(store, SMALL)
        assert worker.step()
        errors = {project: entry_of(store, project).error for project in (PROJECT, SMALL)}
        waiting = {project: entry_of(store, project).waiting for project in (PROJECT, SMALL)}
        small = {task: labels for task, labels in studio.labels().items() if task > 1000}
        print(json.dumps([errors, waiting, small]))


def run_worker(tmp_path: Path, megabytes: int) -> tuple[dict[str, str | None], dict[str, float | None], object]:
    command = [sys.executable, "-m", __name__, f"sqlite:///{tmp_path / 'crowd.db'}", str(megabytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    errors, waiting, small = json.loads(done.stdout)
    return errors, waiting, small


@pytest.mark.slow
def test_a_project_that_needs_too_much_memory_is_parked_and_the_next_one_served(tmp_path: Path) -> None:
    errors, waiting, small = run_worker(tmp_path, LIMIT)
    assert errors[str(SMALL)] is None
    assert errors[str(PROJECT)] == (
        "Project 7 (0 tasks and 0 annotations read so far) needs more memory than the 512 MB that LS_CROWD_MEMORY_MB"
        " allows; set LS_CROWD_MEMORY_MB higher if the machine has more, delete annotations that are far too large, or"
        " split the project."
    )
    assert waiting == {str(PROJECT): None, str(SMALL): None}
    assert small == {"1001": ["good"], "1002": ["bad"]}


if __name__ == "__main__":
    main()
