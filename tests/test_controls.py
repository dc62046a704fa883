"""Label configs become questions, annotations become answers, labels become results that Label Studio takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_studio_sdk.label_interface.interface import LabelInterface

from ls_crowd_plugin.controls import NONE, Config, Question, read_config
from ls_crowd_plugin.errors import UnusableInput
from ls_crowd_plugin.labelstudio.validation import why_dropped

YES, NO = "yes", "no"

TEXT = '<Text name="text" value="$text"/>'
SINGLE = '<Choices name="mood" toName="text" {}><Choice value="good"/><Choice value="bad"/></Choices>'
TREE = """
<Taxonomy name="kind" toName="text" {}>
  <Choice value="animal"><Choice value="cat"/><Choice value="dog" alias="canine"/></Choice>
  <Choice value="plant"/>
</Taxonomy>
"""
TREE_PATHS = ("animal", "animal / cat", "animal / canine", "plant")
PAIR = '<Text name="a" value="$a"/><Text name="b" value="$b"/><Pairwise name="better" toName="a,b" {}/>'
RATING = '<Rating name="stars" toName="text" {}/>'
OPEN_TREE = '<Taxonomy name="kind" toName="text" apiUrl="http://h/x"/>'


def config_of(*controls: str) -> Config:
    return read_config(f"<View>{TEXT}{''.join(controls)}</View>")


def single(attributes: str = "") -> Config:
    return config_of(SINGLE.format(attributes))


def multiple(attributes: str = "") -> Config:
    return single(f'choice="multiple" {attributes}')


def item(name: str, value: dict[str, Any], to_name: str = "text") -> dict[str, Any]:
    """A result item as Label Studio's own page stores it."""
    return {"id": "x1", "from_name": name, "to_name": to_name, "type": "any", "origin": "manual", "value": value}


def chosen(*labels: str) -> list[dict[str, Any]]:
    return [item("mood", {"choices": list(labels)})]


def paths(*taken: list[str]) -> list[dict[str, Any]]:
    return [item("kind", {"taxonomy": list(taken)})]


MULTIPLE = (
    '<Choices name="topics" toName="text" choice="multiple"><Choice value="sport"/><Choice value="money"/></Choices>'
)


def nested(choice: str) -> Config:
    return config_of(
        f'<Choices name="c" toName="text" choice="{choice}" allowNested="true" required="true">'
        '<Choice value="a"><Choice value="a1"/><Choice value="a2"/></Choice><Choice value="b"/>'
        '<Choice value="d"><Choice value="d1"/></Choice></Choices>'
    )


