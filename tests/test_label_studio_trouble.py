"""Against a real Label Studio in trouble: broken requests, killed processes, races; and secrets that stay secret."""

from __future__ import annotations

import os
import random
import re
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import requests
import trustme
from conftest import RunCommand
from proxy import Passed, Proxy
from sqlalchemy import Engine
from studio import MOOD, Json, Project, make_project, once, people

from ls_crowd_plugin.demo.server import OWNER, Server
from ls_crowd_plugin.errors import LabelStudioError, Unreachable
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.pipeline.plan import VERSION
from ls_crowd_plugin.store import open_database

AT_ONCE = -60.0  # the time since the last annotation that is enough: the server's clock is known to a second only
FAULTS = ("500", "429", "reset", "lost", "truncated", "slow")


@pytest.fixture
def project(owner: Http) -> Project:
    """Twenty-four tasks, three people, one of whom disagrees on every third task."""
    first, second, third = people(owner, 3)
    answers = [
        {first: {"mood": "good"}, second: {"mood": "good"}, third: {"mood": "bad" if number % 3 else "good"}}
        for number in range(24)
    ]
    return make_project(owner, MOOD, answers, overlap=3)


def impatient(url: str, key: str) -> Http:
    """Requests that do not wait between tries."""
    return Http(url, key, sleep=lambda _: None)


def tried(http: Http, engine: Engine, project: Project) -> str:
    """`done`, or what a pass says of its failing."""
    try:
        once(http, engine, project)
    except LabelStudioError as error:
        return str(error)
    return "done"


def turn(project: Project, tasks: list[int]) -> None:
    """Somebody changes their mind about some tasks, which changes the label of most of them and the score of all."""
    for task in tasks:
        first = min(project.annotations(task), key=lambda each: int(each["id"]))
        label = "bad" if first["result"][0]["value"]["choices"] == ["good"] else "good"
        project.edit(first["id"], {"mood": label})


def assert_right(owner: Http, project: Project) -> None:
    """A pass that knows nothing of what happened finds nothing to do: the state is that of an undisturbed one."""
    unaware = open_database("sqlite:///:memory:")
    try:
        report = once(owner, unaware, project, dry_run=True)
    finally:
        unaware.dispose()
    assert report.plan.empty, report.plan
    assert {task: len(found) for task, found in project.predictions().items()} == dict.fromkeys(project.tasks, 1)


