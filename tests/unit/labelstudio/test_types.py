"""Projects and predictions keep what Label Studio sent, and nonsense in a result does no harm."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.labelstudio import Prediction, ProjectFacts, result_items

PROJECT = {"id": 7, "title": "Moods", "label_config": "<View/>", "created_at": "2026-01-01", "task_number": 3}


@pytest.mark.parametrize("version", ["", None, "a-model"])
def test_settings_are_kept_as_they_were_sent(version: str | None) -> None:
    settings = {
        "model_version": version,
        "show_collab_predictions": False,
        "maximum_annotations": 5,
        "overlap_cohort_percentage": 40,
        "skip_queue": "IGNORE_SKIPPED",
        "sampling": "Uncertainty sampling",
    }
    facts = ProjectFacts.from_json({**PROJECT, **settings, "something_else": 1})
    assert {name: getattr(facts, name) for name in settings} == settings


def test_settings_that_were_not_sent_are_none() -> None:
    facts = ProjectFacts.from_json(PROJECT)
    assert facts == ProjectFacts(7, "Moods", "<View/>", "2026-01-01", 3)
    assert (facts.model_version, facts.sampling, facts.overlap_cohort_percentage) == (None, None, None)


@pytest.mark.parametrize("result", [None, 5, "text", {"value": 1}, [5], [{"value": {}}, None]])
def test_a_result_that_is_no_list_of_objects_is_empty(result: object) -> None:
    prediction = {"id": 1, "task": 2, "model_version": None, "score": None, "result": result}
    assert Prediction.from_json(prediction) == Prediction(1, 2, "", None, [])


def test_a_result_that_is_a_list_of_objects_is_kept() -> None:
    items = [{"from_name": "mood"}, {}]
    assert result_items(items) == items
