"""A task that Label Studio cannot show costs only what it cannot show of it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import pytest

from ls_crowd_plugin.errors import BrokenAnswer, NotFound, Unreachable
from ls_crowd_plugin.labelstudio.salvage import UNREADABLE, read_page
from ls_crowd_plugin.records import Json

INCLUDE = "id,annotations,result,lead_time,data"


@dataclass
class Tasks:
    """A list of tasks, each with two annotations, that fails if it has to show certain fields of certain tasks."""

    count: int
    broken: dict[int, str] = field(default_factory=dict)  # task → the field that cannot be shown
    broken_results: set[int] = field(default_factory=set)  # annotations
    requests: list[tuple[str, int, int, int]] = field(default_factory=list)

    def read(self, include: str, page: int, size: int, tries: int) -> tuple[int, list[Json]]:
        self.requests.append((include, page, size, tries))
        shown = range(1, self.count + 1)[size * (page - 1) : size * page]
        if page > 1 and not shown:
            raise NotFound("There is no such page.")
        if any(self.broken.get(task) in include.split(",") for task in shown):
            raise BrokenAnswer("It answered 500.")
        names = include.split(",")
        return self.count, [self.task(task, names) for task in shown]

    def task(self, task: int, names: list[str]) -> Json:
        annotations = [{"id": 10 * task + who, "result": [who], "lead_time": 1.5} for who in (1, 2)]
        own: Json = {"id": task, "data": {"text": "x"}}
        own["annotations"] = [{name: one[name] for name in names if name in one} for one in annotations]
        return {name: own[name] for name in names if name in own}

    def result_of(self, annotation: int) -> object:
        if annotation in self.broken_results:
            raise BrokenAnswer("It answered 500.")
        return [annotation % 10]

    def page(self, page: int = 1, size: int = 100, include: str = INCLUDE) -> tuple[int, list[Json]]:
        return read_page(self.read, self.result_of, include, page, size)


def test_a_page_that_can_be_shown_takes_one_request() -> None:
    tasks = Tasks(250)
    total, found = tasks.page(2)
    assert (total, [task["id"] for task in found], len(tasks.requests)) == (250, list(range(101, 201)), 1)


@pytest.mark.parametrize("size", [1000, 100, 30, 7, 1])
@pytest.mark.parametrize("broken", [{3: "lead_time"}, {1: "result"}, {25: "result", 26: "data"}])
def test_every_other_task_is_read_as_always(size: int, broken: dict[int, str]) -> None:
    expected, tasks = Tasks(26), Tasks(26, broken, {10 * task + 1 for task in broken})
    for page in range(1, -(-26 // size) + 1):
        total, found = tasks.page(page, size)
        whole = expected.page(page, size)[1]
        assert (total, [task["id"] for task in found]) == (26, [task["id"] for task in whole])
        pairs = zip(found, whole, strict=True)
        assert all(one == other for one, other in pairs if one["id"] not in broken)


def test_an_infinite_time_of_work_costs_only_that_time() -> None:
    (task,) = [task for task in Tasks(20, {7: "lead_time"}).page()[1] if task["id"] == 7]
    assert task == {
        "id": 7,
        "annotations": [{"id": 71, "result": [1]}, {"id": 72, "result": [2]}],
        "data": {"text": "x"},
    }


def test_a_result_that_cannot_be_shown_is_marked_and_those_beside_it_are_read() -> None:
    (task,) = [task for task in Tasks(20, {7: "result"}, {72}).page()[1] if task["id"] == 7]
    assert [one["result"] for one in task["annotations"]] == [[1], UNREADABLE]
    assert task["data"] == {"text": "x"}


def test_data_that_cannot_be_shown_are_left_out() -> None:
    (task,) = [task for task in Tasks(20, {7: "data"}).page()[1] if task["id"] == 7]
    assert "data" not in task
    assert [one["result"] for one in task["annotations"]] == [[1], [2]]


def test_few_requests_are_needed_and_few_of_them_are_tried_often() -> None:
    tasks = Tasks(1000, {777: "result"}, {7771})
    tasks.page(1, 1000)
    assert len(tasks.requests) == 1 + 10 + 10 + 10 + 2
    assert [tries for _, _, _, tries in tasks.requests].count(6) == 1


@pytest.mark.parametrize("error", [Unreachable("It is down."), NotFound("There is no such project.")])
def test_other_failures_are_not_hidden(error: Exception) -> None:
    def read(*_: object) -> tuple[int, list[Json]]:
        raise copy.copy(error)

    with pytest.raises(type(error)):
        read_page(read, lambda _: [], INCLUDE, 1, 100)


def test_a_server_that_fails_at_everything_is_a_failure() -> None:
    tasks = Tasks(5, dict.fromkeys(range(1, 6), "id"))
    with pytest.raises(BrokenAnswer):
        tasks.page()


def test_lists_without_annotations_are_not_taken_apart() -> None:
    tasks = Tasks(20, {3: "data"})
    with pytest.raises(BrokenAnswer):
        tasks.page(include="id,data")
    assert len(tasks.requests) == 1
