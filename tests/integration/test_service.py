"""The service against a real Label Studio: changes reported by webhooks or found by polling reach the consensus."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.settings import SECRET_HEADER
from tests.integration.conftest import MakeService
from tests.support.proxy import Proxy
from tests.support.studio import MOOD, Project, flip_label, is_settled, make_project, people
from tests.support.waiting import eventually
from tests.support.webhooks import add_webhook


@pytest.fixture
def project(six_tasks: Project) -> Project:
    return six_tasks


def label_of(project: Project, task: int) -> str | None:
    """The label of a task's prediction, if it has exactly one."""
    predictions = project.predictions().get(task, [])
    return project.config.read(predictions[0]["result"])["mood"] if len(predictions) == 1 else None


class TestWebhooks:
    @pytest.mark.parametrize(
        ("address", "more"),
        [("/webhook/{}", {}), ("/webhook", {}), ("/webhook/{}", {"send_payload": False})],
        ids=["with the project in the address", "with the project in the payload", "without payload"],
    )
    def test_bring_the_consensus_up_to_date(
        self, owner: Http, project: Project, make_service: MakeService, address: str, more: Any
    ) -> None:
        task = project.tasks[0]
        with make_service(LS_CROWD_POLL_SECONDS="3600") as service:
            add_webhook(owner, project.id, service.url + address.format(project.id), **more)
            label = flip_label(project, task)
            eventually(lambda: label_of(project, task) == label)
            eventually(service.idle)
            assert sorted(project.labels()) == project.tasks
            label = flip_label(project, task)
            eventually(lambda: label_of(project, task) == label)
            eventually(service.idle)
        assert is_settled(owner, project)

    def test_end_without_a_loop(self, owner: Http, project: Project, make_service: MakeService) -> None:
        """Setting the model version fires an event; the pass after it changes nothing more."""
        with make_service(LS_CROWD_POLL_SECONDS="3600") as service:
            add_webhook(owner, project.id, f"{service.url}/webhook/{project.id}")
            flip_label(project, project.tasks[0])
            eventually(lambda: len(project.predictions()) == 6 and service.idle())
            accepted = 'ls_crowd_events_total{outcome="accepted"}'
            before = service.metrics()[accepted]
            service.event(project.id)
            eventually(service.idle)
            assert service.metrics()[accepted] == before + 1

    def test_with_a_wrong_secret_change_nothing(self, owner: Http, project: Project, make_service: MakeService) -> None:
        with make_service(LS_CROWD_POLL_SECONDS="3600") as service:
            url = f"{service.url}/webhook/{project.id}"
            add_webhook(owner, project.id, url, headers={SECRET_HEADER: "guess"})
            flip_label(project, project.tasks[0])
            assert service.metrics()['ls_crowd_events_total{outcome="refused"}'] >= 1
            assert service.metrics()["ls_crowd_projects"] == 0

    def test_doubled_early_late_and_about_others_lead_to_the_same_state(
        self, owner: Http, project: Project, make_service: MakeService
    ) -> None:
        chance = random.Random(0)
        with make_service(LS_CROWD_POLL_SECONDS="1") as service:
            for _ in range(6):
                for _ in range(chance.randrange(3)):
                    service.event(project.id, chance.choice(["TASKS_DELETED", "ANNOTATION_UPDATED", "NEWER_THAN_US"]))
                flip_label(project, chance.choice(project.tasks))
            service.event(987654)
            eventually(lambda: is_settled(owner, project) and service.idle())
        assert is_settled(owner, project)


