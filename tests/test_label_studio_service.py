"""The service against a real Label Studio: real webhooks in, consensus out, and nothing lost whatever happens."""

from __future__ import annotations

import contextlib
import random
import re
import secrets
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
from proxy import Proxy
from service import PASSWORD, SECRET, Process, Service, eventually
from studio import MOOD, Project, make_project, once, people

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.store import WorkList, open_database, open_work_list

MakeService = Callable[..., Service]


@pytest.fixture
def project(owner: Http) -> Project:
    """Six tasks on which two of three people say good."""
    first, second, third = people(owner, 3)
    said = {first: {"mood": "good"}, second: {"mood": "good"}, third: {"mood": "bad"}}
    return make_project(owner, MOOD, [said] * 6, overlap=3)


@pytest.fixture
def make_service(label_studio: Server, tmp_path: Path) -> MakeService:
    def make(
        url: str = label_studio.url, database_url: str = f"sqlite:///{tmp_path / 'crowd.db'}", **settings: str
    ) -> Service:
        return Service(url, label_studio.key, database_url, tmp_path, **settings)

    return make


def add_webhook(owner: Http, service: Service, project: Project, address: str = "/webhook/{}", **more: Any) -> None:
    body = {
        "url": service.url + address.format(project.id),
        "project": project.id,
        "headers": {"X-LS-Crowd-Secret": SECRET},
        "send_payload": True,
        "send_for_all_actions": True,
        "is_active": True,
        **more,
    }
    owner.post("/api/webhooks/", body)


def change_mind(project: Project, task: int) -> str:
    """One person's second thoughts that turn the majority; the new label."""
    first = min(project.annotations(task), key=lambda each: int(each["id"]))
    label = "bad" if first["result"][0]["value"]["choices"] == ["good"] else "good"
    project.edit(first["id"], {"mood": label})
    return label


def label_of(project: Project, task: int) -> str | None:
    found = project.predictions().get(task, [])
    return project.config.read(found[0]["result"])["mood"] if len(found) == 1 else None


def assert_as_a_fresh_sync(owner: Http, project: Project) -> None:
    """A pass that knows nothing of before finds nothing to do."""
    unaware = open_database("sqlite:///:memory:")
    try:
        assert once(owner, unaware, project, dry_run=True).plan.empty
    finally:
        unaware.dispose()


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
            add_webhook(owner, service, project, address, **more)
            label = change_mind(project, task)
            eventually(lambda: label_of(project, task) == label)
            eventually(service.idle)
            assert sorted(project.labels()) == project.tasks
            label = change_mind(project, task)
            eventually(lambda: label_of(project, task) == label)
            eventually(service.idle)
        assert_as_a_fresh_sync(owner, project)

    def test_end_without_a_loop(self, owner: Http, project: Project, make_service: MakeService) -> None:
        """Setting the model version fires an event of its own; after it, nothing more is done."""
        with make_service(LS_CROWD_POLL_SECONDS="3600") as service:
            add_webhook(owner, service, project)
            change_mind(project, project.tasks[0])
            eventually(lambda: len(project.predictions()) == 6 and service.idle())
            accepted = 'ls_crowd_events_total{outcome="accepted"}'
            before = service.metrics()[accepted]
            service.event(project.id)
            eventually(service.idle)
            assert service.metrics()[accepted] == before + 1

    def test_with_a_wrong_secret_change_nothing(self, owner: Http, project: Project, make_service: MakeService) -> None:
        with make_service(LS_CROWD_POLL_SECONDS="3600") as service:
            add_webhook(owner, service, project, headers={"X-LS-Crowd-Secret": "guess"})
            change_mind(project, project.tasks[0])
            assert service.metrics()['ls_crowd_events_total{outcome="refused"}'] >= 1
            assert service.metrics()["ls_crowd_projects"] == 0

    def test_doubled_early_late_and_about_others_end_in_the_same_place(
        self, owner: Http, project: Project, make_service: MakeService
    ) -> None:
        chance = random.Random(0)
        with make_service(LS_CROWD_POLL_SECONDS="1") as service:
            for _ in range(6):
                for _ in range(chance.randrange(3)):
                    service.event(project.id, chance.choice(["TASKS_DELETED", "ANNOTATION_UPDATED", "NEWER_THAN_US"]))
                change_mind(project, chance.choice(project.tasks))
            service.event(987654)
            eventually(lambda: _as_it_should_be(owner, project) and service.idle())
        assert_as_a_fresh_sync(owner, project)


