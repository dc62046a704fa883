"""A plan is what has to change in Label Studio and nothing else, by the cheapest way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.labelstudio import Prediction
from ls_crowd_plugin.pipeline.plan import (
    CROSSING_STEP,
    LIVE_WRITES,
    SCORE_STEP,
    VERSION,
    DesiredPrediction,
    ExistingPrediction,
    Plan,
    content_digest,
    crowd_meta,
    labels_digest,
    make_plan,
    only_urgent,
    should_import,
)
from tests.support.memory_studio import mood
from tests.support.predictions import MANY, SHOWN, desired, existing


class TestDigest:
    def test_depends_on_metadata(self) -> None:
        with_meta = [{**item, "meta": {"crowd": {"answers": 3}}} for item in mood("good")]
        assert content_digest(with_meta, 0.9) != content_digest(mood("good"), 0.9)

    def test_does_not_depend_on_what_we_do_not_write(self) -> None:
        shown = [{**item, "origin": "prediction"} for item in mood("good")]
        assert content_digest(shown, 0.9) == content_digest(mood("good"), 0.9)

    def test_does_not_depend_on_the_order_of_keys(self) -> None:
        reordered = [dict(reversed(item.items())) for item in mood("good")]
        assert content_digest(reordered, 0.9) == content_digest(mood("good"), 0.9)

    def test_does_not_depend_on_a_fourth_decimal(self) -> None:
        assert content_digest(mood("good"), 0.9001) == content_digest(mood("good"), 0.9)

    def test_depends_on_the_label(self) -> None:
        assert content_digest(mood("good"), 0.9) != content_digest(mood("bad"), 0.9)

    def test_depends_on_the_score(self) -> None:
        assert content_digest(mood("good"), 0.9) != content_digest(mood("good"), 0.901)

    def test_depends_on_whether_there_is_a_score(self) -> None:
        assert content_digest(mood("good"), None) != content_digest(mood("good"), 0.0)

    def test_depends_on_the_control(self) -> None:
        other = [{**item, "from_name": "other"} for item in mood("good")]
        assert content_digest(other, 0.9) != content_digest(mood("good"), 0.9)


class TestDigestOfLabels:
    def test_does_not_depend_on_metadata_and_order(self) -> None:
        items = [*mood("good"), {"from_name": "stars", "value": {"rating": 3}, "meta": {"crowd": {}}}]
        assert labels_digest(items) == labels_digest([{**item, "meta": {}} for item in items[::-1]])

    def test_depends_on_the_label(self) -> None:
        assert labels_digest(mood("good")) != labels_digest(mood("bad"))


@pytest.mark.parametrize(
    "result", [None, [], "x", [None], [{}], [{"meta": "x"}], [{"meta": {"crowd": 1}}], {"meta": {"crowd": {"a": 1}}}]
)
def test_metadata_of_something_else_is_empty(result: object) -> None:
    assert crowd_meta(result) == {}


def test_an_existing_prediction_has_the_digest_of_its_content() -> None:
    prediction = ExistingPrediction.of(Prediction(10, 1, VERSION, 0.9, mood("good")))
    assert (prediction.digest, prediction.labels) == (desired(1).digest, desired(1).labels)


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

    def test_a_version_is_not_replaced_where_that_would_hold_up_people(self) -> None:
        before = [existing(100 + task, task) for task in MANY]
        plan = make_plan([desired(task, "bad") for task in MANY], before, may_replace=False)
        assert (plan.version, len(plan.update), plan.create, plan.retire) == (VERSION, len(MANY), [], {})

    def test_other_versions_are_deleted_singly_where_that_would_hold_up_people(self) -> None:
        two = [existing(100, 1), existing(200, 1, version=f"{VERSION}-2")]
        assert make_plan([desired(1)], two, may_replace=False) == Plan(delete=[two[1]])

    def test_a_name_that_somebody_else_uses_is_not_chosen(self) -> None:
        assert make_plan([desired(1)], [], taken={VERSION, f"{VERSION}-2"}).version == f"{VERSION}-3"

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


def urgent(before: Sequence[DesiredPrediction], after: Sequence[DesiredPrediction]) -> Plan:
    """What of a change is written while people work."""
    there = [existing_of(number, one) for number, one in enumerate(before, 10)]
    known = {one.task: one.stored(number) for number, one in enumerate(before, 10)}
    return only_urgent(make_plan(after, there, may_replace=False), known)


def existing_of(number: int, written: DesiredPrediction) -> ExistingPrediction:
    return ExistingPrediction.of(Prediction(number, written.task, VERSION, written.score, written.result))


class TestUrgent:
    def test_is_an_answered_task_however_little_changed(self) -> None:
        plan = urgent([replace(desired(1), basis="a")], [replace(desired(1, score=0.901), basis="b")])
        assert ([one.task for _, one in plan.update], plan.deferred) == ([1], 0)

    def test_is_a_new_task(self) -> None:
        assert [one.task for one in urgent([], [desired(1)]).create] == [1]

    def test_is_a_task_without_answers(self) -> None:
        assert [one.task for one in urgent([desired(1)], []).delete] == [1]

    def test_is_another_label(self) -> None:
        assert len(urgent([desired(1)], [desired(1, "bad")]).update) == 1

    @pytest.mark.parametrize(
        ("before", "after", "is_written"),
        [
            (0.6, 0.6 + SCORE_STEP, True),
            (0.6, 0.64, False),
            (0.945, 0.945 + CROSSING_STEP, True),
            (0.948, 0.952, False),
            (0.96, 0.99, False),
        ],
    )
    def test_is_a_score_that_moved_far_or_across_the_line(self, before: float, after: float, is_written: bool) -> None:
        plan = urgent([desired(1, score=before)], [desired(1, score=after)])
        assert (len(plan.update), plan.deferred) == ((1, 0) if is_written else (0, 1))

    def test_is_limited_for_each_answer(self) -> None:
        before = [replace(desired(task, score=0.5), basis="a") for task in range(1, 40)]
        after = [replace(desired(1, score=0.6), basis="b"), *(replace(one, score=0.7) for one in before[1:])]
        plan = urgent(before, after)
        assert (next(one.task for _, one in plan.update), len(plan.update), plan.deferred) == (1, LIVE_WRITES, 29)

    def test_is_ordered_by_answers_then_labels_then_scores(self) -> None:
        before = [replace(desired(task, score=0.5), basis="a") for task in (1, 2, 3, 4)]
        after = [
            replace(before[0], score=0.6),
            replace(before[1], score=0.7),
            replace(desired(3, "bad", 0.5), basis="a"),
            replace(before[3], score=0.501, basis="b"),
        ]
        assert [one.task for _, one in urgent(before, after).update] == [4, 3, 2, 1]


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
        ExistingPrediction(number, wanted.task, plan.version, wanted.digest, wanted.labels)
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
