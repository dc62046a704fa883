"""Regions are read from annotations and written into predictions; an annotation with an odd one gives no answer."""

from __future__ import annotations

from typing import Any

import pytest

from ls_crowd_plugin.controls import Region, RegionControl
from ls_crowd_plugin.records import Json
from ls_crowd_plugin.regions import Box, Span
from tests.support.region_configs import BOXES, SPANS, SURE, box_item, control_of, span_item


def read(control: RegionControl, items: list[Json], size: tuple[float, float] | None = None) -> list[Region]:
    regions = control.read(items, size)
    assert regions is not None
    return regions


class TestReading:
    def test_a_span(self) -> None:
        (region,) = read(control_of(SPANS.format("")), [span_item(3, 8, "ORG")])
        assert (region.extent, region.label) == (Span(3, 8), "ORG")

    def test_two_labels_on_one_span_gives_two_regions(self) -> None:
        regions = read(control_of(SPANS.format("")), [span_item(3, 8, "PER", "ORG")])
        assert [region.label for region in regions] == ["PER", "ORG"]

    def test_details_of_regions(self) -> None:
        control = control_of(SPANS.format(SURE.format("text", "")))
        sure = {**span_item(3, 8), "from_name": "sure", "type": "choices", "value": {"choices": ["yes"]}}
        first, second = read(control, [span_item(3, 8, "PER"), sure, span_item(0, 2, "PER", region_id="other")])
        assert (first.details, second.details) == ({"sure": "yes"}, {})

    def test_hypertext_uses_the_offsets_in_the_whole_text(self) -> None:
        control = control_of(SPANS.replace("<Text", "<HyperText").format(""))
        value = {"start": "/p[1]", "end": "/p[2]", "startOffset": 4, "endOffset": 2, "labels": ["PER"]}
        (region,) = read(control, [{**span_item(0, 0), "value": {**value, "globalOffsets": {"start": 10, "end": 30}}}])
        assert region.extent == Span(10, 30)
        (region,) = read(control, [{**span_item(0, 0), "value": {**value, "end": "/p[1]", "endOffset": 9}}])
        assert region.extent == Span(4, 9, "/p[1] /p[1]")

    def test_hypertext_needs_a_place_in_an_element(self) -> None:
        control = control_of(SPANS.replace("<Text", "<HyperText").format(""))
        value = {"globalOffsets": {"start": 10, "end": 30}, "labels": ["PER"]}
        assert control.read([{**span_item(0, 0), "value": value}]) is None

    def test_paragraphs(self) -> None:
        control = control_of(SPANS.replace("<Text", "<Paragraphs").format(""))
        value = {"start": "2", "end": "2", "startOffset": 4, "endOffset": 9, "labels": ["PER"]}
        (region,) = read(control, [{**span_item(0, 0), "value": value}])
        assert region.extent == Span(4, 9, "2 2")

    def test_boxes_in_pixels_and_inside_the_image(self) -> None:
        first, second = read(control_of(BOXES.format("")), [box_item(10, 20, 30, 40), box_item(-10, 90, 30, 40)])
        assert first.extent == Box(20, 20, 60, 40, 0, "0 0")
        assert second.extent == Box(0, 90, 40, 10, 0, "0 0")

    @pytest.mark.parametrize(
        "odd",
        [
            *(
                span_item(start, end, "PER")
                for start, end in ((8, 3), (None, 3), ("x", 3), (1.5, 3), (True, 3), (0, 10**400))
            ),
            span_item(3, 8, "gone"),
            span_item(3, 8),
            {**span_item(3, 8, "PER"), "value": None},
            {**span_item(3, 8, "PER"), "value": {"labels": "PER", "start": 3, "end": 8}},
        ],
    )
    def test_an_unreadable_span_makes_the_annotation_no_answer(self, odd: Json) -> None:
        assert control_of(SPANS.format("")).read([odd, span_item(0, 2, "PER", region_id="good")]) is None

    @pytest.mark.parametrize("odd", [(10, 20, -5, 4), (10, 20, float("nan"), 4), (200, 20, 5, 4), ("a", 1, 2, 3)])
    def test_an_unreadable_box_makes_the_annotation_no_answer(self, odd: tuple[Any, ...]) -> None:
        assert control_of(BOXES.format("")).read([box_item(*odd)]) is None

    def test_ignores_items_of_other_controls(self) -> None:
        other = {**span_item(3, 8, "PER"), "from_name": "else"}
        regions = read(control_of(SPANS.format("")), [other, span_item(0, 2, "PER")])
        assert [region.extent for region in regions] == [Span(0, 2)]

    def test_measures_all_boxes_of_a_task_by_one_image_size(self) -> None:
        control = control_of(BOXES.format(""))
        with_size = box_item(10, 20, 30, 40)
        without_size = {name: value for name, value in with_size.items() if not name.startswith("original")}
        size = control.image_size([[with_size], [box_item(1, 1, 1, 1)], [without_size], [without_size], [without_size]])
        assert list(size or ()) == [200, 100]
        (first,), (second,) = read(control, [with_size], size), read(control, [without_size], size)
        assert first.extent == second.extent


class TestWriting:
    @pytest.mark.parametrize(
        ("config", "item"),
        [
            (SPANS.format(""), span_item(3, 8, "ORG", text="Acme!")),
            (BOXES.format(""), box_item(10, 20, 30, 40)),
            (BOXES.format(""), box_item(10, 20, 30, 40, rotation=33.5)),
        ],
    )
    def test_restores_what_was_read(self, config: str, item: Json) -> None:
        control = control_of(config)
        (region,) = read(control, [item])
        (written,) = control.write("x", region.extent, region.label, {}, [region], None)
        assert written == {**item, "id": "x"}

    @pytest.mark.parametrize("tag", ["HyperText", "Paragraphs"])
    def test_restores_what_was_read_in_longer_texts(self, tag: str) -> None:
        value = {"start": "2", "end": "2", "startOffset": 4, "endOffset": 9, "labels": ["PER"], "text": "Ann B"}
        value |= {"globalOffsets": {"start": 40, "end": 45}} if tag == "HyperText" else {}
        control = control_of(SPANS.replace("<Text", f"<{tag}").format(""))
        item = {**span_item(0, 0), "value": value}
        (region,) = read(control, [item])
        (written,) = control.write("a", region.extent, region.label, {}, [region], None)
        assert written == item

    def test_cuts_the_text_out_of_a_region_or_of_the_whole_text(self) -> None:
        control = control_of(SPANS.format(""))
        members = read(control, [span_item(0, 3, "PER", text="Ada"), span_item(2, 8, "PER", text="a Berg")])
        for extent, text in ((Span(0, 3), "Ada"), (Span(4, 8), "Berg"), (Span(0, 8), "Ada Berg")):
            (written,) = control.write("a", extent, "PER", {}, members, "Ada Berg left.")
            assert written["value"]["text"] == text

    def test_gives_details_the_id_of_their_region(self) -> None:
        control = control_of(SPANS.format(SURE.format("text", "")))
        (region,) = read(control, [span_item(3, 8, "PER", text="Acme!")])
        first, second = control.write("a", region.extent, "PER", {"sure": "no"}, [region], None)
        assert (second["id"], second["from_name"], second["type"]) == (first["id"], "sure", "choices")
        assert second["value"] == {"start": 3, "end": 8, "text": "Acme!", "choices": ["no"]}
