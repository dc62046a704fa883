"""The trail records every change of every annotation, and keeps it after the annotation is gone, but not for ever."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import delete

from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.mirror import project_table
from ls_crowd_plugin.store.trail import Event, count_reassigned, record_events, remove_before
from tests.support.mirrored import (
    LATER,
    NOON,
    PROJECT,
    drop_tasks,
    make_annotation,
    make_task,
    read_trail,
    replace_tasks,
)
from tests.support.transactions import run


def test_records_a_new_annotation(mirror_store: Store) -> None:
    replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
    (row,) = read_trail(mirror_store)
    assert (row["event"], row["annotation"], row["annotator"], row["at"]) == ("created", 10, 5, NOON)


def test_records_a_changed_annotation_with_its_new_result(mirror_store: Store) -> None:
    replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
    replace_tasks(mirror_store, (make_task(1), [make_annotation(10, label="bad")]))
    events = [(row["event"], "bad" in row["result"]) for row in read_trail(mirror_store)]
    assert events == [("created", False), ("changed", True)]


def test_records_a_deleted_annotation_with_its_last_result(mirror_store: Store) -> None:
    replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
    replace_tasks(mirror_store, (make_task(1), []))
    events = [(row["event"], "good" in row["result"]) for row in read_trail(mirror_store)]
    assert events == [("created", True), ("deleted", True)]


def test_records_nothing_if_nothing_changed(mirror_store: Store) -> None:
    for _ in range(3):
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
    assert len(read_trail(mirror_store)) == 1


def test_shows_an_edit_by_somebody_else(mirror_store: Store) -> None:
    replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
    edited = replace(make_annotation(10, label="bad"), updated_by=9, updated_at=LATER)
    replace_tasks(mirror_store, (make_task(1), [edited]))
    last = read_trail(mirror_store)[-1]
    assert (last["event"], last["annotator"], last["changed_by"], last["at"]) == ("changed", 5, 9, LATER)


def test_records_another_author_as_an_event_of_its_own(mirror_store: Store) -> None:
    replace_tasks(mirror_store, (make_task(1), [make_annotation(10, by=5)]))
    replace_tasks(mirror_store, (make_task(1), [replace(make_annotation(10, by=5), annotator=6)]))
    events = [(row["event"], row["annotator"]) for row in read_trail(mirror_store)]
    assert events == [("created", 5), ("reassigned", 6)]


def test_counts_reassigned_annotations_once(mirror_store: Store) -> None:
    assert run(mirror_store.data, count_reassigned, PROJECT) == 0
    for author in (5, 6, 5):
        replace_tasks(mirror_store, (make_task(1), [make_annotation(10, by=author), make_annotation(11, by=7)]))
    assert run(mirror_store.data, count_reassigned, PROJECT) == 1


def test_says_when_each_event_was_noticed(mirror_store: Store) -> None:
    replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
    replace_tasks(mirror_store, (make_task(1), []))
    events = [(row["event"], row["noticed"]) for row in read_trail(mirror_store)]
    assert events == [("created", LATER), ("deleted", LATER)]


def test_is_in_the_order_of_time(mirror_store: Store) -> None:
    later = replace(make_annotation(10), updated_at=LATER)
    replace_tasks(mirror_store, (make_task(1), [later, make_annotation(11, by=6)]))
    assert [row["annotation"] for row in read_trail(mirror_store)] == [11, 10]


def test_keeps_what_was_said_on_a_dropped_task(mirror_store: Store) -> None:
    replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
    drop_tasks(mirror_store, 1)
    assert [row["event"] for row in read_trail(mirror_store)] == ["created", "deleted"]


def test_outlives_its_project(mirror_store: Store) -> None:
    replace_tasks(mirror_store, (make_task(1), [make_annotation(10)]))
    with mirror_store.data.begin() as connection:
        connection.execute(delete(project_table))
    assert len(read_trail(mirror_store)) == 1


def test_loses_events_that_were_noticed_before_a_time(mirror_store: Store) -> None:
    """The first release did not say when it noticed them, but when they happened."""
    for at, noticed in ((NOON, NOON), (NOON, LATER), (NOON, ""), (LATER, "")):
        event = Event(1, 10, "changed", at, 5, 5, "[]")
        run(mirror_store.data, record_events, PROJECT, [event], noticed)
    assert run(mirror_store.data, remove_before, NOON, 10) == 0
    assert [run(mirror_store.data, remove_before, LATER, 1) for _ in range(3)] == [1, 1, 0]
    assert [(row["at"], row["noticed"]) for row in read_trail(mirror_store)] == [(NOON, LATER), (LATER, "")]
