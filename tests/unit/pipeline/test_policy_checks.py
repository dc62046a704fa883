"""What `doctor` says about a project's policy."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.pipeline.checks import NOTE, OK, Checked, check_project
from ls_crowd_plugin.policy import Policy
from ls_crowd_plugin.settings import read_settings
from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.policies import forget_policy, save_policy
from tests.support.memory_studio import PROJECT, MemoryStudio
from tests.support.passes import agreed_studio, pass_over
from tests.support.transactions import run

SETTINGS = read_settings({"LABEL_STUDIO_URL": "http://studio.example", "LABEL_STUDIO_API_KEY": "key"})
ACTS = "Tasks are opened for one more answer until they are 95 % confident"
UNCHECKED = "People have answered 0 gold tasks"
CHANGED = "Somebody changed the settings"
STUCK = "2 tasks need one more answer"


@pytest.fixture
def studio(memory_store: Store) -> MemoryStudio:
    """Two tasks with the answers of the same two people."""
    studio = agreed_studio([1, 2])
    run(memory_store.data, save_policy, PROJECT, Policy(2, 5))
    pass_over(studio, memory_store)
    return studio


def said(studio: MemoryStudio, store: Store) -> dict[str, str]:
    """The sentences that are looked for here, by their beginnings → their kinds."""
    checks = list(check_project(Checked(SETTINGS, studio, store), PROJECT))
    looked_for = (ACTS, UNCHECKED, CHANGED, STUCK)
    return {words: check.kind for words in looked_for for check in checks if check.sentence.startswith(words)}


def test_a_policy_is_said_with_what_keeps_it_from_closing_tasks(studio: MemoryStudio, memory_store: Store) -> None:
    assert said(studio, memory_store) == {ACTS: OK, UNCHECKED: NOTE, STUCK: NOTE}


def test_settings_that_somebody_changed_are_named(studio: MemoryStudio, memory_store: Store) -> None:
    studio.change_project(PROJECT, {"maximum_annotations": 7})
    assert said(studio, memory_store)[CHANGED] == NOTE


def test_without_a_policy_nothing_is_said(studio: MemoryStudio, memory_store: Store) -> None:
    run(memory_store.data, forget_policy, PROJECT)
    assert said(studio, memory_store) == {}
