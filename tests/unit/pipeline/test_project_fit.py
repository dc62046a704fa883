"""One fit for all controls, or one for each: either way one label per question and one score per annotator."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

from ls_crowd_plugin.controls import NO_REGION, read_config
from ls_crowd_plugin.pipeline.annotator_records import annotator_records
from ls_crowd_plugin.pipeline.crowd import Crowd
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.label_records import fitted_labels
from ls_crowd_plugin.pipeline.project_fit import ProjectFit, fit_project
from tests.support.annotations import mood_annotation, mood_crowd
from tests.support.span_crowds import crowd_of_spans, span_annotation, span_crowd

TWO_CONTROLS = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="mood" toName="text" required="true"><Choice value="good"/><Choice value="bad"/></Choices>
  <Choices name="colour" toName="text" required="true"><Choice value="red"/><Choice value="blue"/></Choices>
</View>
"""


def two_faced_crowd(tasks: int = 60) -> Crowd:
    """Person 9 is contrary about moods and right about colours; the other four are mostly right about both."""
    chance = random.Random(1)
    crowd = Crowd(read_config(TWO_CONTROLS), label_set={"mood": ["good", "bad"], "colour": ["red", "blue"]})
    for task in range(tasks):
        truth = {name: chance.choice(labels) for name, labels in crowd.label_set.items()}
        for annotator in (1, 2, 3, 4, 9):
            for question, right in truth.items():
                wrong = next(label for label in crowd.label_set[question] if label != right)
                errs = question == "mood" if annotator == 9 else chance.random() < 0.1
                crowd.add(task, annotator, question, wrong if errs else right)
        crowd.answer_counts[task] = 5
    return crowd


@cache
def fit_two_faced(*questions: str, separate: bool = False) -> ProjectFit:
    """The fit of that crowd, or of its part that is about some questions."""
    crowd = two_faced_crowd()
    return fit_project(crowd.of_questions(questions) if questions else crowd, "gem", separate=separate)


class TestSeparateFits:
    def test_judge_people_by_each_control_alone(self) -> None:
        verdicts = {question: fit_two_faced(question).scores[9].verdict for question in ("mood", "colour")}
        assert verdicts["mood"] == "contrary"
        assert verdicts["colour"] in ("trusted", "ordinary")

    def test_do_not_call_somebody_contrary_whose_means_say_otherwise(self) -> None:
        """Contrary about moods and right about colours: right about half of everything."""
        score = fit_two_faced(separate=True).scores[9]
        assert score.verdict == "unreliable"
        assert score.accuracy == pytest.approx(0.5, abs=0.1)  # two pseudo-answers in 60, and calibration

    def test_give_people_means_weighted_by_answers(self) -> None:
        score = fit_two_faced(separate=True).scores[1]
        parts = [fit_two_faced(question).scores[1] for question in ("mood", "colour")]
        assert score.answers == sum(part.answers for part in parts) == 120
        assert score.accuracy == pytest.approx(sum(part.accuracy or 0.0 for part in parts) / 2, abs=1e-12)

    def test_answer_the_same_questions_as_one_fit(self) -> None:
        crowd = two_faced_crowd()
        one, several = (desired_predictions(crowd, fit_two_faced(separate=separate)) for separate in (False, True))
        assert [prediction.task for prediction in one] == [prediction.task for prediction in several]
        assert all(len(prediction.result) == 2 for prediction in several)

    def test_count_all_labels(self) -> None:
        assert fit_two_faced(separate=True).summary.labels == 2 * len(two_faced_crowd().answer_counts)

    def test_share_the_progress(self) -> None:
        fractions: list[float] = []
        fit_project(two_faced_crowd(10), "gem", separate=True, on_progress=fractions.append)
        assert all(0 <= fraction <= 1 for fraction in fractions)
        assert fractions[0] < 0.5 <= fractions[-1]


@cache
def fit_with_gold() -> tuple[Crowd, ProjectFit]:
    """Three people of different skill; a quarter of the tasks is gold."""
    chance = np.random.default_rng(5)
    annotations = []
    truth = chance.integers(2, size=120)
    for task in range(120):
        for annotator in (1, 2, 3):
            right = chance.random() < (0.9, 0.8, 0.7)[annotator - 1]
            label = ("good", "bad")[truth[task] if right else 1 - truth[task]]
            annotations.append(mood_annotation(10 * task + annotator, task, annotator, label))
    crowd = mood_crowd(*annotations, gold={(task, "mood"): ("good", "bad")[truth[task]] for task in range(30)})
    return crowd, fit_project(crowd)


