"""For any config: what is written is read as the same labels, and Label Studio's own SDK accepts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.controls import NONE, Config, read_config
from tests.support.examples import examples
from tests.support.label_configs import MOOD, NO, RATING, TREE, YES, config_of, item

words = st.text(st.characters(categories=("L", "N", "S", "P")), min_size=1, max_size=6).filter(
    lambda word: word != NONE
)
word_lists = st.lists(words, min_size=1, max_size=4, unique=True)


def label_interface(label_config: str) -> Any:
    """Label Studio's own reading of a label config, by its SDK, which takes seconds to import."""
    from label_studio_sdk.label_interface.interface import LabelInterface

    return LabelInterface(label_config)


@dataclass(frozen=True)
class Case:
    """A label config and labels somebody might give under it."""

    xml: str
    config: Config
    labels: dict[str, str]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Configs of one to three controls of any kind, and for every question a label or the empty label."""
    root = Element("View")
    for name in ("text", "other"):
        SubElement(root, "Text", name=name, value=f"${name}")
    required = {}
    for number in range(draw(st.integers(1, 3))):
        control = _draw_control(draw, root, f"c{number}")
        required[f"c{number}"] = draw(st.booleans())
        control.set("required", str(required[f"c{number}"]).lower())
    xml = tostring(root, encoding="unicode")
    config = read_config(xml)
    return Case(xml, config, _draw_labels(draw, config, required))


def _draw_control(draw: st.DrawFn, root: Element, name: str) -> Element:
    tag = draw(st.sampled_from(["Choices", "Taxonomy", "Rating", "Pairwise"]))
    control = SubElement(root, tag, name=name, toName="text,other" if tag == "Pairwise" else "text")
    if tag == "Choices":
        control.set("choice", draw(st.sampled_from(["single", "single-radio", "multiple"])))
    elif tag == "Rating":
        control.set("maxRating", str(draw(st.integers(1, 10))))
    elif tag == "Taxonomy" and draw(st.booleans()):
        control.set("maxUsages", "1")
    if tag in ("Choices", "Taxonomy"):
        top, below = draw(word_lists), draw(word_lists)
        for word in top:
            SubElement(control, "Choice", value=word)
        for word in below if tag == "Taxonomy" else [word for word in below if word not in top]:
            child = SubElement(control[0], "Choice", value=f"v{word}" if draw(st.booleans()) else word)
            child.set("alias", word)
    return control


def _draw_labels(draw: st.DrawFn, config: Config, required: dict[str, bool]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for control in config.controls:
        names = [question.name for question in control.questions]
        if names != [control.name]:  # a yes/no question per label
            answers = draw(st.lists(st.sampled_from([YES, NO]), min_size=len(names), max_size=len(names)))
            if required[control.name] and YES not in answers:
                answers[0] = YES
            labels |= dict(zip(names, answers, strict=True))
        else:
            empty = [] if required[control.name] or control.spec.ordered else [NONE]
            labels[control.name] = draw(st.sampled_from([*control.questions[0].labels, *empty]))
    return labels


@given(cases())
def test_written_labels_are_read_again(case: Case) -> None:
    assert case.config.read(case.config.write(case.labels)) == case.labels


@settings(max_examples=examples(50))
@given(cases())
@pytest.mark.slow
def test_written_labels_are_valid_for_label_studio(case: Case) -> None:
    prediction = {"result": case.config.write(case.labels), "score": 0.5, "model_version": "crowd-consensus"}
    interface: Any = label_interface(case.xml)
    assert interface.validate_prediction(prediction, return_errors=True) == []


@settings(max_examples=examples(50))
@given(cases())
@pytest.mark.slow
def test_labels_are_those_of_label_studio(case: Case) -> None:
    theirs = {control.name: sorted(set(control.labels)) for control in label_interface(case.xml).controls}
    for control in case.config.controls:
        ours = {question.name.removeprefix(f"{control.name}: ") for question in control.questions}
        ours = ours if ours != {control.name} else set(control.questions[0].labels)
        if theirs[control.name]:  # it lists none for ratings and pairs
            parts = ours if " / " not in "".join(ours) else {part for path in ours for part in path.split(" / ")}
            assert sorted(parts) == theirs[control.name]


EVERY_KIND = config_of(MOOD.format('required="true"'), RATING.format('required="true"'), TREE.format('required="true"'))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_no_value_raises_an_error(value: Any) -> None:
    keys = [("mood", "choices"), ("stars", "rating"), ("kind", "taxonomy")]
    EVERY_KIND.read([item(name, {key: value}) for name, key in keys])