class TestChoices:
    @pytest.mark.parametrize("attributes", ["", 'choice="single"', 'choice="single-radio"'])
    def test_with_one_label_is_one_question(self, attributes: str) -> None:
        assert single(attributes).questions == (Question("mood", ("good", "bad")),)

    def test_with_one_label_is_read(self) -> None:
        assert single().read(chosen("bad")) == {"mood": "bad"}

    def test_with_one_label_is_written_as_a_list_of_one(self) -> None:
        assert single().write({"mood": "bad"}) == [
            {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["bad"]}}
        ]

    def test_with_several_labels_is_a_yes_or_no_question_per_label(self) -> None:
        assert multiple().questions == (Question("mood: good", (NO, YES)), Question("mood: bad", (NO, YES)))

    def test_with_several_labels_says_no_to_what_was_not_chosen(self) -> None:
        assert multiple().read(chosen("bad")) == {"mood: good": NO, "mood: bad": YES}

    def test_with_several_labels_is_written_as_one_item(self) -> None:
        written = multiple().write({"mood: good": YES, "mood: bad": YES})
        assert [each["value"] for each in written] == [{"choices": ["good", "bad"]}]

    def test_with_several_labels_writes_nothing_if_all_are_no(self) -> None:
        assert multiple().write({"mood: good": NO, "mood: bad": NO}) == []

    def test_two_labels_for_a_question_with_one_are_no_answer(self) -> None:
        assert single().read(chosen("good", "bad")) == {}

    def test_a_label_that_left_the_config_is_no_answer(self) -> None:
        assert single().read(chosen("gone")) == {}

    def test_nested_choices_are_labels_like_others(self) -> None:
        config = config_of(
            '<Choices name="c" toName="text"><Choice value="a"><Choice value="a1"/></Choice><Choice value="b"/>'
            "</Choices>"
        )
        assert config.questions == (Question("c", ("a", "a1", "b")),)

    def test_nested_ones_are_paths(self) -> None:
        assert nested("single").questions == (Question("c", ("a", "a / a1", "a / a2", "b", "d / d1")),)

    @pytest.mark.parametrize(
        ("ticked", "label"),
        [
            ([["a", "a1"]], "a / a1"),
            ([["a"], ["a", "a1"], ["a", "a2"]], "a"),  # what the page stores for the node
            ([["b"]], "b"),
            ([["d"], ["d", "d1"]], "d / d1"),
        ],
    )
    def test_nested_ones_are_read_as_the_page_stores_them(self, ticked: list[list[str]], label: str) -> None:
        assert nested("single").read([item("c", {"choices": ticked})]) == {"c": label}
        (written,) = nested("single").write({"c": label})
        assert written["value"] == {"choices": ticked}

    def test_two_branches_of_nested_ones_are_no_answer_to_a_question_with_one(self) -> None:
        assert nested("single").read([item("c", {"choices": [["a", "a1"], ["b"]]})]) == {}

    def test_several_nested_ones_are_a_question_for_each_leaf(self) -> None:
        said = nested("multiple").read([item("c", {"choices": [["a"], ["a", "a1"], ["a", "a2"]]})])
        assert said == {"c: a / a1": YES, "c: a / a2": YES, "c: b": NO, "c: d / d1": NO}
        (written,) = nested("multiple").write(said)
        assert written["value"] == {"choices": [["a"], ["a", "a1"], ["a", "a2"]]}

    def test_an_alias_is_the_label(self) -> None:
        config = config_of('<Choices name="c" toName="text"><Choice value="a" alias="x"/><Choice value="b"/></Choices>')
        assert config.questions == (Question("c", ("x", "b")),)

    def test_hotkeys_change_nothing(self) -> None:
        config = config_of(
            '<Choices name="c" toName="text"><Choice value="a" hotkey="1"/><Choice value="b"/></Choices>'
        )
        assert config.questions == (Question("c", ("a", "b")),)

    def test_views_between_change_nothing(self) -> None:
        config = config_of(f'<View><Header value="h"/>{SINGLE.format("")}</View>')
        assert config.questions == (Question("mood", ("good", "bad")),)

    def test_the_label_for_empty_is_written_as_nothing(self) -> None:
        assert single().write({"mood": NONE}) == []

    def test_a_choice_named_like_the_label_for_empty_is_still_written(self) -> None:
        config = config_of(
            f'<Choices name="c" toName="text" required="true"><Choice value="{NONE}"/><Choice value="b"/></Choices>'
        )
        assert config.write({"c": NONE}) != []


