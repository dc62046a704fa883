"""Choices with `allowNested` are read and written as Label Studio's page stores a ticked tree."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.controls import Config, Question
from tests.support.label_configs import NO, YES, config_of, item


def nested(choice: str) -> Config:
    return config_of(
        f'<Choices name="c" toName="text" choice="{choice}" allowNested="true" required="true">'
        '<Choice value="a"><Choice value="a1"/><Choice value="a2"/></Choice><Choice value="b"/>'
        '<Choice value="d"><Choice value="d1"/></Choice></Choices>'
    )


def test_labels_are_paths() -> None:
    assert nested("single").questions == (Question("c", ("a", "a / a1", "a / a2", "b", "d / d1")),)


@pytest.mark.parametrize(
    ("ticked", "label"),
    [
        ([["a", "a1"]], "a / a1"),
        ([["a"], ["a", "a1"], ["a", "a2"]], "a"),  # stored when the inner node is ticked
        ([["b"]], "b"),
        ([["d"], ["d", "d1"]], "d / d1"),
    ],
)
def test_a_single_label_is_read_and_written_as_the_page_stores_it(ticked: list[list[str]], label: str) -> None:
    assert nested("single").read([item("c", {"choices": ticked})]) == {"c": label}
    (written,) = nested("single").write({"c": label})
    assert written["value"] == {"choices": ticked}


def test_two_branches_are_no_answer_to_a_question_with_one_label() -> None:
    assert nested("single").read([item("c", {"choices": [["a", "a1"], ["b"]]})]) == {}


def test_several_labels_are_a_question_for_each_leaf() -> None:
    answers = nested("multiple").read([item("c", {"choices": [["a"], ["a", "a1"], ["a", "a2"]]})])
    assert answers == {"c: a / a1": YES, "c: a / a2": YES, "c: b": NO, "c: d / d1": NO}
    (written,) = nested("multiple").write(answers)
    assert written["value"] == {"choices": [["a"], ["a", "a1"], ["a", "a2"]]}


@pytest.mark.parametrize("choice", ["single", "multiple"])
def test_an_unreadable_item_is_no_answer(choice: str) -> None:
    assert nested(choice).read([item("c", {"choices": "a"})]) == {}
