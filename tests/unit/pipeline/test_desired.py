"""What the prediction on each task should say; nothing in it gives gold away."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random

import pytest

from ls_crowd_plugin.controls import NONE, read_config
from ls_crowd_plugin.pipeline.crowd import Crowd, Key, build_crowd
from ls_crowd_plugin.pipeline.desired import desired_predictions
from ls_crowd_plugin.pipeline.plan import DesiredPrediction, content_digest, crowd_meta
from ls_crowd_plugin.pipeline.project_fit import fit_project
from ls_crowd_plugin.recipe import Recipe
from ls_crowd_plugin.records import SETTLED
from tests.support.annotations import mood_annotation
from tests.support.memory_studio import MOOD_CONFIG
from tests.support.region_configs import SPANS, SURE, span_item

# Four of five people say good about odd tasks and bad about even ones.
FOUR_OF_FIVE = {task: ["good"] * 4 + ["bad"] if task % 2 else ["bad"] * 4 + ["good"] for task in range(1, 11)}


def crowd_of_five(answers: Mapping[int, Sequence[str]], gold: Mapping[Key, str] | None = None) -> Crowd:
    """Five annotators' labels of the mood of each task."""
    crowd = Crowd(read_config(MOOD_CONFIG), gold=dict(gold or {}), label_set={"mood": ["good", "bad", NONE]})
    for task, labels in answers.items():
        for annotator, label in enumerate(labels, 1):
            crowd.add(task, annotator, "mood", label)
        crowd.answer_counts[task] = len(labels)
    return crowd


def predictions_of(crowd: Crowd, method: str = "plu", *, annotator_scores: bool = True) -> dict[int, DesiredPrediction]:
    predictions = desired_predictions(crowd, fit_project(crowd, method), annotator_scores)
    return {prediction.task: prediction for prediction in predictions}


class TestPredictions:
    def test_are_one_for_each_task_with_answers(self) -> None:
        assert list(predictions_of(crowd_of_five(FOUR_OF_FIVE))) == sorted(FOUR_OF_FIVE)

    def test_are_none_for_a_task_with_nothing_but_gold(self) -> None:
        assert 99 not in predictions_of(crowd_of_five(FOUR_OF_FIVE, {(99, "mood"): "good"}))

    def test_say_what_the_crowd_says(self) -> None:
        predictions = predictions_of(crowd_of_five(FOUR_OF_FIVE))
        assert [predictions[task].result[0]["value"]["choices"] for task in (1, 2)] == [["good"], ["bad"]]

    def test_have_scores_of_three_decimals(self) -> None:
        predictions = predictions_of(crowd_of_five(FOUR_OF_FIVE)).values()
        assert all(prediction.score == round(prediction.score, 3) for prediction in predictions)

    def test_have_the_digest_of_what_will_be_read_back(self) -> None:
        prediction = predictions_of(crowd_of_five(FOUR_OF_FIVE))[1]
        assert prediction.digest == content_digest(json.loads(json.dumps(prediction.result)), prediction.score)

    def test_can_be_written_as_json(self) -> None:
        prediction = predictions_of(crowd_of_five(FOUR_OF_FIVE), "gem")[1]
        assert json.loads(json.dumps(prediction.result, allow_nan=False)) == prediction.result

    def test_with_the_label_for_empty_have_no_items(self) -> None:
        assert predictions_of(crowd_of_five({**FOUR_OF_FIVE, 11: [NONE] * 5}))[11].result == []


class TestMetadata:
    def test_say_what_a_prediction_is_based_on(self) -> None:
        meta = crowd_meta(predictions_of(crowd_of_five(FOUR_OF_FIVE), "gem")[1].result)
        assert set(meta) == {"confidence", "difficulty", "state", "answers", "method", "annotators"}
        assert (meta["answers"], meta["method"], set(meta["annotators"])) == (5, "gem", set("12345"))
        assert set(meta["annotators"]["1"]) == {"skill", "adversary", "accuracy", "verdict"}

    def test_have_the_confidence_that_is_the_score(self) -> None:
        prediction = predictions_of(crowd_of_five(FOUR_OF_FIVE))[1]
        assert crowd_meta(prediction.result)["confidence"] == {"mood": prediction.score}

    def test_have_nothing_about_people_if_that_is_switched_off(self) -> None:
        predictions = predictions_of(crowd_of_five(FOUR_OF_FIVE), "gem", annotator_scores=False)
        assert all(crowd_meta(prediction.result)["annotators"] == {} for prediction in predictions.values())

    def test_are_rewritten_when_people_are_switched_off(self) -> None:
        crowd = crowd_of_five(FOUR_OF_FIVE)
        on, off = (predictions_of(crowd, "gem", annotator_scores=scores).values() for scores in (True, False))
        assert [prediction.score for prediction in on] == [prediction.score for prediction in off]
        assert not {prediction.digest for prediction in on} & {prediction.digest for prediction in off}

    def test_say_that_trusted_people_disagree(self) -> None:
        answers = {task: ["good" if task % 2 else "bad"] * 5 for task in range(1, 61)}
        predictions = predictions_of(crowd_of_five({**answers, 61: ["good", "bad", "good", "bad", "good"]}), "gem")
        disputed = [task for task, one in predictions.items() if "disputed" in crowd_meta(one.result)]
        assert disputed == [61]


