"""Secrets are generated once, and stay the same."""

from __future__ import annotations

from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.secrets import get_or_create_secret, get_secret
from tests.support.transactions import run


def test_is_generated_once(store: Store) -> None:
    secret, is_new = run(store.data, get_or_create_secret, "session key")
    assert (len(secret) >= 24, is_new) == (True, True)
    assert run(store.data, get_or_create_secret, "session key") == (secret, False)


def test_differs_from_other_secrets(store: Store) -> None:
    names = ("session key", "webhook secret")
    assert len({run(store.data, get_or_create_secret, name)[0] for name in names}) == 2


def test_can_be_chosen_the_first_time_only(store: Store) -> None:
    assert run(store.data, get_or_create_secret, "password hash", "chosen") == ("chosen", True)
    assert run(store.data, get_or_create_secret, "password hash", "another") == ("chosen", False)


def test_is_none_if_there_is_none(store: Store) -> None:
    assert run(store.data, get_secret, "webhook secret") is None
    secret, _ = run(store.data, get_or_create_secret, "webhook secret")
    assert run(store.data, get_secret, "webhook secret") == secret