class TestGoldBlindness:
    def test_nothing_in_a_prediction_tells_gold_from_other_tasks(self) -> None:
        """Tasks with the same answers by the same people have the same score, gold or not."""
        crowd, fit = fit_with_gold()
        scores: dict[tuple[str, ...], set[float]] = {}
        for prediction in desired_predictions(crowd, fit):
            rows = zip(crowd.units, crowd.labels, strict=True)
            pattern = tuple(label for task, label in rows if task == prediction.task)
            scores.setdefault(pattern, set()).add(prediction.score)
        assert len(scores) == 8
        assert {len(of_pattern) for of_pattern in scores.values()} == {1}

    def test_gold_has_its_own_label_with_certainty_elsewhere(self) -> None:
        crowd, fit = fit_with_gold()
        assert all(fit.labels[key] == label and fit.confidence[key] == 1.0 for key, label in crowd.gold.items())
        assert all(fit.posterior(*key)[label] == 1.0 for key, label in crowd.gold.items())

    def test_held_out_labels_are_not_the_gold_labels(self) -> None:
        crowd, fit = fit_with_gold()
        right = sum(fit.held_out_label(*key)[0] == label for key, label in crowd.gold.items())
        assert 0 < right < len(crowd.gold)


class TestRegions:
    def test_have_the_probability_of_existing_times_that_of_the_label(self) -> None:
        crowd = span_crowd([(0, 5, "PER")], [(0, 5, "PER")], [(0, 5, "ORG")], [])
        fit = fit_project(crowd)
        for unit in crowd.groups:
            posterior = fit.posterior(unit, "entity")
            assert set(posterior) == {"PER", "ORG", NO_REGION}
            assert sum(posterior.values()) == pytest.approx(1.0)

    def test_somebody_who_gives_regions_wrong_labels_is_contrary_by_numbers_about_labels(self) -> None:
        right = [(0, 5, "PER"), (10, 15, "ORG"), (20, 25, "PER")]
        wrong = [(0, 5, "ORG"), (10, 15, "PER"), (20, 25, "ORG")]
        crowd = span_crowd(right, right, right, wrong, tasks=30)
        fit = fit_project(crowd)
        contrary = fit.scores[4]
        assert contrary.verdict == "contrary"
        assert contrary.weight is not None
        assert contrary.accuracy is not None
        assert contrary.weight <= 0
        assert contrary.accuracy < 0.5
        records = annotator_records(crowd, fit, fitted_labels(crowd, fit))
        assert {record.annotator: record.agreement for record, _ in records} == {1: 1.0, 2: 1.0, 3: 1.0, 4: 0.0}

    def test_somebody_who_never_draws_is_not_contrary(self) -> None:
        fit = fit_project(span_crowd(*[[(0, 5, "PER"), (10, 15, "ORG")]] * 3, [], tasks=30))
        assert fit.scores[4].verdict != "contrary"
        assert fit.scores[4].adversary_probability == 0.0

    @pytest.mark.slow
    def test_somebody_who_draws_at_random_is_not_trusted(self) -> None:
        """Four people draw two spans on each task; a fifth draws elsewhere, and now and then one of the two, rightly
        labelled: whoever judges only the labels of what several people drew sees nothing but right answers."""
        chance, annotations = random.Random(4), []
        for task in range(60):
            spans = [(0, 5, chance.choice(["PER", "ORG"])), (20, 25, chance.choice(["PER", "ORG"]))]
            drawn = {person: [span for span in spans if chance.random() < 0.9] for person in (1, 2, 3, 4)}
            drawn[5] = [(start, start + 4, chance.choice(["PER", "ORG"])) for start in (40, 60, 80)]
            drawn[5] += [spans[0]] if task % 4 == 0 else []
            annotations += [
                span_annotation(100 * task + person, task, person, of_person) for person, of_person in drawn.items()
            ]
        score = fit_project(crowd_of_spans(annotations)).scores[5]
        assert score.weight is not None
        assert score.accuracy is not None
        assert score.accuracy < 1 / 3  # chance: two labels, or no region
        assert score.weight < 0
        assert score.verdict == "unreliable"

    @pytest.mark.slow
    def test_that_their_only_witness_drew_keep_the_label_given(self) -> None:
        """Most regions are ORG; a region that nobody else could see is called what its only witness called it."""
        annotations = [
            span_annotation(100 * task + person, task, person, [(0, 5, "PER" if task % 10 == 0 else "ORG")])
            for task in range(40)
            for person in (1, 2, 3)
        ]
        crowd = crowd_of_spans([*annotations, span_annotation(9999, 99, 7, [(0, 5, "PER")])])
        fit = fit_project(crowd)
        (unit,) = (unit for unit, group in crowd.groups.items() if group.task == 99)
        assert fit.labels[unit, "entity"] == "PER"
        assert fit.state(unit, "entity") != "settled"
        assert fit.scores[7].verdict == "too little to say"