class TestGoldTasks:
    def test_do_not_stand_out_by_their_state(self) -> None:
        """Two tasks of ten are gold; all have the same share of votes for their label."""
        predictions = predictions_of(crowd_of_five(FOUR_OF_FIVE, {(1, "mood"): "good", (2, "mood"): "bad"}))
        states = {task: crowd_meta(one.result)["state"]["mood"] for task, one in predictions.items()}
        assert {states[1], states[2]} == {states[3], states[4]}
        assert states[1] == ("settled" if predictions[1].score >= SETTLED else "open")

    @pytest.mark.parametrize(("method", "has_difficulty"), [("gem", True), ("neg", False)])
    def test_do_not_stand_out_by_their_difficulty(self, method: str, has_difficulty: bool) -> None:
        """Two tasks with the same answers, of which one is known to be answered wrongly by everybody."""
        chance = Random(1)
        answers = {
            task: [chance.choices(("good", "bad"), (1, 1) if task % 3 == 0 else (49, 1))[0] for _ in range(5)]
            for task in range(1, 61)
        }
        answers |= {task: ["bad" if label == "good" else "good" for label in answers[task]] for task in range(1, 31)}
        answers |= {98: ["good"] * 5, 99: ["good"] * 5}
        predictions = predictions_of(crowd_of_five(answers, {(99, "mood"): "bad"}), method)
        one, other = (crowd_meta(predictions[task].result)["difficulty"]["mood"] for task in (98, 99))
        assert (one == other, one is not None) == (True, has_difficulty)

    @pytest.mark.parametrize("method", ["plu", pytest.param("gem", marks=pytest.mark.slow), "sw"])
    def test_say_what_the_crowd_says(self, method: str) -> None:
        predictions = predictions_of(crowd_of_five(FOUR_OF_FIVE, {(1, "mood"): "bad"}), method)
        assert predictions[1].result[0]["value"] == {"choices": ["good"]}

    @pytest.mark.parametrize("method", ["plu", "gem", "sw"])
    def test_have_the_scores_of_tasks_with_the_same_answers(self, method: str) -> None:
        gold: dict[Key, str] = {(1, "mood"): "good", (2, "mood"): "bad"}
        predictions = predictions_of(crowd_of_five(FOUR_OF_FIVE, gold), method)
        assert [predictions[1].score, predictions[2].score] == [predictions[3].score, predictions[4].score]


class TestRegions:
    TEXT = "Anna works at Acme."

    def prediction(self, *answers: str) -> DesiredPrediction:
        """Of a person's name in a text, if people marked it and said whether they are sure, in one task of six."""
        annotations = []
        for task in range(6):
            for annotator, sure in enumerate(answers, 1):
                span = span_item(0, 4, "PER" if task % 2 == 0 else "ORG", text="Anna")
                value = {"start": 0, "end": 4, "text": "Anna", "choices": [sure]}
                detail = {"id": span["id"], "from_name": "sure", "to_name": "text", "type": "choices", "value": value}
                result = json.dumps([span, detail] if sure else [span])
                annotations.append(mood_annotation(10 * task + annotator, task, annotator, result=result))
        crowd = build_crowd(read_config(SPANS.format(SURE.format("text", ""))), annotations, {}, {}, Recipe())
        texts = {task: {"text": self.TEXT} for task in range(6)}
        return desired_predictions(crowd, fit_project(crowd, "neg"), texts=texts)[0]

    def test_come_with_what_was_asked_about_them(self) -> None:
        region, detail = self.prediction("yes", "yes", "no").result
        assert (region["from_name"], detail["from_name"], detail["value"]["choices"]) == ("entity", "sure", ["yes"])
        assert detail["id"] == region["id"]

    def test_come_without_what_nobody_said_about_them(self) -> None:
        (region,) = self.prediction("", "", "").result
        assert region["from_name"] == "entity"

    def test_quote_the_text(self) -> None:
        assert self.prediction("yes", "yes", "yes").result[0]["value"]["text"] == "Anna"

    def test_have_as_score_the_least_confident_answer(self) -> None:
        prediction = self.prediction("yes", "yes", "no")
        confidence = crowd_meta(prediction.result)["confidence"]
        assert set(confidence) == {"entity", "sure"}
        assert prediction.score == min(confidence.values())
