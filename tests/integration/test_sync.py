"""`ls-crowd sync` against a real Label Studio: annotations in, consensus out, and nothing else is touched."""

from __future__ import annotations

import csv
import math
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from ls_crowd_plugin.demo.server import Server
from ls_crowd_plugin.labelstudio import Http, LabelStudio, ProjectFacts
from ls_crowd_plugin.pipeline.plan import VERSION
from ls_crowd_plugin.store import Store, open_store
from tests.conftest import RunCommand
from tests.support.proxy import Proxy
from tests.support.studio import (
    MOOD,
    THREE_CONTROLS,
    TOPICS,
    Crowd,
    Project,
    make_project,
    mixed_crowd,
    people,
    plurality,
    sync_once,
)


@dataclass(frozen=True)
class Synced:
    """A project, its crowd, and what the first `ls-crowd sync` printed."""

    project: Project
    crowd: Crowd
    gold: list[int]
    done: subprocess.CompletedProcess[str]
    run: Callable[..., subprocess.CompletedProcess[str]]


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
        ours, most_frequent = synced.project.labels(), [plurality(answers) for answers in synced.crowd.answers]
        triples = zip(synced.project.tasks, most_frequent, synced.crowd.truth, strict=True)
        errors = [
            (ours[task][question] != right[question], frequent[question] != right[question])
            for task, frequent, right in triples
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
        assert {who for who, verdict in verdicts.items() if verdict == {"contrary"}} == synced.crowd.adversaries

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
        predictions = {task: prediction for task, (prediction,) in synced.project.predictions().items()}
        forms = {task: _form(prediction["result"]) for task, prediction in predictions.items()}
        assert {forms[task] for task in gold} <= {forms[task] for task in rest}
        scores = {task: float(prediction["score"]) for task, prediction in predictions.items()}
        spread = _deviation([scores[task] for task in rest])
        difference = abs(_mean([scores[task] for task in gold]) - _mean([scores[task] for task in rest]))
        assert difference < 3 * spread / len(gold) ** 0.5  # three standard errors of the mean of that many

    def test_does_not_prelabel_for_annotators(self, synced: Synced, owner: Http) -> None:
        facts = owner.get(f"/api/projects/{synced.project.id}/")
        assert (facts["show_collab_predictions"], facts["model_version"]) == (False, VERSION)

    def test_marks_no_gold_in_label_studio(self, synced: Synced) -> None:
        annotations = [annotation for task in synced.gold for annotation in synced.project.annotations(task)]
        assert not any(annotation["ground_truth"] for annotation in annotations)


def test_a_second_sync_writes_nothing(synced: Synced, proxy: Proxy) -> None:
    before = synced.project.state()
    done = synced.run("sync", str(synced.project.id))
    assert (done.returncode, proxy.writes) == (0, [])
    assert synced.project.state() == before
    assert "no prediction had to change" in done.stdout


def test_a_sync_from_an_empty_database_writes_nothing_either(owner: Http, proxy: Proxy, sqlite_store: Store) -> None:
    project = make_project(owner, MOOD, [{who: {"mood": "good"} for who in people(owner, 3)}] * 25)
    sync_once(owner, sqlite_store, project)
    before = project.state()
    with open_store("sqlite:///:memory:") as other:
        report = sync_once(Http(proxy.url, owner._key), other, project)
    assert (report.plan.is_empty, proxy.writes, project.state() == before) == (True, [], True)


def test_the_fields_asked_for_are_all_that_is_used_of_a_project(synced: Synced, owner: Http) -> None:
    everything = owner.get(f"/api/projects/{synced.project.id}/")
    facts = LabelStudio(owner).project(synced.project.id)
    assert facts == ProjectFacts.from_json(everything)
    assert facts.annotation_counts is not None


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
