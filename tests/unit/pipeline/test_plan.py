"""A plan is what has to change in Label Studio and nothing else, by the cheapest way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.labelstudio import Prediction
from ls_crowd_plugin.pipeline.plan import (
    VERSION,
    DesiredPrediction,
    ExistingPrediction,
    Plan,
    crowd_meta,
    digest,
    make_plan,
    should_import,
)
from tests.support.memory_studio import mood
from tests.support.predictions import MANY, SHOWN, desired, existing


class TestDigest:
    def test_does_not_depend_on_metadata(self) -> None:
        with_meta = [{**item, "meta": {"crowd": {"answers": 3}}, "id": "x"} for item in mood("good")]
        assert digest(with_meta, 0.9) == digest(mood("good"), 0.9)

    def test_does_not_depend_on_the_order_of_keys(self) -> None:
        reordered = [dict(reversed(item.items())) for item in mood("good")]
        assert digest(reordered, 0.9) == digest(mood("good"), 0.9)

    def test_does_not_depend_on_the_order_of_items(self) -> None:
        items = [*mood("good"), {"from_name": "stars", "value": {"rating": 3}}]
        assert digest(items, 0.9) == digest(items[::-1], 0.9)

    def test_does_not_depend_on_a_fourth_decimal(self) -> None:
        assert digest(mood("good"), 0.9001) == digest(mood("good"), 0.9)

    def test_depends_on_the_label(self) -> None:
        assert digest(mood("good"), 0.9) != digest(mood("bad"), 0.9)

    def test_depends_on_the_score(self) -> None:
        assert digest(mood("good"), 0.9) != digest(mood("good"), 0.901)

    def test_depends_on_whether_there_is_a_score(self) -> None:
        assert digest(mood("good"), None) != digest(mood("good"), 0.0)

    def test_depends_on_the_control(self) -> None:
        other = [{**item, "from_name": "other"} for item in mood("good")]
        assert digest(other, 0.9) != digest(mood("good"), 0.9)

    def test_depends_on_whether_people_are_scored(self) -> None:
        scored = [{**item, "meta": {"crowd": {"annotators": {"1": {}}}}} for item in mood("good")]
        assert digest(scored, 0.9) != digest(mood("good"), 0.9)


@pytest.mark.parametrize(
    "result", [None, [], "x", [None], [{}], [{"meta": "x"}], [{"meta": {"crowd": 1}}], {"meta": {"crowd": {"a": 1}}}]
)
def test_metadata_of_something_else_is_empty(result: object) -> None:
    assert crowd_meta(result) == {}


def test_an_existing_prediction_has_the_digest_of_its_content() -> None:
    prediction = ExistingPrediction.of(Prediction(10, 1, VERSION, 0.9, mood("good")))
    assert prediction == replace(existing(10, 1), score=0.9)


class TestPlan:
    def test_creates_what_is_missing(self) -> None:
        assert make_plan([desired(1)], []) == Plan(create=[desired(1)])

    def test_changes_what_differs(self) -> None:
        plan = make_plan([desired(1, "bad")], [existing(10, 1)])
        assert plan == Plan(update=[(existing(10, 1), desired(1, "bad"))])

    def test_changes_another_label_before_another_score(self) -> None:
        wanted = [desired(1, score=0.8), desired(2, score=0.1), desired(3, "bad")]
        before = [replace(existing(10 * task, task), score=0.9) for task in (1, 2, 3)]
        assert [one.task for _, one in make_plan(wanted, before).update] == [3, 2, 1]

    def test_deletes_what_should_not_exist(self) -> None:
        assert make_plan([], [existing(10, 1)]) == Plan(delete=[existing(10, 1)])

    def test_leaves_what_is_right(self) -> None:
        assert make_plan([desired(1)], [existing(10, 1)]).is_empty

    def test_deletes_the_second_of_ours_on_a_task(self) -> None:
        assert make_plan([desired(1)], [existing(11, 1), existing(10, 1)]) == Plan(delete=[existing(11, 1)])

    def test_keeps_the_right_one_of_several_on_a_task(self) -> None:
        plan = make_plan([desired(1)], [existing(10, 1, "bad"), existing(11, 1)])
        assert plan == Plan(delete=[existing(10, 1, "bad")])

    def test_changes_one_of_several_wrong_ones_on_a_task(self) -> None:
        plan = make_plan([desired(1)], [existing(10, 1, "bad"), existing(11, 1, "bad")])
        assert plan == Plan(update=[(existing(10, 1, "bad"), desired(1))], delete=[existing(11, 1, "bad")])

    def test_with_settings_to_change_is_not_empty(self) -> None:
        assert not Plan(settings=SHOWN).is_empty

    def test_counts_the_predictions_it_touches(self) -> None:
        plan = Plan(create=[desired(1)], update=[(existing(10, 2), desired(2))], delete=[existing(11, 3)])
        assert replace(plan, retire={"old": 5}).size == 8

    def test_counts_the_tasks_that_get_another_label(self) -> None:
        before = [existing(100 + task, task) for task in MANY]
        few = make_plan([desired(task, "bad" if task < 3 else "good", 0.8) for task in MANY[:5]], before[:5])
        all_ = make_plan([desired(task, "bad") for task in MANY], before)
        assert (few.relabelled, all_.relabelled, make_plan([desired(1)], []).relabelled) == (2, len(MANY), 0)


class TestVersions:
    def test_a_version_that_is_mostly_wrong_is_replaced_by_another(self) -> None:
        plan = make_plan([desired(task, "bad") for task in MANY], [existing(100 + task, task) for task in MANY])
        assert (plan.version, len(plan.create), plan.retire) == (f"{VERSION}-2", len(MANY), {VERSION: len(MANY)})

    def test_what_was_right_moves_to_the_new_version_with_its_metadata(self) -> None:
        before = [existing(100 + task, task, "good" if task == 3 else "bad") for task in MANY]
        before[2].result[0]["meta"] = {"crowd": "as it was"}
        moved = make_plan([desired(task) for task in MANY], before).create[2]
        assert (moved.task, moved.result[0]["meta"]) == (3, {"crowd": "as it was"})

    def test_a_few_of_many_are_changed_in_place(self) -> None:
        before = [existing(100 + task, task) for task in MANY]
        plan = make_plan([desired(task, "bad" if task < 3 else "good") for task in MANY], before)
        assert (plan.version, len(plan.update), plan.create) == (VERSION, 2, [])

    def test_an_interrupted_change_of_versions_is_continued(self) -> None:
        old = [existing(100 + task, task) for task in MANY]
        new = [existing(200 + task, task, "bad", version=f"{VERSION}-2") for task in MANY]
        plan = make_plan([desired(task, "bad") for task in MANY], old + new, shown_version=VERSION)
        assert plan == Plan(f"{VERSION}-2", retire={VERSION: len(MANY)})

    def test_the_version_that_is_shown_is_kept_if_two_are_as_good(self) -> None:
        two = [existing(100, 1), existing(200, 1, version=f"{VERSION}-2")]
        plan = make_plan([desired(1)], two, shown_version=f"{VERSION}-2")
        assert plan == Plan(f"{VERSION}-2", retire={VERSION: 1})

    @pytest.mark.parametrize("tasks", [100, 10_000])
    def test_an_import_is_used_where_it_is_cheaper_than_single_requests(self, tasks: int) -> None:
        assert [should_import(number, tasks) for number in (5, 60, 200)] == [False, tasks == 100, True]

    def test_nested_choices_are_not_imported(self) -> None:
        nested = replace(desired(1), result=[{"value": {"choices": [["animal", "cat"]]}}])
        assert (nested.is_importable, desired(1).is_importable) == (False, True)
        assert Plan(create=[nested] * 200).cost(100) == 200


any_label = st.sampled_from(["good", "bad"])
any_score = st.sampled_from([0.5, 0.9])
any_version = st.sampled_from([VERSION, f"{VERSION}-2", f"{VERSION}-7"])
any_desired = st.dictionaries(st.integers(1, 6), st.tuples(any_label, any_score)).map(
    lambda wanted: [desired(task, *content) for task, content in wanted.items()]
)
any_existing = st.lists(st.tuples(st.integers(1, 6), any_label, any_score, any_version), max_size=40).map(
    lambda rows: [existing(number, *row) for number, row in enumerate(rows, 10)]
)


def carried_out(plan: Plan, before: Sequence[ExistingPrediction]) -> list[ExistingPrediction]:
    """What exists after a plan was carried out."""
    deleted = {prediction.id for prediction in plan.delete}
    updated = {prediction.id: wanted.digest for prediction, wanted in plan.update}
    kept = [
        replace(prediction, digest=updated.get(prediction.id, prediction.digest))
        for prediction in before
        if prediction.id not in deleted and prediction.version not in plan.retire
    ]
    return kept + [
        ExistingPrediction(number, wanted.task, plan.version, wanted.digest)
        for number, wanted in enumerate(plan.create, 100)
    ]


@given(any_desired, any_existing)
def test_nothing_is_left_to_do_after_a_plan(wanted: list[DesiredPrediction], before: list[ExistingPrediction]) -> None:
    assert make_plan(wanted, carried_out(make_plan(wanted, before), before)).is_empty


@given(any_desired, any_existing)
def test_a_plan_ends_with_one_version(wanted: list[DesiredPrediction], before: list[ExistingPrediction]) -> None:
    plan = make_plan(wanted, before)
    assert {prediction.version for prediction in carried_out(plan, before)} <= {plan.version}


@given(any_desired, any_existing)
def test_a_plan_ends_with_exactly_what_is_desired(
    wanted: list[DesiredPrediction], before: list[ExistingPrediction]
) -> None:
    after = carried_out(make_plan(wanted, before), before)
    assert sorted((one.task, one.digest) for one in after) == sorted((one.task, one.digest) for one in wanted)


@given(any_desired, any_existing, st.data())
def test_a_plan_does_not_depend_on_the_order_of_what_exists(
    wanted: list[DesiredPrediction], before: list[ExistingPrediction], data: st.DataObject
) -> None:
    plan, reordered = make_plan(wanted, before), make_plan(wanted, data.draw(st.permutations(before)))
    assert (plan.create, plan.update) == (reordered.create, reordered.update)
    assert {prediction.id for prediction in plan.delete} == {prediction.id for prediction in reordered.delete}
