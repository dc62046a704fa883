"""Gold labels can be added, changed, listed and removed."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.gold import add_gold, list_gold, remove_gold
from tests.support.transactions import run


@pytest.fixture
def gold_store(store: Store) -> Store:
    run(store.data, add_gold, 7, {(2, "mood"): "bad", (1, "topic"): "sport", (1, "mood"): "good"})
    run(store.data, add_gold, 8, {(1, "mood"): "of another project"})
    return store


def test_is_listed_by_task_and_question(gold_store: Store) -> None:
    gold = run(gold_store.data, list_gold, 7)
    assert list(gold.items()) == [((1, "mood"), "good"), ((1, "topic"), "sport"), ((2, "mood"), "bad")]


def test_can_be_changed(gold_store: Store) -> None:
    run(gold_store.data, add_gold, 7, {(1, "mood"): "bad"})
    assert run(gold_store.data, list_gold, 7)[1, "mood"] == "bad"


def test_can_be_removed(gold_store: Store) -> None:
    assert run(gold_store.data, remove_gold, 7, [(1, "mood"), (1, "topic"), (9, "mood")]) == 2
    assert run(gold_store.data, list_gold, 7) == {(2, "mood"): "bad"}
    assert run(gold_store.data, list_gold, 8) == {(1, "mood"): "of another project"}