class TestTaxonomy:
    def test_is_a_yes_or_no_question_per_path(self) -> None:
        assert [each.name for each in config_of(TREE.format("")).questions] == [f"kind: {path}" for path in TREE_PATHS]

    def test_says_no_to_paths_that_were_not_chosen(self) -> None:
        answers = config_of(TREE.format("")).read(paths(["animal", "cat"], ["plant"]))
        assert {name for name, label in answers.items() if label == YES} == {"kind: animal / cat", "kind: plant"}

    def test_that_takes_one_path_is_one_question(self) -> None:
        assert config_of(TREE.format('maxUsages="1"')).questions == (Question("kind", TREE_PATHS),)

    def test_that_takes_one_path_is_read(self) -> None:
        config = config_of(TREE.format('maxUsages="1"'))
        assert config.read(paths(["animal", "canine"])) == {"kind": "animal / canine"}

    def test_that_takes_one_path_is_written_as_a_list_of_one_path(self) -> None:
        written = config_of(TREE.format('maxUsages="1"')).write({"kind": "animal / cat"})
        assert [each["value"] for each in written] == [{"taxonomy": [["animal", "cat"]]}]

    def test_without_paths_in_the_config_has_those_that_annotators_chose(self) -> None:
        known = config_of(OPEN_TREE).knowing([paths(["b"]), paths(["a", "a1"], ["b"]), []])
        assert [each.name for each in known.questions] == ["kind: a / a1", "kind: b"]

    def test_without_paths_in_the_config_has_no_questions_before_anybody_answered(self) -> None:
        assert config_of(OPEN_TREE).knowing([]).questions == ()

    def test_without_paths_writes_those_that_annotators_chose(self) -> None:
        config = config_of(OPEN_TREE).knowing([paths(["a", "a1"])])
        assert config.write({"kind: a / a1": YES})[0]["value"] == {"taxonomy": [["a", "a1"]]}

    def test_with_paths_in_the_config_does_not_learn_others(self) -> None:
        config = config_of(TREE.format(""))
        assert config.knowing([paths(["mineral"])]).questions == config.questions

    def test_tells_a_part_with_a_slash_from_two_parts(self) -> None:
        config = config_of(
            '<Taxonomy name="k" toName="text"><Choice value="a"><Choice value="b"/></Choice><Choice value="a / b"/>'
            "</Taxonomy>"
        )
        assert len({each.name for each in config.questions}) == 3


class TestRating:
    def test_has_one_label_per_star(self) -> None:
        assert config_of(RATING.format('maxRating="3"')).questions == (Question("stars", ("1", "2", "3")),)

    def test_has_five_stars_by_itself(self) -> None:
        assert config_of(RATING.format("")).questions[0].labels == ("1", "2", "3", "4", "5")

    def test_is_read(self) -> None:
        assert config_of(RATING.format("")).read([item("stars", {"rating": 4})]) == {"stars": "4"}

    def test_is_read_where_a_program_wrote_it_as_a_fraction(self) -> None:
        assert config_of(RATING.format("")).read([item("stars", {"rating": 4.0})]) == {"stars": "4"}

    def test_is_written_as_a_number(self) -> None:
        assert config_of(RATING.format("")).write({"stars": "4"})[0]["value"] == {"rating": 4}

    def test_beyond_the_config_is_no_answer(self) -> None:
        assert config_of(RATING.format('maxRating="3"')).read([item("stars", {"rating": 4})]) == {}

    def test_with_a_number_of_stars_that_is_none_is_refused_in_a_sentence(self) -> None:
        with pytest.raises(UnusableInput):
            config_of(RATING.format('maxRating="many"'))


class TestPairwise:
    def test_is_a_question_of_sides(self) -> None:
        assert config_of(PAIR.format("")).questions == (Question("better", ("left", "right")),)

    @pytest.mark.parametrize("to_name", ["better", "a"])
    def test_is_read_whatever_it_points_to(self, to_name: str) -> None:
        assert config_of(PAIR.format("")).read([item("better", {"selected": "left"}, to_name)]) == {"better": "left"}

    def test_is_written_with_the_first_object(self) -> None:
        assert config_of(PAIR.format("")).write({"better": "right"}) == [
            {"from_name": "better", "to_name": "a", "type": "pairwise", "value": {"selected": "right"}}
        ]


