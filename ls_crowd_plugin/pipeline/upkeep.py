"""What workers do now and then besides passes and polls: ask Label Studio about projects that events named for the
first time, and shorten the trail."""

from __future__ import annotations

import time
from datetime import timedelta

from ..labelstudio import LabelStudio
from ..store import Store, candidates, duties, queue
from ..store.trail import remove_before
from .pull import TIME_FORMAT

ASK_SECONDS, MAX_ASK_SECONDS = 1.0, 5.0  # between two questions which projects exist, however many are named
ASK_SHARE = 10.0  # and, within these bounds, so many times as long as an answer took, so that it keeps nobody busy
TRAIL_SECONDS = 3600.0  # between two looks at the trail
TRAIL_BATCH, TRAIL_BATCHES = 1000, 10  # events removed in one transaction, and transactions in one go


def confirm_candidates(studio: LabelStudio, store: Store) -> list[int] | None:
    """Enqueue the candidates that exist, with one question for all, and return them; None if it is not time to ask."""
    with store.work.connect() as connection:
        if not candidates.exist(connection):
            return None
    with store.work.begin() as connection:
        if not duties.claim_duty(connection, "confirm", ASK_SECONDS):
            return None
        asked_at = candidates.read_clock(connection)
    started = time.monotonic()
    try:
        existing = {int(entry["id"]) for entry in studio.projects()}
    finally:
        pause = min(max(ASK_SHARE * (time.monotonic() - started), ASK_SECONDS), MAX_ASK_SECONDS)
        with store.work.begin() as connection:
            duties.postpone_duty(connection, "confirm", pause)
    with store.work.begin() as connection:
        found = candidates.settle(connection, existing, asked_at)
        for project in found:
            queue.enqueue(connection, project, is_event=True)
    return found


def shorten_trail(studio: LabelStudio, store: Store, days: float) -> int | None:
    """Remove events that were noticed more than `days` ago, a limited number at a time; None if it is not time."""
    with store.work.begin() as connection:
        if not duties.claim_duty(connection, "trail", TRAIL_SECONDS):
            return None
    before = (studio.server_time() - timedelta(days=days)).strftime(TIME_FORMAT)
    removed = 0
    for _ in range(TRAIL_BATCHES):
        with store.data.begin() as connection:
            batch = remove_before(connection, before, TRAIL_BATCH)
        removed += batch
        if batch < TRAIL_BATCH:
            return removed
    with store.work.begin() as connection:
        duties.postpone_duty(connection, "trail", 0.0)  # there may be more
    return removed
