"""The service while somebody floods it: people and real projects notice little of it."""

from __future__ import annotations

import time

import pytest
import requests

from benchmarks.flood_sender import flood
from ls_crowd_plugin.labelstudio import Http
from tests.integration.conftest import MakeService
from tests.support.service import SECRET
from tests.support.studio import MOOD, Project, flip_label, make_project, people
from tests.support.waiting import eventually
from tests.support.webhooks import add_webhook

SECONDS = 60.0  # after which a flood ends by itself


@pytest.fixture
def project(six_tasks: Project) -> Project:
    return six_tasks


def test_invented_events_keep_no_project_waiting_and_enter_no_queue(
    owner: Http, project: Project, make_service: MakeService
) -> None:
    """Not even one that the service has never heard of."""
    answers = {person: {"mood": "good"} for person in people(owner, 3)}
    new = make_project(owner, MOOD, [answers] * 3, required_annotators=3)
    with make_service(LS_CROWD_POLL_SECONDS="3600") as service:
        for one in (project, new):
            add_webhook(owner, one.id, f"{service.url}/webhook/{one.id}")
        flip_label(project, project.tasks[0])
        eventually(lambda: len(project.predictions()) == 6 and service.idle())
        with flood(service.port, SECRET, rate=200, half_open=0, seconds=SECONDS) as sent:
            label = flip_label(project, project.tasks[1])
            eventually(lambda: project.labels()[project.tasks[1]]["mood"] == label, 30)
            flip_label(new, new.tasks[0])
            eventually(lambda: len(new.predictions()) == 3, 30)
        assert sent.accepted > 100
        eventually(lambda: service.metrics()["ls_crowd_projects_unconfirmed"] == 0)
        assert service.metrics()["ls_crowd_projects"] == 2


def test_half_open_connections_keep_nobody_out(project: Project, make_service: MakeService) -> None:
    """Five hundred of them, without the secret."""
    with (
        make_service(LS_CROWD_POLL_SECONDS="3600") as service,
        flood(service.port, "", rate=0, half_open=500, seconds=SECONDS),
    ):
        until = time.monotonic() + 3.0
        while time.monotonic() < until:
            assert requests.get(f"{service.url}/healthz", timeout=2).ok
            assert service.event(project.id) == 202
        assert service.session().get(f"{service.url}/", timeout=5).ok
        eventually(lambda: len(project.predictions()) == 6, 30)
