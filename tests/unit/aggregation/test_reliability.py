"""Accuracy and verdicts of annotators: what each verdict takes, and that little evidence gives the milder one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ls_crowd_plugin.aggregation.answers import Answers
from ls_crowd_plugin.aggregation.reliability import Reliability, assess_annotators
from ls_crowd_plugin.aggregation.types import Floats
from ls_crowd_plugin.aggregation.weighted import fit_plurality
from ls_crowd_plugin.demo.crowds import constant_label_crowd, rare_answer_crowd
from ls_crowd_plugin.records import VERDICTS
from tests.support.crowds import Row, aggregate_crowd, aggregate_rows, encode_rows, ignore_progress


def certain_posterior(answers: Answers, truth: dict[Any, Any]) -> Floats:
    """[O] one for the true label of every item, zero for the others."""
    return np.array(
        [
            float(truth[answers.items[item]] == answers.choices[choice])
            for item, choice in zip(answers.option_item, answers.option_choice, strict=True)
        ]
    )


def assess(rows: list[Row], truth: dict[Any, Any], **model: dict[Any, float]) -> tuple[dict[Any, str], Reliability]:
    """Annotator → verdict if the truth is known, and the whole assessment.

    `model` holds arrays of the fit, each as annotator → value; missing values are 0.
    """
    answers = encode_rows(rows, gold=truth).with_all_options()
    arrays: dict[str, Any] = {
        name: np.array([values.get(annotator, 0.0) for annotator in answers.annotators])
        for name, values in model.items()
    }
    fit = replace(fit_plurality(answers, ignore_progress), **arrays)
    posterior = certain_posterior(answers, truth)
    reliability = assess_annotators(fit, posterior, posterior)
    return dict(zip(answers.annotators, reliability.verdict, strict=True)), reliability


def answers_of(annotator: str, truth: dict[int, str], right: float) -> list[Row]:
    """Answers that are right on the same share of the tasks of each label, and name another label on the rest."""
    labels = sorted(set(truth.values()))
    seen: Counter[str] = Counter()
    rows: list[Row] = []
    for task, label in truth.items():
        seen[label] += 1
        is_right = int(seen[label] * right + 1e-9) > int((seen[label] - 1) * right + 1e-9)
        rows.append((task, annotator, label if is_right else labels[(labels.index(label) + 1) % len(labels)]))
    return rows


EVEN = {task: "ny"[task % 2] for task in range(60)}
RARE = {task: "y" if task % 10 == 0 else "n" for task in range(100)}


@pytest.mark.parametrize(
    ("right", "verdict"),
    [(1.0, "trusted"), (0.95, "trusted"), (0.8, "ordinary"), (0.65, "unreliable"), (0.5, "random")],
)
def test_the_verdict_follows_the_informedness(right: float, verdict: str) -> None:
    verdicts, _ = assess(answers_of("ann", EVEN, right), EVEN)
    assert verdicts["ann"] == verdict


@pytest.mark.parametrize("truth", [EVEN, RARE])
@pytest.mark.parametrize("always", ["n", "y"])
def test_an_annotator_who_always_gives_the_same_label_is_random(always: str, truth: dict[int, str]) -> None:
    rows = [*answers_of("ann", truth, 1.0), *((task, "always", always) for task in truth)]
    verdicts, _ = assess(rows, truth, weight={"ann": 1.0, "always": 0.0})
    assert verdicts == {"ann": "trusted", "always": "random"}


def test_an_annotator_who_always_gives_the_common_label_is_random_whatever_the_model_says() -> None:
    rows = [*answers_of("ann", RARE, 1.0), *((task, "always", "n") for task in RARE)]
    model = {"knowledge": {"ann": 0.95, "always": 0.95}, "knowledge_error": {}, "weight": {"ann": 1.0}}
    verdicts, _ = assess(rows, RARE, **model)
    assert verdicts == {"ann": "trusted", "always": "random"}


def test_the_verdict_follows_the_models_own_estimate() -> None:
    verdicts, _ = assess(answers_of("ann", EVEN, 0.8), EVEN, knowledge={"ann": 0.95}, knowledge_error={"ann": 0.05})
    assert verdicts["ann"] == "trusted"


@pytest.mark.parametrize(
    ("answers", "probability", "contrary"),
    [(10, 0.9, True), (60, 0.99, True), (9, 0.99, False), (60, 0.89, False)],
)
def test_contrary_takes_ten_answers_and_a_probability_of_nine_in_ten(
    answers: int, probability: float, contrary: bool
) -> None:
    truth = {task: EVEN[task] for task in range(answers)}
    verdicts, _ = assess(
        [*answers_of("ann", EVEN, 1.0), *answers_of("x", truth, 0.0)],
        EVEN,
        adversary={"x": probability},
        weight={"ann": 1.0, "x": -1.0},
    )
    assert (verdicts["x"] == "contrary") == contrary


@pytest.mark.parametrize(("answers", "contrary"), [(20, False), (200, True)])
def test_bad_luck_is_not_contrary(answers: int, contrary: bool) -> None:
    """With 40 % right of two labels, recall is .1 below chance: 1 standard error after 20 answers, 3 after 200."""
    truth = {task: "ab"[task % 2] for task in range(answers)}
    verdicts, _ = assess(
        [*answers_of("ann", truth, 1.0), *answers_of("x", truth, 0.4)],
        truth,
        adversary={"x": 0.99},
        weight={"ann": 1.0, "x": -1.0},
    )
    assert (verdicts["x"] == "contrary") == contrary


def test_answers_to_questions_with_one_label_do_not_count_towards_contrary() -> None:
    rows: list[Row] = [(*row, "q") for row in answers_of("ann", EVEN, 1.0)]
    rows += [(*row, "q") for row in answers_of("x", {task: EVEN[task] for task in range(9)}, 0.0)]
    rows += [(task, who, "only", "one") for task in range(10) for who in ("ann", "x")]
    truth: dict[Any, Any] = {(task, "q"): label for task, label in EVEN.items()}
    truth.update({(task, "one"): "only" for task in range(10)})
    verdicts, _ = assess(rows, truth, adversary={"x": 0.99}, weight={"ann": 1.0, "x": -1.0})
    assert verdicts["x"] != "contrary"


@pytest.mark.parametrize("answers", [1, 4])
def test_few_answers_are_too_little_to_say(answers: int) -> None:
    truth = {task: EVEN[task] for task in range(answers)}
    verdicts, _ = assess([*answers_of("ann", EVEN, 1.0), *answers_of("new", truth, 1.0)], EVEN)
    assert verdicts["new"] == "too little to say"


def test_answers_to_tasks_of_a_single_label_are_too_little_to_say() -> None:
    """An annotator who saw only `n` tasks and always answered `n` may be right or may not have looked."""
    only_n = {task: label for task, label in EVEN.items() if label == "n"}
    verdicts, _ = assess([*answers_of("ann", EVEN, 1.0), *((task, "lucky", "n") for task in only_n)], EVEN)
    assert verdicts["lucky"] == "too little to say"


def test_informedness_counts_every_label_the_same() -> None:
    """A recall of 0.9 for `n` and 0.5 for `y` gives (0.7 − 0.5) / 0.5 = 0.4, however rare `y` is."""
    truth = {task: "y" if task % 5 == 0 else "n" for task in range(1000)}
    rows: list[Row] = []
    for label, share in (("n", 0.9), ("y", 0.5)):
        tasks = [task for task in truth if truth[task] == label]
        other = {"n": "y", "y": "n"}[label]
        rows += [(task, "ann", label if number < share * len(tasks) else other) for number, task in enumerate(tasks)]
    _, reliability = assess(rows, truth)
    # Two pseudo-answers among 200 or more move each recall by at most 0.005, which informedness doubles.
    assert reliability.informedness[0] == pytest.approx(0.4, abs=0.01)
    # √(mean of p (1 − p) / n) / √2 / 0.5 with 800 and 200 tasks
    assert reliability.informedness_error[0] == pytest.approx(np.sqrt((0.09 / 800 + 0.25 / 200) / 4) / 0.5, rel=0.05)


def test_accuracy_is_the_share_of_right_answers_shrunk_to_the_crowds_share() -> None:
    rows = [*answers_of("ann", EVEN, 1.0), *answers_of("half", EVEN, 0.5), (0, "new", "n")]
    _, reliability = assess(rows, EVEN)
    crowd = (60 + 30 + 1) / 121
    expected = [(60 + 2 * crowd) / 62, (30 + 2 * crowd) / 62, (1 + 2 * crowd) / 3]
    assert reliability.accuracy.tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    "method", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("gem", "auto")), "neg", "plu"]
)
def test_annotators_with_constant_answers_are_never_trusted(method: str) -> None:
    for crowd in (rare_answer_crowd(0, 0.2), rare_answer_crowd(1, 0.08), constant_label_crowd(0)):
        verdicts = {row["annotator"]: row["verdict"] for row in aggregate_crowd(crowd, method).annotators}
        for annotator, kind in crowd.kinds.items():
            if kind == "constant":
                assert verdicts[annotator] in ("random", "unreliable")
            else:
                assert verdicts[annotator] not in ("random", "contrary")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["gem", "auto", "neg", "sw", "hyb"])
def test_verdicts_of_a_simple_crowd(method: str) -> None:
    generator = np.random.default_rng(0)
    rows: list[Row] = []
    for task in range(60):
        rows += [(task, f"good {number}", task % 3) for number in range(6)]
        rows.append((task, "x", (task + int(generator.integers(1, 3))) % 3))
        rows.append((task, "guess", int(generator.integers(3))))
    rows.append((0, "new", 0))
    verdicts = {row["annotator"]: row["verdict"] for row in aggregate_rows(rows, method=method).annotators}
    assert {verdicts[f"good {number}"] for number in range(6)} == {"trusted"}
    assert verdicts["x"] == "contrary"
    assert verdicts["guess"] in ("random", "unreliable")
    assert verdicts["new"] == "too little to say"
    assert set(verdicts.values()) <= set(VERDICTS)
