"""What several tests of the store start from."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.store import Store
from tests.support.mirrored import save_project


@pytest.fixture
def mirror_store(store: Store) -> Store:
    """A store whose mirror holds a project without tasks."""
    save_project(store)
    return store
