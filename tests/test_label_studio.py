"""Against a real Label Studio: what people did goes in, the consensus comes out, and nothing else is touched."""

from __future__ import annotations

import csv
import math
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from conftest import RunCommand
from proxy import Passed, Proxy
from sqlalchemy import Engine
from studio import MOOD, THREE_CONTROLS, TOPICS, Crowd, Project, make_project, mixed_crowd, once, people, plurality

from ls_crowd_plugin.controls import read_config
from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.errors import ProjectGone
from ls_crowd_plugin.labelstudio import Http
from ls_crowd_plugin.pipeline import pull
from ls_crowd_plugin.pipeline.plan import VERSION
from ls_crowd_plugin.pipeline.sync import Report
from ls_crowd_plugin.store import open_database


@dataclass(frozen=True)
class Synced:
    """A project, its crowd, and what the first `ls-crowd sync` printed."""

    project: Project
    crowd: Crowd
    gold: list[int]
    done: subprocess.CompletedProcess[str]
    again: Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def synced(
    owner: Http,
    label_studio: Server,
    proxy_server: Proxy,
    tmp_path_factory: pytest.TempPathFactory,
    run_command: RunCommand,
) -> Synced:
    """Twenty annotators, four of them adversaries and six spammers, on 200 tasks with three controls; 20 are gold."""
    crowd = mixed_crowd(people(owner, 20), 200)
    project = make_project(owner, THREE_CONTROLS, crowd.answers)
    folder = tmp_path_factory.mktemp("synced")
    environment = {
        "LABEL_STUDIO_URL": proxy_server.url,
        "LABEL_STUDIO_API_KEY": label_studio.key,
        "LS_CROWD_DATABASE_URL": f"sqlite:///{folder / 'crowd.db'}",
    }
    gold = project.tasks[::10]
    with (folder / "gold.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("task", "question", "label"))
        for task in gold:
            rows.writerows((task, *pair) for pair in crowd.truth[project.tasks.index(task)].items())

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_command(*arguments, **environment)

    added = run("gold", "add", str(project.id), "--file", str(folder / "gold.csv"))
    assert added.returncode == 0, added.stderr
    done = run("sync", str(project.id))
    assert done.returncode == 0, done.stderr
    return Synced(project, crowd, gold, done, run)


class TestFirstSync:
    def test_shows_a_score_and_our_consensus_for_every_task(self, synced: Synced) -> None:
        rows = synced.project.rows()
        assert sorted(rows) == synced.project.tasks
        for row in rows.values():
            assert 0 < row["predictions_score"] <= 1
            assert (row["predictions_model_versions"], row["total_predictions"]) == (VERSION, 1)

    @pytest.mark.parametrize("question", ["mood", "stars", *(f"topics: {topic}" for topic in TOPICS)])
    def test_is_right_where_plurality_errs(self, synced: Synced, question: str) -> None:
        """At most half as many errors, which is more than chance: both are judged on the same 200 tasks."""
        ours, theirs = synced.project.labels(), [plurality(each) for each in synced.crowd.answers]
        triples = zip(synced.project.tasks, theirs, synced.crowd.truth, strict=True)
        errors = [
            (ours[task][question] != right[question], most[question] != right[question])
            for task, most, right in triples
        ]
        wrong, wrong_by_plurality = (sum(column) for column in zip(*errors, strict=True))
        assert wrong * 2 <= wrong_by_plurality
        assert wrong_by_plurality >= 20

    def test_finds_the_rare_topic(self, synced: Synced) -> None:
        ours = synced.project.labels()
        rare = [
            task
            for task, right in zip(synced.project.tasks, synced.crowd.truth, strict=True)
            if right["topics: weather"] == "yes"
        ]
        assert len(rare) >= 10
        assert sum(ours[task]["topics: weather"] == "yes" for task in rare) >= 0.8 * len(rare)

    def test_names_the_adversaries_in_the_predictions_metadata(self, synced: Synced) -> None:
        verdicts: dict[int, set[str]] = {}
        for (prediction,) in synced.project.predictions().values():
            for annotator, scores in prediction["result"][0]["meta"]["crowd"]["annotators"].items():
                verdicts.setdefault(int(annotator), set()).add(scores["verdict"])
        assert {who for who, words in verdicts.items() if words == {"contrary"}} == synced.crowd.adversaries

    def test_names_the_adversaries_in_the_summary(self, synced: Synced) -> None:
        (line,) = [line for line in synced.done.stdout.splitlines() if line.startswith("Contrary")]
        assert {int(word) for word in line.replace(",", "").split() if word.isdecimal()} == synced.crowd.adversaries

    def test_calls_no_spammer_trusted(self, synced: Synced) -> None:
        for (prediction,) in synced.project.predictions().values():
            annotators = prediction["result"][0]["meta"]["crowd"]["annotators"]
            assert not [
                who
                for who in annotators
                if int(who) in synced.crowd.spammers and annotators[who]["verdict"] == "trusted"
            ]

    def test_says_what_it_did(self, synced: Synced) -> None:
        for words in (
            "200 tasks",
            "20 annotators",
            "100 labels",
            "4 contrary",
            "200 predictions created",
            "model_version",
        ):
            assert words in synced.done.stdout

    def test_makes_no_gold_task_recognisable(self, synced: Synced) -> None:
        """Neither by the form of what is written, nor by a score that is higher than chance makes it."""
        gold, rest = set(synced.gold), set(synced.project.tasks) - set(synced.gold)
        predictions = {task: found for task, (found,) in synced.project.predictions().items()}
        forms = {task: _form(found["result"]) for task, found in predictions.items()}
        assert {forms[task] for task in gold} <= {forms[task] for task in rest}
        scores = {task: float(found["score"]) for task, found in predictions.items()}
        spread = _deviation([scores[task] for task in rest])
        difference = abs(_mean([scores[task] for task in gold]) - _mean([scores[task] for task in rest]))
        assert difference < 3 * spread / len(gold) ** 0.5  # three standard errors of the mean of that many

    def test_does_not_lead_annotators(self, synced: Synced, owner: Http) -> None:
        facts = owner.get(f"/api/projects/{synced.project.id}/")
        assert (facts["show_collab_predictions"], facts["model_version"]) == (False, VERSION)

    def test_marks_no_gold_in_label_studio(self, synced: Synced) -> None:
        annotations = [each for task in synced.gold for each in synced.project.annotations(task)]
        assert not any(each["ground_truth"] for each in annotations)


def test_a_second_sync_writes_nothing(synced: Synced, proxy: Proxy) -> None:
    before = synced.project.state()
    done = synced.again("sync", str(synced.project.id))
    assert (done.returncode, proxy.writes) == (0, [])
    assert synced.project.state() == before
    assert "no prediction had to change" in done.stdout


def test_a_sync_from_an_empty_database_writes_nothing_either(owner: Http, proxy: Proxy, engine: Engine) -> None:
    project = make_project(owner, MOOD, [{who: {"mood": "good"} for who in people(owner, 3)}] * 25)
    once(owner, engine, project)
    other = open_database("sqlite:///:memory:")
    try:
        before = project.state()
        report = once(Http(proxy.url, owner._key), other, project)
    finally:
        other.dispose()
    assert (report.plan.empty, proxy.writes, project.state() == before) == (True, [], True)


def _form(value: Any) -> str:
    """The shape of a JSON value without its contents."""
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{key if not key.isdecimal() else 'n'}:{_form(one)}" for key, one in sorted(value.items()))
            + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(sorted({_form(one) for one in value})) + "]"
    return type(value).__name__


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _deviation(values: list[float]) -> float:
    mean = _mean(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def settled(http: Http, engine: Engine, project: Project) -> None:
    """Passes until nothing is read any more: changes of the last seconds are read twice to miss none."""
    until = time.monotonic() + 60
    while once(http, engine, project).pulled.tasks_read:
        assert time.monotonic() < until


@dataclass
class Quiet:
    """A project of 30 tasks on which three people agree, with its consensus written and nothing going on."""

    project: Project
    people: list[int]
    engine: Engine
    http: Http  # through the proxy
    proxy: Proxy

    def sync(self, **options: Any) -> Report:
        self.before = {task: found for task, (found,) in self.project.predictions().items()}
        self.proxy.passed.clear()
        return once(self.http, self.engine, self.project, **options)

    def touched(self) -> set[int]:
        """The tasks whose prediction is another one, or has been written since."""
        now = {task: found for task, (found,) in self.project.predictions().items()}
        kept = ("id", "updated_at", "result", "score")
        return {
            task
            for task in now.keys() | self.before.keys()
            if [now.get(task, {}).get(name) for name in kept] != [self.before.get(task, {}).get(name) for name in kept]
        }


@pytest.fixture
def quiet(owner: Http, proxy: Proxy, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Quiet:
    monkeypatch.setattr(pull, "IN_FLIGHT", timedelta(0))  # or each test would wait until five seconds have passed
    who = people(owner, 5)
    project = make_project(owner, MOOD, [{by: {"mood": "good"} for by in who[:3]}] * 30, overlap=3)
    http = Http(proxy.url, owner._key)
    settled(http, engine, project)
    return Quiet(project, who, engine, http, proxy)


class TestWhatHappensNext:
    """Each change is picked up by the next pass, which reads and writes in proportion to it."""

    def test_one_more_annotation(self, quiet: Quiet) -> None:
        task = quiet.project.tasks[3]
        quiet.project.annotate(task, quiet.people[3], {"mood": "bad"})
        report = quiet.sync()
        assert (report.pulled.tasks_read, report.pulled.annotations_changed) == (1, 1)
        assert quiet.touched() == {task}

    def test_an_edit(self, quiet: Quiet) -> None:
        task = quiet.project.tasks[4]
        for each in quiet.project.annotations(task)[:2]:
            quiet.project.edit(each["id"], {"mood": "bad"})
        report = quiet.sync()
        assert (report.pulled.tasks_read, report.pulled.annotations_changed) == (1, 2)
        assert (quiet.touched(), quiet.project.labels()[task]) == ({task}, {"mood": "bad"})

    def test_an_edit_by_somebody_else_is_told(self, quiet: Quiet) -> None:
        quiet.project.edit(quiet.project.annotations(quiet.project.tasks[4])[0]["id"], {"mood": "bad"})
        assert any("edited by somebody else" in warning for warning in quiet.sync().warnings)

    def test_another_author_is_told(self, quiet: Quiet, owner: Http) -> None:
        annotation = quiet.project.annotations(quiet.project.tasks[4])[0]["id"]
        owner.patch(f"/api/annotations/{annotation}/", {"completed_by": quiet.people[4]})
        assert any("another author" in warning for warning in quiet.sync().warnings)

    def test_a_deleted_annotation(self, quiet: Quiet) -> None:
        task = quiet.project.tasks[5]
        quiet.project.annotate(task, quiet.people[3], {"mood": "bad"})
        settled(quiet.http, quiet.engine, quiet.project)
        quiet.project.delete_annotation(max(each["id"] for each in quiet.project.annotations(task)))
        report = quiet.sync()
        assert (report.pulled.tasks_read, report.pulled.annotations_changed) == (1, 1)
        assert quiet.touched() == {task}

    def test_a_deleted_task(self, quiet: Quiet, owner: Http) -> None:
        owner.delete(f"/api/tasks/{quiet.project.tasks[6]}/")
        report = quiet.sync()
        assert (report.pulled.tasks_gone, report.pulled.tasks_read, quiet.proxy.writes) == (1, 0, [])
        assert report.summary["tasks"] == 29

    def test_a_skip(self, quiet: Quiet) -> None:
        quiet.project.annotate(quiet.project.tasks[7], quiet.people[3], None)
        report = quiet.sync()
        assert (report.pulled.tasks_read, report.pulled.annotations_changed, report.summary["answers"]) == (1, 1, 90)
        assert quiet.touched() == set()

    def test_a_choice_added_to_the_config(self, quiet: Quiet, owner: Http) -> None:
        more = MOOD.replace('<Choice value="bad"/>', '<Choice value="bad"/><Choice value="mixed"/>')
        owner.patch(f"/api/projects/{quiet.project.id}/", {"label_config": more})
        task = quiet.project.tasks[8]
        quiet.project.config = read_config(more)
        for each in quiet.project.annotations(task):
            quiet.project.edit(each["id"], {"mood": "mixed"})
        quiet.sync()
        assert quiet.project.labels()[task] == {"mood": "mixed"}

    def test_a_prediction_of_ours_deleted_by_hand(self, quiet: Quiet, owner: Http) -> None:
        task = quiet.project.tasks[9]
        owner.delete(f"/api/predictions/{quiet.project.predictions()[task][0]['id']}/")
        report = quiet.sync()
        assert (report.written.created, quiet.touched(), len(quiet.proxy.writes)) == (1, {task}, 1)

    def test_a_new_task(self, quiet: Quiet, owner: Http) -> None:
        owner.post(f"/api/projects/{quiet.project.id}/import", [{"data": {"text": "One more."}}])
        report = quiet.sync()
        assert (report.pulled.tasks_read, quiet.touched()) == (1, set())

    def test_settings_that_the_settings_page_wiped(self, quiet: Quiet, owner: Http) -> None:
        owner.patch(f"/api/projects/{quiet.project.id}/", {"show_collab_predictions": True})
        assert owner.get(f"/api/projects/{quiet.project.id}/")["show_collab_predictions"]
        quiet.sync()
        facts = owner.get(f"/api/projects/{quiet.project.id}/")
        assert (facts["show_collab_predictions"], facts["model_version"]) == (False, VERSION)
        assert quiet.touched() == set()

    def test_most_of_it_changed_is_one_import_and_a_change_of_versions(self, quiet: Quiet) -> None:
        for task in quiet.project.tasks[:28]:
            quiet.project.annotate(task, quiet.people[3], {"mood": "bad"})
        quiet.sync()
        assert len(quiet.proxy.writes) == 3
        assert {row["predictions_model_versions"] for row in quiet.project.rows().values()} == {f"{VERSION}-2"}
        assert all(len(found) == 1 for found in quiet.project.predictions().values())
        assert all(row["predictions_score"] for row in quiet.project.rows().values())

    def test_a_deleted_project_ends_cleanly(self, quiet: Quiet, owner: Http) -> None:
        owner.delete(f"/api/projects/{quiet.project.id}/")
        with pytest.raises(ProjectGone, match="no longer in Label Studio"):
            once(quiet.http, quiet.engine, quiet.project)

    def test_a_task_deleted_between_reading_and_writing(self, quiet: Quiet, owner: Http) -> None:
        for task in quiet.project.tasks[:25]:
            quiet.project.annotate(task, quiet.people[3], {"mood": "bad"})
        gone = quiet.project.tasks[0]

        def delete(passed: Passed) -> None:
            if passed.path == "/api/predictions/":
                quiet.proxy.after = lambda _: None
                owner.delete(f"/api/tasks/{gone}/")

        quiet.proxy.after = delete
        report = quiet.sync()
        assert report.written.refused == (gone,)
        assert sorted(quiet.project.predictions()) == quiet.project.tasks[1:]
        assert once(quiet.http, quiet.engine, quiet.project).plan.empty
