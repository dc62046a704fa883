"""Small label configs with regions, and regions as Label Studio stores them."""

from __future__ import annotations

from typing import Any

from ls_crowd_plugin.controls import RegionControl, read_config
from ls_crowd_plugin.records import Json

LABELS = '<Label value="PER"/><Label value="Organisation" alias="ORG"/>'
SURE = '<Choices name="sure" toName="{}" perRegion="true" {}><Choice value="yes"/><Choice value="no"/></Choices>'
SPANS = f'<View><Text name="text" value="$t"/><Labels name="entity" toName="text">{LABELS}</Labels>{{}}</View>'
IMAGE = '<View><Image name="image" value="$i"/>{}</View>'
BOXES = IMAGE.format(f'<RectangleLabels name="thing" toName="image">{LABELS}</RectangleLabels>{{}}')


def control_of(config: str) -> RegionControl:
    """Return the only region control of a config."""
    (control,) = read_config(config).regions
    return control


def span_item(start: Any, end: Any, *labels: str, region_id: str = "a", text: str = "") -> Json:
    value = {"start": start, "end": end, "text": text, "labels": list(labels)}
    return {"id": region_id, "from_name": "entity", "to_name": "text", "type": "labels", "value": value}


def box_item(x: Any, y: Any, width: Any, height: Any, label: str = "PER", **more: Any) -> Json:
    value = {"x": x, "y": y, "width": width, "height": height, "rotation": 0, "rectanglelabels": [label]} | more
    size = {"original_width": 200, "original_height": 100, "image_rotation": 0}
    return {"id": "b", "from_name": "thing", "to_name": "image", "type": "rectanglelabels", **size, "value": value}
