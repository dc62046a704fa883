"""Everything in the recipe has its effect: a change of any field changes the fingerprint of a pass."""

from __future__ import annotations

import dataclasses

import pytest

from ls_crowd_plugin.labelstudio import ProjectFacts
from ls_crowd_plugin.pipeline.inputs import fingerprint
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.settings import SETTINGS, Settings, read_settings
from ls_crowd_plugin.store import Store
from tests.support.transactions import run

FIELDS = [field.name for field in dataclasses.fields(Recipe)]

# A value other than the default for every field. A new field needs one.
OTHER_VALUES: dict[str, object] = {
    "method": "gem",
    "separate_fits": True,
    "gold_sources": frozenset({"plugin", "experts"}),
    "experts": frozenset({3}),
    "gold_field": "right",
    "min_iou": 0.7,
    "only_complete": True,
    "task_meta": "off",
    "annotator_scores": False,
    "ordered": frozenset({"mood"}),
    "decide": "distance",
    "rings": "count",
}


def with_other_value(name: str) -> Recipe:
    assert name in OTHER_VALUES, f"Add a value of Recipe.{name} to OTHER_VALUES in this test."
    return dataclasses.replace(Recipe(), **{name: OTHER_VALUES[name]})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_changes_the_digest(name: str) -> None:
    assert with_other_value(name).digest() != Recipe().digest()


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_changes_the_fingerprint(sqlite_store: Store, name: str) -> None:
    recipes = (Recipe(), with_other_value(name))
    facts = ProjectFacts(7, "Moods", "<View/>", "", 0)
    first, second = (run(sqlite_store.data, fingerprint, facts, recipe) for recipe in recipes)
    assert first != second


def test_there_are_no_values_of_fields_that_do_not_exist() -> None:
    assert set(OTHER_VALUES) == set(FIELDS)


def test_the_digest_depends_on_nothing_else() -> None:
    experts = [frozenset(ids) for ids in ([1, 2, 30, 400], [400, 30, 2, 1])]
    assert len({Recipe(experts=ids).digest() for ids in experts}) == 1


def test_settings_marked_as_recipe_are_its_fields() -> None:
    assert sorted(setting.field for setting in SETTINGS if setting.recipe) == sorted(FIELDS)


def test_other_settings_are_fields_of_the_settings() -> None:
    others = {field.name for field in dataclasses.fields(Settings)} - {"recipe"}
    assert {setting.field for setting in SETTINGS if not setting.recipe} == others


def test_defaults_of_the_settings_are_those_of_the_recipe() -> None:
    assert read_settings({}, needs_label_studio=False).recipe == Recipe()
