"""The service beside a real Label Studio."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http
from tests.support.service import Service
from tests.support.studio import MOOD, Project, make_project, people

MakeService = Callable[..., Service]


@pytest.fixture
def make_service(label_studio: Server, tmp_path: Path) -> MakeService:
    """Makes a service with some settings; it is started where it is used as a context."""

    def make(
        url: str = label_studio.url, database_url: str = f"sqlite:///{tmp_path / 'crowd.db'}", **settings: str
    ) -> Service:
        return Service(url, label_studio.key, database_url, tmp_path, **settings)

    return make


@pytest.fixture
def six_tasks(owner: Http) -> Project:
    """A project of six tasks on which two of three people say good."""
    first, second, third = people(owner, 3)
    answers = {first: {"mood": "good"}, second: {"mood": "good"}, third: {"mood": "bad"}}
    return make_project(owner, MOOD, [answers] * 6, required_annotators=3)


@pytest.fixture
def many_tasks(owner: Http) -> Project:
    """A project of twenty-four tasks and three people, one of whom disagrees on two of three tasks."""
    first, second, third = people(owner, 3)
    answers = [
        {first: {"mood": "good"}, second: {"mood": "good"}, third: {"mood": "bad" if number % 3 else "good"}}
        for number in range(24)
    ]
    return make_project(owner, MOOD, answers, required_annotators=3)
