"""Candidates: named by events, settled by Label Studio's list of projects, and never more than a number."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.store import Store, candidates
from tests.support.queue_steps import candidates_in
from tests.support.transactions import run


def add(store: Store, *projects: int) -> None:
    for project in projects:
        run(store.work, candidates.add, project)


def settle(store: Store, *existing: int, asked_at: float | None = None) -> list[int]:
    asked_at = run(store.work, candidates.read_clock) + 1.0 if asked_at is None else asked_at
    return run(store.work, candidates.settle, existing, asked_at)


def test_are_there_once_however_often_they_are_named(store: Store) -> None:
    assert not run(store.work, candidates.exist)
    add(store, 5, 5, 7)
    assert candidates_in(store) == [5, 7]
    assert (run(store.work, candidates.count), run(store.work, candidates.exist)) == (2, True)


def test_that_exist_are_found_and_the_others_forgotten(store: Store) -> None:
    add(store, 5, 7, 9)
    assert settle(store, 1, 5, 9, 11) == [5, 9]
    assert candidates_in(store) == []


def test_that_were_named_after_the_question_wait_for_the_next(store: Store) -> None:
    """They may have been created after the answer was made, even if they had been named before."""
    add(store, 5, 6)
    asked_at = run(store.work, candidates.read_clock) + 0.001
    while run(store.work, candidates.read_clock) <= asked_at:
        pass
    add(store, 6, 7)
    assert settle(store, 1, asked_at=asked_at) == []
    assert candidates_in(store) == [6, 7]
    assert settle(store, 6, 7) == [6, 7]


def test_are_bounded_and_the_largest_give_way(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Label Studio counts from 1: invented numbers cannot push out a real one."""
    monkeypatch.setattr(candidates, "MAX_CANDIDATES", 20)
    monkeypatch.setattr(candidates, "TRIM_EVERY", 1)
    add(store, *range(10**6, 10**6 + 30))
    assert candidates_in(store) == list(range(10**6, 10**6 + 20))
    add(store, 12, *range(10**5, 10**5 + 30), 2**62)
    assert candidates_in(store) == [12, *range(10**5, 10**5 + 19)]


def test_are_trimmed_now_and_then(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MAX_CANDIDATES", 1)
    monkeypatch.setattr(candidates, "TRIM_EVERY", 5)
    add(store, *range(1, 100))  # without a trim once in 1 in 10^9 runs
    assert len(candidates_in(store)) < 99
