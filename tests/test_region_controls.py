"""Regions as Label Studio has them: read from annotations, written into predictions; odd ones say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from ls_crowd_plugin.controls import NO_REGION, Region, Regions, read_config
from ls_crowd_plugin.regions import Box, Span

LABELS = '<Label value="PER"/><Label value="Organisation" alias="ORG"/>'
CHOICES = '<Choices name="sure" toName="{}" perRegion="true" {}><Choice value="yes"/><Choice value="no"/></Choices>'
TEXT = f'<View><Text name="text" value="$t"/><Labels name="entity" toName="text">{LABELS}</Labels>{{}}</View>'
IMAGE = '<View><Image name="image" value="$i"/>{}</View>'
BOXES = IMAGE.format(f'<RectangleLabels name="thing" toName="image">{LABELS}</RectangleLabels>{{}}')

Json = dict[str, Any]


def control_of(config: str) -> Regions:
    (control,) = read_config(config).regions
    return control


def read(control: Regions, items: list[Json]) -> list[Region]:
    found = control.read(items)
    assert found is not None
    return found


def span(start: Any, end: Any, *labels: str, identity: str = "a", text: str = "") -> Json:
    value = {"start": start, "end": end, "text": text, "labels": list(labels)}
    return {"id": identity, "from_name": "entity", "to_name": "text", "type": "labels", "value": value}


def box(x: Any, y: Any, width: Any, height: Any, label: str = "PER", **more: Any) -> Json:
    value = {"x": x, "y": y, "width": width, "height": height, "rotation": 0, "rectanglelabels": [label]} | more
    size = {"original_width": 200, "original_height": 100, "image_rotation": 0}
    return {"id": "b", "from_name": "thing", "to_name": "image", "type": "rectanglelabels", **size, "value": value}


class TestConfigs:
    @pytest.mark.parametrize(
        ("config", "shape", "labels"),
        [
            (TEXT.format(""), "span", ("PER", "ORG")),
            (TEXT.replace("<Text", "<HyperText").format(""), "hypertext", ("PER", "ORG")),
            (TEXT.replace("<Text", "<Paragraphs").format(""), "paragraphs", ("PER", "ORG")),
            (BOXES.format(""), "box", ("PER", "ORG")),
            (IMAGE.format('<Rectangle name="r" toName="image"/>'), "box", ("region",)),
        ],
    )
    def test_say_what_is_drawn(self, config: str, shape: str, labels: tuple[str, ...]) -> None:
        control = control_of(config)
        assert (control.shape, control.labels) == (shape, labels)
        assert control.questions[0].labels == (*labels, NO_REGION)

    def test_say_what_is_asked_about_each_region(self) -> None:
        named = f'<Rectangle name="r" toName="image"/><Labels name="kind" toName="image">{LABELS}</Labels>'
        control = control_of(IMAGE.format(named + CHOICES.format("image", "")))
        assert {detail.frame.name: detail.labels for detail in control.details} == {
            "kind": ("PER", "ORG"),
            "sure": ("yes", "no"),
        }

    @pytest.mark.parametrize(
        "control",
        [
            '<PolygonLabels name="p" toName="image"><Label value="a"/></PolygonLabels>',
            '<Brush name="b" toName="image"/>',
            '<Labels name="l" toName="image"><Label value="a"/></Labels>',
            CHOICES.format("image", ""),
            CHOICES.format("image", 'choice="multiple"'),
            '<RectangleLabels name="r" toName="nowhere"><Label value="a"/></RectangleLabels>',
        ],
    )
    def test_name_what_is_left_out(self, control: str) -> None:
        config = read_config(IMAGE.format(control))
        assert (config.regions, len(config.left_out)) == ((), 1)


class TestReading:
    def test_spans(self) -> None:
        (found,) = read(control_of(TEXT.format("")), [span(3, 8, "ORG")])
        assert (found.extent, found.label) == (Span(3, 8), "ORG")

    def test_two_labels_on_one_span_are_two_regions(self) -> None:
        assert [each.label for each in read(control_of(TEXT.format("")), [span(3, 8, "PER", "ORG")])] == ["PER", "ORG"]

    def test_what_is_said_about_each(self) -> None:
        control = control_of(TEXT.format(CHOICES.format("text", "")))
        said = {**span(3, 8), "from_name": "sure", "type": "choices", "value": {"choices": ["yes"]}}
        first, second = read(control, [span(3, 8, "PER"), said, span(0, 2, "PER", identity="other")])
        assert (first.details, second.details) == ({"sure": "yes"}, {})

    def test_hypertext_by_its_places_in_the_whole(self) -> None:
        control = control_of(TEXT.replace("<Text", "<HyperText").format(""))
        value = {"start": "/p[1]", "end": "/p[2]", "startOffset": 4, "endOffset": 2, "labels": ["PER"]}
        (found,) = read(control, [{**span(0, 0), "value": {**value, "globalOffsets": {"start": 10, "end": 30}}}])
        assert found.extent == Span(10, 30)
        (alone,) = read(control, [{**span(0, 0), "value": {**value, "end": "/p[1]", "endOffset": 9}}])
        assert alone.extent == Span(4, 9, "/p[1] /p[1]")

    def test_paragraphs(self) -> None:
        control = control_of(TEXT.replace("<Text", "<Paragraphs").format(""))
        value = {"start": "2", "end": "2", "startOffset": 4, "endOffset": 9, "labels": ["PER"]}
        (found,) = read(control, [{**span(0, 0), "value": value}])
        assert found.extent == Span(4, 9, "2 2")

    def test_boxes_in_pixels_and_inside_the_image(self) -> None:
        first, second = read(control_of(BOXES.format("")), [box(10, 20, 30, 40), box(-10, 90, 30, 40)])
        assert first.extent == Box(20, 20, 60, 40, 0, "0 0")
        assert second.extent == Box(0, 90, 40, 10, 0, "0 0")

    @pytest.mark.parametrize(
        "odd",
        [
            *(
                span(start, end, "PER")
                for start, end in ((8, 3), (None, 3), ("x", 3), (1.5, 3), (True, 3), (0, 10**400))
            ),
            span(3, 8, "gone"),
            span(3, 8),
            {**span(3, 8, "PER"), "value": None},
            {**span(3, 8, "PER"), "value": {"labels": "PER", "start": 3, "end": 8}},
        ],
    )
    def test_lets_who_said_something_unreadable_say_nothing(self, odd: Json) -> None:
        """Not even that there is nothing."""
        assert control_of(TEXT.format("")).read([odd, span(0, 2, "PER", identity="good")]) is None

    @pytest.mark.parametrize("odd", [(10, 20, -5, 4), (10, 20, float("nan"), 4), (200, 20, 5, 4), ("a", 1, 2, 3)])
    def test_lets_boxes_that_are_none_say_nothing(self, odd: tuple[Any, ...]) -> None:
        assert control_of(BOXES.format("")).read([box(*odd)]) is None

    def test_passes_over_what_is_about_other_controls(self) -> None:
        other = {**span(3, 8, "PER"), "from_name": "else"}
        assert [each.extent for each in read(control_of(TEXT.format("")), [other, span(0, 2, "PER")])] == [Span(0, 2)]

    def test_hypertext_without_a_place_in_an_element_says_nothing(self) -> None:
        control = control_of(TEXT.replace("<Text", "<HyperText").format(""))
        value = {"globalOffsets": {"start": 10, "end": 30}, "labels": ["PER"]}
        assert control.read([{**span(0, 0), "value": value}]) is None

    def test_one_size_of_the_image_counts_for_all(self) -> None:
        control = control_of(BOXES.format(""))
        plain = {name: value for name, value in box(10, 20, 30, 40).items() if not name.startswith("original")}
        size = control.size([[box(10, 20, 30, 40)], [box(1, 1, 1, 1)], [plain], [plain], [plain]])
        assert list(size or ()) == [200, 100]
        known, unknown = control.read([box(10, 20, 30, 40)], size), control.read([plain], size)
        assert known
        assert unknown
        assert known[0].extent == unknown[0].extent


class TestWriting:
    @pytest.mark.parametrize(
        ("config", "item"),
        [
            (TEXT.format(""), span(3, 8, "ORG", text="Acme!")),
            (BOXES.format(""), box(10, 20, 30, 40)),
            (BOXES.format(""), box(10, 20, 30, 40, rotation=33.5)),
        ],
    )
    def test_says_what_was_read(self, config: str, item: Json) -> None:
        control = control_of(config)
        (region,) = read(control, [item])
        (written,) = control.write("x", region.extent, region.label, {}, [region], None)
        assert written == {**item, "id": "x"}

    @pytest.mark.parametrize("tag", ["HyperText", "Paragraphs"])
    def test_says_what_was_read_in_longer_texts(self, tag: str) -> None:
        value = {"start": "2", "end": "2", "startOffset": 4, "endOffset": 9, "labels": ["PER"], "text": "Ann B"}
        value |= {"globalOffsets": {"start": 40, "end": 45}} if tag == "HyperText" else {}
        control = control_of(TEXT.replace("<Text", f"<{tag}").format(""))
        item = {**span(0, 0), "value": value}
        (region,) = read(control, [item])
        (written,) = control.write("a", region.extent, region.label, {}, [region], None)
        assert written == item

    def test_cuts_the_text_out_of_what_was_marked_or_of_the_whole(self) -> None:
        control = control_of(TEXT.format(""))
        first, second = read(control, [span(0, 3, "PER", text="Ada"), span(2, 8, "PER", text="a Berg")])
        whole = "Ada Berg left."
        for extent, text in ((Span(0, 3), "Ada"), (Span(4, 8), "Berg"), (Span(0, 8), "Ada Berg")):
            (written,) = control.write("a", extent, "PER", {}, [first, second], whole)
            assert written["value"]["text"] == text

    def test_says_details_with_the_same_id(self) -> None:
        control = control_of(TEXT.format(CHOICES.format("text", "")))
        (region,) = read(control, [span(3, 8, "PER", text="Acme!")])
        first, second = control.write("a", region.extent, "PER", {"sure": "no"}, [region], None)
        assert (second["id"], second["from_name"], second["type"]) == (first["id"], "sure", "choices")
        assert second["value"] == {"start": 3, "end": 8, "text": "Acme!", "choices": ["no"]}
