"""Why Label Studio's import drops a prediction: it says nothing itself, but its SDK has the checks it applies."""

from __future__ import annotations

from typing import Any


def why_dropped(label_config: str, prediction: dict[str, Any]) -> str:
    """The first thing Label Studio's own checks find wrong with a prediction; empty if they find nothing."""
    from label_studio_sdk.label_interface.interface import (
        LabelInterface,  # takes seconds to import, and is seldom needed
    )

    try:
        interface: Any = LabelInterface(label_config)
        found = interface.validate_prediction(prediction, return_errors=True)
    except Exception as error:  # what it cannot read, it refuses in many ways
        return f"{type(error).__name__}: {error}"
    return str(found[0]) if found else ""
