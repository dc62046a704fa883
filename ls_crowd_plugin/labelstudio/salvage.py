"""Reads a page of tasks that Label Studio fails to show because of something that one annotation or prediction holds.

Label Studio stores an infinite time of work or half of a Unicode character, and from then on answers 500 to every list
of tasks with that annotation or prediction. So a page that fails is read in ever smaller parts, and the task that
remains without the fields that may be to blame, and its annotations' results one by one. Only the annotation that
cannot be shown is lost, or, as Label Studio does not tell them apart, all predictions on the task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from ..errors import BrokenAnswer, NotFound
from ..records import Json
from .retries import MAX_TRIES

PARTS = 10  # in which a page is read again
FEW_TRIES = 2  # of requests that are expected to fail
NESTED = ("annotations", "predictions")  # what tasks may be shown with
BLAMED = (("lead_time",), ("lead_time", "result"), ("lead_time", "result", "data"))  # fields to leave out in turn
UNREADABLE = "unreadable"  # stands for a result, or for a task's predictions, that cannot be shown; both are lists


class ReadPage(Protocol):
    def __call__(self, include: str, page: int, size: int, tries: int, /) -> tuple[int, list[Json]]:
        """Return the number of all tasks, and those on a page, with the fields listed in `include`."""


ResultOf = Callable[[int], object]  # annotation → its result


def read_page(
    read: ReadPage, result_of: ResultOf, include: str, page: int, size: int, tries: int = MAX_TRIES
) -> tuple[int, list[Json]]:
    """Return the number of all tasks, and those on a page."""
    try:
        return read(include, page, size, tries)
    except BrokenAnswer:
        if not set(NESTED) & set(include.split(",")):
            raise
    if size == 1:
        return _read_task(read, result_of, include, page)
    total = 0
    tasks: list[Json] = []
    smaller = size // PARTS if size % PARTS == 0 else 1
    parts = size // smaller
    for part in range(parts * (page - 1) + 1, parts * page + 1):
        try:
            total, found = read_page(read, result_of, include, part, smaller, FEW_TRIES)
        except NotFound:  # past the end by now
            if not tasks:
                raise
            break
        tasks += found
        if part * smaller >= total:
            break
    return total, tasks


def _read_task(read: ReadPage, result_of: ResultOf, include: str, page: int) -> tuple[int, list[Json]]:
    """Return one task without the fields that keep Label Studio from showing it."""
    if "predictions" in include.split(","):  # Label Studio shows their results whatever is asked for
        total, tasks = read("id", page, 1, MAX_TRIES)
        return total, [{**task, "predictions": UNREADABLE} for task in tasks]
    for blamed in BLAMED[:-1]:
        with suppress(BrokenAnswer):
            return _read_without(blamed, read, result_of, include, page, FEW_TRIES)
    return _read_without(BLAMED[-1], read, result_of, include, page, MAX_TRIES)


def _read_without(
    blamed: Sequence[str], read: ReadPage, result_of: ResultOf, include: str, page: int, tries: int
) -> tuple[int, list[Json]]:
    fields = [field for field in include.split(",") if field not in blamed]
    total, tasks = read(",".join(fields), page, 1, tries)
    if "result" in blamed:
        for annotation in (one for task in tasks for one in task.get("annotations") or ()):
            annotation["result"] = _result(result_of, int(annotation["id"]))
    return total, tasks


def _result(result_of: ResultOf, annotation: int) -> object:
    try:
        return result_of(annotation)
    except (BrokenAnswer, NotFound):
        return UNREADABLE