class TestPolling:
    """Without any webhook."""

    def test_adds_named_projects_and_notices_every_change(
        self, owner: Http, project: Project, make_service: MakeService
    ) -> None:
        with make_service(LS_CROWD_POLL_SECONDS="1", LS_CROWD_PROJECTS=str(project.id)):
            eventually(lambda: len(project.predictions()) == 6)
            task = project.tasks[1]
            label = flip_label(project, task)
            eventually(lambda: label_of(project, task) == label)
            owner.delete(f"/api/predictions/{project.predictions()[task][0]['id']}/")
            eventually(lambda: label_of(project, task) == label)
            owner.delete(f"/api/tasks/{project.tasks[5]}/")
            owner.patch(f"/api/projects/{project.id}/", {"show_collab_predictions": True})
            eventually(lambda: not owner.get(f"/api/projects/{project.id}/")["show_collab_predictions"])

    def test_when_nothing_happens_costs_one_request_for_all_and_one_for_each(
        self, project: Project, make_service: MakeService, proxy: Proxy
    ) -> None:
        with make_service(proxy.url, LS_CROWD_POLL_SECONDS="1", LS_CROWD_PROJECTS=str(project.id)) as service:
            eventually(lambda: len(project.predictions()) == 6 and service.idle())

            def polls_alone() -> bool:
                proxy.requests.clear()
                eventually(lambda: sum(request.path == "/api/projects/" for request in proxy.requests) >= 3)
                return {request.path for request in proxy.requests} == {"/api/projects/", "/api/tasks/"}

            eventually(polls_alone)
            assert proxy.writes == []
            paths = [request.path for request in proxy.requests]
            assert abs(paths.count("/api/tasks/") - paths.count("/api/projects/")) <= 1

    def test_notices_a_deleted_project(self, owner: Http, project: Project, make_service: MakeService) -> None:
        make_project(owner, MOOD, [{}])  # or the list of projects might be empty
        with make_service(LS_CROWD_POLL_SECONDS="1", LS_CROWD_PROJECTS=str(project.id)) as service:
            # A change of a project that Label Studio is just deleting brings it back, so the pass has to be over.
            eventually(lambda: len(project.predictions()) == 6 and service.idle())
            owner.delete(f"/api/projects/{project.id}/")
            eventually(lambda: service.metrics()["ls_crowd_projects"] == 0)


class TestProblems:
    def test_of_label_studio_is_waited_out(self, project: Project, make_service: MakeService, proxy: Proxy) -> None:
        task = project.tasks[0]
        with make_service(proxy.url, LS_CROWD_POLL_SECONDS="1", LS_CROWD_PROJECTS=str(project.id)) as service:
            eventually(lambda: len(project.predictions()) == 6)
            proxy.fault = lambda _: "reset"
            label = flip_label(project, task)
            assert service.event(project.id) == 202
            eventually(lambda: service.metrics()["ls_crowd_workers_in_trouble"] == 1)
            proxy.fault = lambda _: ""
            eventually(lambda: label_of(project, task) == label)

    def test_of_label_studio_at_the_start_is_waited_out(
        self, project: Project, make_service: MakeService, proxy: Proxy
    ) -> None:
        proxy.fault = lambda _: "reset"
        with make_service(proxy.url, LS_CROWD_POLL_SECONDS="1", LS_CROWD_PROJECTS=str(project.id)):
            proxy.fault = lambda _: ""
            eventually(lambda: len(project.predictions()) == 6)

    def test_of_one_project_does_not_affect_another(
        self, owner: Http, project: Project, make_service: MakeService
    ) -> None:
        empty = make_project(owner, MOOD, [{}])
        with make_service(LS_CROWD_POLL_SECONDS="3600") as service:
            service.event(empty.id)
            service.event(project.id)
            eventually(lambda: len(project.predictions()) == 6 and service.idle())
            with service.session() as session:
                listed = session.get(f"{service.url}/api/projects", timeout=20).json()["projects"]
        states = {listed_project["id"]: listed_project for listed_project in listed}
        assert states[project.id]["state"] == "up to date"
        assert states[empty.id]["error"] == f"Project {empty.id} has no answers to aggregate yet."
        assert states[empty.id]["state"] == "parked until something changes"

    def test_of_a_project_ends_when_something_changes(self, owner: Http, make_service: MakeService) -> None:
        empty = make_project(owner, MOOD, [{}])
        with make_service(LS_CROWD_POLL_SECONDS="1", LS_CROWD_PROJECTS=str(empty.id)) as service:
            eventually(lambda: service.metrics()["ls_crowd_projects_failing"] == 1)
            empty.annotate(empty.tasks[0], people(owner, 1)[0], {"mood": "good"})
            eventually(lambda: len(empty.predictions()) == 1)
            eventually(lambda: service.metrics()["ls_crowd_projects_failing"] == 0)
