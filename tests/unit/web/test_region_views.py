"""Regions where they are: spans in their text, boxes on the area of their image."""

from __future__ import annotations

import json
from dataclasses import replace

from ls_crowd_plugin.controls import NO_REGION
from ls_crowd_plugin.records import Json, LabelRegion, TaskLabel
from ls_crowd_plugin.store import Store, mirror
from ls_crowd_plugin.web.region_views import RegionView, region_view
from tests.support.mirrored import make_task
from tests.support.result_records import label_with_votes

TEXT = "Ada Berg left Acme."


def span(start: int, end: int, label: str, question: str = "entity") -> TaskLabel:
    region = LabelRegion("entity", "text", "span", {"start": start, "end": end, "text": TEXT[start:end]})
    return label_with_votes({1: label}, question=question, label=label, region=region, part=1)


def box(label: str, **size: float) -> TaskLabel:
    value: Json = {"x": 10.0, "y": 20.0, "width": 30.0, "height": 40.0, "rotation": 0.0}
    return label_with_votes(
        {1: label}, question="thing", label=label, region=LabelRegion("thing", "image", "box", value, **size), part=1
    )


def view_of(store: Store, *labels: TaskLabel) -> RegionView:
    with store.data.begin() as connection:
        mirror.save_project(connection, 3, title="Names", label_config="", created_at="")
        task = replace(make_task(1), data=json.dumps({"text": TEXT}))
        mirror.replace_tasks(connection, 3, [(task, [])], "")
        return region_view(connection, 3, 1, labels)


def test_a_text_is_cut_at_its_spans(sqlite_store: Store) -> None:
    view = view_of(sqlite_store, span(0, 8, "PER"), span(14, 18, "ORG"))
    assert view.texts == [[("Ada Berg", "PER"), (" left ", ""), ("Acme", "ORG"), (".", "")]]
    assert view.boxes == ""


def test_overlapping_spans_share_a_piece(sqlite_store: Store) -> None:
    view = view_of(sqlite_store, span(0, 8, "PER"), span(4, 13, "ORG"))
    assert view.texts == [[("Ada ", "PER"), ("Berg", "PER, ORG"), (" left", "ORG"), (" Acme.", "")]]


def test_a_span_that_ends_beyond_the_stored_text_is_cut(sqlite_store: Store) -> None:
    assert view_of(sqlite_store, span(14, 99, "ORG")).texts == [[("Ada Berg left ", ""), ("Acme.", "ORG")]]


def test_a_region_that_does_not_exist_and_details_are_left_out(sqlite_store: Store) -> None:
    view = view_of(sqlite_store, span(0, 8, NO_REGION), span(0, 8, "clear", question="sure"))
    assert (view.texts, view.boxes) == ([], "")


def test_boxes_are_drawn_in_the_shape_of_their_image(sqlite_store: Store) -> None:
    view = view_of(sqlite_store, box("Car", original_width=200, original_height=100), box("Dog"))
    assert "2 boxes: Car, Dog." in view.boxes
    assert 'viewBox="0 0 480 240"' in view.boxes


def test_boxes_of_an_unknown_image_are_drawn_on_a_square(sqlite_store: Store) -> None:
    assert 'viewBox="0 0 480 480"' in view_of(sqlite_store, box("Car")).boxes
