"""The portable statements: insert or change, insert if missing, and parts that fit into one statement."""

from __future__ import annotations

import time

from sqlalchemy import select

from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.sql import CHUNK, chunks, insert_missing, now, upsert
from ls_crowd_plugin.store.users import read_names, user_table
from tests.support.transactions import run


def test_upsert_inserts_a_row_or_changes_it(store: Store) -> None:
    for name in ("Ada", "Ada L."):
        run(store.data, upsert, user_table, {"id": 1}, {"name": name})
        assert run(store.data, read_names, [1]) == {1: name}


def test_insert_missing_leaves_an_existing_row_alone(store: Store) -> None:
    for name in ("Ada", "Ada L."):
        run(store.data, insert_missing, user_table, {"id": 1, "name": name})
    assert run(store.data, read_names, [1]) == {1: "Ada"}


def test_chunks_are_complete_and_small_enough() -> None:
    ids = list(range(2 * CHUNK + 1))
    parts = list(chunks(ids))
    assert [len(part) for part in parts] == [CHUNK, CHUNK, 1]
    assert [number for part in parts for number in part] == ids


def test_now_is_the_time_in_seconds_since_1970(store: Store) -> None:
    with store.work.connect() as connection:
        assert abs(connection.execute(select(now(connection))).scalar_one() - time.time()) < 60
