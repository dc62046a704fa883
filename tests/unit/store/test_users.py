"""The names of users."""

from __future__ import annotations

from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.users import read_names, save_users
from tests.support.transactions import run


def test_are_stored_and_updated(store: Store) -> None:
    run(store.data, save_users, {1: "Ada", 2: "Bob"})
    run(store.data, save_users, {2: "Robert"})
    assert run(store.data, read_names, [1, 2, 3]) == {1: "Ada", 2: "Robert"}
