"""`ls-crowd doctor` finds each reason why nothing happens, and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ls_crowd_plugin.cli import main
from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.settings import SECRET_HEADER
from tests.support.studio import MOOD, Project, make_project, people
from tests.support.webhooks import add_webhook

Doctor = Callable[..., tuple[int, str]]  # exit code, and what it printed


@pytest.fixture
def project(owner: Http) -> Project:
    return make_project(owner, MOOD, [{who: {"mood": "good"} for who in people(owner, 2)}] * 2, required_annotators=2)


@pytest.fixture
def doctor(
    label_studio: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    def run(*arguments: Any, command: str = "doctor", **settings: str) -> tuple[int, str]:
        defaults = {
            "LABEL_STUDIO_URL": label_studio.url,
            "LABEL_STUDIO_API_KEY": label_studio.key,
            "LS_CROWD_DATABASE_URL": f"sqlite:///{tmp_path / 'crowd.db'}",
            "LS_CROWD_WEBHOOK_SECRET": "open-sesame",
            "LS_CROWD_PUBLIC_URL": "http://127.0.0.1:9999",
        }
        for name, value in {**defaults, **settings}.items():
            monkeypatch.setenv(name, value)
        code = main([command, *map(str, arguments)])
        return code, capsys.readouterr().out

    return run


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"LABEL_STUDIO_API_KEY": "wrong"}, "refused the token"),
        ({"LABEL_STUDIO_URL": "http://127.0.0.1:1"}, "Check LABEL_STUDIO_URL"),
        ({"LS_CROWD_PUBLIC_URL": "http://crowd:9090"}, "refuses the one-word host name 'crowd'"),
        ({"LS_CROWD_PUBLIC_URL": "http://10.0.0.5:9090"}, "SSRF_PROTECTION_ENABLED=false"),
        ({}, "No worker is running"),
        ({}, "No project is monitored"),
    ],
)
def test_finds_what_is_wrong_around_projects(doctor: Doctor, settings: dict[str, str], sentence: str) -> None:
    code, printed = doctor(**settings)
    assert sentence in printed
    assert (code == 1) == ("✗" in printed)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (None, "has no webhook to http://127.0.0.1:9999"),
        ({"is_active": False}, "is switched off"),
        (
            {"send_for_all_actions": False, "actions": ["PROJECT_UPDATED"]},
            "is not sent for ANNOTATIONS_DELETED, ANNOTATION_CREATED",
        ),
        ({"headers": {}}, "does not send the header X-LS-Crowd-Secret"),
        ({"headers": {SECRET_HEADER: "left"}}, "sends a different secret"),
        ({"url": "http://127.0.0.1:9999/hook"}, "has an address other than /webhook/"),
        ({"url": "http://127.0.0.1:9999/webhook", "send_payload": False}, "sends no payload"),
        ({"headers": {"x-ls-crowd-secret": "open-sesame"}}, "is set up correctly"),
        ({}, "is set up correctly"),
    ],
)
def test_checks_webhooks(
    owner: Http, doctor: Doctor, project: Project, changes: dict[str, Any] | None, sentence: str
) -> None:
    if changes is not None:
        url = f"http://127.0.0.1:9999/webhook/{project.id}"
        add_webhook(owner, project.id, **{"url": url, "headers": {SECRET_HEADER: "open-sesame"}, **changes})
    _, printed = doctor(project.id)
    assert sentence in printed
    assert "open-sesame" not in printed


def test_checks_controls_answers_and_gold(owner: Http, doctor: Doctor, project: Project) -> None:
    assert "There are no answers to aggregate yet" in doctor(project.id)[1]
    doctor(project.id, command="sync")
    _, printed = doctor(project.id)
    for words in (
        "These controls are aggregated: mood.",
        "2 of 2 answered tasks have several answers",
        "There is no gold",
        "2 predictions",
    ):
        assert words in printed
    alone = make_project(owner, MOOD, [{people(owner, 1)[0]: {"mood": "good"}}], required_annotators=1)
    doctor(alone.id, command="sync")
    assert "No task has more than one answer" in doctor(alone.id)[1]


def test_notices_that_annotators_are_influenced(owner: Http, doctor: Doctor, project: Project) -> None:
    doctor(project.id, command="sync")
    owner.patch(f"/api/projects/{project.id}/", {"show_collab_predictions": True})
    assert "fills in annotations from predictions" in doctor(project.id)[1]


def test_names_a_project_that_does_not_exist(doctor: Doctor) -> None:
    code, printed = doctor(987654)
    assert (code, "404" in printed) == (1, True)
