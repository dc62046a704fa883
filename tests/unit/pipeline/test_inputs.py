"""The fingerprint changes with everything the output depends on; which tasks are complete."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ls_crowd_plugin.labelstudio import ProjectFacts
from ls_crowd_plugin.pipeline.inputs import fingerprint, read_inputs
from ls_crowd_plugin.pipeline.pull import pull
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.gold import add_gold
from tests.support.memory_studio import MOOD_CONFIG, PROJECT, MemoryStudio
from tests.support.passes import agreed_studio, make_context
from tests.support.span_crowds import SPAN_CONFIG_TEXT

FACTS = ProjectFacts(PROJECT, "Moods", MOOD_CONFIG, "2026-01-01T00:00:00.000000Z", 0, owner=1)


class TestFingerprint:
    def of(self, store: Store, *, recipe: Recipe | None = None, **facts: object) -> str:
        with store.data.connect() as connection:
            return fingerprint(connection, replace(FACTS, **facts), recipe or Recipe())  # type: ignore[arg-type]

    def test_is_the_same_if_nothing_changed(self, memory_store: Store) -> None:
        assert self.of(memory_store) == self.of(memory_store)

    def test_does_not_depend_on_the_order_of_experts(self, memory_store: Store) -> None:
        one, other = (Recipe(experts=frozenset(order)) for order in ([1, 2, 30, 400], [400, 30, 2, 1]))
        assert self.of(memory_store, recipe=one) == self.of(memory_store, recipe=other)

    def test_changes_with_the_label_config(self, memory_store: Store) -> None:
        assert self.of(memory_store, label_config="<View/>") != self.of(memory_store)

    def test_changes_with_the_owner(self, memory_store: Store) -> None:
        assert self.of(memory_store, owner=2) != self.of(memory_store)

    def test_changes_with_gold(self, memory_store: Store) -> None:
        before = self.of(memory_store)
        with memory_store.data.begin() as connection:
            add_gold(connection, PROJECT, {(1, "mood"): "good"})
        assert self.of(memory_store) != before

    def test_changes_with_an_annotation(self, memory_store: Store) -> None:
        studio = agreed_studio([1])
        pull(make_context(studio, memory_store))
        before = self.of(memory_store)
        studio.annotate(1, 3, "bad")
        pull(make_context(studio, memory_store))
        assert self.of(memory_store) != before


class TestCompleteTasks:
    def complete(self, studio: MemoryStudio, store: Store, recipe: Recipe) -> list[int]:
        pull(make_context(studio, store))
        inputs = read_inputs(store, FACTS, recipe)
        decisions = inputs.steering.decide({})
        return [task for task in sorted(inputs.tasks) if inputs.is_complete(task, decisions)]

    def test_are_all_by_default(self, memory_store: Store) -> None:
        assert self.complete(agreed_studio([1, 2]), memory_store, Recipe()) == [1, 2]

    def test_have_as_many_answers_as_they_require(self, memory_store: Store) -> None:
        studio = agreed_studio([1, 2])
        studio.task_rows[2]["overlap"] = 4
        assert self.complete(studio, memory_store, Recipe(only_complete=True)) == [1]

    def test_count_gold_as_an_answer(self, memory_store: Store) -> None:
        studio = agreed_studio([1])
        studio.task_rows[1]["overlap"] = 4
        studio.annotate(1, 9, "good")
        assert self.complete(
            studio,
            memory_store,
            Recipe(only_complete=True, experts=frozenset({9}), gold_sources=frozenset({"experts"})),
        ) == [1]


@pytest.mark.parametrize(("label_config", "text"), [(MOOD_CONFIG, {}), (SPAN_CONFIG_TEXT, {1: {"text": "Hello."}})])
def test_texts_are_only_needed_where_spans_are_marked(
    label_config: str, text: dict[int, dict[str, str]], memory_store: Store
) -> None:
    studio = MemoryStudio(label_config=label_config)
    studio.add_task(1, data={"text": "Hello.", "t": "Hello."})
    pull(make_context(studio, memory_store))
    assert read_inputs(memory_store, replace(FACTS, label_config=label_config), Recipe()).texts == text


def test_annotations_that_changed_their_author_are_reported(memory_store: Store) -> None:
    studio = agreed_studio([1])
    pull(make_context(studio, memory_store))
    studio.wait()
    studio.task_rows[1]["annotations"][0]["completed_by"] = 9
    studio.task_rows[1]["updated_at"] = studio.clock
    pull(make_context(studio, memory_store))
    warnings = read_inputs(memory_store, FACTS, Recipe()).crowd.warnings
    assert "Annotations whose author has changed since they were first seen: 1." in warnings
