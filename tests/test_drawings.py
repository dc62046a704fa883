"""From what people drew to what a task's prediction says: groups, gold, odd tasks, and that no order matters."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ls_crowd_plugin.controls import NO_REGION, read_config
from ls_crowd_plugin.pipeline.crowd import Crowd, crowd_of
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.findings import find
from ls_crowd_plugin.pipeline.insight import insight
from ls_crowd_plugin.pipeline.plan import Desired
from ls_crowd_plugin.store import Annotation

CONFIG = read_config(
    '<View><Text name="text" value="$t"/>'
    '<Labels name="entity" toName="text"><Label value="PER"/><Label value="ORG"/></Labels>'
    '<Choices name="mood" toName="text" required="true"><Choice value="good"/><Choice value="bad"/></Choices></View>'
)
Drawing = Sequence[tuple[int, int, str]]


def annotation(number: int, task: int, by: int, drawn: Drawing, mood: str = "", **more: Any) -> Annotation:
    items = [
        {
            "id": f"r{place}",
            "from_name": "entity",
            "to_name": "text",
            "type": "labels",
            "value": {"start": start, "end": end, "text": "x" * (end - start), "labels": [label]},
        }
        for place, (start, end, label) in enumerate(drawn)
    ]
    if mood:
        items.append({"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [mood]}})
    fields = {"skipped": False, "ground_truth": False, "copied": False} | more
    return Annotation(
        number, task, by, json.dumps(items), created_at="", updated_at="", updated_by=None, lead_time=None, **fields
    )


def crowd(*drawings: Drawing, experts: tuple[int, ...] = (), tasks: int = 12) -> Crowd:
    """The same drawings, one by each person, on several tasks; on every second one the labels change places, or people
    would seem to say the same whatever they see."""
    other = {"PER": "ORG", "ORG": "PER"}
    made = []
    for task in range(tasks):
        for by, drawn in enumerate(drawings, 1):
            turned = [(start, end, other.get(label, label) if task % 2 else label) for start, end, label in drawn]
            made.append(annotation(100 * task + by, task, by, turned))
    return crowd_of(CONFIG, made, {}, experts)


def anything(random: np.random.Generator) -> tuple[int, int, str]:
    start = int(random.integers(0, 80))
    return start, start + 10, ("PER", "ORG")[int(random.integers(2))]


def predicted(given_crowd: Crowd, task: int = 0) -> Desired:
    return next(each for each in desired_predictions(given_crowd, find(given_crowd)) if each.task == task)


def marked(desired: Desired) -> list[tuple[int, int, str]]:
    values = [item["value"] for item in desired.result if item["type"] == "labels"]
    return sorted((value["start"], value["end"], value["labels"][0]) for value in values)


class TestGroups:
    def test_ask_everybody_who_saw_the_task(self) -> None:
        found = crowd([(0, 5, "PER")], [(0, 5, "PER")], [])
        said = {
            who: label
            for unit, who, label in zip(found.tasks, found.annotators, found.labels, strict=True)
            if unit == (0, "entity", 0)
        }
        assert said == {1: "PER", 2: "PER", 3: NO_REGION}

    def test_do_not_ask_who_skipped(self) -> None:
        made = [annotation(1, 1, 1, [(0, 5, "PER")]), annotation(2, 1, 2, [], skipped=True)]
        assert crowd_of(CONFIG, made, {}).annotators == [1]

    def test_keep_two_labels_of_one_person_apart(self) -> None:
        both = [(0, 5, "PER"), (0, 5, "ORG")]
        assert marked(predicted(crowd(both, both, both))) == [(0, 5, "ORG"), (0, 5, "PER")]

    def test_let_different_labels_of_two_people_disagree(self) -> None:
        found = crowd([(0, 5, "PER")], [(0, 5, "PER")], [(0, 5, "ORG")])
        assert marked(predicted(found)) == [(0, 5, "PER")]
        assert len(found.groups) == 12

    def test_keep_nested_and_touching_regions(self) -> None:
        drawn = [(0, 10, "ORG"), (0, 4, "PER"), (10, 15, "PER")]
        assert marked(predicted(crowd(drawn, drawn, drawn))) == sorted(drawn)


class TestConsensus:
    def test_snaps_to_the_boundary_of_the_many(self) -> None:
        assert marked(predicted(crowd([(0, 5, "PER")], [(0, 5, "PER")], [(1, 6, "PER")]))) == [(0, 5, "PER")]

    def test_lets_go_of_what_one_of_many_drew(self) -> None:
        others: list[Drawing] = [[(20, 25, "ORG")]] * 4
        assert marked(predicted(crowd(*others, [(20, 25, "ORG"), (40, 50, "PER")]))) == [(20, 25, "ORG")]

    def test_keeps_what_a_skilled_minority_drew(self) -> None:
        """Two people are right on gold and elsewhere, three draw at random: a majority would keep nothing."""
        random = np.random.default_rng(1)
        made, truth = [], {}
        for task in range(60):
            truth[task] = anything(random)
            drawn = [truth[task], truth[task], *(anything(random) for _ in range(3))]
            made += [annotation(100 * task + by, task, by, [each]) for by, each in enumerate(drawn, 1)]
            if task < 10:
                made.append(annotation(100 * task + 9, task, 9, [truth[task]]))
        found = crowd_of(CONFIG, made, {}, experts=(9,))
        predictions = desired_predictions(found, find(found))
        right = sum(truth[each.task] in marked(each) for each in predictions)
        extra = sum(len(marked(each)) for each in predictions) - right
        assert right >= 54
        assert extra <= 12

    def test_has_other_questions_beside(self) -> None:
        made = [annotation(10 * task + by, task, by, [(0, 5, "PER")], "good") for task in range(9) for by in (1, 2, 3)]
        (first, *_) = desired_predictions(crowd_of(CONFIG, made, {}), find(crowd_of(CONFIG, made, {})))
        assert [item["type"] for item in first.result] == ["choices", "labels"]
        assert set(first.result[0]["meta"]["crowd"]["confidence"]) == {"mood", "entity"}


class TestGold:
    def test_is_a_probe_and_does_not_show(self) -> None:
        """A gold region that nobody drew counts against all, and is not in the prediction."""
        made = [
            annotation(100 * task + by, task, by, [(0, 5, ("PER", "ORG")[task % 2])] if by < 4 else [])
            for task in range(12)
            for by in (1, 2, 3, 4)
        ]
        gold = annotation(9, 0, 9, [(0, 5, "PER"), (30, 35, "ORG")])
        with_gold, without = crowd_of(CONFIG, [*made, gold], {}, experts=(9,)), crowd_of(CONFIG, made, {})
        known = {((0, "entity", 0), "entity"): "PER", ((0, "entity", 1), "entity"): "ORG"}
        assert (with_gold.gold, without.gold) == (known, {})
        assert with_gold.groups[0, "entity", 1].missed
        assert 9 not in with_gold.annotators
        assert [marked(predicted(each)) for each in (with_gold, without)] == [[(0, 5, "PER")]] * 2
        assert len(insight(with_gold, find(with_gold)).labels) == len(insight(without, find(without)).labels)

    def test_that_everybody_missed_counts_as_missed(self) -> None:
        made = [annotation(10 * task + by, task, by, []) for task in range(20) for by in (1, 2, 3)]
        made += [annotation(10 * task + 9, task, 9, [(0, 5, "PER")]) for task in range(20)]
        found = crowd_of(CONFIG, made, {}, experts=(9,))
        assert insight(found, find(found)).charts["gold"] == {"labels": 20, "right": 0, "plurality": 0}
        assert all(row["gold_correct"] == 0 for row in find(found).people.values())

    def test_of_several_experts_on_a_task_is_not_used(self) -> None:
        drawn: Drawing = [(0, 5, "PER")]
        found = crowd(drawn, drawn, drawn, drawn, experts=(3, 4))
        assert not found.gold
        assert any("several gold annotations" in warning for warning in found.warnings)


class TestOddTasks:
    def test_nobody_drew_anything(self) -> None:
        desired = predicted(crowd([], [], []))
        assert (desired.result, 0.5 < desired.score <= 1) == ([], True)

    def test_one_annotator(self) -> None:
        assert marked(predicted(crowd([(0, 5, "PER")]))) == [(0, 5, "PER")]

    def test_spans_without_width(self) -> None:
        drawn: Drawing = [(3, 3, "PER"), (5, 9, "ORG")]
        assert marked(predicted(crowd(drawn, drawn, drawn))) == [(3, 3, "PER"), (5, 9, "ORG")]

    def test_unknown_labels(self) -> None:
        """Who drew something with a label that is gone has not said that there is nothing."""
        good: Drawing = [(0, 5, "PER")]
        found = crowd(good, good, [(0, 5, "PER"), (9, 12, "gone")])
        assert set(found.annotators) == {1, 2}
        assert marked(predicted(found)) == [(0, 5, "PER")]

    def test_thousands_of_regions(self) -> None:
        """Time per region grows little from hundreds to thousands of them on one task."""

        def seconds(regions: int) -> float:
            drawn = [(20 * place, 20 * place + 12, "PER") for place in range(regions)]
            started = time.perf_counter()
            assert len(crowd(*[drawn] * 5, tasks=1).groups) == regions
            return (time.perf_counter() - started) / regions

        seconds(10)
        assert seconds(2000) < 20 * min(seconds(200) for _ in range(3))


shapes = st.tuples(st.integers(0, 30), st.integers(0, 10), st.sampled_from(["PER", "ORG"])).map(
    lambda each: (each[0], each[0] + each[1], each[2])
)


@settings(max_examples=25)
@given(st.lists(st.lists(shapes, max_size=4), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_no_order_changes_the_result(drawings: list[list[tuple[int, int, str]]], random: Any) -> None:
    made = [annotation(100 * task + by, task, by, drawn) for task in range(2) for by, drawn in enumerate(drawings, 1)]
    mixed = [
        annotation(100 * task + by, task, by, random.sample(drawn, len(drawn)))
        for task in range(2)
        for by, drawn in enumerate(drawings, 1)
    ]
    random.shuffle(mixed)
    results = []
    for each_order in (made, mixed):
        found = crowd_of(CONFIG, each_order, {})
        results.append([(marked(each), each.score) for each in desired_predictions(found, find(found, "neg"))])
    assert results[0] == results[1]


@pytest.mark.parametrize("apart", [True, False])
def test_insight_tells_what_everybody_missed_added_and_misnamed(apart: bool) -> None:
    good: Drawing = [(0, 5, "PER"), (10, 15, "ORG")]
    found = crowd(good, good, good, [(0, 5, "ORG"), (40, 45, "PER")])
    rows = {row["annotator"]: json.loads(row["detail"]) for row in insight(found, find(found, apart=apart)).annotators}
    assert rows[1]["regions"] == {"drawn": 24, "missed": 0.0, "extra": 0.0, "wrong": 0.0}
    assert rows[4]["regions"] == {"drawn": 24, "missed": 0.5, "extra": 0.5, "wrong": 0.5}
