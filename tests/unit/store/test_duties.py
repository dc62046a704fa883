"""Duties: of several workers one polls, and again after the interval."""

from __future__ import annotations

from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.duties import claim_duty, postpone_duty
from tests.support.transactions import run


def test_is_done_by_one_worker(store: Store) -> None:
    assert [run(store.work, claim_duty, "poll", 60) for _ in range(3)] == [True, False, False]


def test_is_due_again_after_the_interval(store: Store) -> None:
    assert [run(store.work, claim_duty, "poll", 0) for _ in range(2)] == [True, True]


def test_does_not_depend_on_other_duties(store: Store) -> None:
    assert [run(store.work, claim_duty, name, 60) for name in ("poll", "tidy")] == [True, True]


def test_can_be_postponed(store: Store) -> None:
    run(store.work, claim_duty, "poll", 0)
    run(store.work, postpone_duty, "poll", 60)
    assert not run(store.work, claim_duty, "poll", 60)
