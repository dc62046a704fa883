"""Explains why Label Studio's import dropped a prediction: the server does not say, but its SDK has the same checks."""

from __future__ import annotations

from ..records import Json


def explain_rejection(label_config: str, prediction: Json) -> str:
    """Return the first objection of Label Studio's own checks to a prediction; empty if they have none."""
    from label_studio_sdk.label_interface.interface import (
        LabelInterface,  # takes seconds to import, and is seldom needed
    )

    try:
        interface = LabelInterface(label_config)
        objections = interface.validate_prediction(prediction, return_errors=True)  # type: ignore[no-untyped-call]
    except Exception as error:  # the checks fail in many ways on configs and predictions they cannot read
        return f"{type(error).__name__}: {error}"
    return str(objections[0]) if isinstance(objections, list) and objections else ""
