"""A pass against a real Label Studio that fails: broken requests, killed processes, and projects that fail."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.pipeline.outcome import Kind
from ls_crowd_plugin.store import Store
from tests.conftest import RunCommand
from tests.support.proxy import ProxiedRequest, Proxy
from tests.support.studio import (
    MOOD,
    Project,
    flip_label,
    impatient,
    is_settled,
    make_project,
    run_once,
    sync_once,
)

FAULTS = ("500", "429", "reset", "lost", "truncated", "slow")


@pytest.fixture
def project(many_tasks: Project) -> Project:
    return many_tasks


def assert_right(owner: Http, project: Project) -> None:
    """The state is that of an undisturbed pass: every task has one prediction, and a fresh pass finds nothing to do."""
    assert is_settled(owner, project)
    numbers = {task: len(predictions) for task, predictions in project.predictions().items()}
    assert numbers == dict.fromkeys(project.tasks, 1)


class TestBrokenRequests:
    @pytest.mark.parametrize("faults", [FAULTS[:3], FAULTS[3:]], ids=" ".join)
    def test_do_not_spoil_the_state(
        self, faults: tuple[str, ...], project: Project, owner: Http, proxy: Proxy, sqlite_store: Store
    ) -> None:
        self.break_requests(faults, project, owner, proxy, sqlite_store)

    @pytest.mark.soak
    @pytest.mark.parametrize("fault", FAULTS)
    def test_of_each_kind_alone_do_not_spoil_the_state(
        self, fault: str, project: Project, owner: Http, proxy: Proxy, sqlite_store: Store
    ) -> None:
        for _ in range(5):
            self.break_requests((fault,), project, owner, proxy, sqlite_store)

    def break_requests(
        self, faults: tuple[str, ...], project: Project, owner: Http, proxy: Proxy, store: Store
    ) -> None:
        """One request in four breaks. A pass succeeds or says why in one sentence; the next one repairs everything."""
        chance = random.Random(str(faults))
        http = impatient(proxy.url, owner._key)
        for changed in ([], project.tasks[:22]):
            for task in changed:
                flip_label(project, task)
            proxy.fault = lambda _: chance.choice(faults) if chance.random() < 0.25 else ""
            for _ in range(2):
                outcome = run_once(http, store, project.id, method="plu", task_meta="off")
                if outcome.report is None:
                    assert outcome.kind is Kind.FAILED
                    assert re.fullmatch(r"[^\n]+\.", outcome.reason)
            proxy.fault = lambda _: ""
            sync_once(http, store, project)
            assert_right(owner, project)

    @pytest.mark.parametrize("fault", ["500", "reset", "truncated"])
    def test_that_never_end_are_one_sentence(
        self, fault: str, project: Project, owner: Http, proxy: Proxy, sqlite_store: Store
    ) -> None:
        proxy.fault = lambda _: fault
        outcome = run_once(impatient(proxy.url, owner._key), sqlite_store, project.id)
        assert outcome.kind is Kind.FAILED
        sentence = r"Label Studio at http://\S+ failed to answer GET \S+ in 6 tries: .*\."
        assert re.fullmatch(sentence, outcome.reason)
        assert project.predictions() == {}

    def test_in_the_middle_of_the_tasks_leave_the_rest_to_the_next_pass(
        self, project: Project, owner: Http, proxy: Proxy, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What a first pull read before it broke off is not aggregated."""
        monkeypatch.setattr("ls_crowd_plugin.labelstudio.client.PAGE_SIZE", 10)
        pages = iter(range(100))
        proxy.fault = lambda request: "500" if request.path == "/api/tasks/" and next(pages) >= 2 else ""
        outcome = run_once(impatient(proxy.url, owner._key), sqlite_store, project.id)
        assert (outcome.kind, proxy.writes) == (Kind.FAILED, [])
        proxy.fault = lambda _: ""
        sync_once(owner, sqlite_store, project)
        assert_right(owner, project)


class TestKilled:
    """SIGKILL at random moments of writing: the next pass ends in the state of an undisturbed one."""

    @pytest.mark.parametrize("seed", range(3))
    def test_a_few_times(self, seed: int, project: Project, owner: Http, proxy: Proxy, tmp_path: Path) -> None:
        self.kill_and_complete(random.Random(seed), project, owner, proxy, tmp_path)

    @pytest.mark.soak
    def test_a_hundred_times(self, project: Project, owner: Http, proxy: Proxy, tmp_path: Path) -> None:
        killed = 0
        for seed in range(130):
            killed += self.kill_and_complete(random.Random(1000 + seed), project, owner, proxy, tmp_path)
        assert killed >= 100

    def kill_and_complete(
        self, chance: random.Random, project: Project, owner: Http, proxy: Proxy, tmp_path: Path
    ) -> bool:
        """Change some tasks, kill a sync while it writes, and run another; return whether the first was killed."""
        for task in chance.sample(project.tasks, chance.choice((2, 5, 22))):
            flip_label(project, task)
        environment = {
            **os.environ,
            "LABEL_STUDIO_URL": proxy.url,
            "LABEL_STUDIO_API_KEY": owner._key,
            "LS_CROWD_DATABASE_URL": f"sqlite:///{tmp_path / 'killed.db'}",
            "LS_CROWD_METHOD": "plu",
            "LS_CROWD_TASK_META": "off",
        }
        command = [sys.executable, "-m", "ls_crowd_plugin", "sync", str(project.id)]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        at, before, pause = chance.randrange(1, 4), chance.random() < 0.5, chance.uniform(0, 0.1)
        writes = iter(range(1, 1000))

        def kill(request: ProxiedRequest) -> None:
            if request.writes and next(writes) == at:
                threading.Timer(pause, process.send_signal, (signal.SIGKILL,)).start()

        def kill_before(request: ProxiedRequest) -> str:
            kill(request)
            return ""

        if before:
            proxy.fault = kill_before
        else:
            proxy.after = kill
        _, errors = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), errors
        proxy.fault, proxy.after = (lambda _: ""), (lambda _: None)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert_right(owner, project)
        return process.returncode == -signal.SIGKILL


def test_a_project_that_cannot_be_aggregated_does_not_affect_the_others(
    project: Project, owner: Http, label_studio: Server, run_command: RunCommand, tmp_path: Path
) -> None:
    remarks = '<View><Text name="t" value="$text"/><TextArea name="remark" toName="t"/></View>'
    hopeless = make_project(owner, remarks, [{}])
    empty = make_project(owner, MOOD, [{}])
    done = run_command(
        "sync",
        *map(str, (hopeless.id, empty.id, 987654, project.id)),
        LABEL_STUDIO_URL=label_studio.url,
        LABEL_STUDIO_API_KEY=label_studio.key,
        LS_CROWD_DATABASE_URL=f"sqlite:///{tmp_path / 'x.db'}",
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"Project {hopeless.id} has no control that can be aggregated; its controls are: remark (TextArea).",
        f"Project {empty.id} has no answers to aggregate yet.",
        "Label Studio has no project 987654 that this key can see.",
        "Error: 2 of 4 projects could not be processed; see above.",
    ]
    assert len(project.predictions()) == 24
