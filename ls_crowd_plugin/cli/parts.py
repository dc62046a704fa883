"""What several commands make of the settings: Label Studio's client, the databases, how a pass is to be done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..labelstudio import Http, LabelStudio

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ..pipeline.sync import Options
    from ..settings import Settings
    from ..store import WorkList


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
        overlap=settings.overlap,
        when_complete=settings.when_complete,
        task_meta=settings.task_meta,
    )


@contextmanager
def databases(settings: Settings, busy_seconds: float = 30.0) -> Iterator[tuple[Engine, WorkList]]:
    """The database and the work list, closed at the end."""
    from ..store import WorkList, open_database, open_work_list

    engine = open_database(settings.database_url or None)
    try:
        work_engine = open_work_list(settings.database_url or None, busy_seconds)
        try:
            yield engine, WorkList(work_engine)
        finally:
            work_engine.dispose()
    finally:
        engine.dispose()
