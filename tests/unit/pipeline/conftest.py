"""What several tests of the pipeline need."""

from __future__ import annotations

import subprocess

import pytest

from ls_crowd_plugin.pipeline.lease import process_name
from ls_crowd_plugin.store import Store


@pytest.fixture
def memory_store(sqlite_store: Store) -> Store:
    """An empty store for passes over a Label Studio in memory."""
    return sqlite_store


@pytest.fixture(scope="session")
def dead_owner() -> str:
    """The name of a process of this machine that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return f"{process_name().rsplit('-', 2)[0]}-{process.pid}-abc"
