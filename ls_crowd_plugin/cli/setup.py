"""What several commands need: a client of Label Studio and the store, as the settings describe them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import requests

from ..labelstudio import Http, LabelStudio

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ..settings import Settings
    from ..store import Store

SERVICE_SECONDS = 5.0  # within which our service answers


def label_studio(settings: Settings, *, patient: bool = True) -> LabelStudio:
    """A client that waits between its tries, or one for people who want an answer now."""
    verify = settings.ca_bundle or True
    if patient:
        return LabelStudio(Http(settings.url, settings.key, verify=verify))
    return LabelStudio(Http(settings.url, settings.key, verify=verify, timeout=(3, 20), sleep=lambda _: None))


def service_answers(address: str) -> bool:
    """Whether our service answers at an address."""
    try:
        return requests.get(f"{address}/healthz", timeout=SERVICE_SECONDS).ok
    except requests.RequestException:
        return False


def store_of(settings: Settings, busy_seconds: float = 30.0) -> AbstractContextManager[Store]:
    """The store, to be used as a context."""
    from ..store import open_store

    return open_store(settings.database_url or None, busy_seconds)


@contextmanager
def data_database() -> Iterator[Engine]:
    """The data database alone, for commands that need neither Label Studio nor the queue."""
    from ..settings import read_settings
    from ..store.database import open_data

    engine = open_data(read_settings(needs_label_studio=False).database_url or None)
    try:
        yield engine
    finally:
        engine.dispose()
