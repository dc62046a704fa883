"""A config finds its controls, knows what an empty one means, and says which ones are left out and why."""

from __future__ import annotations

from typing import Any

import pytest

from ls_crowd_plugin.controls import NONE, read_config
from ls_crowd_plugin.errors import UnusableInput
from ls_crowd_plugin.records import LeftOut
from tests.support.label_configs import (
    MOOD,
    NO,
    ONE_PATH,
    PAIR,
    RATING,
    TREE,
    chosen,
    config_of,
    item,
    multiple,
    single,
)

ONE_STAR = RATING.format('maxRating="1" {}')


class TestEmptyControls:
    CONDITION = 'visibleWhen="choice-selected" whenTagName="other" whenChoiceValue="x"'

    @pytest.mark.parametrize(
        ("control", "name"), [(MOOD, "mood"), (ONE_STAR, "stars"), (PAIR, "better"), (ONE_PATH, "kind")]
    )
    def test_that_are_optional_answer_none(self, control: str, name: str) -> None:
        assert config_of(control.format("")).read([]) == {name: NONE}

    def test_that_are_optional_with_several_labels_answer_no_to_each(self) -> None:
        assert multiple().read([]) == {"mood: good": NO, "mood: bad": NO}

    @pytest.mark.parametrize("required", ["true", "True", "1"])
    def test_that_are_required_are_no_answer(self, required: str) -> None:
        assert single(f'required="{required}"').read([]) == {}

    def test_that_are_required_with_several_labels_are_no_answer(self) -> None:
        assert multiple('required="true"').read([]) == {}

    @pytest.mark.parametrize("control", [MOOD, RATING, PAIR, TREE])
    def test_that_are_conditional_are_no_answer(self, control: str) -> None:
        assert config_of(control.format(self.CONDITION)).read([]) == {}

    def test_in_a_conditional_view_are_no_answer(self) -> None:
        assert config_of(f"<View {self.CONDITION}><View>{MOOD.format('')}</View></View>").read([]) == {}

    def test_after_a_conditional_view_answer_none(self) -> None:
        assert config_of(f"<View {self.CONDITION}/>", MOOD.format("")).read([]) == {"mood": NONE}

    def test_do_not_keep_conditional_ones_with_an_answer_from_being_read(self) -> None:
        assert single('visibleWhen="region-selected"').read(chosen("bad")) == {"mood": "bad"}


class TestSeveralControls:
    def test_are_read_in_any_order_of_the_result(self) -> None:
        config = config_of(MOOD.format(""), RATING.format(""))
        assert config.read([item("stars", {"rating": 2}), *chosen("good")]) == {"mood": "good", "stars": "2"}

    def test_are_all_written(self) -> None:
        config = config_of(MOOD.format(""), RATING.format(""))
        assert [entry["from_name"] for entry in config.write({"stars": "2", "mood": "good"})] == ["mood", "stars"]

    def test_ignore_items_of_controls_that_left_the_config(self) -> None:
        assert single('required="true"').read([item("gone", {"choices": ["good"]})]) == {}


class TestLeftOut:
    @pytest.mark.parametrize(
        ("control", "reason"),
        [
            (MOOD.format('perRegion="true"'), "regions"),
            (MOOD.format('perItem="true"'), "items"),
            (RATING.format('perRegion="true"'), "regions"),
            ('<TextArea name="note" toName="text"/>', "not categorical"),
            ('<Number name="n" toName="text"/>', "not categorical"),
            ('<PolygonLabels name="l" toName="text"><Label value="PER"/></PolygonLabels>', "of this kind"),
            ('<Labels name="l" toName="text"/>', "of this kind"),
            ('<Choices name="d" toName="text" value="$options"/>', "task's data"),
        ],
    )
    def test_with_the_reason(self, control: str, reason: str) -> None:
        config = config_of(control)
        assert (len(config.controls), [reason in left_out.reason for left_out in config.left_out]) == (0, [True])

    def test_with_name_and_tag(self) -> None:
        (left_out,) = config_of('<TextArea name="note" toName="text"/>').left_out
        assert left_out == LeftOut("note", "TextArea", "it is not categorical")

    def test_are_controls_repeated_for_the_items_of_a_list(self) -> None:
        config = config_of(
            '<Repeater on="$list" indexFlag="{{idx}}"><Choices name="c_{{idx}}" toName="text"><Choice value="a"/>'
            "</Choices></Repeater>"
        )
        assert (config.questions, [left_out.name for left_out in config.left_out]) == ((), ["c_{{idx}}"])

    def test_are_no_helpers(self) -> None:
        config = config_of(
            '<Filter name="f" toName="l"/>', '<Labels name="l" toName="text"><Label value="PER"/></Labels>'
        )
        assert config.left_out == ()

    def test_are_no_objects(self) -> None:
        assert config_of().left_out == ()

    def test_do_not_affect_other_controls(self) -> None:
        config = config_of('<TextArea name="note" toName="text"/>', MOOD.format(""))
        assert [control.name for control in config.controls] == ["mood"]


class TestBrokenConfigs:
    @pytest.mark.parametrize("text", ["", "no XML at all", "<View>", "<View><Text name='a'></View>"])
    def test_are_refused(self, text: str) -> None:
        with pytest.raises(UnusableInput, match="label config"):
            read_config(text)

    def test_with_entity_expansion_are_refused(self) -> None:
        bomb = '<!DOCTYPE v [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><View><Header value="&b;"/></View>'
        with pytest.raises(ValueError):  # noqa: PT011  the message does not matter
            read_config(bomb)

    @pytest.mark.parametrize(
        "doctype",
        ['<!DOCTYPE v [<!ENTITY a "ha">]>', '<!DOCTYPE v [<!ENTITY a SYSTEM "file:///etc/hostname">]>'],
        ids=["internal", "external"],
    )
    def test_with_entities_are_refused(self, doctype: str) -> None:
        with pytest.raises(UnusableInput, match="label config"):
            read_config(f'{doctype}<View><Header value="x"/></View>')


class TestUnreadableItems:
    """Label Studio stores whatever a program posts as a result."""

    @pytest.mark.parametrize("entry", [None, 5, "x", {}, {"from_name": "mood"}, {"from_name": "mood", "value": 5}])
    def test_are_no_answer(self, entry: Any) -> None:
        assert single('required="true"').read([entry]) == {}

    @pytest.mark.parametrize(
        "result",
        [[None], ["text"], [item("mood", None)], [item("mood", "good")], [item("mood", {"choices": ["good"]}), 5]],
    )
    def test_are_not_taken_for_an_empty_control(self, result: list[Any]) -> None:
        assert single().read(result) == {}
