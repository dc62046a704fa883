"""A plan is what has to change and nothing else; carrying it out ends in the same place whatever breaks on the way."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from ls_crowd_plugin.controls import NONE, read_config
from ls_crowd_plugin.errors import CrowdError, NotThere, Rejected, Unknown
from ls_crowd_plugin.labelstudio import Http, LabelStudio
from ls_crowd_plugin.pipeline.crowd import Crowd, Key
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.findings import find
from ls_crowd_plugin.pipeline.plan import (
    FEWEST_IMPORTED,
    VERSION,
    Desired,
    Existing,
    Plan,
    digest,
    in_bulk,
    make_plan,
)
from ls_crowd_plugin.pipeline.sync import Options, Report, sync
from ls_crowd_plugin.pipeline.write import ROUNDS, Written, settings_to_change, standing_predictions, write
from ls_crowd_plugin.store import open_database, tables
from ls_crowd_plugin.store.gold import add_gold

PROJECT = 7
CONFIG = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="mood" toName="text"><Choice value="good"/><Choice value="bad"/></Choices>
</View>
"""
OURS = {"model_version": VERSION, "show_collab_predictions": False}

Json = dict[str, Any]

FEW, MANY = range(1, 6), range(1, FEWEST_IMPORTED + 11)


def says(label: str) -> list[Json]:
    return [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [label]}}]


def desired(task: int, label: str = "good", score: float = 0.9) -> Desired:
    return Desired(task, says(label), score, digest(says(label), score))


def existing(number: int, task: int, label: str = "good", score: float = 0.9, version: str = VERSION) -> Existing:
    return Existing(number, task, version, digest(says(label), score), says(label))


class Broken(Exception):
    """The process ends here."""


