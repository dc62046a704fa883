"""The service and its workers as processes: started, stopped, killed, and sharing their work."""

from __future__ import annotations

import contextlib
import os
import random
import re
import secrets
import signal
import socket
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.store import leases, open_store
from ls_crowd_plugin.store.heartbeats import alive_workers
from tests.integration.conftest import MakeService
from tests.support.service import PASSWORD, SECRET, Process, Service
from tests.support.studio import MOOD, Project, flip_label, is_settled, make_project, people
from tests.support.waiting import eventually
from tests.support.webhooks import add_webhook


@pytest.fixture
def project(six_tasks: Project) -> Project:
    return six_tasks


def worker_pid(service: Service) -> int:
    """The process id of the service's worker, its only child."""
    folder = Path(f"/proc/{service.pid}/task")
    children = " ".join(path.read_text(encoding="utf-8") for path in folder.glob("*/children"))
    (pid,) = map(int, children.split())
    return pid


class TestStartAndStop:
    def test_stopping_gives_everything_back(self, project: Project, make_service: MakeService, tmp_path: Path) -> None:
        with make_service(LS_CROWD_PROJECTS=str(project.id)) as service:
            eventually(lambda: len(project.predictions()) == 6)
            assert service.stop() == 0
            assert "worker stops" in service.log_text()
        with open_store(f"sqlite:///{tmp_path / 'crowd.db'}") as store, store.work.connect() as connection:
            assert (leases.list_owners(connection), alive_workers(connection)) == (set(), {})

    def test_a_killed_service_takes_its_worker_with_it(self, make_service: MakeService, tmp_path: Path) -> None:
        with make_service() as service, open_store(f"sqlite:///{tmp_path / 'crowd.db'}") as store:
            os.kill(service.pid, signal.SIGKILL)

            def nobody_works() -> bool:
                with store.work.connect() as connection:
                    return alive_workers(connection) == {}

            eventually(nobody_works)

    def test_a_worker_that_dies_is_restarted(self, project: Project, make_service: MakeService) -> None:
        with make_service(LS_CROWD_POLL_SECONDS="3600") as service:
            os.kill(worker_pid(service), signal.SIGKILL)
            service.event(project.id)
            eventually(lambda: len(project.predictions()) == 6)
            assert "worker died and is restarted" in service.log_text()

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
    def test_what_is_wrong_is_said_before_it_listens(
        self, make_service: MakeService, tmp_path: Path, settings: dict[str, str], sentence: str
    ) -> None:
        service = make_service(**settings)
        process = Process("serve", tmp_path, service.environment)
        assert process.wait(60) in (1, 2)
        log = service.log_text()
        assert sentence in log
        assert "serving" not in log
        assert "Traceback" not in log

    def test_a_port_that_is_taken_is_named(self, make_service: MakeService, tmp_path: Path) -> None:
        with make_service() as service:
            other = make_service(LS_CROWD_PORT=str(service.port))
            assert Process("serve", tmp_path, other.environment).wait(60) == 1
            assert f"cannot listen on 127.0.0.1:{service.port}" in service.log_text()

    def test_generated_secrets_are_printed_once(self, make_service: MakeService) -> None:
        service = make_service(LS_CROWD_WEBHOOK_SECRET="", LS_CROWD_PASSWORD="")
        for _ in range(2):
            with service:
                eventually(lambda: "serving" in service.log_text())
            assert service.log_text().count("shown only once") == 2

    def test_no_secret_is_logged(self, owner: Http, project: Project, make_service: MakeService) -> None:
        with make_service(LS_CROWD_PROJECTS=str(project.id)) as service:
            eventually(lambda: len(project.predictions()) == 6)
            eventually(lambda: re.search(rf"pass done project={project.id} run=\w+ seconds=", service.log_text()))
            for secret in (owner._key, SECRET, PASSWORD):
                assert secret not in service.log_text()


