"""A config says which controls draw regions, of which shape, and what is asked about each region."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.controls import NO_REGION, read_config
from tests.support.region_configs import BOXES, IMAGE, LABELS, SPANS, SURE, control_of


@pytest.mark.parametrize(
    ("config", "shape", "labels"),
    [
        (SPANS.format(""), "span", ("PER", "ORG")),
        (SPANS.replace("<Text", "<HyperText").format(""), "hypertext", ("PER", "ORG")),
        (SPANS.replace("<Text", "<Paragraphs").format(""), "paragraphs", ("PER", "ORG")),
        (BOXES.format(""), "box", ("PER", "ORG")),
        (IMAGE.format('<Rectangle name="r" toName="image"/>'), "box", ("region",)),
    ],
)
def test_shape_and_labels_are_read(config: str, shape: str, labels: tuple[str, ...]) -> None:
    control = control_of(config)
    assert (control.shape, control.labels) == (shape, labels)
    assert control.questions[0].labels == (*labels, NO_REGION)


def test_details_of_regions_are_read() -> None:
    drawing = f'<Rectangle name="r" toName="image"/><Labels name="kind" toName="image">{LABELS}</Labels>'
    control = control_of(IMAGE.format(drawing + SURE.format("image", "")))
    assert {detail.name: detail.labels for detail in control.details} == {
        "kind": ("PER", "ORG"),
        "sure": ("yes", "no"),
    }


@pytest.mark.parametrize(
    "control",
    [
        '<PolygonLabels name="p" toName="image"><Label value="a"/></PolygonLabels>',
        '<Brush name="b" toName="image"/>',
        '<Labels name="l" toName="image"><Label value="a"/></Labels>',
        SURE.format("image", ""),
        SURE.format("image", 'choice="multiple"'),
        '<RectangleLabels name="r" toName="nowhere"><Label value="a"/></RectangleLabels>',
    ],
)
def test_other_controls_are_left_out(control: str) -> None:
    config = read_config(IMAGE.format(control))
    assert (config.regions, len(config.left_out)) == ((), 1)