class TestEmptyControls:
    CONDITION = 'visibleWhen="choice-selected" whenTagName="other" whenChoiceValue="x"'

    @pytest.mark.parametrize(
        ("control", "name"),
        [(SINGLE, "mood"), (RATING, "stars"), (PAIR, "better"), (TREE.replace("{}", 'maxUsages="1" {}'), "kind")],
    )
    def test_optional_ones_with_one_label_say_none(self, control: str, name: str) -> None:
        assert config_of(control.format("")).read([]) == {name: NONE}

    def test_optional_ones_with_several_labels_say_no_to_each(self) -> None:
        assert multiple().read([]) == {"mood: good": NO, "mood: bad": NO}

    @pytest.mark.parametrize("required", ["true", "True", "1"])
    def test_required_ones_say_nothing(self, required: str) -> None:
        assert single(f'required="{required}"').read([]) == {}

    def test_required_ones_with_several_labels_say_nothing(self) -> None:
        assert multiple('required="true"').read([]) == {}

    @pytest.mark.parametrize("control", [SINGLE, RATING, PAIR, TREE])
    def test_conditional_ones_say_nothing(self, control: str) -> None:
        assert config_of(control.format(self.CONDITION)).read([]) == {}

    def test_those_in_a_conditional_view_say_nothing(self) -> None:
        assert config_of(f"<View {self.CONDITION}><View>{SINGLE.format('')}</View></View>").read([]) == {}

    def test_those_after_a_conditional_view_still_say_none(self) -> None:
        assert config_of(f"<View {self.CONDITION}/>", SINGLE.format("")).read([]) == {"mood": NONE}

    def test_conditional_ones_that_were_answered_are_read(self) -> None:
        assert single('visibleWhen="region-selected"').read(chosen("bad")) == {"mood": "bad"}


class TestSeveralControls:
    def test_are_all_read_whatever_their_order_in_the_result(self) -> None:
        config = config_of(SINGLE.format(""), RATING.format(""))
        assert config.read([item("stars", {"rating": 2}), *chosen("good")]) == {"mood": "good", "stars": "2"}

    def test_are_all_written(self) -> None:
        config = config_of(SINGLE.format(""), RATING.format(""))
        assert [each["from_name"] for each in config.write({"stars": "2", "mood": "good"})] == ["mood", "stars"]

    def test_items_of_controls_that_are_not_in_the_config_are_passed_over(self) -> None:
        assert single('required="true"').read([item("gone", {"choices": ["good"]})]) == {}


