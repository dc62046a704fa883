"""Stored results are read as they were saved, and can be ordered, filtered and paged."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from ls_crowd_plugin.records import Annotator, LeftOut, ProjectSummary, Ring, TaskLabel
from ls_crowd_plugin.store import Store, results
from ls_crowd_plugin.store.users import save_users
from tests.support.mirrored import PROJECT, make_task, replace_tasks
from tests.support.result_records import BOX, DETAIL, FIGURES, make_annotator, make_label
from tests.support.transactions import run

SUMMARY = ProjectSummary(
    tasks=4,
    method="gem",
    contrary=[7],
    confidence=0.9,
    left_out=[LeftOut("note", "TextArea", "it is not categorical")],
    rings=[Ring((5, 6), shared=60, same=58, alone=20, tasks=(1, 2), is_one_voice=False)],
)
LABELS = [
    make_label(0, 1, 0.99, difficulty=0.5, answers=5),
    make_label(1, 1, 0.60, question="entity", region=BOX),
    make_label(2, 2, 0.97, gold="good"),
    make_label(3, 3, 0.80, difficulty=1.5, plurality="bad"),
    make_label(4, 4, 0.95, plurality=None, disputed=True, answers=9),
]
ANNOTATORS = [
    make_annotator(5, answers=3),
    make_annotator(6, verdict="contrary", skill=None, answers=7),
    make_annotator(7, verdict="random", skill=-0.5),
    make_annotator(8, skill=0.5),
]
NAMES = {5: "Zoe", 6: "ada 100%", 7: "Bob"}


def save(store: Store, labels: list[TaskLabel], annotators: list[Annotator], project: int = PROJECT) -> None:
    rows = [(annotator, DETAIL) for annotator in annotators]
    run(store.data, results.save_results, project, SUMMARY, FIGURES, labels, rows)


@pytest.fixture
def result_store(mirror_store: Store) -> Store:
    save(mirror_store, LABELS, ANNOTATORS)
    save(mirror_store, [make_label(0, 90, 0.5)], [make_annotator(5)], project=8)
    run(mirror_store.data, save_users, NAMES)
    return mirror_store


class TestProject:
    def test_is_read_as_it_was_saved(self, result_store: Store) -> None:
        stored = run(result_store.data, results.load_results, PROJECT)
        assert stored is not None
        assert (stored.summary, stored.figures) == (SUMMARY, FIGURES)
        assert abs(stored.at - time.time()) < 60
        assert run(result_store.data, results.load_summary, PROJECT) == SUMMARY

    def test_may_lack_some_figures(self, store: Store) -> None:
        figures = replace(FIGURES, difficulty=None, over_time=None)
        run(store.data, results.save_results, PROJECT, SUMMARY, figures, [], [])
        stored = run(store.data, results.load_results, PROJECT)
        assert stored is not None
        assert stored.figures == figures

    def test_is_none_without_results(self, store: Store) -> None:
        assert run(store.data, results.load_results, PROJECT) is None
        assert run(store.data, results.load_summary, PROJECT) is None

    def test_is_replaced_by_the_next_results(self, result_store: Store) -> None:
        save(result_store, LABELS[:1], ANNOTATORS[:1])
        assert run(result_store.data, results.list_tasks, PROJECT)[1] == 1
        assert run(result_store.data, results.list_annotators, PROJECT)[1] == 1
        assert run(result_store.data, results.list_tasks, 8)[1] == 1

    def test_is_forgotten(self, result_store: Store) -> None:
        run(result_store.data, results.forget_results, PROJECT)
        assert run(result_store.data, results.load_results, PROJECT) is None
        assert run(result_store.data, results.list_tasks, PROJECT) == ([], 0)
        assert run(result_store.data, results.list_annotators, PROJECT) == ([], 0)

    def test_may_have_more_labels_than_fit_into_one_batch(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(results, "BATCH", 2)
        save(store, LABELS, ANNOTATORS)
        assert run(store.data, results.list_tasks, PROJECT)[1] == 4


class TestTasks:
    def task_ids(self, store: Store, order: str = "least confident", show: str = "all") -> list[int]:
        tasks, total = run(store.data, results.list_tasks, PROJECT, order=order, show=show)
        assert total == len(tasks)
        return [task.task for task in tasks]

    def test_have_their_labels_the_least_confident_first(self, result_store: Store) -> None:
        tasks, _ = run(result_store.data, results.list_tasks, PROJECT)
        assert tasks[0].labels == [LABELS[1], LABELS[0]]
        assert run(result_store.data, results.load_labels, PROJECT, [2, 99]) == {2: [LABELS[2]], 99: []}

    def test_have_an_excerpt_of_their_text(self, result_store: Store) -> None:
        replace_tasks(result_store, (replace(make_task(1), data='{"text": "Hello."}'), []))
        tasks, _ = run(result_store.data, results.list_tasks, PROJECT)
        assert [task.text for task in tasks] == ["Hello.", "", "", ""]

    @pytest.mark.parametrize(
        ("order", "expected"),
        [
            ("least confident", [1, 3, 4, 2]),
            ("most confident", [2, 4, 3, 1]),
            ("hardest", [3, 1, 2, 4]),
            ("most answers", [4, 1, 2, 3]),
        ],
    )
    def test_are_ordered(self, result_store: Store, order: str, expected: list[int]) -> None:
        assert self.task_ids(result_store, order=order) == expected

    @pytest.mark.parametrize(
        ("show", "expected"),
        [
            ("all", [1, 3, 4, 2]),
            ("unsettled", [1, 3]),
            ("settled", [4, 2]),
            ("disputed", [4]),
            ("differs from plurality", [3]),
            ("gold", [2]),
        ],
    )
    def test_are_filtered(self, result_store: Store, show: str, expected: list[int]) -> None:
        assert self.task_ids(result_store, show=show) == expected

    def test_are_paged(self, result_store: Store) -> None:
        tasks, total = run(result_store.data, results.list_tasks, PROJECT, offset=1, limit=2)
        assert ([task.task for task in tasks], total) == ([3, 4], 4)


class TestAnnotators:
    def test_are_read_as_they_were_saved(self, result_store: Store) -> None:
        annotators, total = run(result_store.data, results.list_annotators, PROJECT)
        names = {**NAMES, 8: "user 8"}
        expected = [replace(annotator, name=names[annotator.annotator]) for annotator in ANNOTATORS]
        assert total == 4
        assert sorted(annotators, key=lambda annotator: int(annotator.annotator)) == expected

    @pytest.mark.parametrize(
        ("order", "descending", "expected"),
        [
            ("name", False, [8, 6, 7, 5]),  # who has no name comes first, capitals do not count
            ("name", True, [5, 7, 6, 8]),
            ("skill", False, [7, 8, 5, 6]),  # missing values come last both ways
            ("skill", True, [5, 8, 7, 6]),
            ("answers", True, [7, 8, 6, 5]),
        ],
    )
    def test_are_ordered(self, result_store: Store, order: str, descending: bool, expected: list[int]) -> None:
        annotators, _ = run(result_store.data, results.list_annotators, PROJECT, order=order, descending=descending)
        assert [annotator.annotator for annotator in annotators] == expected

    def test_are_filtered_by_verdict(self, result_store: Store) -> None:
        annotators, total = run(result_store.data, results.list_annotators, PROJECT, verdict="contrary")
        assert ([annotator.annotator for annotator in annotators], total) == ([6], 1)

    @pytest.mark.parametrize(("name", "expected"), [("ADA", [6]), ("0%", [6]), ("%", [6]), ("_", []), ("o", [7, 5])])
    def test_are_filtered_by_a_part_of_the_name(self, result_store: Store, name: str, expected: list[int]) -> None:
        annotators, _ = run(result_store.data, results.list_annotators, PROJECT, name=name)
        assert [annotator.annotator for annotator in annotators] == expected

    def test_are_filtered_by_id(self, result_store: Store) -> None:
        annotators, total = run(result_store.data, results.list_annotators, PROJECT, annotator_ids=[5, 8, 99])
        assert ([annotator.annotator for annotator in annotators], total) == ([8, 5], 2)

    def test_are_paged(self, result_store: Store) -> None:
        annotators, total = run(result_store.data, results.list_annotators, PROJECT, offset=1, limit=2)
        assert ([annotator.annotator for annotator in annotators], total) == ([6, 7], 4)

    def test_have_details(self, result_store: Store) -> None:
        expected = (replace(ANNOTATORS[1], name="ada 100%"), DETAIL)
        assert run(result_store.data, results.load_annotator, PROJECT, 6) == expected

    def test_have_a_name_of_last_resort(self, result_store: Store) -> None:
        loaded = run(result_store.data, results.load_annotator, PROJECT, 8)
        assert loaded is not None
        assert loaded[0].name == "user 8"

    def test_are_none_if_unknown(self, result_store: Store) -> None:
        assert run(result_store.data, results.load_annotator, PROJECT, 99) is None