class TestKilled:
    """SIGKILL at random moments of a busy service: in the end nothing is missing, and nothing was done twice."""

    @pytest.mark.parametrize("seed", range(2))
    def test_a_few_times(self, seed: int, owner: Http, project: Project, make_service: MakeService) -> None:
        self.kill(random.Random(seed), 2, owner, project, make_service())

    @pytest.mark.soak
    def test_two_hundred_times(self, owner: Http, project: Project, make_service: MakeService) -> None:
        self.kill(random.Random(77), 200, owner, project, make_service())

    def kill(self, chance: random.Random, times: int, owner: Http, project: Project, service: Service) -> None:
        add_webhook(owner, project.id, f"{service.url}/webhook/{project.id}")
        for _ in range(times):
            service.start()
            flip_label(project, chance.choice(project.tasks))
            time.sleep(chance.uniform(0, 1.0))
            service.kill()
        with service:
            eventually(lambda: service.idle() and is_settled(owner, project), 120)
        assert all(len(predictions) == 1 for predictions in project.predictions().values())


@pytest.mark.postgres
class TestManyWorkers:
    """Three workers on one Postgres, killed now and then."""

    @pytest.mark.parametrize("seed", [0])
    def test_share_the_work(
        self, seed: int, owner: Http, make_service: MakeService, postgres: Callable[[str], str], tmp_path: Path
    ) -> None:
        service = make_service(database_url=postgres(f"many_{secrets.token_hex(4)}"), LS_CROWD_POLL_SECONDS="2")
        self.share(random.Random(seed), 3, owner, service, tmp_path)

    @pytest.mark.soak
    def test_share_the_work_through_fifty_deaths(
        self, owner: Http, make_service: MakeService, postgres: Callable[[str], str], tmp_path: Path
    ) -> None:
        service = make_service(database_url=postgres(f"many_{secrets.token_hex(4)}"), LS_CROWD_POLL_SECONDS="2")
        self.share(random.Random(5), 50, owner, service, tmp_path)

    def share(self, chance: random.Random, deaths: int, owner: Http, service: Service, folder: Path) -> None:
        answers = {annotator: {"mood": "good"} for annotator in people(owner, 3)}
        projects = [make_project(owner, MOOD, [answers] * 3, required_annotators=3) for _ in range(3)]
        with service:
            workers = [Process("worker", folder, service.environment) for _ in range(2)]
            for _ in range(deaths):
                project = chance.choice(projects)
                flip_label(project, chance.choice(project.tasks))
                service.event(project.id)
                time.sleep(chance.uniform(0, 0.5))
                number = chance.randrange(2)
                workers[number].kill()
                workers[number] = Process("worker", folder, service.environment)
            for project in projects:
                service.event(project.id)
            eventually(lambda: service.idle() and all(is_settled(owner, project) for project in projects), 180)
            for worker in workers:
                assert worker.stop() == 0
        for project in projects:
            assert all(len(predictions) == 1 for predictions in project.predictions().values())


class TestHardTimes:
    def test_slow_senders_delay_nobody(self, make_service: MakeService) -> None:
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

    def test_a_locked_database_is_reported_and_waited_out(
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
    def test_a_long_run_needs_no_more_memory_and_files(self, project: Project, make_service: MakeService) -> None:
        """After 400 passes against after 100."""
        with make_service(LS_CROWD_POLL_SECONDS="3600", LS_CROWD_QUIET_SECONDS="0") as service:
            processes = [service.pid, worker_pid(service)]

            def run_passes(number: int) -> None:
                for count in range(number):
                    if count % 10 == 0:
                        flip_label(project, project.tasks[0])
                    for _ in range(5):
                        assert service.event(project.id) == 202
                    eventually(service.idle)

            run_passes(100)
            before = [memory_and_files(process) for process in processes]
            run_passes(300)
            after = [memory_and_files(process) for process in processes]
        for (memory, files), (more_memory, more_files) in zip(before, after, strict=True):
            assert more_memory < 1.1 * memory
            assert more_files <= files + 3


def memory_and_files(process: int) -> tuple[int, int]:
    """Resident memory in kB, and open files."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]), len(list(Path(f"/proc/{process}/fd").iterdir()))
