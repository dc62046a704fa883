"""`ls-crowd doctor` finds each reason why nothing happens, and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from studio import MOOD, Project, make_project, people

from ls_crowd_plugin.cli import main
from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http

Doctor = Callable[..., tuple[int, str]]  # exit code, and what it printed


@pytest.fixture
def project(owner: Http) -> Project:
    return make_project(owner, MOOD, [{who: {"mood": "good"} for who in people(owner, 2)}] * 2, overlap=2)


@pytest.fixture
def doctor(
    label_studio: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    def run(*arguments: Any, command: str = "doctor", **settings: str) -> tuple[int, str]:
        given = {
            "LABEL_STUDIO_URL": label_studio.url,
            "LABEL_STUDIO_API_KEY": label_studio.key,
            "LS_CROWD_DATABASE_URL": f"sqlite:///{tmp_path / 'crowd.db'}",
            "LS_CROWD_WEBHOOK_SECRET": "open-sesame",
            "LS_CROWD_PUBLIC_URL": "http://127.0.0.1:9999",
        }
        for name, value in {**given, **settings}.items():
            monkeypatch.setenv(name, value)
        code = main([command, *map(str, arguments)])
        return code, capsys.readouterr().out

    return run


def hook(owner: Http, project: Project, **changes: Any) -> None:
    body = {
        "url": f"http://127.0.0.1:9999/webhook/{project.id}",
        "project": project.id,
        "headers": {"X-LS-Crowd-Secret": "open-sesame"},
        "send_payload": True,
        "send_for_all_actions": True,
        "is_active": True,
    }
    owner.post("/api/webhooks/", {**body, **changes})


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"LABEL_STUDIO_API_KEY": "wrong"}, "refused the token"),
        ({"LABEL_STUDIO_URL": "http://127.0.0.1:1"}, "Check LABEL_STUDIO_URL"),
        ({"LS_CROWD_PUBLIC_URL": "http://crowd:9090"}, "refuses the one-word host 'crowd'"),
        ({"LS_CROWD_PUBLIC_URL": "http://10.0.0.5:9090"}, "SSRF_PROTECTION_ENABLED=false"),
        ({}, "No worker is alive"),
        ({}, "No project is looked after"),
    ],
)
def test_finds_what_is_wrong_around_it(doctor: Doctor, settings: dict[str, str], sentence: str) -> None:
    code, said = doctor(**settings)
    assert sentence in said
    assert (code == 1) == ("✗" in said)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (None, "has no webhook to http://127.0.0.1:9999"),
        ({"is_active": False}, "is switched off"),
        (
            {"send_for_all_actions": False, "actions": ["PROJECT_UPDATED"]},
            "is not told of ANNOTATIONS_DELETED, ANNOTATION_CREATED",
        ),
        ({"headers": {}}, "brings no header X-LS-Crowd-Secret"),
        ({"headers": {"X-LS-Crowd-Secret": "left"}}, "brings another secret"),
        ({"url": "http://127.0.0.1:9999/hook"}, "has an address that is not /webhook/"),
        ({"url": "http://127.0.0.1:9999/webhook", "send_payload": False}, "sends no payload"),
        ({"headers": {"x-ls-crowd-secret": "open-sesame"}}, "is in order"),
        ({}, "is in order"),
    ],
)
def test_looks_at_webhooks(
    owner: Http, doctor: Doctor, project: Project, changes: dict[str, Any] | None, sentence: str
) -> None:
    if changes is not None:
        hook(owner, project, **changes)
    _, said = doctor(project.id)
    assert sentence in said
    assert "open-sesame" not in said


def test_looks_at_controls_answers_and_gold(owner: Http, doctor: Doctor, project: Project) -> None:
    assert "No answers are known yet" in doctor(project.id)[1]
    doctor(project.id, command="sync")
    _, said = doctor(project.id)
    for words in ("Aggregated are: mood", "2 of 2 answered tasks have several", "No gold is known", "2 predictions"):
        assert words in said
    alone = make_project(owner, MOOD, [{people(owner, 1)[0]: {"mood": "good"}}], overlap=1)
    doctor(alone.id, command="sync")
    assert "No task has more than one answer" in doctor(alone.id)[1]


def test_notices_that_annotators_are_led(owner: Http, doctor: Doctor, project: Project) -> None:
    doctor(project.id, command="sync")
    owner.patch(f"/api/projects/{project.id}/", {"show_collab_predictions": True})
    assert "annotators are led" in doctor(project.id)[1]


def test_names_a_project_that_is_not_there(doctor: Doctor) -> None:
    code, said = doctor(987654)
    assert (code, "404" in said) == (1, True)
