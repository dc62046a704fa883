"""Counters that an import of predictions has spoilt are repaired, whatever ends the pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ls_crowd_plugin.errors import Interrupted, Unreachable
from ls_crowd_plugin.pipeline.context import Pace, RunFlags
from ls_crowd_plugin.store import Store
from tests.support.memory_studio import MemoryStudio
from tests.support.passes import agreed_studio, pass_over
from tests.support.predictions import MANY

TASK = 3


class Killed(BaseException):
    """The end of the process."""


@pytest.fixture
def studio() -> MemoryStudio:
    return agreed_studio(MANY)


def answer_and_lose_count(studio: MemoryStudio) -> None:
    """Somebody submits an annotation while the import writes back the counters from before."""
    row = studio.task_rows[TASK]
    before = {name: row[name] for name in ("total_annotations", "cancelled_annotations", "is_labeled")}
    studio.annotate(TASK, 9, "good")
    row.update(before)


def counted_and_present(studio: MemoryStudio) -> tuple[int, int]:
    row = studio.task_rows[TASK]
    return row["total_annotations"], len(row["annotations"])


def test_of_a_task_that_was_answered_meanwhile(studio: MemoryStudio, sqlite_store: Store) -> None:
    studio.after_write[1] = lambda: answer_and_lose_count(studio)
    pass_over(studio, sqlite_store)
    assert studio.writes[0] == "import"
    assert counted_and_present(studio) == (4, 4)
    studio.reads.clear()
    pass_over(studio, sqlite_store)
    assert "task" not in studio.writes
    assert [read for read in studio.reads if read.startswith("list since")] == []  # it was checked once


def lose_the_answer(studio: MemoryStudio) -> None:
    del studio
    raise Interrupted("The answer was lost.")


def kill(studio: MemoryStudio) -> None:
    del studio
    raise Killed


def fail_to_list(studio: MemoryStudio) -> None:
    studio.failing["list"] = Unreachable("Label Studio is away.")


@pytest.mark.parametrize("end", [lose_the_answer, kill, fail_to_list])
def test_where_the_pass_is_broken_off(
    end: Callable[[MemoryStudio], None], studio: MemoryStudio, sqlite_store: Store
) -> None:
    def answer_and_end() -> None:
        answer_and_lose_count(studio)
        end(studio)

    studio.after_write[1] = answer_and_end
    try:
        pass_over(studio, sqlite_store)
    except Killed:
        assert counted_and_present(studio) == (3, 4)
    studio.repair()
    pass_over(studio, sqlite_store, flags=RunFlags(pace=Pace.SETTLE))
    assert counted_and_present(studio) == (4, 4)
