"""Verdicts are words about answers: what each needs, and that thin evidence gets the milder one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from crowds import Row, consensus, consensus_of, silent, table

from ls_crowd_plugin.aggregation.answers import Answers, Floats
from ls_crowd_plugin.aggregation.people import People, describe
from ls_crowd_plugin.aggregation.weighted import fit_plurality
from ls_crowd_plugin.demo.crowds import constant_label_crowd, rare_answer_crowd

VERDICTS = {"trusted", "ordinary", "unreliable", "random", "contrary", "too little to say"}


def certain(answers: Answers, truth: dict[Any, Any]) -> Floats:
    """[O] the posterior of one who knows the truth of every item."""
    return np.array(
        [
            float(truth[answers.items[item]] == answers.choices[choice])
            for item, choice in zip(answers.option_item, answers.option_choice, strict=True)
        ]
    )


def people(rows: list[Row], truth: dict[Any, Any], **model: dict[Any, float]) -> tuple[dict[Any, str], People]:
    """Verdicts by annotator where the truth is known; `model` says what a fit knows: annotator → value, else 0."""
    answers = table(rows).with_all_options()  # the truth is a possible label even where nobody gave it
    known: dict[str, Any] = {
        name: np.array([values.get(who, 0.0) for who in answers.annotators]) for name, values in model.items()
    }
    fit = replace(fit_plurality(answers, silent), **known)
    posterior = certain(answers, truth)
    found = describe(fit, posterior, posterior)
    return dict(zip(answers.annotators, found.verdict, strict=True)), found


def answered(who: str, truth: dict[int, str], right: float) -> list[Row]:
    """Answers of somebody who is right on an even share of the tasks of each label, and else gives another label."""
    labels = sorted(set(truth.values()))
    seen: Counter[str] = Counter()
    rows: list[Row] = []
    for task, label in truth.items():
        seen[label] += 1
        is_right = int(seen[label] * right + 1e-9) > int((seen[label] - 1) * right + 1e-9)
        rows.append((task, who, label if is_right else labels[(labels.index(label) + 1) % len(labels)]))
    return rows


EVEN = {task: "ny"[task % 2] for task in range(60)}
RARE = {task: "y" if task % 10 == 0 else "n" for task in range(100)}


@pytest.mark.parametrize(
    ("right", "verdict"),
    [(1.0, "trusted"), (0.95, "trusted"), (0.8, "ordinary"), (0.65, "unreliable"), (0.5, "random")],
)
def test_the_verdict_follows_how_much_answers_tell(right: float, verdict: str) -> None:
    verdicts, _ = people(answered("ann", EVEN, right), EVEN)
    assert verdicts["ann"] == verdict


@pytest.mark.parametrize("truth", [EVEN, RARE])
@pytest.mark.parametrize("always", ["n", "y"])
def test_who_always_gives_the_same_answer_is_random(always: str, truth: dict[int, str]) -> None:
    rows = [*answered("ann", truth, 1.0), *((task, "always", always) for task in truth)]
    verdicts, _ = people(rows, truth)
    assert verdicts == {"ann": "trusted", "always": "random"}


def test_who_always_gives_the_common_answer_is_random_even_if_a_model_thinks_otherwise() -> None:
    rows = [*answered("ann", RARE, 1.0), *((task, "always", "n") for task in RARE)]
    verdicts, _ = people(rows, RARE, knowing={"ann": 0.95, "always": 0.95}, knowing_error={})
    assert verdicts == {"ann": "trusted", "always": "random"}


def test_a_model_that_knows_better_is_believed() -> None:
    verdicts, _ = people(answered("ann", EVEN, 0.8), EVEN, knowing={"ann": 0.95}, knowing_error={"ann": 0.05})
    assert verdicts["ann"] == "trusted"


@pytest.mark.parametrize(
    ("answers", "probability", "contrary"),
    [(10, 0.9, True), (60, 0.99, True), (9, 0.99, False), (60, 0.89, False)],
)
def test_contrary_needs_ten_answers_and_nine_in_ten(answers: int, probability: float, contrary: bool) -> None:
    truth = {task: EVEN[task] for task in range(answers)}
    verdicts, _ = people([*answered("ann", EVEN, 1.0), *answered("x", truth, 0.0)], EVEN, adversary={"x": probability})
    assert (verdicts["x"] == "contrary") == contrary


def test_answers_to_questions_with_one_label_do_not_make_somebody_contrary() -> None:
    rows: list[Row] = [(*row, "q") for row in answered("ann", EVEN, 1.0)]
    rows += [(*row, "q") for row in answered("x", {task: EVEN[task] for task in range(9)}, 0.0)]
    rows += [(task, who, "only", "one") for task in range(10) for who in ("ann", "x")]
    truth: dict[Any, Any] = {(task, "q"): label for task, label in EVEN.items()}
    truth.update({(task, "one"): "only" for task in range(10)})
    verdicts, _ = people(rows, truth, adversary={"x": 0.99})
    assert verdicts["x"] != "contrary"


@pytest.mark.parametrize("answers", [1, 4])
def test_of_few_answers_nothing_is_said(answers: int) -> None:
    truth = {task: EVEN[task] for task in range(answers)}
    verdicts, _ = people([*answered("ann", EVEN, 1.0), *answered("new", truth, 1.0)], EVEN)
    assert verdicts["new"] == "too little to say"


def test_of_answers_to_tasks_of_a_single_label_nothing_good_is_said() -> None:
    """Whoever met only tasks that are `n` and said `n` was right, or did not look: these answers cannot tell."""
    only_n = {task: label for task, label in EVEN.items() if label == "n"}
    verdicts, _ = people([*answered("ann", EVEN, 1.0), *((task, "lucky", "n") for task in only_n)], EVEN)
    assert verdicts["lucky"] == "too little to say"


def test_informed_counts_every_label_alike() -> None:
    """Recall 0.9 of `n` and 0.5 of `y` make (0.7 − 0.5) / 0.5 = 0.4, however rare `y` is."""
    truth = {task: "y" if task % 5 == 0 else "n" for task in range(1000)}
    rows: list[Row] = []
    for label, share in (("n", 0.9), ("y", 0.5)):
        tasks = [task for task in truth if truth[task] == label]
        other = {"n": "y", "y": "n"}[label]
        rows += [(task, "ann", label if place < share * len(tasks) else other) for place, task in enumerate(tasks)]
    _, found = people(rows, truth)
    # Each recall is drawn by two answers among 200 or more: by at most 0.005, which informed doubles.
    assert found.informed[0] == pytest.approx(0.4, abs=0.01)
    # √(mean of p (1 − p) / n) / √2 / 0.5 with 800 and 200 tasks
    assert found.informed_error[0] == pytest.approx(np.sqrt((0.09 / 800 + 0.25 / 200) / 4) / 0.5, rel=0.05)


def test_accuracy_is_the_share_of_right_answers_drawn_to_the_crowds() -> None:
    rows = [*answered("ann", EVEN, 1.0), *answered("half", EVEN, 0.5), (0, "new", "n")]
    _, found = people(rows, EVEN)
    crowd = (60 + 30 + 1) / 121
    assert found.accuracy.tolist() == pytest.approx([(60 + 2 * crowd) / 62, (30 + 2 * crowd) / 62, (1 + 2 * crowd) / 3])


@pytest.mark.parametrize("method", ["gem", "auto", "neg", "plu"])
def test_constant_answerers_of_a_crowd_are_never_trusted(method: str) -> None:
    for crowd in (rare_answer_crowd(0, 0.2), rare_answer_crowd(1, 0.08), constant_label_crowd(0)):
        verdicts = {row["annotator"]: row["verdict"] for row in consensus_of(crowd, method).annotators}
        for annotator, kind in crowd.kinds.items():
            if kind == "constant":
                assert verdicts[annotator] in ("random", "unreliable")
            else:
                assert verdicts[annotator] not in ("random", "contrary")


@pytest.mark.parametrize("method", ["gem", "auto", "neg", "sw", "hyb"])
def test_verdicts_of_a_simple_crowd(method: str) -> None:
    generator = np.random.default_rng(0)
    rows: list[Row] = []
    for task in range(60):
        rows += [(task, f"good {number}", task % 3) for number in range(6)]
        rows.append((task, "x", (task + int(generator.integers(1, 3))) % 3))
        rows.append((task, "guess", int(generator.integers(3))))
    rows.append((0, "new", 0))
    verdicts = {row["annotator"]: row["verdict"] for row in consensus(rows, method=method).annotators}
    assert {verdicts[f"good {number}"] for number in range(6)} == {"trusted"}
    assert verdicts["x"] == "contrary"
    assert verdicts["guess"] in ("random", "unreliable")
    assert verdicts["new"] == "too little to say"
    assert set(verdicts.values()) <= VERDICTS