class TestBrokenRequests:
    @pytest.mark.parametrize("faults", [FAULTS[:3], FAULTS[3:]], ids=" ".join)
    def test_do_not_spoil_the_state(
        self, faults: tuple[str, ...], project: Project, owner: Http, proxy: Proxy, engine: Engine
    ) -> None:
        self.spoil(faults, project, owner, proxy, engine)

    @pytest.mark.soak
    @pytest.mark.parametrize("fault", FAULTS)
    def test_of_each_kind_alone_do_not_spoil_the_state(
        self, fault: str, project: Project, owner: Http, proxy: Proxy, engine: Engine
    ) -> None:
        for _ in range(5):
            self.spoil((fault,), project, owner, proxy, engine)

    def spoil(self, faults: tuple[str, ...], project: Project, owner: Http, proxy: Proxy, engine: Engine) -> None:
        """One request in four breaks. A pass gets through or says why in one sentence; the next one puts all right."""
        chance = random.Random(str(faults))
        http = impatient(proxy.url, owner._key)
        for changed in ([], project.tasks[:22]):
            turn(project, changed)
            proxy.fault = lambda _: chance.choice(faults) if chance.random() < 0.25 else ""
            for _ in range(2):
                assert re.fullmatch(r"(done|[^\n]+\.)", tried(http, engine, project))
            proxy.fault = lambda _: ""
            once(http, engine, project)
            assert_right(owner, project)

    @pytest.mark.parametrize("fault", ["500", "reset", "truncated"])
    def test_that_never_end_are_said_in_a_sentence(
        self, fault: str, project: Project, owner: Http, proxy: Proxy, engine: Engine
    ) -> None:
        proxy.fault = lambda _: fault
        with pytest.raises(
            Unreachable, match=r"^Label Studio at http://\S+ did not answer GET \S+: .*tried 6 times\.$"
        ):
            once(impatient(proxy.url, owner._key), engine, project)
        assert project.predictions() == {}

    def test_half_way_through_the_tasks_leave_the_rest_to_the_next_pass(
        self, project: Project, owner: Http, proxy: Proxy, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What was read of a first pull that broke off is no consensus."""
        monkeypatch.setattr("ls_crowd_plugin.labelstudio.client.PAGE", 10)
        pages = iter(range(100))
        proxy.fault = lambda passed: "500" if passed.path == "/api/tasks" and next(pages) >= 2 else ""
        with pytest.raises(Unreachable):
            once(impatient(proxy.url, owner._key), engine, project)
        assert proxy.writes == []
        proxy.fault = lambda _: ""
        once(owner, engine, project)
        assert_right(owner, project)


class TestKilled:
    """SIGKILL at random moments of writing: the next pass ends where an undisturbed one would have."""

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
        """Changes something, kills a sync while it writes, lets the next complete it; whether it was really killed."""
        turn(project, chance.sample(project.tasks, chance.choice((2, 5, 22))))
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
        seen = iter(range(1, 1000))

        def kill(passed: Passed) -> None:
            if passed.writes and next(seen) == at:
                threading.Timer(pause, process.send_signal, (signal.SIGKILL,)).start()

        def kill_before(passed: Passed) -> str:
            kill(passed)
            return ""

        if before:
            proxy.fault = kill_before
        else:
            proxy.after = kill
        _, said = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), said
        proxy.fault, proxy.after = (lambda _: ""), (lambda _: None)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert_right(owner, project)
        return process.returncode == -signal.SIGKILL


class TestTaskMeta:
    """`task.meta["crowd"]`, on quiet tasks only, beside what others keep there."""

    def meta(self, project: Project) -> dict[int, Any]:
        return {task: row["meta"] for task, row in project.rows().items()}

    def test_says_what_the_prediction_says(self, project: Project, owner: Http, engine: Engine) -> None:
        owner.patch(f"/api/tasks/{project.tasks[0]}/", {"meta": {"theirs": [1, 2]}})
        report = once(owner, engine, project, task_meta="auto", quiet_seconds=AT_ONCE)
        assert (report.copied.written, report.copied.repaired) == (24, 0)
        predicted = {task: found["result"][0]["meta"]["crowd"] for task, (found,) in project.predictions().items()}
        assert {task: meta["crowd"] for task, meta in self.meta(project).items()} == predicted
        assert self.meta(project)[project.tasks[0]]["theirs"] == [1, 2]

    def test_waits_until_a_task_is_quiet(self, project: Project, owner: Http, engine: Engine) -> None:
        report = once(owner, engine, project, task_meta="on", quiet_seconds=3600)
        assert (report.copied.written, report.copied.waiting) == (0, 24)

    def test_waits_until_a_task_is_finished(self, owner: Http, engine: Engine) -> None:
        one, two = people(owner, 2)
        said = {"mood": "good"}
        unfinished = make_project(owner, MOOD, [{one: said, two: said}, {one: said}], overlap=2)
        assert once(owner, engine, unfinished, task_meta="auto", quiet_seconds=AT_ONCE).copied.written == 1
        assert once(owner, engine, unfinished, task_meta="on", quiet_seconds=AT_ONCE).copied.written == 1

    def test_is_written_once(self, project: Project, owner: Http, proxy: Proxy, engine: Engine) -> None:
        once(owner, engine, project, task_meta="auto", quiet_seconds=AT_ONCE)
        once(Http(proxy.url, owner._key), engine, project, task_meta="auto", quiet_seconds=AT_ONCE)
        assert proxy.writes == []

    def test_that_broke_off_is_completed(self, project: Project, owner: Http, proxy: Proxy, engine: Engine) -> None:
        changes = iter(range(100))
        proxy.fault = lambda passed: "500" if "/api/tasks/" in passed.path and next(changes) >= 11 else ""
        http = impatient(proxy.url, owner._key)
        with pytest.raises(Unreachable):
            once(http, engine, project, task_meta="auto", quiet_seconds=AT_ONCE)
        proxy.fault = lambda _: ""
        report = once(http, engine, project, task_meta="auto", quiet_seconds=AT_ONCE)
        assert (report.copied.written, all("crowd" in meta for meta in self.meta(project).values())) == (13, True)

    def test_puts_counters_right_that_a_race_left_wrong(
        self, project: Project, owner: Http, proxy: Proxy, engine: Engine
    ) -> None:
        """What Label Studio does when a submit falls together with a change of the task is done here on purpose."""
        task = project.tasks[5]

        def race(passed: Passed) -> None:
            if passed.path == f"/api/tasks/{task}/":
                proxy.after = lambda _: None
                owner.patch(f"/api/tasks/{task}/", {"total_annotations": 2, "is_labeled": False})

        proxy.after = race
        report = once(Http(proxy.url, owner._key), engine, project, task_meta="auto", quiet_seconds=AT_ONCE)
        row = project.rows()[task]
        assert (report.copied.repaired, row["total_annotations"], row["is_labeled"]) == (1, 3, True)

    def test_goes_with_the_last_answer_of_a_task(self, project: Project, owner: Http, engine: Engine) -> None:
        once(owner, engine, project, task_meta="on", quiet_seconds=AT_ONCE)
        task = project.tasks[0]
        for each in project.annotations(task):
            project.delete_annotation(each["id"])
        once(owner, engine, project, task_meta="on", quiet_seconds=AT_ONCE)
        assert "crowd" not in self.meta(project)[task]
        assert "crowd" in self.meta(project)[project.tasks[1]]


class TestOtherPeoplesThings:
    def test_predictions_are_left_as_they_are(self, project: Project, owner: Http, engine: Engine) -> None:
        result = project.items({"mood": "bad"})
        theirs = [
            {"task": task, "result": result, "score": 0.3, "model_version": "their-model"} for task in project.tasks
        ]
        owner.post(f"/api/projects/{project.id}/import/predictions", theirs)
        before = [each for found in project.predictions().values() for each in found]
        once(owner, engine, project)
        turn(project, project.tasks[:22])
        once(owner, engine, project)
        after = [each for found in project.predictions().values() for each in found]
        assert [each for each in after if each["model_version"] == "their-model"] == before

    def test_a_model_version_of_theirs_stays_shown_unless_taken_over(
        self, project: Project, owner: Http, engine: Engine
    ) -> None:
        body = {"task": project.tasks[0], "result": project.items({"mood": "bad"}), "model_version": "their-model"}
        owner.post("/api/predictions/", body)
        owner.patch(f"/api/projects/{project.id}/", {"model_version": "their-model"})
        report = once(owner, engine, project)
        assert owner.get(f"/api/projects/{project.id}/")["model_version"] == "their-model"
        assert any("--take-over" in warning for warning in report.warnings)
        once(owner, engine, project, take_over=True)
        assert owner.get(f"/api/projects/{project.id}/")["model_version"] == VERSION


class TestGold:
    """From every place it may come from, through a real Label Studio."""

    def test_from_a_mark_as_ground_truth(self, project: Project, owner: Http, engine: Engine) -> None:
        first = project.annotations(project.tasks[0])[0]["id"]
        owner.patch(f"/api/annotations/{first}/", {"ground_truth": True})
        assert once(owner, engine, project).summary["gold"] == 1

    def test_not_from_an_import_that_marks_everything(self, owner: Http, engine: Engine) -> None:
        empty = make_project(owner, MOOD, [])
        said = [{"completed_by": who, "result": empty.items({"mood": "good"})} for who in people(owner, 3)]
        tasks = [{"data": {"text": "x"}, "annotations": said} for _ in range(5)]
        owner.post(f"/api/projects/{empty.id}/import", tasks)
        report = once(owner, engine, empty)
        assert (report.summary["gold"], report.summary["answers"]) == (0, 15)
        assert any("marked as ground truth" in warning for warning in report.warnings)

    def test_from_the_command(
        self, project: Project, owner: Http, label_studio: Server, run_command: RunCommand, tmp_path: Path
    ) -> None:
        url = f"sqlite:///{tmp_path / 'gold.db'}"
        environment = {
            "LABEL_STUDIO_URL": label_studio.url,
            "LABEL_STUDIO_API_KEY": label_studio.key,
            "LS_CROWD_DATABASE_URL": url,
        }

        def gold(*arguments: Any) -> subprocess.CompletedProcess[str]:
            return run_command("gold", *map(str, arguments), **environment)

        first, second = project.tasks[:2]
        assert gold("add", project.id, first, "bad").returncode == 0
        assert gold("add", project.id, second, "good").returncode == 0
        refused = gold("add", project.id, second, "awful")
        assert (refused.returncode, "its labels are good, bad" in refused.stderr) == (2, True)
        assert gold("list", project.id).stdout == f"task,question,label\n{first},mood,bad\n{second},mood,good\n"
        engine = open_database(url)
        assert once(owner, engine, project).summary["gold"] == 2
        annotation = project.annotations(first)[0]["id"]
        owner.patch(f"/api/annotations/{annotation}/", {"ground_truth": True})
        report = once(owner, engine, project)
        engine.dispose()
        assert report.summary["gold"] == 1
        assert any(f"of task {first} is contradictory (bad, good)" in warning for warning in report.warnings)
        assert gold("remove", project.id, first, second).stdout.startswith("2 gold label(s) removed")
        assert gold("list", project.id).stdout == "task,question,label\n"

    def test_from_experts(self, project: Project, owner: Http, engine: Engine) -> None:
        report = once(owner, engine, project, experts={people(owner, 3)[2]})
        assert (report.summary["gold"], report.summary["answers"]) == (24, 48)

    def test_from_a_field_of_the_data(self, owner: Http, engine: Engine) -> None:
        who = people(owner, 3)
        answers = [{by: {"mood": "good"} for by in who}] * 4
        data: list[Json] = [{"text": "a", "right": "good"}, {"text": "b", "right": {"mood": "bad"}}, {"text": "c"}]
        data.append({"text": "d", "right": "neither"})
        project = make_project(owner, MOOD, answers, data=data)
        report = once(owner, engine, project, gold_field="right")
        assert report.summary["gold"] == 2
        assert any(f"task {project.tasks[3]}" in warning for warning in report.warnings)
        assert once(owner, engine, project).summary["gold"] == 0


@pytest.fixture(scope="module")
def personal(label_studio: Server) -> str:
    """A personal access token, made as a person makes one."""
    session = requests.Session()
    session.get(f"{label_studio.url}/user/login/")
    form = {"email": OWNER, "password": label_studio.password, "csrfmiddlewaretoken": session.cookies["csrftoken"]}
    headers = {"Referer": label_studio.url}
    session.post(f"{label_studio.url}/user/login/", data=form, headers=headers).raise_for_status()
    headers["X-CSRFToken"] = session.cookies["csrftoken"]
    return str(session.post(f"{label_studio.url}/api/token/", headers=headers).json()["token"])


class TestTokens:
    def test_of_both_kinds_do(
        self, personal: str, project: Project, owner: Http, engine: Engine, label_studio: Server
    ) -> None:
        assert once(Http(label_studio.url, personal), engine, project).written.created == 24
        assert once(owner, engine, project).plan.empty

    @pytest.mark.parametrize(
        ("kind", "fault"),
        [
            ("personal", ""),
            ("legacy", "500"),
            ("personal that is wrong", ""),
            ("legacy that is wrong", ""),
            ("personal", "500"),
        ],
    )
    def test_leak_nowhere(
        self,
        kind: str,
        fault: str,
        personal: str,
        project: Project,
        owner: Http,
        proxy: Proxy,
        tmp_path: Path,
    ) -> None:
        """Neither to the terminal, also with --debug, nor to the list of processes, nor into the database."""
        key = personal if kind.startswith("personal") else owner._key
        if "wrong" in kind:
            key = key[:-6] + "abc123"
        listed: list[str] = []
        environment = {
            **os.environ,
            "LABEL_STUDIO_URL": proxy.url.replace("//", "//somebody:hunter2-password@"),
            "LABEL_STUDIO_API_KEY": key,
            "LS_CROWD_DATABASE_URL": f"sqlite:///{tmp_path / 'leak.db'}",
            "PYTHONDEVMODE": "1",
        }
        command = [sys.executable, "-m", "ls_crowd_plugin", "sync", "--debug", str(project.id)]

        def look(_: Passed) -> str:
            listed.extend(_command_lines())
            return fault

        proxy.fault = look
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, error = process.communicate()
        assert process.returncode == (1 if fault or "wrong" in kind else 0), error
        secrets = {key, "hunter2-password"} | {
            passed.authorization.split()[1] for passed in proxy.passed if passed.authorization
        }
        assert listed
        files = [path.read_bytes() for path in tmp_path.iterdir()]
        for secret in secrets:
            for place in (out, error, *files, *(line.encode() for line in listed)):
                assert secret.encode() not in place
        proxy.fault = lambda _: ""


def _command_lines() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            yield path.read_text(encoding="utf-8", errors="replace")


class TestTls:
    """Label Studio behind a proxy with a certificate that some authority of one's own has signed."""

    @pytest.fixture
    def sync_with(
        self, project: Project, label_studio: Server, run_command: RunCommand, tmp_path: Path
    ) -> Callable[[trustme.CA, trustme.CA, str], subprocess.CompletedProcess[str]]:
        def run(signed_by: trustme.CA, trusted: trustme.CA, host: str) -> subprocess.CompletedProcess[str]:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            signed_by.issue_cert(host).configure_cert(context)
            trusted.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
            with Proxy(label_studio.url, tls=context).running() as proxy:
                return run_command(
                    "sync",
                    str(project.id),
                    LABEL_STUDIO_URL=proxy.url,
                    LABEL_STUDIO_API_KEY=label_studio.key,
                    LABEL_STUDIO_CA_BUNDLE=str(tmp_path / "ca.pem"),
                    LS_CROWD_DATABASE_URL=f"sqlite:///{tmp_path / 'tls.db'}",
                )

        return run

    def test_with_the_authority_named_works(self, sync_with: Any) -> None:
        authority = trustme.CA()
        done = sync_with(authority, authority, "127.0.0.1")
        assert done.returncode == 0, done.stderr

    @pytest.mark.parametrize("wrong", ["authority", "host"])
    def test_with_a_certificate_that_is_not_trusted_is_refused_in_a_sentence(self, wrong: str, sync_with: Any) -> None:
        authority = trustme.CA()
        trusted = trustme.CA() if wrong == "authority" else authority
        done = sync_with(authority, trusted, "elsewhere.example" if wrong == "host" else "127.0.0.1")
        assert done.returncode == 1
        assert re.search(r"certificate this machine does not trust; .*LABEL_STUDIO_CA_BUNDLE", done.stderr)


def test_a_project_that_cannot_be_aggregated_does_not_keep_the_others_back(
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
    assert (
        f"Project {hopeless.id} was not done: Project {hopeless.id} has no control that can be aggregated"
        in done.stderr
    )
    assert "remark (TextArea)" in done.stderr
    assert f"Project {empty.id} has no answers yet" in done.stderr
    assert "Project 987654 was not done" in done.stderr
    assert len(project.predictions()) == 24
