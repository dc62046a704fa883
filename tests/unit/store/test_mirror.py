"""The mirror holds what Label Studio last showed, and its revision rises whenever the consensus may change."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError

from ls_crowd_plugin.store import Annotation, Store, Task, mirror
from ls_crowd_plugin.store.mirror import EXCERPT, MirroredProject, project_table
from ls_crowd_plugin.store.mirror_facts import count_tasks
from ls_crowd_plugin.store.predictions import read_predictions, save_predictions
from ls_crowd_plugin.store.sql import CHUNK
from ls_crowd_plugin.store.trail import ErasedMark, read_erased_marks
from tests.support.mirrored import (
    LATER,
    NOON,
    PROJECT,
    drop_tasks,
    make_annotation,
    make_task,
    read_annotations,
    read_trail,
    replace_tasks,
    save_project,
    stored_prediction,
)
from tests.support.transactions import run

MORE_THAN_ONE_STATEMENT = range(1, 2 * CHUNK + 3)


def get_project(store: Store) -> MirroredProject:
    project = run(store.data, mirror.get_project, PROJECT)
    assert project is not None
    return project


class TestReplaceTasks:
    def test_stores_annotations(self, mirror_store: Store) -> None:
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
        assert read_annotations(mirror_store) == [make_annotation(10)]

    def test_stores_tasks(self, mirror_store: Store) -> None:
        second = replace(make_task(2), gold_field='"good"', data='{"text": "Hello."}')
        replace_tasks(mirror_store, (second, []), (make_task(1), []))
        with mirror_store.data.connect() as connection:
            assert mirror.read_tasks(connection, PROJECT) == {1: make_task(1), 2: second}
            assert count_tasks(connection, PROJECT) == 2

    def test_keeps_the_parsed_result_readable(self, mirror_store: Store) -> None:
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10, label="ünï")]))
        assert read_annotations(mirror_store)[0].items[0]["value"] == {"choices": ["ünï"]}

    def test_replaces_what_was_there(self, mirror_store: Store) -> None:
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10), make_annotation(11, by=6)]))
        replace_tasks(mirror_store, (make_task(1), [make_annotation(11, by=6, label="bad")]))
        assert read_annotations(mirror_store) == [make_annotation(11, by=6, label="bad")]

    def test_leaves_other_tasks_alone(self, mirror_store: Store) -> None:
        other = make_annotation(20, task=2)
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]), (make_task(2), [other]))
        replace_tasks(mirror_store, (make_task(1), []))
        assert read_annotations(mirror_store) == [other]

    def test_leaves_other_projects_alone(self, mirror_store: Store) -> None:
        save_project(mirror_store, 8, "Other")
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
        replace_tasks(mirror_store, (make_task(2), [make_annotation(20, task=2)]), project=8)
        assert read_annotations(mirror_store) == [make_annotation(10)]

    def test_counts_changed_annotations(self, mirror_store: Store) -> None:
        before = [make_annotation(10), make_annotation(11, by=6), make_annotation(12, by=7)]
        replace_tasks(mirror_store, (make_task(1), before))
        after = [make_annotation(10), make_annotation(11, by=6, label="bad"), make_annotation(13, by=8)]
        assert replace_tasks(mirror_store, (make_task(1), after)) == 3

    def test_counts_nothing_if_nothing_changed(self, mirror_store: Store) -> None:
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
        assert replace_tasks(mirror_store, (make_task(1), [make_annotation(10)])) == 0

    def test_does_nothing_without_tasks(self, mirror_store: Store) -> None:
        assert replace_tasks(mirror_store) == 0

    def test_accepts_more_tasks_than_fit_into_one_statement(self, mirror_store: Store) -> None:
        many = MORE_THAN_ONE_STATEMENT
        replace_tasks(mirror_store, *((make_task(n), [make_annotation(10_000 + n, task=n)]) for n in many))
        changed = replace_tasks(mirror_store, *((make_task(number), []) for number in many))
        assert (changed, read_annotations(mirror_store)) == (len(many), [])


class TestMovedAnnotations:
    def test_are_on_their_new_task(self, mirror_store: Store) -> None:
        """Whichever of the two tasks is replaced first, or if only one is."""
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]), (make_task(2), []))
        replace_tasks(mirror_store, (make_task(2), [make_annotation(10, task=2)]))
        assert [(one.id, one.task) for one in read_annotations(mirror_store)] == [(10, 2)]
        replace_tasks(mirror_store, (make_task(1), []))
        assert [(one.id, one.task) for one in read_annotations(mirror_store)] == [(10, 2)]
        assert [row["event"] for row in read_trail(mirror_store)] == ["created", "moved"]

    def test_of_another_project_with_the_same_ids_are_left_alone(self, mirror_store: Store) -> None:
        save_project(mirror_store, 8)
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10, label="bad")]), project=8)
        assert [len(read_annotations(mirror_store, project)) for project in (PROJECT, 8)] == [1, 1]


class TestErasedMarks:
    def marked(self, **changes: object) -> Annotation:
        return replace(make_annotation(10), ground_truth=True, updated_by=1, **changes)  # type: ignore[arg-type]

    def test_are_kept_with_who_set_and_who_erased_them(self, mirror_store: Store) -> None:
        replace_tasks(mirror_store, (make_task(1), [self.marked()]))
        replace_tasks(mirror_store, (make_task(1), [replace(make_annotation(10), updated_by=9, updated_at=LATER)]))
        assert run(mirror_store.data, read_erased_marks, PROJECT) == [ErasedMark(1, 10, 1, 9)]

    def test_are_nobodys_doing_if_label_studio_does_not_tell(self, mirror_store: Store) -> None:
        """It clears a mark silently when somebody marks another annotation of the task."""
        replace_tasks(mirror_store, (make_task(1), [self.marked()]))
        replace_tasks(mirror_store, (make_task(1), [replace(self.marked(), ground_truth=False)]))
        assert run(mirror_store.data, read_erased_marks, PROJECT) == [ErasedMark(1, 10, 1, None)]

    def test_include_those_of_deleted_annotations(self, mirror_store: Store) -> None:
        replace_tasks(mirror_store, (make_task(1), [self.marked()]))
        replace_tasks(mirror_store, (make_task(1), []))
        assert run(mirror_store.data, read_erased_marks, PROJECT) == [ErasedMark(1, 10, 1, None)]


class TestDropTasks:
    def test_removes_tasks_and_their_annotations(self, mirror_store: Store) -> None:
        other = make_annotation(20, task=2)
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]), (make_task(2), [other]))
        drop_tasks(mirror_store, 1)
        assert run(mirror_store.data, mirror.read_tasks, PROJECT).keys() == {2}
        assert read_annotations(mirror_store) == [other]

    def test_forgets_their_predictions(self, mirror_store: Store) -> None:
        run(mirror_store.data, save_predictions, PROJECT, [stored_prediction(1), stored_prediction(2)])
        drop_tasks(mirror_store, 1)
        assert run(mirror_store.data, read_predictions, PROJECT) == {2: stored_prediction(2)}

    def test_accepts_more_tasks_than_fit_into_one_statement(self, mirror_store: Store) -> None:
        replace_tasks(mirror_store, *((make_task(number), []) for number in MORE_THAN_ONE_STATEMENT))
        drop_tasks(mirror_store, *MORE_THAN_ONE_STATEMENT)
        assert run(mirror_store.data, count_tasks, PROJECT) == 0

    def test_ignores_unknown_tasks(self, mirror_store: Store) -> None:
        drop_tasks(mirror_store, 99)
        assert read_trail(mirror_store) == []


class TestProject:
    def test_is_updated(self, mirror_store: Store) -> None:
        config = "<View><Header/></View>"
        run(
            mirror_store.data,
            mirror.save_project,
            PROJECT,
            title="Renamed",
            label_config=config,
            created_at=NOON,
            pull_rule="",
        )
        project = get_project(mirror_store)
        assert (project.title, project.label_config) == ("Renamed", config)

    def test_keeps_its_cursor_when_it_is_updated(self, mirror_store: Store) -> None:
        run(mirror_store.data, mirror.set_pulled, PROJECT, until=NOON, newest_change=NOON, newest_seen_at=1.0)
        save_project(mirror_store, title="Renamed")
        assert get_project(mirror_store).pulled_until == NOON

    def test_loses_its_cursor_under_another_pull_rule(self, mirror_store: Store) -> None:
        run(mirror_store.data, mirror.set_pulled, PROJECT, until=NOON, newest_change=NOON, newest_seen_at=1.0)
        save_project(mirror_store, pull_rule="gold field: right")
        project = get_project(mirror_store)
        assert (project.pulled_until, project.pull_rule) == (None, "gold field: right")

    def test_has_no_cursor_when_it_is_new(self, mirror_store: Store) -> None:
        assert get_project(mirror_store).pulled_until is None

    def test_is_none_if_unknown(self, store: Store) -> None:
        assert run(store.data, mirror.get_project, PROJECT) is None

    def test_has_a_title_even_if_unknown(self, mirror_store: Store) -> None:
        with mirror_store.data.connect() as connection:
            assert mirror.project_titles(connection) == {PROJECT: "Moods"}
            assert mirror.project_title(connection, PROJECT) == "Moods"
            assert mirror.project_title(connection, 99) == "Project 99"

    def test_takes_its_tasks_and_annotations_with_it(self, mirror_store: Store) -> None:
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
        with mirror_store.data.begin() as connection:
            connection.execute(delete(project_table))
            assert count_tasks(connection, PROJECT) == 0
            assert mirror.read_annotations(connection, PROJECT) == []

    def test_must_exist_before_its_tasks(self, store: Store) -> None:
        with pytest.raises(IntegrityError):
            replace_tasks(store, (make_task(1), []))


class TestRevision:
    """Rises whenever the consensus may change, and only then."""

    def rises(self, store: Store, *tasks: tuple[Task, list[Annotation]]) -> bool:
        before = get_project(store).revision
        replace_tasks(store, *tasks)
        return get_project(store).revision > before

    def test_rises_with_an_annotation(self, mirror_store: Store) -> None:
        assert self.rises(mirror_store, (make_task(1), [make_annotation(10)]))
        assert self.rises(mirror_store, (make_task(1), [make_annotation(10, label="bad")]))
        assert self.rises(mirror_store, (make_task(1), []))

    def test_stays_if_the_same_is_pulled_again(self, mirror_store: Store) -> None:
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
        assert not self.rises(mirror_store, (make_task(1), [make_annotation(10)]))

    def test_stays_if_only_the_time_of_the_task_changes(self, mirror_store: Store) -> None:
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
        assert not self.rises(mirror_store, (replace(make_task(1), updated_at=LATER), [make_annotation(10)]))

    @pytest.mark.parametrize(
        "change",
        [{"required_annotators": 3}, {"gold_field": '"good"'}, {"data": '{"text": "Hello."}'}],
        ids=lambda change: next(iter(change)),
    )
    def test_rises_with_what_the_fit_depends_on(self, mirror_store: Store, change: dict[str, int | str]) -> None:
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
        task = Task(**{**vars(make_task(1)), **change})
        assert self.rises(mirror_store, (task, [make_annotation(10)]))

    def test_rises_when_a_task_is_gone(self, mirror_store: Store) -> None:
        replace_tasks(mirror_store, (make_task(1), []))
        before = get_project(mirror_store).revision
        drop_tasks(mirror_store, 1)
        assert get_project(mirror_store).revision > before


class TestTexts:
    def put(self, store: Store, texts: dict[str, str]) -> None:
        replace_tasks(store, (replace(make_task(1), data=json.dumps(texts)), []), (make_task(2), []))

    def test_are_read_by_object_without_embedded_files(self, mirror_store: Store) -> None:
        self.put(mirror_store, {"text": "Hello.", "image": "data:image/png;base64,AAAA"})
        assert run(mirror_store.data, mirror.read_texts, PROJECT, [1, 2, 3]) == {1: {"text": "Hello."}, 2: {}}

    def test_are_joined_and_cut_in_an_excerpt(self, mirror_store: Store) -> None:
        self.put(mirror_store, {"title": "Hello", "text": "x" * EXCERPT})
        excerpts = run(mirror_store.data, mirror.read_excerpts, PROJECT, [1])
        assert (excerpts[1][:9], len(excerpts[1])) == ("Hello · x", EXCERPT)
