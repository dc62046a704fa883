"""The service is started, asked and stopped as a process; a scripted server takes Label Studio's place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ls_crowd_plugin.demo.server import free_port
from ls_crowd_plugin.demo.service import Service
from ls_crowd_plugin.errors import CrowdError
from tests.support.scripted_server import LEGACY_KEY, Reply, ScriptedServer


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with ScriptedServer().running() as studio:
        studio.replies = [Reply(body={"results": [], "next": None})]
        with make_service(studio.url, tmp_path_factory.mktemp("service")) as service:
            yield service


def make_service(studio_url: str, folder: Path, **settings: str) -> Service:
    database = f"sqlite:///{folder / 'crowd.db'}"
    return Service(
        studio_url,
        LEGACY_KEY,
        database,
        folder,
        port=free_port(),
        password="open sesame",
        webhook_secret="secret",
        **settings,
    )


def test_is_ready_when_it_has_started(service: Service) -> None:
    assert service.ready()


def test_is_idle_without_projects(service: Service) -> None:
    assert service.idle()
    service.wait_until_idle()
    assert service.metrics()["ls_crowd_projects"] == 0


def test_runs_commands_with_its_settings(service: Service) -> None:
    assert "gold" in service.run("--help")
    with pytest.raises(CrowdError, match="ls-crowd export 7 failed: "):
        service.run("export", "7")


def test_gives_sessions_that_are_logged_in(service: Service) -> None:
    with service.session() as session:
        assert session.get(f"{service.url}/api/projects", timeout=20).json()["projects"] == []


def test_refuses_events_with_another_secret(service: Service) -> None:
    other = make_service("http://unused.example", service.folder)
    other.url, other._webhook_secret = service.url, "wrong"
    assert other.event(7) in (401, 403)


def test_accepts_events_and_stops_with_exit_code_zero(tmp_path: Path) -> None:
    with ScriptedServer().running() as studio:
        studio.replies = [Reply(body={"results": [], "next": None})]
        with make_service(studio.url, tmp_path) as service:
            assert service.event(7) == 202
            assert service.stop() == 0
        assert not service.ready()


def test_that_cannot_start_names_its_log(tmp_path: Path) -> None:
    service = make_service("http://unused.example", tmp_path, LS_CROWD_METHOD="best")
    with pytest.raises(CrowdError, match=f"did not start; its log is {service.log}"):
        service.start()
    assert "LS_CROWD_METHOD is 'best'" in service.log.read_text(encoding="utf-8")


def test_that_was_not_started_cannot_be_stopped(tmp_path: Path) -> None:
    with pytest.raises(CrowdError, match="has not been started"):
        make_service("http://unused.example", tmp_path).stop()