def _as_it_should_be(owner: Http, project: Project) -> bool:
    unaware = open_database("sqlite:///:memory:")
    try:
        return once(owner, unaware, project, dry_run=True).plan.empty
    finally:
        unaware.dispose()


class TestPolling:
    """Without any webhook."""

    def test_takes_on_named_projects_and_sees_every_change(
        self, owner: Http, project: Project, make_service: MakeService
    ) -> None:
        with make_service(LS_CROWD_POLL_SECONDS="1", LS_CROWD_PROJECTS=str(project.id)):
            eventually(lambda: len(project.predictions()) == 6)
            task = project.tasks[1]
            label = change_mind(project, task)
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
                proxy.passed.clear()
                eventually(lambda: sum(each.path == "/api/projects/" for each in proxy.passed) >= 3)
                return {each.path for each in proxy.passed} == {"/api/projects/", "/api/tasks"}

            eventually(polls_alone)
            assert proxy.writes == []
            listed = [each.path for each in proxy.passed]
            assert abs(listed.count("/api/tasks") - listed.count("/api/projects/")) <= 1

    def test_notices_a_deleted_project(self, owner: Http, project: Project, make_service: MakeService) -> None:
        make_project(owner, MOOD, [{}])  # or the list of projects might be empty
        with make_service(LS_CROWD_POLL_SECONDS="1", LS_CROWD_PROJECTS=str(project.id)) as service:
            eventually(lambda: len(project.predictions()) == 6)
            owner.delete(f"/api/projects/{project.id}/")
            eventually(lambda: service.metrics()["ls_crowd_projects"] == 0)


class TestTrouble:
    def test_of_label_studio_is_waited_out(self, project: Project, make_service: MakeService, proxy: Proxy) -> None:
        task = project.tasks[0]
        with make_service(proxy.url, LS_CROWD_POLL_SECONDS="1", LS_CROWD_PROJECTS=str(project.id)) as service:
            eventually(lambda: len(project.predictions()) == 6)
            proxy.fault = lambda _: "reset"
            label = change_mind(project, task)
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

    def test_of_one_project_keeps_no_other_back(self, owner: Http, project: Project, make_service: MakeService) -> None:
        empty = make_project(owner, MOOD, [{}])
        with make_service(LS_CROWD_POLL_SECONDS="3600") as service:
            service.event(empty.id)
            service.event(project.id)
            eventually(lambda: len(project.predictions()) == 6 and service.idle())
            session = requests.Session()
            token = session.get(f"{service.url}/login").text.split('name="token" value="')[1].split('"')[0]
            session.post(f"{service.url}/login", data={"token": token, "password": PASSWORD})
            states = {each["id"]: each for each in session.get(f"{service.url}/api/projects").json()["projects"]}
        assert states[project.id]["state"] == "up to date"
        assert "no answers yet" in states[empty.id]["error"]
        assert states[empty.id]["state"] == "set aside until something changes"

    def test_of_a_project_ends_when_something_changes(self, owner: Http, make_service: MakeService) -> None:
        empty = make_project(owner, MOOD, [{}])
        with make_service(LS_CROWD_POLL_SECONDS="1", LS_CROWD_PROJECTS=str(empty.id)) as service:
            eventually(lambda: service.metrics()["ls_crowd_projects_failing"] == 1)
            empty.annotate(empty.tasks[0], people(owner, 1)[0], {"mood": "good"})
            eventually(lambda: len(empty.predictions()) == 1)
            eventually(lambda: service.metrics()["ls_crowd_projects_failing"] == 0)


