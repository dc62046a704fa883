"""Which controls are ordered: ratings, and those that somebody says are scales."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.controls import NONE, read_config, with_scales
from tests.support.label_configs import PAIR, RATING, TREE, config_of, item

QUALITY = """<Choices name="quality" toName="text" {}>
  <Choice value="poor"/><Choice value="fair"/><Choice value="good"/>
</Choices>"""
SPANS = """<View>
  <Text name="text" value="$text"/>
  <Labels name="entity" toName="text"><Label value="A"/><Label value="B"/><Label value="C"/></Labels>
  <Choices name="quality" toName="text" perRegion="true">
    <Choice value="poor"/><Choice value="fair"/><Choice value="good"/>
  </Choices>
</View>"""


def test_a_rating_is_ordered_by_itself() -> None:
    assert config_of(RATING.format("")).ordered == {"stars"}


def test_a_rating_of_two_stars_is_not() -> None:
    config = config_of(RATING.format('maxRating="2"'))
    assert (config.ordered, config.read([])) == (frozenset(), {"stars": NONE})


def test_choices_are_ordered_if_they_are_named() -> None:
    config = config_of(QUALITY.format(""))
    assert config.ordered == frozenset()
    named, warnings = with_scales(config, ["quality"])
    assert (sorted(named.ordered), warnings) == (["quality"], [])
    assert named.questions == config.questions


def test_nothing_chosen_is_no_answer_to_an_ordered_control() -> None:
    """It has no place on the scale."""
    named, _ = with_scales(config_of(QUALITY.format(""), RATING.format("")), ["quality"])
    assert named.read([]) == {}
    assert named.read([item("quality", {"choices": ["fair"]})]) == {"quality": "fair"}


def test_choices_about_regions_can_be_ordered() -> None:
    named, warnings = with_scales(read_config(SPANS), ["quality"])
    assert (sorted(named.ordered), warnings) == (["quality"], [])


@pytest.mark.parametrize(
    ("control", "name"),
    [
        (QUALITY.format('choice="multiple"'), "quality"),
        (QUALITY.format('allowNested="true"'), "quality"),
        (PAIR.format(""), "better"),
        (TREE.format(""), "kind"),
        ('<TextArea name="note" toName="text"/>', "note"),
        ('<Labels name="entity" toName="text"><Label value="A"/></Labels>', "entity"),
    ],
    ids=["multiple", "nested", "pairs", "taxonomy", "left out", "regions"],
)
def test_other_controls_that_are_named_are_reported_and_left_as_they_are(control: str, name: str) -> None:
    config = config_of(control)
    named, warnings = with_scales(config, [name])
    assert named == config
    assert [warning.split(":")[0] for warning in warnings] == [f"{name!r} in LS_CROWD_ORDERED cannot be ordered"]


def test_two_labels_are_no_scale() -> None:
    choices = '<Choices name="mood" toName="text"><Choice value="good"/><Choice value="bad"/></Choices>'
    named, (warning,) = with_scales(config_of(choices), ["mood"])
    assert named.ordered == frozenset()
    assert "fewer than 3 labels" in warning


def test_a_control_that_does_not_exist_is_reported() -> None:
    config = config_of(QUALITY.format(""))
    named, (warning,) = with_scales(config, ["Quality"])
    assert named == config
    assert warning == "LS_CROWD_ORDERED names 'Quality', which is no control of this project's label config."
