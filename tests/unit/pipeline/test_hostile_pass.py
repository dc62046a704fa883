"""A pass goes through although one annotation holds anything at all, and the next pass finds nothing changed."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.controls.bounds import MAX_RESULT_CHARACTERS
from ls_crowd_plugin.pipeline.outcome import Kind
from ls_crowd_plugin.pipeline.task_reading import MAX_SECONDS, Reading, parse_task
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import Json, LeftOutAnnotation, LeftOutAnnotations
from ls_crowd_plugin.store import Store, mirror
from ls_crowd_plugin.store.results import load_annotator, load_summary
from tests.support.hostile import EVERYTHING_TEXT, hostile_results
from tests.support.label_configs import OPEN_TREE, TEXT, item
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import agreed_studio, pass_over, report_of_pass

HOSTILE: dict[str, list[Any]] = {
    "a huge number": [item("stars", {"rating": 10**400})],
    "an infinite number": [item("stars", {"rating": math.inf}), item("mood", {"choices": ["bad"]})],
    "a null character": [item("kind", {"taxonomy": [["a\0b"]]})],
    "a lone surrogate": [item("kind", {"taxonomy": [["\ud800"]]})],
    "deep lists": [json.loads("[" * 200 + "]" * 200)],
    "no objects": [None, 5, "x"],
}


@pytest.mark.slow
@pytest.mark.parametrize("result", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_annotation_stops_nothing(store: Store, result: list[Any]) -> None:
    studio = MemoryStudio([1, 2], label_config=EVERYTHING_TEXT)
    for annotator in (1, 2, 3):
        studio.annotate(1, annotator, "good")
        studio.annotate(2, annotator, "bad")
    studio.annotate(1, 9, "", result=result, lead_time=1e308)
    recipe = Recipe(method="neg", task_meta="on")
    report_of_pass(studio, store, recipe=recipe)
    assert studio.labels() == {1: ["good"], 2: ["bad"]}
    assert pass_over(studio, store, recipe=recipe).kind is Kind.UNCHANGED


def test_an_annotation_that_is_left_out_is_named_in_the_warnings_and_the_summary(memory_store: Store) -> None:
    studio = agreed_studio([1, 2])
    odd = studio.annotate(1, 9, "", result=[item("mood", {"choices": 7})])
    report = report_of_pass(studio, memory_store)
    (warning,) = [one for one in report.warnings if "left out" in one]
    assert f"annotation {odd} has a choice that is no list of texts" in warning
    assert report.summary.left_out_annotations == LeftOutAnnotations(
        1, [LeftOutAnnotation(odd, "a choice that is no list of texts")]
    )
    assert pass_over(studio, memory_store).report is not None
    with memory_store.data.connect() as connection:
        assert load_summary(connection, PROJECT) == report.summary


@pytest.mark.slow
def test_a_result_that_is_too_large_is_not_kept_whole(memory_store: Store) -> None:
    studio = agreed_studio([1, 2])
    large = studio.annotate(1, 9, "", result=[item("mood", {"choices": ["good"], "more": "x" * MAX_RESULT_CHARACTERS})])
    (warning,) = [one for one in report_of_pass(studio, memory_store).warnings if "left out" in one]
    assert f"annotation {large} has more than 20,000,000 characters" in warning
    with memory_store.data.connect() as connection:
        sizes = {one.id: len(one.result) for one in mirror.read_annotations(connection, PROJECT)}
    assert sizes[large] == MAX_RESULT_CHARACTERS + 1


@pytest.mark.slow
def test_paths_of_an_open_taxonomy_beyond_the_bound_are_in_the_summary(memory_store: Store) -> None:
    studio = MemoryStudio([1, 2, 3, 4], label_config=f"<View>{TEXT}{OPEN_TREE}</View>")
    for task in (1, 2, 3):
        studio.annotate(task, 1, "", result=[item("kind", {"taxonomy": [["usual"]]})])
        junk = [[f"junk {task} {number}"] for number in range(200)]
        studio.annotate(task, 2, "", result=[item("kind", {"taxonomy": junk})])
    studio.annotate(4, 3, "", result=[item("kind", {"taxonomy": [["usual"]]})])
    (left_out,) = report_of_pass(studio, memory_store).summary.left_out
    assert left_out.reason.startswith("101 of its paths, for example")


NO_TIMES = (None, -1, -0.001, 1e308, 10**400, math.inf, math.nan, "12", True, [1], MAX_SECONDS * 2)


@pytest.mark.slow
@pytest.mark.parametrize(("stated", "kept"), [(12, 12.0), (0.5, 0.5), *((odd, None) for odd in NO_TIMES)])
def test_only_a_sensible_time_of_work_is_kept(memory_store: Store, stated: Any, kept: float | None) -> None:
    studio = agreed_studio([1, 2])
    for task in (1, 2):
        studio.annotate(task, 1, "good", lead_time=stated)
    report_of_pass(studio, memory_store)
    with memory_store.data.connect() as connection:
        found = load_annotator(connection, PROJECT, 1)
    assert found is not None
    assert found[0].seconds == kept


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_annotations = st.fixed_dictionaries(
    {"id": st.integers(1, 2**31)},
    optional={
        "result": hostile_results | _anything,
        **dict.fromkeys(["completed_by", "updated_by", "lead_time", "ground_truth", "was_cancelled"], _anything),
        **dict.fromkeys(["parent_prediction", "parent_annotation"], _anything),
    },
)


@given(annotations=st.lists(_annotations | st.none() | st.text(), max_size=3), data=_anything)
def test_any_task_can_be_mirrored(annotations: list[Any], data: Any) -> None:
    task: Json = {
        "id": 1,
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "annotations": annotations,
        "data": data,
    }
    _, parsed = parse_task(task, Reading("gold", {}, "2026-01-01T00:00:00Z"))
    assert len(parsed) == len([one for one in annotations if isinstance(one, dict)])
    for annotation in parsed:
        json.loads(annotation.result)
        annotation.result.encode()
        assert annotation.lead_time is None or 0 <= annotation.lead_time <= MAX_SECONDS