class TestStartAndStop:
    def test_stops_in_order(self, project: Project, make_service: MakeService, tmp_path: Path) -> None:
        service = make_service(LS_CROWD_PROJECTS=str(project.id))
        with service:
            eventually(lambda: len(project.predictions()) == 6)
            assert service.stop() == 0
            assert "worker stops" in service.said()
        engine = open_work_list(f"sqlite:///{tmp_path / 'crowd.db'}")
        work = WorkList(engine)
        assert (work.owners(), work.workers()) == (set(), {})
        engine.dispose()

    def test_takes_its_worker_with_it_when_it_is_killed(self, make_service: MakeService, tmp_path: Path) -> None:
        with make_service() as service:
            assert service._process is not None
            service._process.process.kill()
            engine = open_work_list(f"sqlite:///{tmp_path / 'crowd.db'}")
            eventually(lambda: WorkList(engine).workers() == {})
            engine.dispose()

    def test_starts_its_worker_again_when_that_dies(self, project: Project, make_service: MakeService) -> None:
        with make_service(LS_CROWD_POLL_SECONDS="3600") as service:
            subprocess.run(["pkill", "-9", "-f", f"-P{service._process.process.pid}", "worker"], check=True)  # type: ignore[union-attr]
            service.event(project.id)
            eventually(lambda: len(project.predictions()) == 6)
            assert "worker ended and is started again" in service.said()

    @pytest.mark.parametrize(
        ("settings", "sentence"),
        [
            ({"LABEL_STUDIO_API_KEY": "wrong"}, "refused the token"),
            ({"LS_CROWD_POLL_SECONDS": "often"}, "LS_CROWD_POLL_SECONDS is 'often'"),
            ({"LS_CROWD_DATABASE_URL": "oracle://x"}, "LS_CROWD_DATABASE_URL"),
            ({"LS_CROWD_METHOD": "best"}, "LS_CROWD_METHOD is 'best'"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_says_what_is_wrong_before_it_listens(
        self, make_service: MakeService, tmp_path: Path, settings: dict[str, str], sentence: str
    ) -> None:
        service = make_service(**settings)
        process = Process("serve", tmp_path, service.environment)
        assert process.process.wait(60) in (1, 2)
        said = service.said()
        assert sentence in said
        assert "serving" not in said
        assert "Traceback" not in said

    def test_says_that_its_port_is_taken(self, make_service: MakeService, tmp_path: Path) -> None:
        with make_service() as service:
            other = make_service(LS_CROWD_PORT=str(service.port))
            assert Process("serve", tmp_path, other.environment).process.wait(60) == 1
            assert f"cannot listen at 127.0.0.1:{service.port}" in service.said()

    def test_prints_the_secrets_it_makes_once(self, make_service: MakeService) -> None:
        made = make_service(LS_CROWD_WEBHOOK_SECRET="", LS_CROWD_PASSWORD="")
        for times in (1, 1):
            with made:
                eventually(lambda: "serving" in made.said())
            assert made.said().count("shown this once") == 2 * times

    def test_logs_no_secret(self, owner: Http, project: Project, make_service: MakeService) -> None:
        with make_service(LS_CROWD_PROJECTS=str(project.id)) as service:
            eventually(lambda: len(project.predictions()) == 6)
            eventually(lambda: re.search(rf"pass done project={project.id} run=\w+ seconds=", service.said()))
            for secret in (owner._key, SECRET, PASSWORD):
                assert secret not in service.said()


class TestKilled:
    """SIGKILL at random moments of a busy service: what was wanted is done, and done once."""

    @pytest.mark.parametrize("seed", range(2))
    def test_a_few_times(self, seed: int, owner: Http, project: Project, make_service: MakeService) -> None:
        self.killed(random.Random(seed), 2, owner, project, make_service())

    @pytest.mark.soak
    def test_two_hundred_times(self, owner: Http, project: Project, make_service: MakeService) -> None:
        self.killed(random.Random(77), 200, owner, project, make_service())

    def killed(self, chance: random.Random, times: int, owner: Http, project: Project, service: Service) -> None:
        add_webhook(owner, service, project)
        for _ in range(times):
            service.start()
            change_mind(project, chance.choice(project.tasks))
            time.sleep(chance.uniform(0, 1.0))
            service.kill()
        with service:
            eventually(lambda: service.idle() and _as_it_should_be(owner, project), 120)
        assert all(len(found) == 1 for found in project.predictions().values())


class TestManyWorkers:
    """Three workers on one Postgres, killed now and then."""

    @pytest.mark.parametrize("seed", [0])
    def test_share_the_work(
        self, seed: int, owner: Http, make_service: MakeService, postgres: Callable[[str], str], tmp_path: Path
    ) -> None:
        self.shared(random.Random(seed), 3, owner, make_service, postgres, tmp_path)

    @pytest.mark.soak
    def test_share_the_work_through_fifty_deaths(
        self, owner: Http, make_service: MakeService, postgres: Callable[[str], str], tmp_path: Path
    ) -> None:
        self.shared(random.Random(5), 50, owner, make_service, postgres, tmp_path)

    def shared(
        self,
        chance: random.Random,
        deaths: int,
        owner: Http,
        make_service: MakeService,
        postgres: Callable[[str], str],
        folder: Path,
    ) -> None:
        who = people(owner, 3)
        said = {by: {"mood": "good"} for by in who}
        projects = [make_project(owner, MOOD, [said] * 3, overlap=3) for _ in range(3)]
        service = make_service(database_url=postgres(f"many_{secrets.token_hex(4)}"), LS_CROWD_POLL_SECONDS="2")
        with service:
            workers = [Process("worker", folder, service.environment) for _ in range(2)]
            for _ in range(deaths):
                project = chance.choice(projects)
                change_mind(project, chance.choice(project.tasks))
                service.event(project.id)
                time.sleep(chance.uniform(0, 0.5))
                number = chance.randrange(2)
                workers[number].kill()
                workers[number] = Process("worker", folder, service.environment)
            for project in projects:
                service.event(project.id)
            eventually(lambda: service.idle() and all(_as_it_should_be(owner, each) for each in projects), 180)
            for worker in workers:
                assert worker.stop() == 0
        for project in projects:
            assert all(len(found) == 1 for found in project.predictions().values())


class TestHardTimes:
    def test_slow_senders_hold_nobody_up(self, make_service: MakeService) -> None:
        with make_service(LS_CROWD_POLL_SECONDS="3600") as service, contextlib.ExitStack() as opened:
            for number in range(60):
                slow = opened.enter_context(socket.create_connection(("127.0.0.1", service.port)))
                slow.sendall(b"POST /webhook/1 HTTP/1.1\r\nContent-Length: 1000\r\n" + b"\r\n{" * (number % 2))
            started = time.monotonic()
            assert [service.event(1) for _ in range(20)] == [202] * 20
            assert time.monotonic() - started < 5

    def test_what_is_too_large_is_refused_before_it_is_sent(self, make_service: MakeService) -> None:
        with make_service() as service, socket.create_connection(("127.0.0.1", service.port)) as sender:
            sender.sendall(b"POST /webhook/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
            assert b" 413 " in sender.recv(1000).splitlines()[0]

    def test_a_locked_database_is_said_and_waited_out(
        self, project: Project, make_service: MakeService, tmp_path: Path
    ) -> None:
        with make_service(LS_CROWD_POLL_SECONDS="3600") as service:
            locked = sqlite3.connect(tmp_path / "crowd-work.db", isolation_level=None)
            locked.execute("BEGIN EXCLUSIVE")
            assert service.event(project.id) == 503
            assert requests.get(f"{service.url}/readyz", timeout=5).status_code == 503
            assert requests.get(f"{service.url}/healthz", timeout=5).status_code == 200
            locked.execute("ROLLBACK")
            locked.close()
            assert service.event(project.id) == 202
            eventually(lambda: len(project.predictions()) == 6)
            assert service.ready()

    @pytest.mark.soak
    def test_a_long_run_takes_no_more_and_no_more(self, project: Project, make_service: MakeService) -> None:
        """Memory and open files after 400 passes against those after 100."""
        with make_service(LS_CROWD_POLL_SECONDS="3600", LS_CROWD_QUIET_SECONDS="0") as service:
            assert service._process is not None
            serving = service._process.process.pid
            children = " ".join(path.read_text() for path in Path(f"/proc/{serving}/task").glob("*/children"))
            (working,) = map(int, children.split())

            def passes(number: int) -> None:
                for count in range(number):
                    if count % 10 == 0:
                        change_mind(project, project.tasks[0])
                    for _ in range(5):
                        assert service.event(project.id) == 202
                    eventually(service.idle)

            passes(100)
            before = [_used(serving), _used(working)]
            passes(300)
            after = [_used(serving), _used(working)]
        for (memory, files), (more_memory, more_files) in zip(before, after, strict=True):
            assert more_memory < 1.1 * memory
            assert more_files <= files + 3


def _used(process: int) -> tuple[int, int]:
    """Resident memory in kB, and open files."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]), len(list(Path(f"/proc/{process}/fd").iterdir()))
