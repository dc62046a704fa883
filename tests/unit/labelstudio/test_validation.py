"""Label Studio's own checks explain why it dropped a prediction."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.labelstudio.validation import explain_rejection
from ls_crowd_plugin.records import Json

pytestmark = pytest.mark.slow

CONFIG = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="mood" toName="text"><Choice value="good"/><Choice value="bad"/></Choices>
</View>
"""


def prediction(label: str) -> Json:
    item = {"id": "x1", "from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [label]}}
    return {"result": [item], "score": 0.5, "model_version": "x"}


def test_a_valid_prediction_has_no_explanation() -> None:
    assert explain_rejection(CONFIG, prediction("good")) == ""


def test_an_unknown_label_is_named() -> None:
    assert "awful" in explain_rejection(CONFIG, prediction("awful"))


def test_a_broken_config_is_explained_too() -> None:
    assert explain_rejection("no config", prediction("good")) != ""
