"""What several commands make of the settings: Label Studio's client, and how a pass is to be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..labelstudio import Http, LabelStudio

if TYPE_CHECKING:
    from ..pipeline.sync import Options
    from ..settings import Settings


def label_studio(settings: Settings, *, patient: bool = True) -> LabelStudio:
    """A client that waits between its tries, or one for people who want to know now."""
    verify = settings.ca_bundle or True
    if patient:
        return LabelStudio(Http(settings.url, settings.key, verify=verify))
    return LabelStudio(Http(settings.url, settings.key, verify=verify, timeout=(3, 20), sleep=lambda _: None))


def options_of(settings: Settings) -> Options:
    from ..pipeline.sync import Options

    return Options(
        method=settings.method,
        apart=settings.apart,
        annotator_scores=settings.annotator_scores,
        experts=settings.experts,
        gold_field=settings.gold_field,
        when_complete=settings.when_complete,
        task_meta=settings.task_meta,
    )