class TestLeftOut:
    @pytest.mark.parametrize(
        ("control", "reason"),
        [
            (SINGLE.format('perRegion="true"'), "regions"),
            (SINGLE.format('perItem="true"'), "items"),
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
        assert (len(config.controls), [reason in each.reason for each in config.left_out]) == (0, [True])

    def test_names_the_control_and_its_kind(self) -> None:
        left_out = config_of('<TextArea name="note" toName="text"/>').left_out
        assert [(each.name, each.tag) for each in left_out] == [("note", "TextArea")]

    def test_does_not_name_what_annotators_cannot_answer(self) -> None:
        config = config_of(
            '<Filter name="f" toName="l"/>', '<Labels name="l" toName="text"><Label value="PER"/></Labels>'
        )
        assert config.left_out == ()

    def test_keeps_the_other_controls(self) -> None:
        config = config_of('<TextArea name="note" toName="text"/>', SINGLE.format(""))
        assert [each.name for each in config.controls] == ["mood"]

    def test_objects_are_no_controls(self) -> None:
        assert config_of().left_out == ()


class TestBrokenConfigs:
    @pytest.mark.parametrize("text", ["", "no XML at all", "<View>", "<View><Text name='a'></View>"])
    def test_are_refused_in_a_sentence(self, text: str) -> None:
        with pytest.raises(UnusableInput, match="label config"):
            read_config(text)

    def test_that_are_bombs_are_not_opened(self) -> None:
        bomb = '<!DOCTYPE v [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><View><Header value="&b;"/></View>'
        with pytest.raises(ValueError):  # noqa: PT011  whatever it says, it does not come back with a config
            read_config(bomb)

    @pytest.mark.parametrize(
        "doctype",
        ['<!DOCTYPE v [<!ENTITY a "ha">]>', '<!DOCTYPE v [<!ENTITY a SYSTEM "file:///etc/hostname">]>'],
        ids=["inside", "outside"],
    )
    def test_that_define_entities_are_refused_in_a_sentence(self, doctype: str) -> None:
        with pytest.raises(UnusableInput, match="label config"):
            read_config(f'{doctype}<View><Header value="x"/></View>')

    def test_with_a_choice_without_value_keep_the_others(self) -> None:
        config = config_of('<Choices name="c" toName="text"><Choice/><Choice value="b"/></Choices>')
        assert config.questions == (Question("c", ("b",)),)


class TestUnreadableItems:
    """Label Studio stores whatever a program posts as a result."""

    @pytest.mark.parametrize("value", [5, True, "good", [5], [None], [["good"]], None, []])
    def test_of_a_question_with_one_label_give_no_answer(self, value: Any) -> None:
        assert single('required="true"').read([item("mood", {"choices": value})]) == {}

    @pytest.mark.parametrize("value", [5, "good"])
    def test_of_a_question_with_several_labels_give_no_answer(self, value: Any) -> None:
        assert multiple('required="true"').read([item("mood", {"choices": value})]) == {}

    @pytest.mark.parametrize("value", [5, "plant", [5], ["plant"], [[]], [None]])
    def test_of_a_taxonomy_give_no_answer(self, value: Any) -> None:
        config = config_of(TREE.format('maxUsages="1" required="true"'))
        assert config.read([item("kind", {"taxonomy": value})]) == {}

    @pytest.mark.parametrize("value", ["many", [4], {"rating": 4}, -1, 2.5, True])
    def test_of_a_rating_give_no_answer(self, value: Any) -> None:
        assert config_of(RATING.format('required="true"')).read([item("stars", {"rating": value})]) == {}

    @pytest.mark.parametrize("given", [None, 5, "x", {}, {"from_name": "mood"}, {"from_name": "mood", "value": 5}])
    def test_of_any_other_form_give_no_answer(self, given: Any) -> None:
        assert single('required="true"').read([given]) == {}

    def test_that_a_taxonomy_learns_from_teach_it_nothing(self) -> None:
        assert config_of(OPEN_TREE).knowing([[item("kind", {"taxonomy": 5})]]).questions == ()


@dataclass(frozen=True)
class Drawn:
    """A label config and labels somebody might give under it."""

    xml: str
    config: Config
    labels: dict[str, str]


words = st.text(st.characters(categories=("L", "N", "S", "P")), min_size=1, max_size=6).filter(
    lambda word: word != NONE
)
word_lists = st.lists(words, min_size=1, max_size=4, unique=True)


@st.composite
def draws(draw: st.DrawFn) -> Drawn:
    """Configs of one to three controls of any kind, and for every question a label or the label for empty."""
    root = Element("View")
    for name in ("text", "other"):
        SubElement(root, "Text", name=name, value=f"${name}")
    required = {}
    for number in range(draw(st.integers(1, 3))):
        tag = draw(st.sampled_from(["Choices", "Taxonomy", "Rating", "Pairwise"]))
        control = SubElement(root, tag, name=f"c{number}", toName="text,other" if tag == "Pairwise" else "text")
        required[f"c{number}"] = draw(st.booleans())
        control.set("required", str(required[f"c{number}"]).lower())
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
            for word in below if tag == "Taxonomy" else [each for each in below if each not in top]:
                child = SubElement(control[0], "Choice", value=f"v{word}" if draw(st.booleans()) else word)
                child.set("alias", word)
    xml = tostring(root, encoding="unicode")
    config = read_config(xml)
    labels: dict[str, str] = {}
    for each in config.controls:
        names = [question.name for question in each.questions]
        if names != [each.name]:  # a yes/no question per label
            given = draw(st.lists(st.sampled_from([YES, NO]), min_size=len(names), max_size=len(names)))
            if required[each.name] and YES not in given:
                given[0] = YES
            labels |= dict(zip(names, given, strict=True))
        else:
            empty = [] if required[each.name] else [NONE]
            labels[each.name] = draw(st.sampled_from([*each.questions[0].labels, *empty]))
    return Drawn(xml, config, labels)


@given(draws())
def test_what_is_written_is_read_as_the_same_labels(drawn: Drawn) -> None:
    assert drawn.config.read(drawn.config.write(drawn.labels)) == drawn.labels


@settings(max_examples=50)
@given(draws())
def test_what_is_written_is_valid_to_label_studio(drawn: Drawn) -> None:
    prediction = {"result": drawn.config.write(drawn.labels), "score": 0.5, "model_version": "crowd-consensus"}
    interface: Any = LabelInterface(drawn.xml)
    assert interface.validate_prediction(prediction, return_errors=True) == []


@settings(max_examples=50)
@given(draws())
def test_labels_are_those_that_label_studio_knows(drawn: Drawn) -> None:
    theirs = {control.name: sorted(set(control.labels)) for control in LabelInterface(drawn.xml).controls}
    for control in drawn.config.controls:
        ours = {question.name.removeprefix(f"{control.name}: ") for question in control.questions}
        ours = ours if ours != {control.name} else set(control.questions[0].labels)
        if theirs[control.name]:  # it lists none for ratings and pairs
            parts = ours if " / " not in "".join(ours) else {part for path in ours for part in path.split(" / ")}
            assert sorted(parts) == theirs[control.name]


EVERY_KIND = config_of(
    SINGLE.format('required="true"'), RATING.format('required="true"'), TREE.format('required="true"')
)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_no_value_stops_the_reading(value: Any) -> None:
    keys = [("mood", "choices"), ("stars", "rating"), ("kind", "taxonomy")]
    EVERY_KIND.read([item(name, {key: value}) for name, key in keys])


KNOWN = config_of(SINGLE.format(""), MULTIPLE, RATING.format(""), TREE.format(""))


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        ({"mood": "good"}, {"mood": "good"}),
        ({"stars": 3}, {"stars": "3"}),
        ({"topics": ["sport"]}, {"topics: sport": YES, "topics: money": NO}),
        ({"topics": []}, {"topics: sport": NO, "topics: money": NO}),
        ({"topics: sport": "yes"}, {"topics: sport": YES}),
        ({"mood": "good", "stars": "2"}, {"mood": "good", "stars": "2"}),
        ({"mood": "awful"}, None),
        ({"topics": ["politics"]}, None),
        ({"nobody": "good"}, None),
        ("good", None),  # which of the controls?
        (None, None),
        ({"mood": ["good", "bad"]}, None),
        ({"mood": {"a": 1}}, None),
    ],
)
def test_a_field_with_known_labels_is_read(value: Any, labels: dict[str, str] | None) -> None:
    assert KNOWN.read_field(value) == labels