class Studio(LabelStudio):
    """A Label Studio in memory that breaks off on demand: it has the ways of the real one that a plan depends on."""

    def __init__(self, tasks: Sequence[int] = ()) -> None:
        super().__init__(Http("http://nowhere.example", "key"))
        self.now = datetime(2026, 1, 1, tzinfo=timezone.utc)
        self.http.server_time = lambda: self.now  # type: ignore[method-assign]
        self.facts: Json = {"model_version": "", "show_collab_predictions": True}
        self.held: dict[int, Json] = {}
        for task in tasks:
            self.held[task] = {"id": task, "updated_at": self.clock, "annotations": []}
        self.standing: dict[int, Json] = {}
        self.writes: list[str] = []
        self.breaks: dict[int, Callable[[], None]] = {}  # which write breaks off, counted from 1, and how
        self.after_done = True  # whether a write that breaks off was carried out
        self.dropped: set[int] = set()  # tasks whose predictions a bulk import leaves out
        self._ids = iter(range(1000, 100_000))

    @property
    def clock(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def say(self, task: int, by: int, label: str | None) -> None:
        """Somebody's answer to a task; None takes it back."""
        self.now += timedelta(minutes=1)
        on = self.held[task]
        others = [each for each in on["annotations"] if each["completed_by"] != by]
        answer = {"id": 100 * task + by, "completed_by": by, "result": says(label or ""), "updated_at": self.clock}
        on |= {"annotations": others + ([answer] if label else []), "updated_at": self.clock}

    def labels(self) -> dict[int, list[str]]:
        """Task → the labels of our predictions on it."""
        found: dict[int, list[str]] = {}
        for each in self.standing.values():
            if each["model_version"].startswith(VERSION):
                found.setdefault(each["task"], []).append(each["result"][0]["value"]["choices"][0])
        return found

    def contents(self) -> list[str]:
        """All predictions without their ids."""
        kept = ("task", "result", "score", "model_version")
        return sorted(
            json.dumps({name: each[name] for name in kept}, sort_keys=True) for each in self.standing.values()
        )

    def add(self, task: int, label: str = "good", score: float = 0.9, version: str = VERSION) -> int:
        return self._insert({"task": task, "result": says(label), "score": score, "model_version": version})

    def project(self, project: int) -> Json:
        fixed = {"id": project, "title": "Moods", "label_config": CONFIG, "created_at": "2026-01-01T00:00:00Z"}
        return {**fixed, "task_number": len(self.held), **self.facts}

    def task_pages(
        self,
        project: int,
        since: str | None = None,
        *,
        with_data: bool = False,
        told: Callable[[int, int], None] | None = None,
    ) -> Iterator[list[Json]]:
        del project, told, with_data
        yield [copy.deepcopy(each) for each in self.held.values() if since is None or each["updated_at"] > since]

    def task_ids(self, project: int) -> set[int]:
        del project
        return set(self.held)

    def users(self) -> dict[int, str]:
        return {1: "Ann", 2: "Ben", 3: "Cleo"}

    def versions(self, project: int) -> dict[str, int]:
        del project
        return dict(Counter(each["model_version"] for each in self.standing.values()))

    def predictions(self, project: int) -> list[Json]:
        del project
        return [copy.deepcopy(each) for each in self.standing.values()]

    def create_prediction(self, prediction: Json) -> int:
        if prediction["task"] not in self.held:
            raise Rejected("There is no such task.")
        return int(self._write("create", lambda: self._insert(prediction)))

    def import_predictions(self, project: int, predictions: Sequence[Json]) -> int:
        del project

        def insert() -> int:
            taken = [each for each in predictions if each["task"] not in self.dropped]
            for each in taken:
                self._insert(each)
            return len(taken)

        return int(self._write("import", insert))

    def change_prediction(self, prediction: int, changes: Json) -> None:
        if prediction not in self.standing:
            raise NotThere("gone")
        self._write("change", lambda: self.standing[prediction].update(copy.deepcopy(changes)))

    def delete_prediction(self, prediction: int) -> None:
        if prediction not in self.standing:
            raise NotThere("gone")
        self._write("delete", lambda: self.standing.pop(prediction))

    def delete_version(self, project: int, version: str, predictions: int) -> None:
        del project, predictions

        def retire() -> None:
            for number in [number for number, each in self.standing.items() if each["model_version"] == version]:
                del self.standing[number]
            if self.facts["model_version"] == version:
                self.facts["model_version"] = None

        self._write("retire", retire)

    def change_project(self, project: int, changes: Json) -> None:
        if changes["model_version"] not in self.versions(project):
            raise Rejected("Model version doesn't exist.")
        self._write("settings", lambda: self.facts.update(changes))

    def _insert(self, prediction: Json) -> int:
        number = next(self._ids)
        self.standing[number] = {**copy.deepcopy(prediction), "id": number}
        return number

    def _write(self, name: str, carry_out: Callable[[], Any]) -> Any:
        self.writes.append(name)
        fail = self.breaks.get(len(self.writes))
        done = carry_out() if fail is None or self.after_done else None
        if fail is not None:
            fail()
        return done


def lose() -> None:
    raise Unknown("Label Studio broke off.")


def die() -> None:
    raise Broken


class TestDigest:
    def test_does_not_see_metadata(self) -> None:
        with_meta = [{**item, "meta": {"crowd": {"answers": 3}}, "id": "x"} for item in says("good")]
        assert digest(with_meta, 0.9) == digest(says("good"), 0.9)

    def test_does_not_see_the_order_of_keys(self) -> None:
        turned = [dict(reversed(item.items())) for item in says("good")]
        assert digest(turned, 0.9) == digest(says("good"), 0.9)

    def test_does_not_see_the_order_of_items(self) -> None:
        items = [*says("good"), {"from_name": "stars", "value": {"rating": 3}}]
        assert digest(items, 0.9) == digest(items[::-1], 0.9)

    def test_does_not_see_a_fourth_decimal(self) -> None:
        assert digest(says("good"), 0.9001) == digest(says("good"), 0.9)

    def test_sees_another_label(self) -> None:
        assert digest(says("good"), 0.9) != digest(says("bad"), 0.9)

    def test_sees_another_score(self) -> None:
        assert digest(says("good"), 0.9) != digest(says("good"), 0.901)

    def test_sees_a_missing_score(self) -> None:
        assert digest(says("good"), None) != digest(says("good"), 0.0)

    def test_sees_another_control(self) -> None:
        other = [{**item, "from_name": "other"} for item in says("good")]
        assert digest(other, 0.9) != digest(says("good"), 0.9)


class TestPlan:
    def test_creates_what_is_missing(self) -> None:
        assert make_plan([desired(1)], []) == Plan(create=[desired(1)])

    def test_changes_what_differs(self) -> None:
        plan = make_plan([desired(1, "bad")], [existing(10, 1)])
        assert plan == Plan(update=[(existing(10, 1), desired(1, "bad"))])

    def test_deletes_what_should_not_be(self) -> None:
        assert make_plan([], [existing(10, 1)]) == Plan(delete=[existing(10, 1)])

    def test_leaves_what_is_right(self) -> None:
        assert make_plan([desired(1)], [existing(10, 1)]).empty

    def test_deletes_the_second_of_ours_on_a_task(self) -> None:
        assert make_plan([desired(1)], [existing(11, 1), existing(10, 1)]) == Plan(delete=[existing(11, 1)])

    def test_of_several_of_ours_keeps_the_one_that_is_right(self) -> None:
        plan = make_plan([desired(1)], [existing(10, 1, "bad"), existing(11, 1)])
        assert plan == Plan(delete=[existing(10, 1, "bad")])

    def test_of_several_of_ours_that_are_wrong_changes_one(self) -> None:
        plan = make_plan([desired(1)], [existing(10, 1, "bad"), existing(11, 1, "bad")])
        assert plan == Plan(update=[(existing(10, 1, "bad"), desired(1))], delete=[existing(11, 1, "bad")])

    def test_with_settings_to_change_is_not_empty(self) -> None:
        assert not Plan(settings=OURS).empty

    def test_replaces_a_version_that_is_mostly_wrong_by_another(self) -> None:
        plan = make_plan([desired(task, "bad") for task in MANY], [existing(100 + task, task) for task in MANY])
        assert (plan.version, len(plan.create), plan.retire) == (f"{VERSION}-2", len(MANY), {VERSION: len(MANY)})

    def test_that_replaces_a_version_moves_what_was_right_as_it_was(self) -> None:
        standing = [existing(100 + task, task, "good" if task == 3 else "bad") for task in MANY]
        standing[2].result[0]["meta"] = {"crowd": "as it was"}
        moved = make_plan([desired(task) for task in MANY], standing).create[2]
        assert (moved.task, moved.result[0]["meta"]) == (3, {"crowd": "as it was"})

    def test_changes_a_few_of_many_in_place(self) -> None:
        standing = [existing(100 + task, task) for task in MANY]
        plan = make_plan([desired(task, "bad" if task < 3 else "good") for task in MANY], standing)
        assert (plan.version, len(plan.update), plan.create) == (VERSION, 2, [])

    def test_goes_on_with_a_change_of_versions_that_was_interrupted(self) -> None:
        old = [existing(100 + task, task) for task in MANY]
        new = [existing(200 + task, task, "bad", version=f"{VERSION}-2") for task in MANY]
        plan = make_plan([desired(task, "bad") for task in MANY], old + new, shown=VERSION)
        assert plan == Plan(f"{VERSION}-2", retire={VERSION: len(MANY)})

    def test_counts_the_tasks_that_get_another_label(self) -> None:
        standing = [existing(100 + task, task) for task in MANY]
        few = make_plan([desired(task, "bad" if task < 3 else "good", 0.8) for task in MANY[:5]], standing[:5])
        all_ = make_plan([desired(task, "bad") for task in MANY], standing)
        assert (few.relabelled, all_.relabelled, make_plan([desired(1)], []).relabelled) == (2, len(MANY), 0)

    def test_keeps_the_version_that_is_shown_where_two_are_as_good(self) -> None:
        two = [existing(100, 1), existing(200, 1, version=f"{VERSION}-2")]
        assert make_plan([desired(1)], two, shown=f"{VERSION}-2") == Plan(f"{VERSION}-2", retire={VERSION: 1})

    @pytest.mark.parametrize("tasks", [100, 10_000])
    def test_imports_where_that_is_cheaper_than_single_requests(self, tasks: int) -> None:
        assert [in_bulk(number, tasks) for number in (5, 60, 200)] == [False, tasks == 100, True]


labels = st.sampled_from(["good", "bad"])
scores = st.sampled_from([0.5, 0.9])
wanted_lists = st.dictionaries(st.integers(1, 6), st.tuples(labels, scores)).map(
    lambda wanted: [desired(task, *said) for task, said in wanted.items()]
)
versions = st.sampled_from([VERSION, f"{VERSION}-2", f"{VERSION}-7"])
standing_lists = st.lists(st.tuples(st.integers(1, 6), labels, scores, versions), max_size=40).map(
    lambda standing: [existing(number, *said) for number, said in enumerate(standing, 10)]
)


def applied(plan: Plan, standing: Sequence[Existing]) -> list[Existing]:
    """What stands once a plan is carried out."""
    gone = {each.id for each in plan.delete}
    changed = {each.id: wanted.digest for each, wanted in plan.update}
    kept = [
        Existing(each.id, each.task, each.version, changed.get(each.id, each.digest))
        for each in standing
        if each.id not in gone and each.version not in plan.retire
    ]
    return kept + [
        Existing(number, wanted.task, plan.version, wanted.digest) for number, wanted in enumerate(plan.create, 100)
    ]


@given(wanted_lists, standing_lists)
def test_nothing_is_left_to_do_once_a_plan_is_carried_out(wanted: list[Desired], standing: list[Existing]) -> None:
    assert make_plan(wanted, applied(make_plan(wanted, standing), standing)).empty


@given(wanted_lists, standing_lists)
def test_a_plan_ends_with_one_version(wanted: list[Desired], standing: list[Existing]) -> None:
    plan = make_plan(wanted, standing)
    assert {each.version for each in applied(plan, standing)} <= {plan.version}


@given(wanted_lists, standing_lists)
def test_a_plan_ends_with_exactly_what_is_wanted(wanted: list[Desired], standing: list[Existing]) -> None:
    after = applied(make_plan(wanted, standing), standing)
    assert sorted((each.task, each.digest) for each in after) == sorted((each.task, each.digest) for each in wanted)


@given(wanted_lists, standing_lists, st.data())
def test_a_plan_does_not_depend_on_the_order_of_what_stands(
    wanted: list[Desired], standing: list[Existing], data: st.DataObject
) -> None:
    turned = make_plan(wanted, data.draw(st.permutations(standing)))
    plan = make_plan(wanted, standing)
    assert (plan.create, plan.update) == (turned.create, turned.update)
    assert {each.id for each in plan.delete} == {each.id for each in turned.delete}


def crowd_of_five(gold: Mapping[Key, str], said: Mapping[int, Sequence[str]]) -> Crowd:
    """Five annotators' labels of the mood of each task."""
    crowd = Crowd(read_config(CONFIG), gold=dict(gold), label_set={"mood": ["good", "bad", NONE]})
    for task, given_labels in said.items():
        for annotator, label in enumerate(given_labels, 1):
            crowd.tasks.append(task)
            crowd.annotators.append(annotator)
            crowd.labels.append(label)
            crowd.questions.append("mood")
        crowd.answered[task] = len(given_labels)
    return crowd


SAID = {task: ["good"] * 4 + ["bad"] if task % 2 else ["bad"] * 4 + ["good"] for task in range(1, 11)}


def predictions_of(crowd: Crowd, method: str = "plu", annotator_scores: bool = True) -> dict[int, Desired]:
    found = desired_predictions(crowd, find(crowd, method), annotator_scores)
    return {each.task: each for each in found}


def about(prediction: Desired) -> Json:
    found: Json = prediction.result[0]["meta"]["crowd"]
    return found


class TestDesiredPredictions:
    def test_are_one_for_each_task_with_answers(self) -> None:
        assert list(predictions_of(crowd_of_five({}, SAID))) == sorted(SAID)

    def test_are_none_for_a_task_with_nothing_but_gold(self) -> None:
        assert 99 not in predictions_of(crowd_of_five({(99, "mood"): "good"}, SAID))

    def test_say_what_the_crowd_says(self) -> None:
        found = predictions_of(crowd_of_five({}, SAID))
        assert [found[task].result[0]["value"]["choices"] for task in (1, 2)] == [["good"], ["bad"]]

    def test_have_scores_of_three_decimals(self) -> None:
        assert all(each.score == round(each.score, 3) for each in predictions_of(crowd_of_five({}, SAID)).values())

    def test_have_the_digest_that_their_reading_back_has(self) -> None:
        (found, *_) = predictions_of(crowd_of_five({}, SAID)).values()
        assert found.digest == digest(json.loads(json.dumps(found.result)), found.score)

    def test_tell_what_they_rest_on(self) -> None:
        told = about(predictions_of(crowd_of_five({}, SAID), "gem")[1])
        assert set(told) == {"confidence", "difficulty", "answers", "method", "annotators"}
        assert (told["answers"], told["method"], set(told["annotators"])) == (5, "gem", set("12345"))
        assert set(told["annotators"]["1"]) == {"skill", "adversary", "accuracy", "verdict"}

    def test_tell_the_confidence_that_is_their_score(self) -> None:
        found = predictions_of(crowd_of_five({}, SAID))[1]
        assert about(found)["confidence"] == {"mood": found.score}

    def test_tell_nothing_of_people_if_that_is_switched_off(self) -> None:
        found = predictions_of(crowd_of_five({}, SAID), "gem", annotator_scores=False)
        assert all(about(each)["annotators"] == {} for each in found.values())

    def test_are_rewritten_when_people_are_switched_off(self) -> None:
        crowd = crowd_of_five({}, SAID)
        on, off = (predictions_of(crowd, "gem", scores) for scores in (True, False))
        assert [each.score for each in on.values()] == [each.score for each in off.values()]
        assert not {each.digest for each in on.values()} & {each.digest for each in off.values()}

    @pytest.mark.parametrize("method", ["gem", "neg"])
    def test_of_gold_tasks_do_not_give_them_away_by_their_difficulty(self, method: str) -> None:
        """Two tasks with the same answers, of which one is known to be answered wrongly by all."""
        said = {**SAID, 98: ["good"] * 5, 99: ["good"] * 5}
        found = predictions_of(crowd_of_five({(99, "mood"): "bad"}, said), method)
        assert about(found[98])["difficulty"] == about(found[99])["difficulty"]

    @pytest.mark.parametrize("method", ["plu", "gem", "sw"])
    def test_of_gold_tasks_say_what_the_crowd_says(self, method: str) -> None:
        found = predictions_of(crowd_of_five({(1, "mood"): "bad"}, SAID), method)
        assert found[1].result[0]["value"] == {"choices": ["good"]}

    @pytest.mark.parametrize("method", ["plu", "gem", "sw"])
    def test_of_gold_tasks_are_like_those_of_tasks_with_the_same_answers(self, method: str) -> None:
        found = predictions_of(crowd_of_five({(1, "mood"): "good", (2, "mood"): "bad"}, SAID), method)
        assert [(found[1].score, found[2].score)] == [(found[3].score, found[4].score)]

    def test_can_be_written_as_json(self) -> None:
        found = predictions_of(crowd_of_five({}, SAID), "gem")
        assert json.loads(json.dumps(found[1].result, allow_nan=False)) == found[1].result

    def test_that_are_the_label_for_empty_have_no_items(self) -> None:
        found = predictions_of(crowd_of_five({}, {**SAID, 11: [NONE] * 5}))
        assert found[11].result == []


def plan_for(studio: Studio, wanted: Sequence[Desired], settings: Json | None = None) -> Plan:
    plan = make_plan(wanted, standing_predictions(studio, PROJECT), tasks=len(studio.held))
    return replace(plan, settings=settings or {})


def carry_out(
    studio: Studio, wanted: Sequence[Desired], settings: Json | None = None, plan: Plan | None = None
) -> Written:
    def again(gone: Collection[int]) -> Plan:
        return plan_for(studio, [each for each in wanted if each.task not in gone], settings)

    return write(studio, PROJECT, plan or again(()), tasks=len(studio.held), again=again)


sizes = pytest.mark.parametrize("tasks", [FEW, MANY], ids=["few", "many"])


class TestWriting:
    @sizes
    def test_creates(self, tasks: range) -> None:
        studio = Studio(tasks)
        written = carry_out(studio, [desired(task) for task in tasks])
        assert (studio.labels(), written.created) == ({task: ["good"] for task in tasks}, len(tasks))

    def test_creates_many_in_one_request(self) -> None:
        studio = Studio(MANY)
        carry_out(studio, [desired(task) for task in MANY])
        assert studio.writes == ["import"]

    def test_creates_under_a_version_of_ours(self) -> None:
        studio = Studio(FEW)
        carry_out(studio, [desired(task) for task in FEW])
        assert studio.versions(PROJECT) == {VERSION: len(FEW)}

    def test_changes_in_place(self) -> None:
        studio = Studio(FEW)
        number = studio.add(1)
        carry_out(studio, [desired(1, "bad")])
        assert (list(studio.standing), studio.labels()) == ([number], {1: ["bad"]})

    def test_deletes(self) -> None:
        studio = Studio(FEW)
        studio.add(1)
        assert (carry_out(studio, []).deleted, studio.labels()) == (1, {})

    def test_does_not_touch_somebody_elses(self) -> None:
        studio = Studio(FEW)
        studio.add(1, "bad", version="their-model")
        before = studio.contents()
        carry_out(studio, [])
        assert studio.contents() == before

    @sizes
    @pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
    def test_that_broke_off_while_creating_makes_nothing_twice(self, done: bool, tasks: range) -> None:
        studio = Studio(tasks)
        studio.breaks, studio.after_done = {1: lose}, done
        carry_out(studio, [desired(task) for task in tasks])
        assert studio.labels() == {task: ["good"] for task in tasks}

    @sizes
    @pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
    def test_that_broke_off_while_creating_counts_right(self, done: bool, tasks: range) -> None:
        studio = Studio(tasks)
        studio.breaks, studio.after_done = {1: lose}, done
        assert carry_out(studio, [desired(task) for task in tasks]).created == len(tasks)

    def test_that_breaks_off_again_and_again_says_so(self) -> None:
        studio = Studio(MANY)
        studio.breaks, studio.after_done = dict.fromkeys(range(1, ROUNDS + 1), lose), False
        with pytest.raises(Unknown):
            carry_out(studio, [desired(task) for task in MANY])

    def test_names_what_an_import_dropped(self) -> None:
        studio = Studio(MANY)
        studio.dropped = {3, 5}
        written = carry_out(studio, [desired(task) for task in MANY])
        assert (written.refused, written.created) == ((3, 5), len(MANY) - 2)

    def test_of_a_prediction_that_went_meanwhile_goes_on(self) -> None:
        studio = Studio(FEW)
        first, _ = studio.add(1), studio.add(2)
        wanted = [desired(1, "bad"), desired(2, "bad")]
        plan = plan_for(studio, wanted)
        del studio.standing[first]
        carry_out(studio, wanted, plan=plan)
        assert studio.labels()[2] == ["bad"]

    def test_does_not_count_a_change_of_what_went_meanwhile(self) -> None:
        studio = Studio(FEW)
        first, _ = studio.add(1), studio.add(2)
        wanted = [desired(1, "bad"), desired(2, "bad")]
        plan = plan_for(studio, wanted)
        del studio.standing[first]
        assert carry_out(studio, wanted, plan=plan).updated == 1

    def test_of_a_deletion_that_somebody_else_did_goes_on(self) -> None:
        studio = Studio(FEW)
        first, _ = studio.add(1), studio.add(2)
        plan = plan_for(studio, [])
        del studio.standing[first]
        carry_out(studio, [], plan=plan)
        assert studio.labels() == {}

    def test_sets_the_settings_after_the_predictions(self) -> None:
        studio = Studio(FEW)
        carry_out(studio, [desired(1)], OURS)
        assert (studio.writes, studio.facts) == (["create", "settings"], OURS)

    def test_leaves_the_settings_if_none_of_ours_stands(self) -> None:
        studio = Studio(MANY)
        studio.dropped = set(MANY)
        written = carry_out(studio, [desired(task) for task in MANY], OURS)
        assert (written.settings, studio.facts["show_collab_predictions"]) == (0, True)


class TestSettingsToChange:
    def facts(self, version: str | None, prelabelling: bool) -> Json:
        return {"model_version": version, "show_collab_predictions": prelabelling}

    @pytest.mark.parametrize("version", ["", None, VERSION, f"{VERSION}-old"])
    def test_are_both_where_annotators_would_be_led(self, version: str | None) -> None:
        assert settings_to_change(self.facts(version, True), False) == (OURS, "")

    @pytest.mark.parametrize("version", ["", None, f"{VERSION}-old"])
    def test_are_both_where_only_the_version_is_wrong(self, version: str | None) -> None:
        assert settings_to_change(self.facts(version, False), False) == (OURS, "")

    def test_are_none_where_all_is_right(self) -> None:
        assert settings_to_change(self.facts(VERSION, False), False) == ({}, "")

    def test_are_none_where_somebody_elses_version_is_shown(self) -> None:
        assert settings_to_change(self.facts("their-model", True), False)[0] == {}

    def test_that_may_not_change_are_explained(self) -> None:
        warning = settings_to_change(self.facts("their-model", True), False)[1]
        assert "'their-model'" in warning
        assert "--take-over" in warning

    def test_are_taken_over_where_that_is_asked_for(self) -> None:
        assert settings_to_change(self.facts("their-model", True), True) == (OURS, "")


def answered(tasks: Sequence[int]) -> Studio:
    """A project in which three people agree on every task."""
    studio = Studio(tasks)
    for task in tasks:
        for by in (1, 2, 3):
            studio.say(task, by, "good" if task % 2 else "bad")
    return studio


def turn(studio: Studio, task: int) -> None:
    """All three change their minds about a task."""
    label = "bad" if studio.held[task]["annotations"][0]["result"][0]["value"]["choices"] == ["good"] else "good"
    for by in (1, 2, 3):
        studio.say(task, by, label)


def run(studio: Studio, engine: Engine, **options: Any) -> Report:
    studio.now += timedelta(minutes=1)
    studio.writes.clear()
    return sync(studio, engine, PROJECT, Options(method="plu", task_meta="off", **options))


class TestPasses:
    """Whole passes: pull, aggregate, plan and write."""

    @sizes
    def test_write_the_consensus(self, tasks: range, engine: Engine) -> None:
        studio = answered(tasks)
        run(studio, engine)
        assert studio.labels() == {task: ["good" if task % 2 else "bad"] for task in tasks}

    def test_show_the_score_and_do_not_lead_annotators(self, engine: Engine) -> None:
        studio = answered(FEW)
        run(studio, engine)
        assert studio.facts == OURS

    @sizes
    def test_write_nothing_the_second_time(self, tasks: range, engine: Engine) -> None:
        studio = answered(tasks)
        run(studio, engine)
        again = run(studio, engine)
        assert (studio.writes, again.plan.empty) == ([], True)

    def test_write_nothing_the_second_time_from_another_machine(self, engine: Engine, tmp_path: Path) -> None:
        studio = answered(FEW)
        run(studio, engine)
        other = open_database(f"sqlite:///{tmp_path / 'other.db'}")
        run(studio, other)
        other.dispose()
        assert studio.writes == []

    def test_that_are_dry_write_nothing(self, engine: Engine) -> None:
        studio = answered(FEW)
        report = run(studio, engine, dry_run=True)
        assert (studio.writes, len(report.plan.create)) == ([], len(FEW))

    def test_that_are_dry_leave_the_next_pass_everything_to_do(self, engine: Engine) -> None:
        studio = answered(FEW)
        run(studio, engine, dry_run=True)
        run(studio, engine)
        assert len(studio.labels()) == len(FEW)

    def test_change_only_the_task_that_changed(self, engine: Engine) -> None:
        studio = answered(FEW)
        run(studio, engine)
        turn(studio, 1)
        run(studio, engine)
        assert (studio.labels()[1], studio.writes) == (["bad"], ["change"])

    def test_bring_back_what_somebody_deleted(self, engine: Engine) -> None:
        studio = answered(FEW)
        run(studio, engine)
        del studio.standing[min(studio.standing)]
        run(studio, engine)
        assert (sorted(studio.labels()), studio.writes) == (list(FEW), ["create"])

    def test_take_away_a_second_one_of_ours(self, engine: Engine) -> None:
        studio = answered(FEW)
        run(studio, engine)
        studio.add(1)
        run(studio, engine)
        assert {task: len(found) for task, found in studio.labels().items()} == dict.fromkeys(FEW, 1)

    def test_put_settings_right_that_a_settings_page_wiped(self, engine: Engine) -> None:
        studio = answered(FEW)
        run(studio, engine)
        studio.facts |= {"model_version": ""}
        run(studio, engine)
        assert (studio.facts, studio.writes) == (OURS, ["settings"])

    def test_remember_the_settings_as_they_were_first(self, engine: Engine) -> None:
        studio = answered(FEW)
        run(studio, engine)
        studio.facts |= {"model_version": "", "show_collab_predictions": False}
        run(studio, engine)
        with engine.connect() as connection:
            rows = connection.execute(select(tables.setting_before.c.name, tables.setting_before.c.value)).all()
        assert {row.name: json.loads(row.value) for row in rows} == {
            "model_version": "",
            "show_collab_predictions": True,
        }

    def test_take_a_prediction_away_with_the_last_answer_of_its_task(self, engine: Engine) -> None:
        studio = answered(FEW)
        run(studio, engine)
        for by in (1, 2, 3):
            studio.say(1, by, None)
        run(studio, engine)
        assert sorted(studio.labels()) == [2, 3, 4, 5]

    def test_take_all_predictions_away_with_the_last_answer_of_the_project(self, engine: Engine) -> None:
        studio = answered([1])
        run(studio, engine)
        for by in (1, 2, 3):
            studio.say(1, by, None)
        with suppress(CrowdError):  # it may well say that there are no answers
            run(studio, engine)
        assert studio.labels() == {}

    def test_name_what_label_studio_dropped(self, engine: Engine) -> None:
        studio = answered(MANY)
        studio.dropped = {3}
        assert any("task 3" in warning for warning in run(studio, engine).warnings)

    def test_try_again_what_label_studio_dropped(self, engine: Engine) -> None:
        studio = answered(MANY)
        studio.dropped = {3}
        run(studio, engine)
        studio.dropped = set()
        run(studio, engine)
        assert sorted(studio.labels()) == list(MANY)

    def test_may_leave_out_tasks_that_lack_answers(self, engine: Engine) -> None:
        studio = answered(FEW)
        studio.held[2]["overlap"] = 4
        studio.held[3]["overlap"] = 3
        run(studio, engine, when_complete=True)
        assert sorted(studio.labels()) == [1, 3, 4, 5]

    def test_count_gold_for_a_task_being_complete(self, engine: Engine) -> None:
        """As Label Studio does: or probes would show by lacking a prediction."""
        studio = answered(FEW)
        studio.say(2, 9, "good")
        for task in studio.held.values():
            task["overlap"] = 4
        run(studio, engine, when_complete=True, experts={9})
        assert sorted(studio.labels()) == [2]

    def test_leave_what_stands_if_nothing_new_is_taken(self, engine: Engine) -> None:
        studio = answered(MANY)
        run(studio, engine)
        before = studio.labels()
        for task in MANY:
            turn(studio, task)
        studio.dropped = set(MANY)
        run(studio, engine)
        assert studio.labels() == before

    def test_do_not_take_over_from_a_model_chosen_meanwhile(self, engine: Engine) -> None:
        studio = answered(FEW)
        studio.breaks, studio.after_done = {1: lambda: studio.facts.update(model_version="their-model")}, True
        run(studio, engine)
        assert studio.facts["model_version"] == "their-model"

    def test_put_right_what_somebody_changed_in_our_predictions(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As many stand as should, so only comparing one by one tells; that is done from time to time."""
        studio = answered(FEW)
        run(studio, engine)
        studio.standing[min(studio.standing)]["result"] = says("good")
        monkeypatch.setattr("ls_crowd_plugin.pipeline.sync.COMPARE_SECONDS", 0.0)
        run(studio, engine)
        assert studio.labels()[1] == ["good"]
        studio.standing[min(studio.standing)]["result"] = says("bad")
        run(studio, engine)
        assert studio.labels()[1] == ["good"]

    @pytest.mark.parametrize("result", [None, {"x": 1}, "x", [None]])
    def test_put_right_what_is_no_prediction_at_all(self, result: Any, engine: Engine) -> None:
        studio = answered(FEW)
        number = studio.add(1)
        studio.standing[number]["result"] = result
        run(studio, engine)
        assert studio.labels()[1] == ["good"]

    def test_compute_nothing_if_nothing_changed(self, engine: Engine) -> None:
        studio = answered(FEW)
        first = run(studio, engine)
        again = run(studio, engine)
        assert (first.findings is None, again.findings, again.summary) == (False, None, first.summary)

    @pytest.mark.parametrize(
        "another",
        [
            {"annotator_scores": False},
            {"experts": {3}},
            {"when_complete": True},
            {"apart": True},
            {"from_scratch": True},
        ],
        ids=lambda options: next(iter(options)),
    )
    def test_compute_anew_with_other_settings(self, another: Json, engine: Engine) -> None:
        studio = answered(FEW)
        run(studio, engine)
        assert run(studio, engine, **another).findings is not None

    def test_compute_anew_with_more_gold(self, engine: Engine) -> None:
        studio = answered(FEW)
        run(studio, engine)
        with engine.begin() as connection:
            add_gold(connection, PROJECT, {(1, "mood"): "bad"})
        assert run(studio, engine).summary["gold"] == 1

    def test_change_versions_where_most_is_wrong(self, engine: Engine) -> None:
        studio = answered(MANY)
        run(studio, engine)
        for task in MANY:
            turn(studio, task)
        run(studio, engine)
        assert (studio.writes, studio.facts["model_version"]) == (["import", "settings", "retire"], f"{VERSION}-2")
        assert studio.labels() == {task: ["bad" if task % 2 else "good"] for task in MANY}

    @pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
    @pytest.mark.parametrize("at", [1, 2, 3])
    def test_killed_in_a_change_of_versions_are_completed_by_the_next(
        self, at: int, done: bool, engine: Engine
    ) -> None:
        studio = answered(MANY)
        run(studio, engine)
        for task in MANY:
            turn(studio, task)
        studio.breaks, studio.after_done = {at: die}, done
        with pytest.raises(Broken):
            run(studio, engine)
        studio.breaks = {}
        run(studio, engine)
        assert studio.labels() == {task: ["bad" if task % 2 else "good"] for task in MANY}
        assert list(studio.versions(PROJECT)) == [studio.facts["model_version"]]

    def test_without_answers_say_so(self, engine: Engine) -> None:
        with pytest.raises(CrowdError, match="no answers"):
            run(Studio(FEW), engine)

    @pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
    @pytest.mark.parametrize("at", range(1, 7))
    def test_killed_at_a_write_are_completed_by_the_next(self, at: int, done: bool, engine: Engine) -> None:
        studio, undisturbed = answered(FEW), answered(FEW)
        studio.breaks, studio.after_done = {at: die}, done
        with pytest.raises(Broken):
            run(studio, engine)
        studio.breaks = {}
        run(studio, engine)
        carry_out_undisturbed(undisturbed)
        assert (studio.contents(), studio.facts) == (undisturbed.contents(), undisturbed.facts)

    def test_killed_after_a_change_that_was_then_taken_back_leave_nothing_of_it(self, engine: Engine) -> None:
        studio = answered(FEW)
        run(studio, engine)
        before = studio.labels()
        turn(studio, 1)
        turn(studio, 2)
        studio.breaks = {2: die}
        with pytest.raises(Broken):
            run(studio, engine)
        studio.breaks = {}
        turn(studio, 1)
        turn(studio, 2)
        run(studio, engine)
        assert studio.labels() == before


def carry_out_undisturbed(studio: Studio) -> None:
    """A pass with a database that nothing else has used."""
    opened = open_database("sqlite:///:memory:")
    run(studio, opened)
    opened.dispose()
