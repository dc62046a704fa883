"""Finds the controls of a label config that draw regions which can be aggregated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from xml.etree.ElementTree import Element

from .control import ControlSpec
from .elements import ShownObject, is_true, label_names
from .paths import config_paths
from .region_control import UNLABELLED, RegionControl, RegionDetail

SPAN_SHAPES = {"Text": "span", "HyperText": "hypertext", "Paragraphs": "paragraphs"}  # object → shape of its regions
SPAN_KEYS = {"Labels": "labels", "HyperTextLabels": "hypertextlabels", "ParagraphLabels": "paragraphlabels"}
BOX_KEYS = {"RectangleLabels": "rectanglelabels", "Rectangle": ""}


def read_region_controls(root: Element, objects: Mapping[str, ShownObject]) -> tuple[RegionControl, ...]:
    """Return the controls that draw regions, each with the controls that describe its regions."""
    controls: list[RegionControl] = []
    details: dict[str, list[RegionDetail]] = defaultdict(list)  # by the object that the regions are on
    for element in root.iter():
        name, to_name = element.get("name"), (element.get("toName") or "").strip()
        if name is None or to_name not in objects or "{{" in name:
            continue
        spec = ControlSpec(name, to_name, element.tag.lower(), empty_is_answer=False)
        control = _region_control(element, spec, objects[to_name].tag)
        detail = _region_detail(element, spec, objects[to_name].tag)
        if control is not None and control.labels:
            controls.append(control)
        elif detail is not None:
            details[to_name].append(detail)
    return tuple(replace(control, details=tuple(details[control.spec.to_name])) for control in controls)


def _region_control(element: Element, spec: ControlSpec, object_tag: str) -> RegionControl | None:
    if element.tag in SPAN_KEYS and object_tag in SPAN_SHAPES:
        return RegionControl(spec, SPAN_SHAPES[object_tag], SPAN_KEYS[element.tag], label_names(element))
    if element.tag in BOX_KEYS and object_tag == "Image":
        key = BOX_KEYS[element.tag]
        return RegionControl(spec, "box", key, label_names(element) if key else (UNLABELLED,))
    return None


def _region_detail(element: Element, spec: ControlSpec, object_tag: str) -> RegionDetail | None:
    if element.tag == "Labels" and object_tag == "Image":  # labels for what another control draws
        return RegionDetail(spec, "labels", label_names(element))
    if element.tag == "Choices" and is_true(element, "perRegion") and element.get("choice") != "multiple":
        names = tuple(dict.fromkeys(path[-1] for path in config_paths(element).values()))
        if names and not is_true(element, "allowNested"):
            return RegionDetail(spec, "choices", names)
    return None
