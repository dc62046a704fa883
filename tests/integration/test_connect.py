"""Connecting a project in a real Label Studio, repeatedly, and disconnecting it without a trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ls_crowd_plugin.cli import main
from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline.review_tabs import TABS
from ls_crowd_plugin.settings import SECRET_HEADER
from tests.support.studio import MOOD, Project, make_project, people

Run = Callable[..., tuple[int, str, str]]  # exit code, stdout, stderr


@pytest.fixture
def project(owner: Http) -> Project:
    """Thirty tasks; three people agree on all but the first two."""
    first, second, third = people(owner, 3)
    answers = [
        {first: {"mood": "good"}, second: {"mood": "good"}, third: {"mood": "bad" if number < 2 else "good"}}
        for number in range(30)
    ]
    return make_project(owner, MOOD, answers, required_annotators=3)


@pytest.fixture
def run(
    label_studio: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    def run(*arguments: Any, **settings: str) -> tuple[int, str, str]:
        defaults = {
            "LABEL_STUDIO_URL": label_studio.url,
            "LABEL_STUDIO_API_KEY": label_studio.key,
            "LS_CROWD_DATABASE_URL": f"sqlite:///{tmp_path / 'crowd.db'}",
            "LS_CROWD_PUBLIC_URL": "http://127.0.0.1:9999",
            "LS_CROWD_TASK_META": "on",
        }
        for name, value in {**defaults, **settings}.items():
            monkeypatch.setenv(name, value)
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def touched(owner: Http, project: Project) -> dict[str, Any]:
    """Everything of a project that connecting may change."""
    facts = owner.get(f"/api/projects/{project.id}/")
    studio = LabelStudio(owner)
    return {
        "webhooks": studio.webhooks(project.id),
        "tabs": sorted(str(tab["data"].get("title")) for tab in studio.tabs(project.id)),
        "settings": {name: facts[name] for name in ("model_version", "show_collab_predictions", "sampling")},
        "predictions": project.predictions(),
        "meta": [row["meta"] for row in project.rows().values()],
    }


def test_creates_webhook_tabs_and_consensus(owner: Http, project: Project, run: Run) -> None:
    code, printed, _ = run("connect", project.id)
    assert (code, "30 predictions created" in printed) == (0, True)
    (hook,) = LabelStudio(owner).webhooks(project.id)
    assert hook["url"] == f"http://127.0.0.1:9999/webhook/{project.id}"
    assert (hook["is_active"], hook["send_for_all_actions"], list(hook["headers"])) == (
        True,
        True,
        [SECRET_HEADER],
    )
    assert set(touched(owner, project)["tabs"]) == {"Default", *TABS, "Consensus: good", "Consensus: bad"}
    secret = hook["headers"][SECRET_HEADER]
    assert printed.count(secret) == 1, "a generated secret is shown once"
    assert secret not in run("connect", project.id)[1]


def test_repeated_changes_nothing(owner: Http, project: Project, run: Run) -> None:
    run("connect", project.id)
    before = touched(owner, project)
    assert run("connect", project.id)[0] == 0
    assert touched(owner, project) == before


def test_repairs_a_webhook_that_somebody_changed(owner: Http, project: Project, run: Run) -> None:
    run("connect", project.id)
    (hook,) = LabelStudio(owner).webhooks(project.id)
    owner.patch(f"/api/webhooks/{hook['id']}/", {"is_active": False})
    run("connect", project.id)
    assert [webhook["is_active"] for webhook in LabelStudio(owner).webhooks(project.id)] == [True]


def test_tabs_show_what_their_titles_say(owner: Http, project: Project, run: Run) -> None:
    run("connect", project.id)
    tabs = {str(tab["data"].get("title")): int(tab["id"]) for tab in LabelStudio(owner).tabs(project.id)}

    def shown(title: str) -> list[dict[str, Any]]:
        answer = owner.get("/api/tasks", view=tabs[title], project=project.id, fields="all", page_size=100)
        return list(answer["tasks"])

    scores = [task["predictions_score"] for task in shown("Least sure first")]
    assert (len(scores), scores) == (30, sorted(scores))
    settled = [task["predictions_score"] for task in shown("Settled")]
    assert settled == sorted((score for score in scores if score >= 0.95), reverse=True)
    disputed = {
        task
        for task, (prediction,) in project.predictions().items()
        if prediction["result"][0]["meta"]["crowd"].get("disputed")
    }
    assert {int(task["id"]) for task in shown("Disputed by trusted annotators")} == disputed
    for label in ("good", "bad"):
        labelled = {task for task, labels in project.labels().items() if labels["mood"] == label}
        assert {int(task["id"]) for task in shown(f"Consensus: {label}")} == labelled


def test_can_serve_uncertain_tasks_first(owner: Http, project: Project, run: Run) -> None:
    run("connect", project.id, "--uncertain-first")
    assert touched(owner, project)["settings"]["sampling"] == "Uncertainty sampling"


@pytest.mark.parametrize("address", ["http://crowd:9090"])
def test_an_address_that_label_studio_does_not_accept_is_a_warning(project: Project, run: Run, address: str) -> None:
    code, _, warnings = run("connect", project.id, LS_CROWD_PUBLIC_URL=address)
    assert (code, "LS_CROWD_PUBLIC_URL" in warnings) == (0, True)
    assert len(project.predictions()) == 30


def test_disconnecting_leaves_nothing_behind(owner: Http, project: Project, run: Run) -> None:
    before = touched(owner, project)
    run("connect", project.id, "--uncertain-first")
    assert run("disconnect", project.id, "--purge")[0] == 0
    after = touched(owner, project)
    assert {**after, "tabs": []} == {**before, "tabs": []}
    assert after["tabs"] in ([], ["Default"])


def test_disconnecting_without_purging_keeps_predictions(owner: Http, project: Project, run: Run) -> None:
    run("connect", project.id)
    run("disconnect", project.id)
    assert len(project.predictions()) == 30
    assert touched(owner, project)["webhooks"] == []
    assert run("disconnect", project.id)[0] == 0
    assert "will monitor it again" in run("disconnect", project.id, LS_CROWD_PROJECTS="all")[2]


def test_a_label_studio_that_refuses_private_addresses_is_a_warning_with_the_cure(
    label_studio: Server, run: Run, tmp_path: Path
) -> None:
    """The default of Label Studio: tabs are created, and polling does the rest."""
    guarded = Server(label_studio.home, tmp_path / "guarded", environment={"SSRF_PROTECTION_ENABLED": "true"})
    with guarded as server:
        http = Http(server.url, server.key)
        first, second = people(http, 2)
        answers = [{first: {"mood": "good"}, second: {"mood": "bad"}}] * 3
        project = make_project(http, MOOD, answers, required_annotators=2)
        settings = {"LABEL_STUDIO_URL": server.url, "LABEL_STUDIO_API_KEY": server.key, "LS_CROWD_TASK_META": "off"}
        code, _, warnings = run("connect", project.id, **settings)
        assert code == 0
        assert "unless it runs with SSRF_PROTECTION_ENABLED=false" in warnings
        assert LabelStudio(http).webhooks(project.id) == []
        assert set(TABS) <= {str(tab["data"].get("title")) for tab in LabelStudio(http).tabs(project.id)}
        assert len(project.predictions()) == 3