def test_choices_may_stand_inside_views() -> None:
    config = config_of(
        '<Choices name="c" toName="text"><View><Choice value="a"/></View><View><Choice value="b"/></View></Choices>'
    )
    assert config.questions == (Question("c", ("a", "b")),)


def test_a_control_repeated_for_items_is_left_out() -> None:
    config = config_of(
        '<Repeater on="$list" indexFlag="{{idx}}"><Choices name="c_{{idx}}" toName="text"><Choice value="a"/></Choices>'
        "</Repeater>"
    )
    assert (config.questions, [each.name for each in config.left_out]) == ((), ["c_{{idx}}"])


@pytest.mark.parametrize(
    "result",
    [[None], ["text"], [item("mood", None)], [item("mood", "good")], [item("mood", {"choices": ["good"]}), 5]],  # type: ignore[arg-type]
)
def test_an_item_that_cannot_be_read_is_not_taken_for_an_empty_control(result: list[Any]) -> None:
    assert config_of(SINGLE.format("")).read(result) == {}


def test_a_field_with_known_labels_may_name_paths() -> None:
    tree = KNOWN.questions
    paths = [question.name for question in tree if question.name.startswith("kind: ")]
    assert KNOWN.read_field({"kind": []}) == dict.fromkeys(paths, NO)


def test_a_field_with_a_known_label_may_be_the_label_itself() -> None:
    assert config_of(SINGLE.format("")).read_field("bad") == {"mood": "bad"}


def test_why_label_studio_drops_a_prediction_is_told() -> None:
    xml = f'<View><Text name="text" value="$text"/>{SINGLE.format("")}</View>'
    good, bad = (
        {"result": [{**item("mood", {"choices": [label]}), "to_name": "text", "type": "choices"}], "score": 0.5}
        for label in ("good", "awful")
    )
    assert why_dropped(xml, {**good, "model_version": "x"}) == ""
    assert "awful" in why_dropped(xml, {**bad, "model_version": "x"})
    assert why_dropped("no config", good) != ""
