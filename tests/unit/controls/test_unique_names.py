"""No two questions of a config have the same name, and no label has the name of an answer of ours."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.controls import NO_REGION, read_config
from ls_crowd_plugin.errors import UnusableInput
from tests.support.label_configs import config_of
from tests.support.region_configs import LABELS, SPANS, SURE

MULTIPLE = '<Choices name="{}" toName="text" choice="multiple"><Choice value="{}"/><Choice value="z"/></Choices>'
SINGLE = '<Choices name="{}" toName="text"><Choice value="{}"/></Choices>'


def test_a_control_named_like_the_question_about_a_choice_is_left_out() -> None:
    config = config_of(MULTIPLE.format("a", "b"), SINGLE.format("a: b", "c"))
    assert [control.name for control in config.controls] == ["a"]
    assert [(one.name, one.tag, one.reason) for one in config.left_out] == [
        ("a: b", "Choices", "its question 'a: b' is also one of 'a'; rename one of the two controls")
    ]


def test_a_choice_whose_question_is_named_like_another_is_left_out_with_its_control() -> None:
    config = config_of(MULTIPLE.format("a", "b: c"), MULTIPLE.format("a: b", "c"))
    assert [control.name for control in config.controls] == ["a"]
    assert "'a: b: c' is also one of 'a'" in config.left_out[0].reason


def test_the_second_of_two_controls_with_one_name_is_left_out() -> None:
    config = config_of(SINGLE.format("a", "b"), SINGLE.format("a", "c"))
    assert [question.labels for question in config.questions] == [("b",)]


def test_a_control_that_describes_the_regions_of_two_others_is_shared() -> None:
    second = f'<Labels name="second" toName="text">{LABELS}</Labels>'
    config = read_config(SPANS.format(second + SURE.format("text", "")))
    assert [[detail.name for detail in control.details] for control in config.regions] == [["sure"], ["sure"]]


def test_a_choice_about_the_task_named_like_a_drawing_control_is_left_out() -> None:
    config = read_config(SPANS.format(MULTIPLE.format("entity: x", "y") + SINGLE.format("entity: x: y", "a")))
    assert ([control.name for control in config.regions], [one.name for one in config.left_out]) == (
        ["entity"],
        ["entity: x: y"],
    )


@pytest.mark.parametrize("labels", [LABELS + f'<Label value="{NO_REGION}"/>'])
def test_a_drawing_control_with_a_label_that_means_no_region_is_left_out(labels: str) -> None:
    config = read_config(SPANS.replace(LABELS, labels).format(""))
    assert config.regions == ()
    assert config.left_out[0].reason.startswith("it has a label named '(no region)'")


def test_elements_without_end_are_refused() -> None:
    with pytest.raises(UnusableInput, match="more than 100 levels deep"):
        read_config("<View>" * 5000 + "</View>" * 5000)


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(UnusableInput, match="not XML"):
        read_config("<View>\ud800</View>")


_tags = st.sampled_from(
    [
        *("View", "Text", "HyperText", "Paragraphs", "Image", "Choices", "Choice", "Taxonomy", "Rating", "Pairwise"),
        *("Labels", "Label", "HyperTextLabels", "ParagraphLabels", "RectangleLabels", "Rectangle", "Brush", "Repeater"),
    ]
)
_words = st.sampled_from(
    ["a", "b", "a: b", "b: a", "a: b: a", "", " ", "$t", NO_REGION, "(none)", "text", "{{x}}", "9" * 9]
)
_attributes = st.dictionaries(
    st.sampled_from(
        ["name", "toName", "value", "alias", "choice", "maxRating", "maxUsages", "allowNested", "perRegion"]
    ),
    _words | st.sampled_from(["multiple", "single", "true", "1"]),
)
Tree = tuple[str, dict[str, str], list["Tree"]]  # tag, attributes, children

_elements: st.SearchStrategy[Tree] = st.recursive(
    st.tuples(_tags, _attributes, st.just([])),
    lambda inner: st.tuples(_tags, _attributes, st.lists(inner, max_size=4)),
    max_leaves=12,
)


def _add(parent: Element, tree: Tree) -> None:
    tag, attributes, children = tree
    element = SubElement(parent, tag, attributes)
    for child in children:
        _add(element, child)


@given(trees=st.lists(_elements, max_size=5))
def test_any_config_has_questions_with_different_names(trees: list[Tree]) -> None:
    root = Element("View")
    for tree in trees:
        _add(root, tree)
    config = read_config(tostring(root, encoding="unicode"))
    names = [question.name for question in config.questions]
    names += {question.name for control in config.regions for question in control.questions}
    assert len(names) == len(set(names))
    for question in (*config.questions, *(one for control in config.regions for one in control.questions)):
        assert len(question.labels) == len(set(question.labels))
    config.read(config.write({question.name: question.labels[0] for question in config.questions if question.labels}))


@given(text=st.text())
def test_any_text_is_a_config_or_refused(text: str) -> None:
    try:
        read_config(text)
    except UnusableInput:
        return
